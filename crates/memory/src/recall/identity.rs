//! Questions about who the user is: "what's my name", 我叫什么, 你知道我是谁吗.
//!
//! Few of their words are in the answer (我叫林晚, "I'm Mia", 用户是护士), and some have no content word at all. So memories
//! about who the user is are always candidates, and those that answer the question count as if they had the
//! question's own words.

use crate::entities::is_named_in_text;
use crate::nodes::Node;
use crate::ports::{Phrase, Store, StoreError};
use crate::scope::Scope;
use crate::text::lexicon::{WordList, identity as lexicon};
use crate::text::{QueryTerm, at_word_borders, fold, split_sentences};

/// Maximum candidates from each end, the newest and the oldest memories, because people often tell first who they
/// are.
pub(super) const IDENTITY_CANDIDATES: u32 = 100;
/// W of a memory that answers the question: that of all content words, each once.
const TELLING_MEMORY_SCORE: f64 = 0.92;
/// W of a memory that may answer it ("the user is …" to a question for a name or a job): above the bound of absence.
const POSSIBLY_TELLING_MEMORY_SCORE: f64 = 0.5;

/// A question of the user about themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityQuestion {
    /// The question who the user is.
    Whole,
    Name,
    /// A question about the user's age.
    Age,
    Work,
    /// A question about where the user lives or comes from.
    Home,
}

use IdentityQuestion::{Age, Home, Name, Whole, Work};

/// Phrases of such questions; only [`lexicon::TAILS`] may follow.
const QUESTION_PHRASES: [(IdentityQuestion, WordList); 5] = [
    (Name, lexicon::ASKED_NAME),
    (Age, lexicon::ASKED_AGE),
    (Work, lexicon::ASKED_WORK),
    (Home, lexicon::ASKED_HOME),
    (Whole, lexicon::ASKED_WHOLE),
];

/// Phrases of memories that answer each question.
const ANSWER_PHRASES: [(IdentityQuestion, WordList); 4] = [
    (Name, lexicon::TELLS_NAME),
    (Age, lexicon::TELLS_AGE),
    (Work, lexicon::TELLS_WORK),
    (Home, lexicon::TELLS_HOME),
];
/// Phrases that a name or a job may follow.
const PHRASES_BEFORE_NAME_OR_JOB: [(IdentityQuestion, WordList); 2] =
    [(Name, lexicon::MAY_TELL_NAME), (Work, lexicon::MAY_TELL_WORK)];

/// The question about the user in a text, by the newest sentence that asks one.
pub(super) fn identity_question(text: &str) -> Option<IdentityQuestion> {
    let newest = text.trim().lines().next_back()?;
    split_sentences(newest).into_iter().rev().find_map(|sentence| {
        let folded = fold(sentence);
        let asks = |phrases: WordList| phrases.iter().any(|phrase| ends_with_question(&folded, phrase));
        QUESTION_PHRASES.into_iter().find_map(|(question, phrases)| asks(phrases).then_some(question))
    })
}

/// An additional search term for the user's name in messages: 我叫, or 我的名字.
pub(super) fn users_name_term(question: IdentityQuestion) -> Option<QueryTerm> {
    let phrase = |letters: &str| Phrase(letters.chars().map(String::from).collect());
    (question == Name).then(|| QueryTerm {
        phrase: phrase("我叫"),
        parts: vec![phrase("我的名字"), phrase("我姓")],
        surface: "我叫".to_owned(),
        guess: true,
    })
}

/// True if a phrase is in a folded sentence and only words follow that may end a question.
fn ends_with_question(folded: &str, phrase: &str) -> bool {
    folded.match_indices(phrase).any(|(at, _)| {
        let end = at + phrase.len();
        at_word_borders(folded, at, end) && is_question_tail(&folded[end..])
    })
}

fn is_question_tail(rest: &str) -> bool {
    let mut rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    while !rest.is_empty() {
        let Some(tail) =
            lexicon::TAILS.iter().find(|tail| rest.starts_with(tail) && at_word_borders(rest, 0, tail.len()))
        else {
            return false;
        };
        rest = rest[tail.len()..].trim_start_matches(|c: char| !c.is_alphanumeric());
    }
    true
}

impl IdentityQuestion {
    /// W of a memory about the user for the question; `folded` is its folded description.
    pub(super) fn relevance(self, node: &Node, folded: &str) -> f64 {
        let says = |phrases: WordList| phrases.iter().any(|phrase| is_named_in_text(folded, phrase));
        match ANSWER_PHRASES.into_iter().find(|(question, _)| *question == self) {
            None => TELLING_MEMORY_SCORE,
            Some((_, tells)) if says(tells) => TELLING_MEMORY_SCORE,
            Some((Name, _)) if begins_with_name(&node.description) => TELLING_MEMORY_SCORE,
            Some(_)
                if PHRASES_BEFORE_NAME_OR_JOB
                    .into_iter()
                    .any(|(question, may)| question == self && says(may)) =>
            {
                POSSIBLY_TELLING_MEMORY_SCORE
            }
            Some(_) => 0.0,
        }
    }

    /// True if the question asks for a single fact.
    pub(super) fn is_definite(self) -> bool {
        self != Whole
    }
}

/// True if a description begins with a name, as "The user is Mia" does.
fn begins_with_name(description: &str) -> bool {
    let rest =
        ["The user is ", "the user is ", "User is "].iter().find_map(|start| description.strip_prefix(start));
    rest.is_some_and(|rest| rest.starts_with(char::is_uppercase))
}

/// Numbers of the memories about who the user is; empty unless the question is about that.
pub(super) async fn identity_nodes(
    store: &dyn Store,
    scope: &Scope,
    question: Option<IdentityQuestion>,
) -> Result<Vec<i64>, StoreError> {
    match question {
        Some(_) => store.identity_events(scope, IDENTITY_CANDIDATES).await,
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_about_who_one_is_are_known_in_both_languages() {
        for (text, question) in [
            ("我叫什么名字？", Name),
            ("我叫什么", Name),
            ("你还记得我的名字吗？", Name),
            ("What's my name?", Name),
            ("Do you remember what my name is?", Name),
            ("hey, do you know my name", Name),
            ("我多大了？", Age),
            ("How old am I?", Age),
            ("我做什么工作？", Work),
            ("我是做什么的？", Work),
            ("What do I do for a living?", Work),
            ("我住在哪里？", Home),
            ("Where do I live now?", Home),
            ("你知道我是谁吗", Whole),
            ("Who am I?", Whole),
            ("你了解我吗？", Whole),
            ("What do you know about me?", Whole),
            ("Tell me about myself.", Whole),
        ] {
            assert_eq!(identity_question(text), Some(question), "{text}");
        }
    }

    #[test]
    fn other_questions_are_not_about_identity() {
        for text in [
            "嗯",
            "我妈妈叫什么",
            "我叫什么外卖好",
            "我几岁开始学琴的？",
            "你认识我妈妈吗",
            "我叫林晚",
            "我的名字是王芳",
            "我的猫叫什么名字？",
            "你叫什么名字？",
            "What is my dog's name?",
            "My name is Ann.",
            "What do I do?",
            "How old am I going to get?",
            "Do you know my sister?",
            "Where do I live in summer?",
            "Who am I meeting?",
            "",
        ] {
            assert_eq!(identity_question(text), None, "{text}");
        }
    }

    #[test]
    fn no_phrase_repeats_what_another_finds() {
        for (_, phrases) in QUESTION_PHRASES {
            for phrase in phrases.iter() {
                let other =
                    phrases.iter().find(|other| *other != phrase && ends_with_question(phrase, other));
                assert_eq!(other, None, "{phrase}");
            }
        }
        for (text, question) in [
            ("我叫什么名字", Name),
            ("Do you know what my name is", Name),
            ("你知道我的什么事", Whole),
            ("关于我的事", Whole),
            ("What is my profession?", Work),
            ("What's my profession?", Work),
            ("What is my occupation?", Work),
            ("Tell me about myself", Whole),
        ] {
            assert_eq!(identity_question(text), Some(question), "{text}");
        }
    }
}
