//! Questions of the user about themselves: what they ask for, and what tells it.

use super::self_statements::{self_statement, tells_name};
use super::sentences::split_clauses;
use text::Utterance;
use text::lexicon::{WordList, self_questions};

/// A question about the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SelfQuestion {
    /// The question is about all that is known.
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
    /// The question of a text, if it asks about the user as such.
    pub(super) fn from_text(text: &str) -> Option<SelfQuestion> {
        let said = Utterance::new(text);
        QUESTION_PHRASES.into_iter().find(|(_, words)| said.says_any(*words)).map(|(question, _)| question)
    }

    /// True if a memory, or else a line of the user, tells it. Any memory is an answer to who asks for everything.
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
                self_questions::NAME_SAID.occur_in(source) && of_user() || tells_name(source)
            }
            SelfQuestion::Age => self_questions::AGE_SAID.occur_in(source) && of_user(),
            SelfQuestion::Work => self_questions::WORK_SAID.occur_in(source) && of_user(),
            SelfQuestion::Home => self_questions::HOME_SAID.occur_in(source) && of_user(),
        }
    }
}
