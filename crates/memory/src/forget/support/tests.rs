use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::text::index_terms;

fn said_by(speaker: Role, quote: &str) -> SupportingQuote<'_> {
    SupportingQuote { speaker, quote, terms: "", is_left: true, becomes_memory_again: false }
}

/// A memory that depends on messages, each its own quote.
#[derive(Clone, Debug)]
struct Memory {
    subject: Subject,
    description: String,
    /// Speaker, text and terms of each message.
    lines: Vec<(Role, String, String)>,
    word_of_person: bool,
    is_reduced: bool,
    again: bool,
}

impl Memory {
    fn new(subject: Subject, description: &str, lines: &[(Role, &str)]) -> Self {
        let line = |(role, text): &(Role, &str)| (*role, (*text).to_owned(), index_terms(text));
        Self {
            subject,
            description: description.to_owned(),
            lines: lines.iter().map(line).collect(),
            word_of_person: false,
            is_reduced: false,
            again: false,
        }
    }

    fn support(&self, lost: &[bool]) -> Support<'_> {
        let is_lost = |place: usize| lost.get(place).copied().unwrap_or_default();
        let quotes = self.lines.iter().enumerate().map(|(place, (speaker, quote, terms))| SupportingQuote {
            speaker: *speaker,
            quote,
            terms,
            is_left: !is_lost(place),
            becomes_memory_again: self.again,
        });
        Support {
            subject: self.subject,
            description: &self.description,
            quotes: quotes.collect(),
            mentions: Vec::new(),
            word_of_person: self.word_of_person,
            cites: false,
            is_reduced: self.is_reduced,
            gone: Vec::new(),
            left: Vec::new(),
        }
    }

    /// The memory after a loss; `None` if it was removed.
    fn after_loss(&self, lost: &[bool]) -> Option<Self> {
        let standing = self.support(lost).decide_after_loss(LossReason::Forgotten);
        let mut memory = self.clone();
        let mut places = lost.iter();
        memory.lines.retain(|_| !places.next().copied().unwrap_or_default());
        match standing {
            SupportDecision::Remove => None,
            SupportDecision::Keep => Some(memory),
            SupportDecision::Rewrite(text) => Some(Self { description: text, is_reduced: true, ..memory }),
        }
    }
}

#[test]
fn a_memory_about_the_user_needs_the_users_own_words() {
    assert!(quotes_prove(Subject::User, &[said_by(Role::User, "我养了只白猫")]));
    assert!(!quotes_prove(Subject::User, &[said_by(Role::Persona, "你养了只白猫")]));
    assert!(!quotes_prove(Subject::User, &[]));
}

#[test]
fn a_bare_yes_holds_only_beside_its_question() {
    let (yes, question) = (said_by(Role::User, "嗯"), said_by(Role::Persona, "你是不是养了狗?"));
    assert!(quotes_prove(Subject::User, &[yes, question]));
    assert!(!quotes_prove(Subject::User, &[yes]));
    assert!(!quotes_prove(Subject::User, &[question]));
    let dog =
        Memory::new(Subject::User, "用户养了狗", &[(Role::Persona, "你是不是养了狗?"), (Role::User, "嗯")]);
    for loss in [LossReason::Edited, LossReason::Forgotten] {
        assert_eq!(dog.support(&[false, true]).decide_after_loss(loss), SupportDecision::Remove);
        assert_eq!(dog.support(&[true, false]).decide_after_loss(loss), SupportDecision::Remove);
        assert_eq!(dog.support(&[]).decide_after_loss(loss), SupportDecision::Keep);
    }
}

#[test]
fn the_personas_promise_rests_on_the_personas_words() {
    assert!(quotes_prove(Subject::Persona, &[said_by(Role::Persona, "I promise")]));
    assert!(!quotes_prove(Subject::Persona, &[said_by(Role::User, "you promise")]));
    assert!(quotes_prove(Subject::Shared, &[said_by(Role::Persona, "that was us")]));
}

#[test]
fn a_person_can_restore_withdrawn_text_but_not_erased_text() {
    let lines = [(Role::User, "我养了猫"), (Role::User, "叫小黑")];
    let corrected =
        Memory { word_of_person: true, ..Memory::new(Subject::User, "用户养了小黑", &lines) };
    assert_eq!(corrected.support(&[true, true]).decide_after_loss(LossReason::Edited), SupportDecision::Keep);
    assert_eq!(
        corrected.support(&[true, true]).decide_after_loss(LossReason::Forgotten),
        SupportDecision::Remove
    );
    let says = SupportDecision::Rewrite("用户说:「我养了猫」".to_owned());
    assert_eq!(corrected.support(&[false, true]).decide_after_loss(LossReason::Forgotten), says);
}

#[test]
fn new_memories_that_repeat_withdrawn_text_are_dropped() {
    let lines = [(Role::User, "我养了猫"), (Role::User, "叫小黑")];
    let cat = Memory::new(Subject::User, "用户养了猫,叫小黑", &lines);
    let says = SupportDecision::Rewrite("用户说:「我养了猫」".to_owned());
    assert_eq!(cat.support(&[false, true]).decide_after_loss(LossReason::Edited), says);
    let again = Memory { again: true, ..cat };
    assert_eq!(again.support(&[false, true]).decide_after_loss(LossReason::Edited), SupportDecision::Remove);
    assert_eq!(again.support(&[false, true]).decide_after_loss(LossReason::Forgotten), says);
    assert_eq!(again.support(&[false, false]).decide_after_loss(LossReason::Edited), SupportDecision::Keep);
}

#[test]
fn quotes_speak_for_themselves_with_their_speaker() {
    let quotes =
        [said_by(Role::User, "我养了一只猫"), said_by(Role::Persona, "I will ask about it on Monday")];
    assert_eq!(
        describe_support(&quotes, &[]),
        "用户说:「我养了一只猫」 The persona said: “I will ask about it on Monday”"
    );
    assert_eq!(describe_support(&[], &[]), "");
    let mentions =
        ["older", "plays chess"].map(|description| SupportingMention { description, is_left: true });
    assert_eq!(describe_support(&quotes, &mentions), "plays chess");
}

#[test]
fn mentions_are_at_least_one() {
    let counts = [(true, 2), (false, 2), (true, 0), (false, 0)].map(|(own, count)| mention_count(own, count));
    assert_eq!(counts, [3, 2, 1, 1]);
}

fn memories() -> impl Strategy<Value = Memory> {
    let line =
        (any::<bool>(), select(vec!["嗯", "yes", "我养了狗", "叫小黑", "I ran in Ulm", "a dog named Coal"]));
    let description = select(vec![
        "用户养了狗,叫小黑",
        "The user ran",
        "The user has a dog, Coal",
        "用户在 Ulm",
        "用户很高兴",
    ]);
    let subject = select(vec![Subject::User, Subject::Persona, Subject::Shared]);
    let lines = proptest::collection::vec(line, 0..5);
    (subject, description, lines, any::<bool>(), any::<bool>()).prop_map(
        |(subject, description, lines, word_of_person, again)| {
            let role = |user: bool| if user { Role::User } else { Role::Persona };
            let lines: Vec<(Role, &str)> = lines.into_iter().map(|(user, text)| (role(user), text)).collect();
            Memory { word_of_person, again, ..Memory::new(subject, description, &lines) }
        },
    )
}

fn losses() -> impl Strategy<Value = Vec<bool>> {
    proptest::collection::vec(any::<bool>(), 5)
}

proptest! {
    /// Removing quotes never makes an unsupported memory supported.
    #[test]
    fn less_never_proves_more(memory in memories(), lost in losses()) {
        let support = memory.support(&lost);
        let left: Vec<_> = support.quotes.iter().filter(|quote| quote.is_left).copied().collect();
        prop_assert!(quotes_prove(memory.subject, &support.quotes) || !quotes_prove(memory.subject, &left));
    }

    /// A memory that lost nothing does not change.
    #[test]
    fn no_loss_changes_nothing(memory in memories()) {
        for loss in [LossReason::Edited, LossReason::Forgotten] {
            prop_assert_eq!(memory.support(&[]).decide_after_loss(loss), SupportDecision::Keep);
        }
    }

    /// The remaining text has no term that only forgotten messages had, and the remaining messages support it.
    #[test]
    fn remaining_memories_contain_nothing_forgotten(memory in memories(), lost in losses()) {
        let support = memory.support(&lost);
        let says = match support.decide_after_loss(LossReason::Forgotten) {
            SupportDecision::Remove => return Ok(()),
            SupportDecision::Keep => memory.description.clone(),
            SupportDecision::Rewrite(text) => text,
        };
        prop_assert!(!support.loses_words(&says), "{says}");
        let left: Vec<_> = support.quotes.iter().filter(|quote| quote.is_left).copied().collect();
        let loses = left.len() < support.quotes.len();
        prop_assert!(!loses || memory.word_of_person || quotes_prove(memory.subject, &left));
    }

    /// Forgetting is the stricter rule: a memory that it does not change is not changed by an edit either.
    #[test]
    fn erasing_is_never_milder_than_editing(memory in memories(), lost in losses()) {
        let support = memory.support(&lost);
        if support.decide_after_loss(LossReason::Forgotten) == SupportDecision::Keep {
            prop_assert_eq!(support.decide_after_loss(LossReason::Edited), SupportDecision::Keep);
        }
    }

    /// The result does not depend on the order of forgetting, or on doing it at once.
    #[test]
    fn the_order_of_forgetting_does_not_matter(memory in memories(), first in losses(), then in losses()) {
        let at_once: Vec<bool> = first.iter().zip(&then).map(|(a, b)| *a || *b).collect();
        let rest = |lost: &[bool], next: &[bool]| -> Vec<bool> {
            lost.iter().zip(next).filter(|(gone, _)| !**gone).map(|(_, next)| *next).collect()
        };
        let one_way = memory.after_loss(&first).and_then(|left| left.after_loss(&rest(&first, &then)));
        let other_way = memory.after_loss(&then).and_then(|left| left.after_loss(&rest(&then, &first)));
        let visible = |left: Option<Memory>| left.map(|memory| (memory.description, memory.lines));
        let at_once = visible(memory.after_loss(&at_once));
        prop_assert_eq!(visible(one_way), at_once.clone());
        prop_assert_eq!(visible(other_way), at_once);
    }
}
