//! What a message states: a question, and an answer that says only that nothing is known, state nothing.

use super::questions::{asks_by_words, folded_asks};
use super::segment::fold;
use super::sentences::split_sentences;

/// Not knowing, as a persona says it.
const NOT_KNOWING: [&str; 54] = [
    "不知道",
    "不记得",
    "不清楚",
    "不太确定",
    "不确定",
    "不太记得",
    "没有印象",
    "没印象",
    "没什么印象",
    "没听你",
    "没有听你",
    "没跟我说过",
    "没告诉过我",
    "没有告诉",
    "没提过",
    "没有提过",
    "没提到",
    "没有提到",
    "没说过",
    "没有说过",
    "没和我说过",
    "还没跟我",
    "想不起来",
    "记不起来",
    "记不得",
    "没有记忆",
    "没有关于",
    "没有相关",
    "don't know",
    "do not know",
    "don't remember",
    "do not remember",
    "don't recall",
    "do not recall",
    "not sure",
    "unsure",
    "no memory",
    "no record",
    "no idea",
    "don't have any",
    "don't have that",
    "don't have a memory",
    "haven't told",
    "haven't mentioned",
    "haven't shared",
    "didn't tell me",
    "didn't mention",
    "never told",
    "never mentioned",
    "can't remember",
    "cannot remember",
    "can't recall",
    "don't think you",
    "not aware",
];

/// The part of a message that states something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// All that it says.
    Everything,
    /// Nothing: it only asks, or says only that nothing is known.
    Nothing,
    /// Beside a persona's word that it does not know, these sentences.
    Only(String),
}

/// The statements of a user's message: none if it only asks.
pub fn statement_by_user(text: &str) -> Statement {
    statement_of_all(&folded_sentences(text))
}

/// The statements of a persona's message. "I don't know" is the persona's word about its memory (a user says it of the
/// world), so only the other sentences count.
pub fn statement_by_persona(text: &str) -> Statement {
    let sentences = folded_sentences(text);
    if !sentences.iter().any(|(_, folded)| says_not_knowing(folded)) {
        return statement_of_all(&sentences);
    }
    let stating = sentences.iter().filter(|(_, folded)| !is_asking(folded) && !says_not_knowing(folded));
    let known: Vec<&str> = stating.map(|(sentence, _)| *sentence).collect();
    if known.is_empty() { Statement::Nothing } else { Statement::Only(known.join("\n")) }
}

pub(super) fn folded_sentences(text: &str) -> Vec<(&str, String)> {
    split_sentences(text).into_iter().map(|sentence| (sentence, fold(sentence))).collect()
}

fn statement_of_all(sentences: &[(&str, String)]) -> Statement {
    let only_asks = !sentences.is_empty() && sentences.iter().all(|(_, folded)| is_asking(folded));
    if only_asks { Statement::Nothing } else { Statement::Everything }
}

fn says_not_knowing(folded: &str) -> bool {
    NOT_KNOWING.iter().any(|phrase| folded.contains(phrase))
}

fn is_asking(folded: &str) -> bool {
    folded_asks(folded) || asks_by_words(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_asks_states_nothing() {
        for text in [
            "What did I say about my accordion teacher?",
            "what did i say about my accordion teacher",
            "which dog did I mean",
            "Tell me about my accordion teacher.",
            "Hm? Who is Ann?",
            "我的手风琴老师叫什么名字",
            "关于手风琴老师我说过什么？",
            "还记得我的手风琴老师",
        ] {
            assert_eq!(statement_by_user(text), Statement::Nothing, "{text}");
        }
        for text in [
            "My accordion teacher is called Ann. Do you remember?",
            "When I was ten, my dog died.",
            "What I love is jazz.",
            "What a day!",
            "我什么都不想吃",
            "我不知道为什么很难过。",
            "我的手风琴老师叫安娜。",
            "",
        ] {
            assert_eq!(statement_by_user(text), Statement::Everything, "{text}");
        }
    }

    #[test]
    fn a_persona_that_does_not_know_states_only_what_it_adds() {
        for text in [
            "I don’t have any memory of that.",
            "You haven't told me about an accordion teacher yet! Would you like to?",
            "你好像没跟我说过手风琴老师。",
        ] {
            assert_eq!(statement_by_persona(text), Statement::Nothing, "{text}");
            assert_ne!(statement_by_user(text), Statement::Nothing, "{text}");
        }
        let told = statement_by_persona("这个我不知道。不过你养了只猫。");
        assert_eq!(told, Statement::Only("不过你养了只猫。".to_owned()));
        assert_eq!(statement_by_persona("You told me about Ann."), Statement::Everything);
    }
}
