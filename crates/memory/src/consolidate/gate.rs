//! Phase A: decides if a session is sent to a model.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::ConsolidateSettings;
use super::patterns::Patterns;
use crate::messages::{Message, Role};
use crate::text::lexicon::consolidation as lexicon;
use crate::text::{self, Utterance};

static STRONG_EMOTION: LazyLock<Patterns> = LazyLock::new(|| Patterns::from(lexicon::STRONG_EMOTION));
static SUBSTANCE_PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns::from(lexicon::SUBSTANCE));
static PLAN_PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns::from(lexicon::PLANS));

/// Share of the terms required of a session from which one sentence about the user's own life is enough. "My brother
/// moved to Lisbon" is worth a memory though the rest of the session is small talk.
const OWN_SENTENCE_SHARE: f64 = 1.0 / 3.0;
/// The share for other sentences. It is higher, because long sentences about the world hold many terms and nothing
/// about the user.
const SENTENCE_SHARE: f64 = 5.0 / 12.0;
/// Number of terms that a Chinese character counts as: less than one, because a word has more than one character.
const CHARACTER_WEIGHT: f64 = 0.8;

/// Why a session is sent to the model, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateDecision {
    /// The session is short and nothing in it seems worth remembering.
    Trivial,
    LongEnough,
    /// Short, with a keyword for loss, crisis or a milestone.
    StrongEmotion,
    /// Short, but the user stated something.
    Substance,
    /// Short, but the user corrected something.
    Correction,
    /// Short, but a statement of the user is similar to a memory, which may have changed.
    Remembered,
}

/// Decides if a session is sent to the model. Short means fewer messages **or** fewer tokens than the settings
/// require; a short one still counts if it contains a keyword of strong emotion (seed, algorithm B) or a statement of
/// substance.
pub fn decide_gate(messages: &[Message], settings: &ConsolidateSettings) -> GateDecision {
    if !messages.iter().any(|message| message.role == Role::User) {
        return GateDecision::Trivial;
    }
    let tokens: u64 = messages.iter().map(|message| u64::from(message.token_count)).sum();
    let short = messages.len() < settings.trivial_message_count || tokens < settings.trivial_token_count;
    if !short {
        return GateDecision::LongEnough;
    }
    let extended = Patterns::default().with_patterns(&settings.strong_emotion_words);
    if messages.iter().any(|m| STRONG_EMOTION.occur_in(&m.content) || extended.occur_in(&m.content)) {
        return GateDecision::StrongEmotion;
    }
    let corrects = |message: &Message| text::correction_cue(&message.content).is_some();
    if messages.iter().any(|message| message.role == Role::User && corrects(message)) {
        return GateDecision::Correction;
    }
    if has_substance(messages, settings.trivial_user_terms) {
        GateDecision::Substance
    } else {
        GateDecision::Trivial
    }
}

fn has_substance(messages: &[Message], terms_min: usize) -> bool {
    let said = || messages.iter().filter(|message| message.role == Role::User).map(|m| m.content.as_str());
    if said().any(|content| SUBSTANCE_PATTERNS.occur_as_words(content)) {
        return true;
    }
    let plans = |content: &str| PLAN_PATTERNS.occur_as_words(content) && text::names_time_ahead(content);
    if said().any(plans) {
        return true;
    }
    let terms: BTreeSet<String> = said().flat_map(text::content_terms).collect();
    terms.len() >= terms_min || said().any(|content| states_something(content, terms_min as f64))
}

/// True if one sentence has enough content terms to be worth an extraction: "i drive an old red Volvo to work" has,
/// "so tired today" has not.
fn states_something(content: &str, terms_min: f64) -> bool {
    if text::statement_by_user(content) == text::Statement::Nothing {
        return false;
    }
    let sentences =
        text::split_sentences(content).into_iter().map(|sentence| (sentence, Utterance::new(sentence)));
    sentences.filter(|(_, said)| !said.is_question()).any(|(sentence, said)| {
        let share = if said.says_any(lexicon::OWN) { OWN_SENTENCE_SHARE } else { SENTENCE_SHARE };
        let weight: f64 = text::content_terms(sentence).iter().map(|term| weight_of(term)).sum();
        weight >= share * terms_min
    })
}

/// The weight of a term: a Chinese character carries less meaning than a word.
fn weight_of(term: &str) -> f64 {
    if term.chars().all(text::is_han) { CHARACTER_WEIGHT } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{persona_says, user_says};
    use super::*;

    fn decide(messages: &[Message]) -> GateDecision {
        decide_gate(messages, &ConsolidateSettings::default())
    }

    #[test]
    fn greetings_are_trivial_in_both_languages() {
        for text in ["hi", "hey, how's it going?", "在吗", "早上好呀", "哈哈哈", "ok thanks"] {
            assert_eq!(decide(&[user_says(text), persona_says("嗯")]), GateDecision::Trivial, "{text}");
        }
    }

    #[test]
    fn one_sentence_that_says_something_is_remembered_and_small_talk_is_not() {
        for text in [
            "i drive an old red Volvo to work",
            "房子是2015年买的，在河边",
            "我在出版社做编辑",
            "We named the boat Albatross at Easter",
        ] {
            assert_eq!(decide(&[user_says(text), persona_says("嗯")]), GateDecision::Substance, "{text}");
        }
        for text in [
            "so tired today",
            "it rained all day",
            "had pasta for lunch",
            "今天天气不错",
            "刚吃完饭，好饱",
            "晚安，做个好梦",
            "what did you do on the weekend, my dear friend in the north?",
            "你昨天去哪里吃饭了",
        ] {
            assert_eq!(decide(&[user_says(text), persona_says("嗯")]), GateDecision::Trivial, "{text}");
        }
    }

    #[test]
    fn one_short_correction_is_never_trivial() {
        for text in
            ["no, she's called 小白 now", "Scratch that", "我记错了", "不是小黑，是小白", "I never said that"]
        {
            assert_eq!(decide(&[user_says(text), persona_says("嗯")]), GateDecision::Correction, "{text}");
        }
    }

    #[test]
    fn one_short_line_of_loss_is_never_trivial() {
        for text in ["奶奶走了", "My dad PASSED AWAY", "我撑不住了", "he got Fired", "我们离婚了"]
        {
            assert_eq!(decide(&[user_says(text)]), GateDecision::StrongEmotion, "{text}");
        }
    }

    #[test]
    fn the_story_of_the_seeds_is_remembered_although_it_is_short() {
        let story = "我养了只白猫,叫小黑。他超调皮,老在半夜跳到我脸上。";
        assert_eq!(decide(&[user_says(story), persona_says("小黑听起来很可爱呢")]), GateDecision::Substance);
        for text in ["I have a cat named Tom", "my little sister is six", "我对花生过敏", "call me Max"]
        {
            assert_eq!(decide(&[user_says(text)]), GateDecision::Substance, "{text}");
        }
    }

    #[test]
    fn plan_at_a_named_time_is_never_trivial() {
        for text in
            ["我下周三要去杭州出差", "I'll go to Berlin on 4 December 2026", "I have a checkup next week"]
        {
            assert_eq!(decide(&[user_says(text)]), GateDecision::Substance, "{text}");
        }
        for text in ["see you tomorrow", "明天见", "I'll do it", "我去睡觉了"] {
            assert_eq!(decide(&[user_says(text)]), GateDecision::Trivial, "{text}");
        }
    }

    #[test]
    fn only_the_user_can_say_something_of_substance() {
        assert_eq!(decide(&[user_says("hi"), persona_says("I have a cat named Tom")]), GateDecision::Trivial);
        assert_eq!(decide(&[persona_says("奶奶走了")]), GateDecision::Trivial, "nobody talked with it");
    }

    #[test]
    fn many_content_words_count_without_any_pattern() {
        let text =
            "concert downtown violin orchestra rain umbrella taxi midnight pizza friends balcony sunrise";
        assert_eq!(decide(&[user_says(text)]), GateDecision::Substance);
        assert_eq!(decide(&[user_says("concert downtown violin")]), GateDecision::Trivial);
    }

    #[test]
    fn both_thresholds_must_be_reached_to_be_long() {
        let long = "x ".repeat(1_000);
        assert_eq!(decide(&[user_says(&long), persona_says("a"), user_says("b")]), GateDecision::LongEnough);
        assert_eq!(
            decide(&[user_says("a"), persona_says("b"), user_says("c")]),
            GateDecision::Trivial,
            "tokens are few"
        );
        assert_eq!(decide(&[user_says(&"ha ".repeat(1_000))]), GateDecision::Trivial, "messages are few");
    }

    #[test]
    fn a_person_may_add_keywords() {
        let settings = ConsolidateSettings {
            strong_emotion_words: vec!["搬家".to_owned()],
            ..ConsolidateSettings::default()
        };
        assert_eq!(decide_gate(&[user_says("下周搬家")], &settings), GateDecision::StrongEmotion);
    }
}
