//! Finds out if the user said that two names are the same: in a sentence with both names, or by a yes or no to a
//! question with both.

use serde::{Deserialize, Serialize};
use text::Utterance;
use text::lexicon::{WordList, clarification};

use super::entities::mentions_name;
use super::sentences::{sentences_with_words, split_clauses};

/// Two entities that may be the same, each with its names, the displayed name first.
#[derive(Deserialize)]
pub(super) struct Doubt {
    a: Vec<String>,
    b: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Clarification {
    a: String,
    b: String,
    same: bool,
}

/// The first doubt that is settled. `messages` are pairs of speaker (`user`, `persona`) and text, oldest first.
pub(super) fn find_clarification<'a>(
    messages: impl Iterator<Item = (&'a str, &'a str)>,
    doubts: &[Doubt],
) -> Option<Clarification> {
    let mut asked: Option<(&Doubt, bool)> = None;
    for (role, text) in messages {
        if role != "user" {
            asked = sentences_with_words(text).into_iter().find_map(|sentence| {
                let doubt = doubts.iter().find(|doubt| doubt.is_about(sentence))?;
                let asks = split_clauses(sentence).iter().any(|clause| clause.asks);
                // "Are they different people?": here yes means two.
                asks.then(|| (doubt, same_or_not(sentence) != Some(false)))
            });
            continue;
        }
        for sentence in sentences_with_words(text) {
            let states = split_clauses(sentence).iter().any(|clause| clause.is_statement());
            let doubt = doubts.iter().find(|doubt| states && doubt.is_about(sentence));
            if let Some((doubt, same)) = doubt.and_then(|doubt| Some((doubt, same_or_not(sentence)?))) {
                return Some(doubt.to_clarification(same));
            }
        }
        if let Some((doubt, yes_is_same)) = asked.take()
            && let Some(yes) = yes_or_no(text)
        {
            return Some(doubt.to_clarification(yes == yes_is_same));
        }
    }
    None
}

impl Doubt {
    fn is_about(&self, sentence: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| mentions_name(sentence, name));
        named(&self.a) && named(&self.b)
    }

    fn to_clarification(&self, same: bool) -> Clarification {
        let name = |names: &[String]| names.first().cloned().unwrap_or_default();
        Clarification { a: name(&self.a), b: name(&self.b), same }
    }
}

/// True if a sentence with both names says that they are the same; false if it says that they are not.
fn same_or_not(sentence: &str) -> Option<bool> {
    // 是不是 is a question, not a denial.
    let sentence = sentence.replace("是不是", "是");
    let said = Utterance::new(&sentence);
    if said.says_any(clarification::DIFFERENT) {
        Some(false)
    } else if said.says_any(clarification::SAME) {
        Some(true)
    } else {
        None
    }
}

fn yes_or_no(text: &str) -> Option<bool> {
    let spaced = text::spaced_words(text);
    let first = spaced.split_whitespace().next().unwrap_or_default();
    let begins = |words: WordList| words.chinese.begin(text.trim_start()) || words.english.contains(first);
    if begins(clarification::NO) {
        Some(false)
    } else if begins(clarification::YES) {
        Some(true)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers_doubt(messages: &[(&str, &str)]) -> Option<bool> {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let doubts = [
            Doubt { a: names(&["Samantha"]), b: names(&["Sam", "Sammy"]) },
            Doubt { a: names(&["小王"]), b: names(&["王强"]) },
        ];
        find_clarification(messages.iter().copied(), &doubts).map(|clarification| clarification.same)
    }

    #[test]
    fn the_users_own_sentence_settles_it() {
        assert_eq!(answers_doubt(&[("user", "Sam is short for Samantha.")]), Some(true));
        assert_eq!(answers_doubt(&[("user", "Sam and Samantha are the same person")]), Some(true));
        assert_eq!(answers_doubt(&[("user", "Sam isn't Samantha, he's my brother")]), Some(false));
        assert_eq!(answers_doubt(&[("user", "小王就是王强啊")]), Some(true));
        assert_eq!(answers_doubt(&[("user", "小王和王强不是同一个人")]), Some(false));
    }

    #[test]
    fn yes_and_no_answer_the_question_that_was_asked() {
        let ask = "By the way, is Sam the same as Samantha?";
        assert_eq!(answers_doubt(&[("persona", ask), ("user", "yes, of course")]), Some(true));
        assert_eq!(answers_doubt(&[("persona", ask), ("user", "no, two people")]), Some(false));
        assert_eq!(answers_doubt(&[("persona", "小王就是王强吗?"), ("user", "对,是他")]), Some(true));
        assert_eq!(answers_doubt(&[("persona", "小王是不是王强?"), ("user", "不是")]), Some(false));
        let different = "Are Sam and Samantha different people?";
        assert_eq!(answers_doubt(&[("persona", different), ("user", "yes")]), Some(false));
    }

    #[test]
    fn nothing_else_settles_anything() {
        for messages in [
            &[("user", "Sam met Samantha in town")][..],
            &[("user", "is Sam the same as Samantha?")],
            &[("persona", "Sam is short for Samantha.")],
            &[("persona", "Is Sam the same as Samantha?"), ("user", "I'm hungry"), ("user", "yes")],
            &[("user", "小王和王强吃饭了")],
        ] {
            assert_eq!(answers_doubt(messages), None, "{messages:?}");
        }
    }
}
