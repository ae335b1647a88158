//! Questions of the user about themselves, and the memories that answer them.

use super::self_statements::{self_statement, states_name};
use super::sentences::split_clauses;
use text::Utterance;
use text::lexicon::{WordList, self_questions};

/// A question of the user about themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SelfQuestion {
    /// The question is about everything that is known.
    Everything,
    Name,
    Age,
    Work,
    Home,
}

const QUESTION_PHRASES: [(SelfQuestion, WordList); 5] = [
    (SelfQuestion::Name, self_questions::ASKS_NAME),
    (SelfQuestion::Age, self_questions::ASKS_AGE),
    (SelfQuestion::Work, self_questions::ASKS_WORK),
    (SelfQuestion::Home, self_questions::ASKS_HOME),
    (SelfQuestion::Everything, self_questions::ASKS_EVERYTHING),
];

impl SelfQuestion {
    /// Returns the question in a text about the user.
    pub(super) fn from_text(text: &str) -> Option<SelfQuestion> {
        let said = Utterance::new(text);
        QUESTION_PHRASES.into_iter().find(|(_, words)| said.says_any(*words)).map(|(question, _)| question)
    }

    /// True if a memory, or a message of the user, answers it. Any memory answers a question about everything.
    pub(super) fn is_answered_by(self, source: &str, is_memory: bool) -> bool {
        let of_user = || {
            let clauses = split_clauses(source);
            clauses.iter().any(|clause| self_statement(clause).is_some())
                || source.contains("用户")
                || source.to_lowercase().contains("the user")
        };
        match self {
            SelfQuestion::Everything => is_memory || of_user(),
            SelfQuestion::Name => {
                self_questions::NAME_SAID.occur_in(source) && of_user() || states_name(source)
            }
            SelfQuestion::Age => self_questions::AGE_SAID.occur_in(source) && of_user(),
            SelfQuestion::Work => self_questions::WORK_SAID.occur_in(source) && of_user(),
            SelfQuestion::Home => self_questions::HOME_SAID.occur_in(source) && of_user(),
        }
    }
}
