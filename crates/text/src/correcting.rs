//! Words that correct an earlier statement, and words that ask about the past.

use super::lexicon::{corrections as lexicon, is_stated_in};
use super::sentences::split_sentences;
use super::utterance::Utterance;

/// The way in which a text corrects something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorrectionCue {
    /// The former value was right and is no longer: "we moved", 早就不…了.
    Changed,
    /// The former value was never right: "no, it's …", 我记错了.
    Mistaken,
    /// A statement is withdrawn: "scratch that", "that was a joke", 当我没说.
    Retracted,
    /// The statement was never made: "I never said that", 我没说过.
    Denied,
}

impl Utterance<'_> {
    /// True if the text says how something was, rather than how it is.
    pub fn is_about_the_past(&self) -> bool {
        self.says_any(lexicon::FORMERLY) && !self.says_any(lexicon::NOW)
    }

    /// True if the text adds to something known: "too", 也.
    pub fn adds_to_known(&self) -> bool {
        self.says_any(lexicon::ADDED)
    }

    /// True if the text asks how something was before.
    pub fn asks_for_the_past(&self) -> bool {
        self.says_any(lexicon::PAST_MARKERS)
    }

    fn states_a_change(&self) -> bool {
        let is_named_now = is_stated_in(self.spaced_words(), "called") && self.words().last() == Some("now");
        is_named_now || self.says_any(lexicon::CHANGED)
    }
}

/// The correction in a text; `None` if there is none.
pub fn correction_cue(text: &str) -> Option<CorrectionCue> {
    let whole = Utterance::new(text);
    if whole.says_any(lexicon::DENIED) {
        return Some(CorrectionCue::Denied);
    }
    if whole.says_any(lexicon::RETRACTED) {
        return Some(CorrectionCue::Retracted);
    }
    let begins_with_no = whole.words().next() == Some("no") && whole.words().count() > 2;
    if whole.says_any(lexicon::MISTAKEN) || denied_value(text).is_some() || begins_with_no {
        let changes = whole.says_any(lexicon::CHANGED) || is_stated_in(whole.spaced_words(), "now");
        return Some(if changes { CorrectionCue::Changed } else { CorrectionCue::Mistaken });
    }
    let mut sentences = split_sentences(text).into_iter().map(Utterance::new);
    let changes = sentences.any(|sentence| sentence.states_a_change() && !sentence.is_question_by_words());
    changes.then_some(CorrectionCue::Changed)
}

/// The value that a text denies, if it names one: 小黑 of 不是小黑，是小白, Berlin of "not Berlin, it's Lyon".
pub fn denied_value(text: &str) -> Option<&str> {
    denied_in_chinese(text).or_else(|| denied_in_english(text))
}

fn denied_in_chinese(text: &str) -> Option<&str> {
    let rest = &text[text.find("不是")? + "不是".len()..];
    let end = rest.find(['，', ',', '、', '。', '；', ' '])?;
    let (value, after) = rest.split_at(end);
    let after = after.trim_start_matches(['，', ',', '、', '。', '；', ' ']);
    let corrects = ["是", "而是", "应该是", "现在是", "叫"].iter().any(|word| after.starts_with(word));
    (corrects && !value.is_empty()).then_some(value.trim())
}

fn denied_in_english(text: &str) -> Option<&str> {
    let at = [" not ", "Not ", "not "].iter().find_map(|word| {
        let at = text.find(word)?;
        (at == 0 || word.starts_with(' ')).then_some(at + word.len())
    })?;
    let rest = &text[at..];
    let end = rest.find([',', '.', ';', '!', '?']).unwrap_or(rest.len());
    let value =
        rest[..end].trim().trim_start_matches("in ").trim_start_matches("at ").trim_start_matches("called ");
    let is_name = value.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    (is_name && value.split_whitespace().count() <= 3).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::CorrectionCue::{Changed, Denied, Mistaken, Retracted};
    use super::*;

    #[test]
    fn corrections_are_recognised_in_both_languages() {
        for (text, cue) in [
            ("no, she's called 小白 now", Changed),
            ("I never said that", Denied),
            ("that was a joke", Retracted),
            ("We moved in May", Changed),
            ("Scratch that", Retracted),
            ("我记错了", Mistaken),
            ("不是小黑，是小白", Mistaken),
            ("我早就不喝咖啡了", Changed),
            ("我没说过这句话", Denied),
            ("我开玩笑的", Retracted),
            ("I got that wrong, it's Tuesday", Mistaken),
            ("She lives in Lyon, not Berlin", Mistaken),
        ] {
            assert_eq!(correction_cue(text), Some(cue), "{text}");
        }
    }

    #[test]
    fn ordinary_talk_corrects_nothing() {
        for text in [
            "I live in Lyon",
            "我养了一只猫",
            "not bad",
            "No",
            "how are you now?",
            "今天天气不错",
            "I'm not sure",
        ] {
            assert_eq!(correction_cue(text), None, "{text}");
        }
    }

    #[test]
    fn denied_value_is_found_where_it_is_named() {
        assert_eq!(denied_value("不是小黑，是小白"), Some("小黑"));
        assert_eq!(denied_value("She lives in Lyon, not Berlin."), Some("Berlin"));
        assert_eq!(denied_value("It's not in Berlin, it's in Lyon"), Some("Berlin"));
        assert_eq!(denied_value("not bad"), None);
        assert_eq!(denied_value("他不是我的朋友"), None);
    }

    #[test]
    fn question_corrects_nothing() {
        for text in [
            "Where do I live now?",
            "what is my cat called now?",
            "What did I use to call her?",
            "我现在住在哪里？",
            "我的猫现在叫什么",
            "Is my cat still called Bean now?",
            "Tell me where I have moved",
        ] {
            assert_eq!(correction_cue(text), None, "{text}");
        }
        for text in [
            "we moved in May, remember?",
            "我们搬家了，你知道吗？",
            "no, what I said is that she's called Snow",
            "我搬到上海了。今天天气怎么样？",
            "We moved to Lyon. How far is it from Paris?",
        ] {
            assert!(correction_cue(text).is_some(), "{text}");
        }
    }

    #[test]
    fn questions_about_the_past_are_recognised() {
        for text in
            ["Where did I live before?", "what did I use to call her?", "我以前住在哪里", "她原来叫什么"]
        {
            assert!(Utterance::new(text).asks_for_the_past(), "{text}");
        }
        for text in ["Where do I live?", "我住在哪里", "what is her name"] {
            assert!(!Utterance::new(text).asks_for_the_past(), "{text}");
        }
    }
}
