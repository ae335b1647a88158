//! Checks evidence: every quote is looked up in the session's own messages, by the required speaker.

use super::assent::answered_question;
use super::attribution::other_person_of_quote;
use super::echo::{EchoedText, is_echo, is_said_before};
use crate::identifiers::MessageId;
use crate::messages::{Message, Role};
use crate::nodes::{Evidence, NodeKind, Proposal, RejectedQuote, Subject};
use crate::ports::{EvidenceFailure, ProposedEvent, ProposedQuote};
use crate::text::lexicon::consolidation as lexicon;
use crate::text::{
    Utterance, ends_in_question, find_quote, fold, is_other_language, names_due_time, split_sentences,
};

/// Minimum length of a meaningful quote, in characters without white space. A whole message may be shorter.
const QUOTE_LENGTH_MIN: usize = 2;

/// A proposed event with the result of its check.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CheckedEvent {
    pub(super) event: ProposedEvent,
    pub(super) evidence: Vec<Evidence>,
    /// Quotes that were rejected, with the reasons.
    pub(super) failures: Vec<EvidenceFailure>,
}

impl CheckedEvent {
    /// True if the event has quotes and all of them are valid.
    pub(super) fn has_only_valid_quotes(&self) -> bool {
        self.failures.is_empty() && !self.evidence.is_empty()
    }

    /// The proposed quotes, for a person to see.
    pub(super) fn proposed_quotes(&self) -> Vec<RejectedQuote> {
        let quote =
            |q: &ProposedQuote| RejectedQuote { message_id: Some(q.message_id), quote: q.quote.clone() };
        self.event.evidence.iter().map(quote).collect()
    }

    /// The event's other fields, besides its text, impact and quotes.
    pub(super) fn to_proposal(&self) -> Proposal {
        Proposal {
            kind: self.event.kind,
            subject: self.event.subject,
            emotion_tags: self.event.emotion_tags.clone(),
            relational_tags: self.event.relational_tags.clone(),
            event_time: self.event.event_time,
            source: None,
        }
    }

    /// The reason for the event's rejection, in a sentence.
    pub(super) fn rejection_reason(&self) -> String {
        match self.failures.first() {
            Some(failure) => failure.reason.clone(),
            None => "no quote was given".to_owned(),
        }
    }
}

/// The texts in which quotes are looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvidenceSources<'a> {
    /// The session's messages, oldest first.
    pub(super) messages: &'a [Message],
    /// Memories that were in the prompts of this session. A user's repetition of one is no evidence.
    pub(super) recalled: &'a [String],
    /// Folded names of people in the user's life.
    pub(super) people: &'a [String],
}

/// Looks up every quote of the event. A quote found in another message of the same speaker is accepted too, because
/// only its words matter.
pub(super) fn check(event: ProposedEvent, grounds: EvidenceSources<'_>) -> CheckedEvent {
    let mut evidence: Vec<Evidence> = Vec::new();
    let mut failures = Vec::new();
    let failure = |quote: &str, reason: String| EvidenceFailure {
        description: event.description.clone(),
        quote: quote.to_owned(),
        reason,
    };
    for proposed in &event.evidence {
        match locate_quote(proposed, &event, grounds) {
            Ok(found) if evidence.contains(&found) => {}
            Ok(found) => evidence.push(found),
            Err(reason) => failures.push(failure(&proposed.quote, reason)),
        }
    }
    if event.evidence.is_empty() {
        failures.push(failure("", "no quote was given".to_owned()));
    }
    match unfounded_reason(&event, &evidence, grounds) {
        Ok(context) => evidence.extend(context.filter(|context| !evidence.contains(context))),
        Err(reason) => {
            evidence.clear();
            failures.push(failure("", reason));
        }
    }
    CheckedEvent { event, evidence, failures }
}

/// Checks if individually valid quotes support the event together. `Ok` has the question that must be added as
/// evidence for a bare yes.
fn unfounded_reason(
    event: &ProposedEvent,
    evidence: &[Evidence],
    grounds: EvidenceSources<'_>,
) -> Result<Option<Evidence>, String> {
    if let Some(reason) = broken_promise_rule(event, evidence, grounds.messages) {
        return Err(reason);
    }
    if event.subject != Subject::User {
        return Ok(None);
    }
    let mut whose = evidence.iter().filter_map(|quote| {
        let message = grounds.messages.iter().find(|message| message.id == quote.message_id)?;
        Some(other_person_of_quote(
            &event.description,
            &message.content,
            quote.start as usize,
            grounds.people,
        ))
    });
    // One quote of the user is enough.
    if let Some(Some(somebody)) = whose.next()
        && whose.all(|other| other.is_some())
    {
        return Err(format!(
            "the quote is about someone else ({somebody}), but the description says that it is about the \
                user: name whom it is about"
        ));
    }
    answered_question(&event.description, evidence, grounds.messages)
}

/// The quoted words as written in the message, with their position, if the speaker is the one that the subject
/// requires.
pub fn evidence_for_quote(message: &Message, quote: &str, subject: Subject) -> Option<Evidence> {
    if !may_be_source(message.role, subject) {
        return None;
    }
    let (start, end) = find_quote(&message.content, quote)?;
    let span = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
    let quote: String = message.content.chars().skip(start).take(end - start).collect();
    Some(Evidence { message_id: message.id, quote, start: span(start), end: span(end) })
}

/// True if a speaker can be evidence: the user for statements about the user, the persona for its own intentions,
/// either for both. Others never are.
fn may_be_source(role: Role, subject: Subject) -> bool {
    match subject {
        Subject::User => role == Role::User,
        Subject::Persona => role == Role::Persona,
        Subject::Shared => role != Role::Other,
    }
}

fn locate_quote(
    proposed: &ProposedQuote,
    event: &ProposedEvent,
    grounds: EvidenceSources<'_>,
) -> Result<Evidence, String> {
    let messages = grounds.messages;
    let named = messages.iter().find(|message| message.id == proposed.message_id);
    let whole = named.is_some_and(|message| message.content.trim() == proposed.quote.trim());
    let length = proposed.quote.chars().filter(|c| !c.is_whitespace()).count();
    if length < QUOTE_LENGTH_MIN && !whole {
        return Err("the quote is too short to prove anything".to_owned());
    }
    let found = named.into_iter().chain(messages);
    let mut echoed = false;
    for message in found {
        let Some(evidence) = evidence_for_quote(message, &proposed.quote, event.subject) else { continue };
        if event.subject == Subject::User && is_only_repeated(message, &evidence, grounds) {
            echoed = true;
            continue;
        }
        return Ok(evidence);
    }
    if echoed {
        return Err(
            "the quote only repeats the persona or an old memory: quote the user's own words".to_owned()
        );
    }
    if messages.iter().any(|message| find_quote(&message.content, &proposed.quote).is_some()) {
        return Err("the quote was said by someone else".to_owned());
    }
    Err("the quote does not appear in the conversation".to_owned())
}

/// True if the user's words only repeat what the persona said before, or a memory in the persona's prompt, and the
/// user had not said so before.
fn is_only_repeated(message: &Message, evidence: &Evidence, grounds: EvidenceSources<'_>) -> bool {
    let (start, end) = (evidence.start as usize, evidence.end as usize);
    let before = |id: MessageId| grounds.messages.iter().take_while(move |other| other.id != id);
    let copies = |message: &Message, start, end| {
        let of_persona = before(message.id).filter(|other| other.role == Role::Persona);
        let of_persona = of_persona.map(|other| EchoedText::Persona(&other.content));
        let recalled = grounds.recalled.iter().map(|text| EchoedText::Memory(text));
        is_echo(message, start, end, &of_persona.chain(recalled).collect::<Vec<_>>())
    };
    let own = |other: &&Message| {
        other.role == Role::User
            && is_said_before(other, message, start, end)
            && !copies(other, 0, other.content.chars().count())
    };
    copies(message, start, end) && !before(message.id).any(|other| own(&other))
}

/// Checks a promise of the persona: one valid quote must contain an explicit commitment and a time, and the session
/// no refusal. The model's time alone is not enough, as it may be invented. In languages whose words for commitment
/// and time are not known here, it is accepted.
fn broken_promise_rule(event: &ProposedEvent, found: &[Evidence], messages: &[Message]) -> Option<String> {
    if event.kind != NodeKind::Intention || event.subject != Subject::Persona {
        return None;
    }
    let is_read = |quote: &Evidence| !is_other_language(&quote.quote);
    if event.event_time.is_some() && !found.is_empty() && !found.iter().any(is_read) {
        return None;
    }
    let committing =
        || found.iter().map(|evidence| evidence.quote.as_str()).filter(|quote| is_commitment(quote));
    if committing().next().is_none() {
        return Some("an intention needs a commitment in the persona's own words".to_owned());
    }
    if !committing().any(names_due_time) {
        return Some("an intention needs a time in the quoted commitment".to_owned());
    }
    let refused = messages.iter().any(|m| m.role == Role::Persona && is_refusal(&m.content));
    refused.then(|| "the persona refused in the same conversation".to_owned())
}

/// True if a sentence of the text is a commitment: it has words of commitment, no hedge, and is not a question.
pub(super) fn is_commitment(text: &str) -> bool {
    split_sentences(text).into_iter().any(|sentence| {
        let said = Utterance::new(sentence);
        said.says_any(lexicon::COMMITMENT) && !said.says_any(lexicon::HEDGE) && !ends_in_question(sentence)
    })
}

/// True if the text is a refusal. "I can't wait" is not.
fn is_refusal(text: &str) -> bool {
    let folded = fold(text);
    let refusing = lexicon::NO_REFUSAL.iter().fold(folded, |text, phrase| text.replace(phrase, " "));
    Utterance::new(&refusing).says_any(lexicon::REFUSAL)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{persona_says, user_says};
    use super::*;

    fn check(event: ProposedEvent, messages: &[Message]) -> CheckedEvent {
        super::check(event, EvidenceSources { messages, recalled: &[], people: &[] })
    }

    fn event(subject: Subject, quotes: &[(&Message, &str)]) -> ProposedEvent {
        ProposedEvent {
            kind: NodeKind::Event,
            description: "d".to_owned(),
            emotional_impact: 2,
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            subject,
            event_time: None,
            evidence: quotes
                .iter()
                .map(|(message, quote)| ProposedQuote { message_id: message.id, quote: (*quote).to_owned() })
                .collect(),
            supersedes: Vec::new(),
            entities: Vec::new(),
        }
    }

    #[test]
    fn a_quote_is_found_with_its_span_and_as_it_stands() {
        let said = user_says("我养了只白猫,\n 叫小黑。");
        let checked = check(event(Subject::User, &[(&said, "白猫, 叫小黑")]), std::slice::from_ref(&said));
        assert!(checked.has_only_valid_quotes());
        assert_eq!(checked.evidence[0].quote, "白猫,\n 叫小黑");
        assert_eq!((checked.evidence[0].start, checked.evidence[0].end), (4, 12));
    }

    #[test]
    fn invented_words_and_words_of_the_other_side_do_not_hold() {
        let (user, persona) = (user_says("I like tea"), persona_says("You must love hiking"));
        let messages = [user.clone(), persona.clone()];
        let invented = check(event(Subject::User, &[(&user, "I like coffee")]), &messages);
        assert!(invented.evidence.is_empty());
        assert!(invented.rejection_reason().contains("does not appear"));
        let guessed = check(event(Subject::User, &[(&persona, "love hiking")]), &messages);
        assert!(guessed.evidence.is_empty());
        assert!(guessed.rejection_reason().contains("said by someone else"));
        assert!(
            check(event(Subject::Shared, &[(&persona, "love hiking")]), &messages).has_only_valid_quotes()
        );
        assert!(check(event(Subject::User, &[]), &messages).evidence.is_empty());
    }

    #[test]
    fn words_of_others_prove_nothing() {
        let said = user_says("we went to the lake");
        let other =
            Message { role: Role::Other, speaker: Some("Tom".to_owned()), ..persona_says("I quit my job") };
        let messages = [said.clone(), other.clone()];
        for subject in [Subject::User, Subject::Persona, Subject::Shared] {
            let checked = check(event(subject, &[(&other, "quit my job")]), &messages);
            assert!(
                checked.evidence.is_empty() && checked.rejection_reason().contains("said by someone else"),
                "{subject:?}"
            );
        }
        let both = check(event(Subject::Shared, &[(&said, "to the lake"), (&other, "my job")]), &messages);
        assert!(!both.has_only_valid_quotes() && both.evidence.len() == 1);
    }

    #[test]
    fn a_wrong_handle_is_mended_when_the_speaker_is_right() {
        let (first, second) = (user_says("good morning"), user_says("my cat is called Tom"));
        let messages = [first.clone(), second.clone()];
        let checked = check(event(Subject::User, &[(&first, "called Tom")]), &messages);
        assert_eq!(checked.evidence[0].message_id, second.id);
    }

    #[test]
    fn one_character_shows_nothing_unless_it_was_all_that_was_said() {
        let (long, short) = (user_says("我养了猫"), user_says("猫"));
        let messages = [long.clone(), short.clone()];
        assert!(check(event(Subject::User, &[(&long, "猫")]), &messages).evidence.is_empty());
        assert!(check(event(Subject::User, &[(&short, "猫")]), &messages).has_only_valid_quotes());
    }

    #[test]
    fn a_promise_needs_commitment_and_time_and_no_refusal() {
        let intention = |message: &Message, quote: &str| ProposedEvent {
            kind: NodeKind::Intention,
            ..event(Subject::Persona, &[(message, quote)])
        };
        let promise = persona_says("I'll ask you about it tomorrow");
        let vague = persona_says("I'll think of you");
        let wish = persona_says("maybe tomorrow would be nice");
        let refusal = persona_says("I can't do that");
        let holds = |message: &Message, all: &[Message]| {
            check(intention(message, &message.content), all).has_only_valid_quotes()
        };
        assert!(holds(&promise, std::slice::from_ref(&promise)));
        assert!(!holds(&vague, std::slice::from_ref(&vague)), "no time");
        assert!(!holds(&wish, std::slice::from_ref(&wish)), "no commitment");
        assert!(!holds(&promise, &[promise.clone(), refusal]), "refused in the same conversation");
    }

    #[test]
    fn promises_are_recognised_in_both_languages() {
        let holds = |quoted: &str, others: &[&str]| {
            let said = persona_says(quoted);
            let others = others.iter().map(|text| persona_says(text));
            let all: Vec<Message> = std::iter::once(said.clone()).chain(others).collect();
            let promise = ProposedEvent {
                kind: NodeKind::Intention,
                // A time invented by the model does not count.
                event_time: Some(crate::nodes::EventTime { start: jiff::Timestamp::UNIX_EPOCH, end: None }),
                ..event(Subject::Persona, &[(&said, quoted)])
            };
            check(promise, &all).has_only_valid_quotes()
        };
        for kept in
            ["我明天会问你,我答应你", "我会下周再问你一次", "I will ask you on Friday", "I promise, tomorrow"]
        {
            assert!(holds(kept, &[]), "{kept}");
            assert!(holds(kept, &["I can't wait!", "我不会忘的"]), "no refusal: {kept}");
            assert!(!holds(kept, &["恐怕不行"]) && !holds(kept, &["I can't do that"]), "refused: {kept}");
        }
        for none in [
            "我会想你的",
            "明天天气不错",
            "也许我会明天问你",
            "我会明天问你吗?",
            "I'll be there for you",
            "Maybe I'll ask you tomorrow",
        ] {
            assert!(!holds(none, &[]), "{none}");
        }
    }

    #[test]
    fn in_other_languages_the_models_own_time_carries_the_promise() {
        let time = crate::nodes::EventTime { start: jiff::Timestamp::UNIX_EPOCH, end: None };
        for quoted in
            ["Ich erinnere dich morgen um acht daran.", "Je te le rappellerai demain à huit heures."]
        {
            let said = persona_says(quoted);
            let holds = |event_time| {
                let promise = ProposedEvent {
                    kind: NodeKind::Intention,
                    event_time,
                    ..event(Subject::Persona, &[(&said, quoted)])
                };
                check(promise, std::slice::from_ref(&said)).has_only_valid_quotes()
            };
            assert!(holds(Some(time)), "{quoted}");
            assert!(!holds(None), "no time: {quoted}");
        }
    }

    #[test]
    fn commitments_that_nobody_made_are_no_promises() {
        let said = persona_says("see you tomorrow");
        let promise = ProposedEvent {
            kind: NodeKind::Intention,
            ..event(Subject::Persona, &[(&said, "I promise, tomorrow"), (&said, "see you tomorrow")])
        };
        let checked = check(promise, std::slice::from_ref(&said));
        assert!(checked.evidence.is_empty() && !checked.failures.is_empty());
    }
}
