//! Decides if a sentence is a question. This is the only place for that.
//!
//! People omit the question mark, and put one after statements ("we moved in May, remember?"). So each use has its
//! own rule: [`Utterance::is_question`] uses marks, particles and tags; [`Utterance::is_question_by_words`] only the words,
//! for what will be remembered; [`Utterance::asks_the_listener`] does the same for one clause;
//! [`Utterance::seems_to_ask`] is for a reply, where a mistake costs little.

use super::lexicon::questions as lexicon;
use super::utterance::Utterance;

/// Particle of a request for consent. Such a question should be reasoned about rather than answered.
const CONSENT_PARTICLE: &str = "吧";
/// Maximum words after the question word among which the auxiliary is searched. In "What kind of food do you like" it
/// is near; further away another clause begins.
const AUXILIARY_DISTANCE_MAX: usize = 3;

/// True if a whole text ends like a question.
pub fn ends_in_question(text: &str) -> bool {
    text.trim_end().ends_with(['?', '\u{ff1f}', '吗', '呢'])
}

impl Utterance<'_> {
    /// True if it is a question by its mark, a particle or a tag.
    pub fn is_question(&self) -> bool {
        let bare = self.folded.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '?');
        self.folded.contains('?')
            || lexicon::PARTICLES.is_end_of(bare)
            || bare.ends_with(CONSENT_PARTICLE)
            || lexicon::TAGS.occur_in(&self.folded)
    }

    /// True if it is a question by its words or a particle, possibly without a question mark.
    pub fn seems_to_ask(&self) -> bool {
        let bare = self.folded.trim_end_matches(|c: char| !c.is_alphanumeric());
        self.is_question_by_words()
            || (lexicon::PARTICLES.is_end_of(bare) && !lexicon::NO_QUESTION.occur_in(&self.folded))
    }

    /// True if it begins like a question, so that a mark at its end makes all its clauses questions.
    pub fn opens_as_question(&self) -> bool {
        let opener = self.folded.strip_prefix('为').unwrap_or(&self.folded);
        let first = self.words().next();
        lexicon::QUESTION_WORDS.chinese.begin(opener)
            || lexicon::TAGS.begin(opener)
            || first.is_some_and(|word| {
                lexicon::AUXILIARIES.contains(word) || lexicon::QUESTION_WORDS.english.contains(word)
            })
    }

    /// True if the clause asks the listener, so that what it mentions is not stated.
    pub fn asks_the_listener(&self) -> bool {
        let names_unknown =
            || lexicon::QUESTION_WORDS.chinese.occur_in(&self.folded) || lexicon::TAGS.occur_in(&self.folded);
        if self.folded.ends_with(['吗', '嗎']) || (self.folded.contains('你') && names_unknown()) {
            return true;
        }
        let words: Vec<&str> = self.words().collect();
        let addresses = matches!(words[..], [verb, "you", ..] if lexicon::AUXILIARIES.contains(verb));
        addresses || opens_question(&words) || is_contracted_question(&words)
    }

    /// True if its words are a question, rather than its mark alone: "we moved in May, remember?" is a statement.
    pub fn is_question_by_words(&self) -> bool {
        if lexicon::REQUESTS.chinese.begin(&self.folded)
            || (lexicon::QUESTION_WORDS.chinese.occur_in(&self.folded)
                && !lexicon::NO_QUESTION.occur_in(&self.folded))
        {
            return true;
        }
        let words: Vec<&str> = self.words().collect();
        let begins_with_verb = || words.first().is_some_and(|first| lexicon::AUXILIARIES.contains(first));
        lexicon::REQUESTS.english.begin_words(&words)
            || opens_question(&words)
            || is_contracted_question(&words)
            || (self.folded.contains('?') && begins_with_verb())
    }
}

fn is_contracted_question(words: &[&str]) -> bool {
    words.first().is_some_and(|word| lexicon::CONTRACTED.contains(word))
}

/// True if it begins with a question word, followed by the verb of a question: "which dog did I mean".
fn opens_question(words: &[&str]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let clause = rest.first().is_none_or(|next| lexicon::PRONOUNS.contains(next));
    let within = if *first == "when" { 1 } else { AUXILIARY_DISTANCE_MAX };
    lexicon::QUESTION_WORDS.english.contains(first)
        && !clause
        && rest.iter().take(within).any(|word| lexicon::AUXILIARIES.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_known_in_both_languages() {
        for text in
            ["你是不是养了狗?", "你养了狗吗", "你养了狗吧。", "Do you have a dog?", "You have a dog, right"]
        {
            assert!(Utterance::new(text).is_question(), "{text}");
        }
        for text in ["你养了狗。", "You have a dog.", "狗很可爱!"] {
            assert!(!Utterance::new(text).is_question(), "{text}");
        }
    }

    #[test]
    fn words_ask_without_a_mark() {
        for text in
            ["who is ida", "where do i live", "what's my dog called", "are my keys here", "我妈叫什么名字"]
        {
            assert!(
                Utterance::new(text).is_question_by_words() && !Utterance::new(text).is_question(),
                "{text}"
            );
        }
        for text in ["what a day!", "我知道为什么", "怎么这么冷", "i know who did it"] {
            assert!(!Utterance::new(text).is_question_by_words(), "{text}");
        }
    }

    #[test]
    fn a_reply_takes_a_particle_for_a_question() {
        for text in ["我的猫呢", "你养了狗嗎", "阿哲是谁"] {
            assert!(Utterance::new(text).seems_to_ask(), "{text}");
        }
        for text in ["我们走吧", "没什么呢", "When I was ten, my dog died."] {
            assert!(!Utterance::new(text).seems_to_ask(), "{text}");
        }
    }
}
