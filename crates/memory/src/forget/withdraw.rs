//! What a memory still rests on when some of its words are gone: the one rule behind editing, regenerating and
//! deleting messages.

use crate::identifiers::{EntityId, MessageId, NodeId, SessionId};
use crate::messages::Role;
use crate::nodes::Subject;
use crate::text::is_bare_reply;

/// What becomes of thoughts whose events go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestingThoughts {
    /// They stay; the edge says that the event is gone.
    #[default]
    Orphan,
    /// One that rests on nothing else goes too, others stay.
    Recheck,
    /// They go.
    Cascade,
}

/// A quote that a memory still has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportingQuote {
    /// Who said it.
    pub speaker: Role,
    /// The words.
    pub quote: String,
}

/// What a memory still rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// Whom it is about.
    pub subject: Subject,
    /// The quotes that are left.
    pub quotes: Vec<SupportingQuote>,
    /// Whether a person has vouched for it: approved it, or written its text.
    pub word_of_person: bool,
}

/// What was withdrawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Withdrawn {
    /// Memories that are gone, each with its number.
    pub nodes: Vec<(NodeId, i64)>,
    /// Memories that had been replaced by one of those and are current again.
    pub revived: Vec<NodeId>,
    /// Memories that lost a quote and stay.
    pub kept: Vec<NodeId>,
    /// Named things that no memory is about any more; nobody had described them.
    pub entities: Vec<EntityId>,
    /// Sessions that become memory again.
    pub sessions: Vec<SessionId>,
    /// Messages that are gone, each with its number.
    pub messages: Vec<(MessageId, i64)>,
}

/// Whether a memory that lost some of its words still holds. A person's word is enough. Else it needs a quote of the
/// speaker whom its subject requires, and a bare yes or no of the user is none without the question that it answers.
pub fn still_holds(support: &Support) -> bool {
    if support.word_of_person {
        return true;
    }
    let by = |speaker| support.quotes.iter().any(move |quote| quote.speaker == speaker);
    match support.subject {
        Subject::Persona => by(Role::Persona),
        Subject::Shared => !support.quotes.is_empty(),
        Subject::User => {
            let own_words =
                |quote: &SupportingQuote| quote.speaker == Role::User && !is_bare_reply(&quote.quote);
            support.quotes.iter().any(own_words) || (by(Role::User) && by(Role::Persona))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn quote(speaker: Role, quote: &str) -> SupportingQuote {
        SupportingQuote { speaker, quote: quote.to_owned() }
    }

    fn holds(subject: Subject, quotes: Vec<SupportingQuote>) -> bool {
        still_holds(&Support { subject, quotes, word_of_person: false })
    }

    #[test]
    fn a_memory_about_the_user_needs_the_users_own_words() {
        assert!(holds(Subject::User, vec![quote(Role::User, "我养了只白猫")]));
        assert!(!holds(Subject::User, vec![quote(Role::Persona, "你养了只白猫")]));
        assert!(!holds(Subject::User, Vec::new()));
    }

    #[test]
    fn a_bare_yes_holds_only_beside_its_question() {
        let (yes, question) = (quote(Role::User, "嗯"), quote(Role::Persona, "你是不是养了狗?"));
        assert!(holds(Subject::User, vec![yes.clone(), question.clone()]));
        assert!(!holds(Subject::User, vec![yes]));
        assert!(!holds(Subject::User, vec![question]));
    }

    #[test]
    fn the_personas_promise_rests_on_the_personas_words() {
        assert!(holds(Subject::Persona, vec![quote(Role::Persona, "I promise")]));
        assert!(!holds(Subject::Persona, vec![quote(Role::User, "you promise")]));
        assert!(holds(Subject::Shared, vec![quote(Role::Persona, "that was us")]));
    }

    #[test]
    fn a_persons_word_is_enough() {
        assert!(still_holds(&Support { subject: Subject::User, quotes: Vec::new(), word_of_person: true }));
    }

    proptest! {
        /// Taking quotes away never makes a memory hold that did not.
        #[test]
        fn less_never_proves_more(
            quotes in proptest::collection::vec((any::<bool>(), prop_oneof!["嗯", "yes", "我养了狗", "I ran"]), 0..5),
            keep in proptest::collection::vec(any::<bool>(), 5),
            subject in prop_oneof![Just(Subject::User), Just(Subject::Persona), Just(Subject::Shared)],
        ) {
            let role = |user: &bool| if *user { Role::User } else { Role::Persona };
            let all: Vec<_> = quotes.iter().map(|(user, text)| quote(role(user), text)).collect();
            let fewer = all.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(quote, _)| quote.clone()).collect();
            prop_assert!(holds(subject, all) || !holds(subject, fewer));
        }
    }
}
