//! The statements of a message: a question, or an answer that only says that nothing is known, states nothing.

use super::lexicon::statements as lexicon;
use super::sentences::split_sentences;
use super::utterance::Utterance;

/// The stating part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// The whole message is stated.
    Everything,
    /// The message states nothing: it only asks, or only says that nothing is known.
    Nothing,
    /// Only these sentences. In the others the persona says that it does not know.
    Only(String),
}

impl Utterance<'_> {
    /// True if the utterance is a statement and not a question.
    pub fn states(&self) -> bool {
        !self.is_question() && !self.is_question_by_words()
    }

    fn denies_knowledge(&self) -> bool {
        lexicon::NOT_KNOWING.occur_in(&self.folded)
    }
}

/// The statement of a user's message: nothing if it only asks.
pub fn statement_by_user(text: &str) -> Statement {
    statement_of_all(&utterances(text))
}

/// The statement of a persona's message. For a persona, "I don't know" is about its memory (for a user, about the
/// world), so only the other sentences count.
pub fn statement_by_persona(text: &str) -> Statement {
    let sentences = utterances(text);
    if !sentences.iter().any(Utterance::denies_knowledge) {
        return statement_of_all(&sentences);
    }
    let stating = sentences.iter().filter(|sentence| sentence.states() && !sentence.denies_knowledge());
    let known: Vec<&str> = stating.map(|sentence| sentence.text).collect();
    if known.is_empty() { Statement::Nothing } else { Statement::Only(known.join("\n")) }
}

fn utterances(text: &str) -> Vec<Utterance<'_>> {
    split_sentences(text).into_iter().map(Utterance::new).collect()
}

fn statement_of_all(sentences: &[Utterance<'_>]) -> Statement {
    let states = sentences.is_empty() || sentences.iter().any(Utterance::states);
    if states { Statement::Everything } else { Statement::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_state_nothing() {
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
        let statement_text = statement_by_persona("这个我不知道。不过你养了只猫。");
        assert_eq!(statement_text, Statement::Only("不过你养了只猫。".to_owned()));
        assert_eq!(statement_by_persona("You told me about Ann."), Statement::Everything);
    }
}
