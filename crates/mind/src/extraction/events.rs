//! The events of an answer: accepted ones, and refused ones with reasons.

use memory::nodes::{DESCRIPTION_LENGTH_MAX, NodeKind, Proposal, RejectedQuote, RelationalTag, Subject};
use memory::ports::{ProposedEvent, ProposedQuote, RefusedEvent};

use super::read::read_names;
use super::{ExtractionTask, event_time};
use crate::answer::{Impact, Member, Notes, snippet};
use crate::contract::{
    DESCRIPTION_LENGTH_SOFT, EMOTION_TAGS_MAX, EVENT_KINDS, EVENTS_MAX, EventAnswer, EvidenceAnswer,
    RELATIONAL_TAGS_MAX, SUBJECTS, subject_word,
};
use crate::quoted::unquote_prompt_text;

/// Maximum proposed events to check. The best three are selected; a longer list is a model that repeats itself.
const PROPOSALS_MAX: usize = 50;
/// Maximum quotes of one event. One is enough evidence; more let the event survive when one message is deleted.
const QUOTES_MAX: usize = 10;
/// Maximum length of a quote, in characters. It is the maximum of a description: no more is needed as evidence.
const QUOTE_LENGTH_MAX: usize = 2_000;
/// Maximum length of an emotion tag, in characters. Longer ones are sentences.
const EMOTION_TAG_LENGTH_MAX: usize = 40;
/// Maximum entities that one event is linked to. An event with more people is a list of guests, and each would recall
/// it.
const EVENT_ENTITIES_MAX: usize = 20;

/// Events that meet the contract, and those that violate it.
#[derive(Default)]
pub(super) struct ParsedEvents {
    pub(super) events: Vec<ProposedEvent>,
    pub(super) refused: Vec<RefusedEvent>,
}

impl ExtractionTask<'_> {
    pub(super) fn filter_events(&self, proposed: &[Member<EventAnswer>], notes: &mut Notes) -> ParsedEvents {
        let mut sifted = ParsedEvents::default();
        for event in proposed.iter().take(PROPOSALS_MAX) {
            match event.get() {
                Some(event) => self.filter_event(event, &mut sifted, notes),
                None => notes.add("an item of `events` is not an object, dropped"),
            }
        }
        if proposed.len() > PROPOSALS_MAX {
            notes.add(format!("more than {PROPOSALS_MAX} events, the rest dropped unread"));
        }
        retain_heaviest_events(&mut sifted.events, notes);
        sifted
    }

    fn filter_event(&self, event: &EventAnswer, sifted: &mut ParsedEvents, notes: &mut Notes) {
        let number = &event.emotional_impact;
        let reason = match (event.description.trimmed_text(), Impact::from_member(number)) {
            (None, _) => "it has no description".to_owned(),
            (Some(description), Impact::Valid(impact)) => {
                sifted.events.push(self.accept_event(event, description, impact, notes));
                return;
            }
            (_, Impact::OutOfRange(number)) => {
                format!("its emotional impact {} is beyond ±10", snippet(&number.to_string()))
            }
            (_, Impact::Fraction(number)) => format!("its emotional impact {number} is no whole number"),
            (_, Impact::NoNumber) => {
                let given = match number {
                    Member::Wrong(value) => snippet(&value.to_string()),
                    Member::Null => "null".to_owned(),
                    Member::Missing | Member::Present(_) => "missing".to_owned(),
                };
                format!("its emotional impact is no number ({given})")
            }
        };
        let description = event.description.trimmed_text().unwrap_or_default();
        notes.add(format!("event refused, {reason}: \"{}\"", snippet(description)));
        sifted.refused.push(RefusedEvent {
            description: notes.cut_text(description, DESCRIPTION_LENGTH_MAX, "description"),
            emotional_impact: number.get().copied(),
            evidence: self.refused_quotes(event),
            reason,
            proposal: self.read_proposal(event, notes),
        });
    }

    fn accept_event(
        &self,
        event: &EventAnswer,
        description: &str,
        emotional_impact: i8,
        notes: &mut Notes,
    ) -> ProposedEvent {
        let description = notes.cut_text(description, DESCRIPTION_LENGTH_MAX, "description");
        if description.chars().count() > DESCRIPTION_LENGTH_SOFT {
            notes.add(format!(
                "a description over {DESCRIPTION_LENGTH_SOFT} characters: \"{}\"",
                snippet(&description)
            ));
        }
        let Proposal { kind, subject, emotion_tags, relational_tags, event_time, .. } =
            self.read_proposal(event, notes);
        let mut entities = read_names(&event.entities, "entities", notes);
        entities.truncate(EVENT_ENTITIES_MAX);
        ProposedEvent {
            kind,
            description,
            emotional_impact,
            emotion_tags,
            relational_tags,
            subject,
            event_time,
            evidence: self.quotes(event, notes),
            supersedes: self.nodes.cited_ids(&event.supersedes, "memory", "supersedes", notes),
            entities,
        }
    }

    /// Fields of an event besides its text, its impact and its quotes.
    fn read_proposal(&self, event: &EventAnswer, notes: &mut Notes) -> Proposal {
        let (kind, subject) = kind_and_subject(event, notes);
        let event_time = event_time::read(&event.event_time, self.zone()).unwrap_or_else(|reason| {
            let description = event.description.trimmed_text().unwrap_or_default();
            notes.add(format!("event_time dropped, {reason}: \"{}\"", snippet(description)));
            None
        });
        let emotion_tags = emotion_tags(event, notes);
        let relational_tags = relational_tags(event, notes);
        Proposal { kind, subject, emotion_tags, relational_tags, event_time, source: None }
    }

    fn quotes(&self, event: &EventAnswer, notes: &mut Notes) -> Vec<ProposedQuote> {
        let mut quotes: Vec<ProposedQuote> = Vec::new();
        for item in event.evidence.read("an object", "evidence", notes) {
            let handle = item.message.trimmed_text().unwrap_or_default();
            let Some(quote) = quote_of(item) else {
                notes.add("evidence without a quote, dropped");
                continue;
            };
            let Some(message_id) = self.messages.id(handle) else {
                notes.add(format!("unknown message \"{}\" as evidence, dropped", snippet(handle)));
                continue;
            };
            let proposed = ProposedQuote { message_id, quote };
            if quotes.len() < QUOTES_MAX && !quotes.contains(&proposed) {
                quotes.push(proposed);
            }
        }
        quotes
    }

    fn refused_quotes(&self, event: &EventAnswer) -> Vec<RejectedQuote> {
        let items = event.evidence.read("an object", "evidence", &mut Notes::default());
        let quotes = items.into_iter().filter_map(|item| {
            let handle = item.message.trimmed_text().unwrap_or_default();
            Some(RejectedQuote { message_id: self.messages.id(handle), quote: quote_of(item)? })
        });
        quotes.take(QUOTES_MAX).collect()
    }
}

/// Keeps the events with the highest |impact|, in their order; of equal ones the earlier.
fn retain_heaviest_events(events: &mut Vec<ProposedEvent>, notes: &mut Notes) {
    while events.len() > EVENTS_MAX {
        let weight = |event: &ProposedEvent| event.emotional_impact.unsigned_abs();
        let lightest = (0..events.len()).rev().min_by_key(|index| events.get(*index).map(weight));
        let Some(index) = lightest else { return };
        let dropped = events.remove(index);
        notes.add(format!(
            "more than {EVENTS_MAX} events, the lightest dropped: \"{}\"",
            snippet(&dropped.description)
        ));
    }
}

/// Kind and subject of an event. A promise is always the persona's own; a promise of somebody else becomes an event.
fn kind_and_subject(event: &EventAnswer, notes: &mut Notes) -> (NodeKind, Subject) {
    let named_kind = event.kind.lower_case_word();
    let kind = EVENT_KINDS.into_iter().find(|kind| Some(kind.as_str()) == named_kind.as_deref());
    if let (None, Some(unknown)) = (kind, &named_kind) {
        notes.add(format!("type \"{}\" is unknown, taken as event", snippet(unknown)));
    }
    let named_subject = event.subject.lower_case_word();
    let subject =
        SUBJECTS.into_iter().find(|subject| Some(subject_word(*subject)) == named_subject.as_deref());
    if let (None, Some(unknown)) = (subject, &named_subject) {
        notes.add(format!("subject \"{}\" is unknown, taken as user", snippet(unknown)));
    }
    match (kind.unwrap_or(NodeKind::Event), subject) {
        (NodeKind::Intention, None) if named_subject.is_none() => (NodeKind::Intention, Subject::Persona),
        (NodeKind::Intention, Some(Subject::Persona)) => (NodeKind::Intention, Subject::Persona),
        (NodeKind::Intention, other) => {
            notes.add("an intention that is not the persona's own, taken as event");
            (NodeKind::Event, other.unwrap_or_default())
        }
        (kind, subject) => (kind, subject.unwrap_or_default()),
    }
}

fn emotion_tags(event: &EventAnswer, notes: &mut Notes) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in event.emotion_tags.trimmed_texts("emotion_tags", notes) {
        let tag = tag.to_lowercase();
        if tag.chars().count() > EMOTION_TAG_LENGTH_MAX {
            notes.add(format!("emotion tag too long, dropped: \"{}\"", snippet(&tag)));
        } else if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    notes.cut_list(&mut tags, EMOTION_TAGS_MAX, "emotion tags");
    tags
}

fn relational_tags(event: &EventAnswer, notes: &mut Notes) -> Vec<RelationalTag> {
    let mut tags = Vec::new();
    for word in event.relational_tags.trimmed_texts("relational_tags", notes) {
        match RelationalTag::parse(word) {
            Some(tag) if !tags.contains(&tag) => tags.push(tag),
            Some(_) => {}
            None => notes.add(format!("relational tag \"{}\" is unknown, dropped", snippet(word))),
        }
    }
    notes.cut_list(&mut tags, RELATIONAL_TAGS_MAX, "relational tags");
    tags
}

fn quote_of(evidence: &EvidenceAnswer) -> Option<String> {
    let quote = unquote_prompt_text(evidence.quote.trimmed_text()?);
    let quote: String = quote.chars().take(QUOTE_LENGTH_MAX).collect();
    (!quote.trim().is_empty()).then_some(quote)
}
