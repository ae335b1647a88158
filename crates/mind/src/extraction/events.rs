//! The events of an answer: which stand, which a person has to look at, and why.

use memory::identifiers::NodeId;
use memory::nodes::{DESCRIPTION_LENGTH_MAX, NodeKind, Proposal, RejectedQuote, RelationalTag, Subject};
use memory::ports::{ProposedEvent, ProposedQuote, RefusedEvent};
use serde_json::{Map, Value};

use super::read::names;
use super::{ExtractionTask, event_time};
use crate::contract::{
    DESCRIPTION_LENGTH_SOFT, EMOTION_TAGS_MAX, EVENT_KINDS, EVENTS_MAX, RELATIONAL_TAGS_MAX, SUBJECTS,
    subject_word,
};
use crate::fields::{Impact, Notes, bounded, impact, objects, snippet, strings, text};
use crate::quoted::as_written;

/// Most proposed events that are looked at.
const PROPOSALS_MAX: usize = 50;
/// Most quotes of one event.
const QUOTES_MAX: usize = 10;
/// Longest quote, in characters.
const QUOTE_LENGTH_MAX: usize = 2_000;
/// Longest emotion tag, in characters.
const EMOTION_TAG_LENGTH_MAX: usize = 40;
/// Most entities that one event is linked to.
const EVENT_ENTITIES_MAX: usize = 20;

/// The events that keep the contract, and those that broke it.
#[derive(Default)]
pub(super) struct ParsedEvents {
    pub(super) events: Vec<ProposedEvent>,
    pub(super) refused: Vec<RefusedEvent>,
}

impl ExtractionTask<'_> {
    pub(super) fn sift_events(&self, proposed: &[Value], notes: &mut Notes) -> ParsedEvents {
        let mut sifted = ParsedEvents::default();
        for value in proposed.iter().take(PROPOSALS_MAX) {
            match value.as_object() {
                Some(event) => self.sift(event, &mut sifted, notes),
                None => notes.add("an item of `events` is no object, dropped"),
            }
        }
        if proposed.len() > PROPOSALS_MAX {
            notes.add(format!("more than {PROPOSALS_MAX} events, the rest dropped unread"));
        }
        keep_heaviest(&mut sifted.events, notes);
        sifted
    }

    fn sift(&self, event: &Map<String, Value>, sifted: &mut ParsedEvents, notes: &mut Notes) {
        let description = text(event, "description");
        let number = event.get("emotional_impact");
        let reason = match (&description, impact(number)) {
            (None, _) => "it has no description".to_owned(),
            (Some(_), Impact::Valid(impact)) => {
                let description = description.unwrap_or_default();
                sifted.events.push(self.accept(event, description, impact, notes));
                return;
            }
            (_, Impact::OutOfRange(number)) => {
                format!("its emotional impact {} is beyond ±10", snippet(&number.to_string()))
            }
            (_, Impact::Fraction(number)) => format!("its emotional impact {number} is no whole number"),
            (_, Impact::NoNumber) => {
                let given = number.map_or_else(|| "missing".to_owned(), |value| snippet(&value.to_string()));
                format!("its emotional impact is no number ({given})")
            }
        };
        let description = description.unwrap_or_default();
        notes.add(format!("event refused, {reason}: \"{}\"", snippet(&description)));
        sifted.refused.push(RefusedEvent {
            description: bounded(description, DESCRIPTION_LENGTH_MAX, "description", notes),
            emotional_impact: number.and_then(Value::as_f64),
            evidence: self.refused_quotes(event),
            reason,
            proposal: self.proposal(event, notes),
        });
    }

    fn accept(
        &self,
        event: &Map<String, Value>,
        description: String,
        emotional_impact: i8,
        notes: &mut Notes,
    ) -> ProposedEvent {
        let description = bounded(description, DESCRIPTION_LENGTH_MAX, "description", notes);
        if description.chars().count() > DESCRIPTION_LENGTH_SOFT {
            notes.add(format!(
                "a description over {DESCRIPTION_LENGTH_SOFT} characters: \"{}\"",
                snippet(&description)
            ));
        }
        let Proposal { kind, subject, emotion_tags, relational_tags, event_time } =
            self.proposal(event, notes);
        let mut entities = names(event, "entities", notes);
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
            supersedes: self.superseded(event, notes),
            entities,
        }
    }

    /// What an event says of itself beside its text, its impact and its quotes.
    fn proposal(&self, event: &Map<String, Value>, notes: &mut Notes) -> Proposal {
        let (kind, subject) = kind_and_subject(event, notes);
        let event_time = event.get("event_time").and_then(|value| {
            event_time::read(value, self.zone()).unwrap_or_else(|reason| {
                let description = text(event, "description").unwrap_or_default();
                notes.add(format!("event_time dropped, {reason}: \"{}\"", snippet(&description)));
                None
            })
        });
        let emotion_tags = emotion_tags(event, notes);
        Proposal { kind, subject, emotion_tags, relational_tags: relational_tags(event, notes), event_time }
    }

    fn quotes(&self, event: &Map<String, Value>, notes: &mut Notes) -> Vec<ProposedQuote> {
        let mut quotes: Vec<ProposedQuote> = Vec::new();
        for item in objects(event, "evidence", notes) {
            let handle = text(item, "message").unwrap_or_default();
            let Some(quote) = quote(item) else {
                notes.add("evidence without a quote, dropped");
                continue;
            };
            let Some(message_id) = self.messages.id(&handle) else {
                notes.add(format!("unknown message \"{}\" as evidence, dropped", snippet(&handle)));
                continue;
            };
            let proposed = ProposedQuote { message_id, quote };
            if quotes.len() < QUOTES_MAX && !quotes.contains(&proposed) {
                quotes.push(proposed);
            }
        }
        quotes
    }

    fn refused_quotes(&self, event: &Map<String, Value>) -> Vec<RejectedQuote> {
        let items = objects(event, "evidence", &mut Notes::default());
        let quotes = items.into_iter().filter_map(|item| {
            let handle = text(item, "message").unwrap_or_default();
            Some(RejectedQuote { message_id: self.messages.id(&handle), quote: quote(item)? })
        });
        quotes.take(QUOTES_MAX).collect()
    }

    fn superseded(&self, event: &Map<String, Value>, notes: &mut Notes) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        for handle in strings(event, "supersedes", notes) {
            match self.nodes.id(&handle) {
                Some(node) if !nodes.contains(&node) => nodes.push(node),
                Some(_) => {}
                None => notes.add(format!("unknown memory \"{}\" in supersedes, dropped", snippet(&handle))),
            }
        }
        nodes
    }
}

/// Keeps the events of highest |impact|, in their order; of equals the earlier one.
fn keep_heaviest(events: &mut Vec<ProposedEvent>, notes: &mut Notes) {
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

/// A promise is always the persona's own; what was called a promise of somebody else is an event.
fn kind_and_subject(event: &Map<String, Value>, notes: &mut Notes) -> (NodeKind, Subject) {
    let word = |name| text(event, name).map(|word| word.to_lowercase());
    let named_kind = word("type");
    let kind = EVENT_KINDS.into_iter().find(|kind| Some(kind.as_str()) == named_kind.as_deref());
    if let (None, Some(unknown)) = (kind, &named_kind) {
        notes.add(format!("type \"{}\" is unknown, taken as event", snippet(unknown)));
    }
    let named_subject = word("subject");
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

fn emotion_tags(event: &Map<String, Value>, notes: &mut Notes) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in strings(event, "emotion_tags", notes) {
        let tag = tag.to_lowercase();
        if tag.chars().count() > EMOTION_TAG_LENGTH_MAX {
            notes.add(format!("emotion tag too long, dropped: \"{}\"", snippet(&tag)));
        } else if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    cap(&mut tags, EMOTION_TAGS_MAX, "emotion tags", notes);
    tags
}

fn relational_tags(event: &Map<String, Value>, notes: &mut Notes) -> Vec<RelationalTag> {
    let mut tags = Vec::new();
    for word in strings(event, "relational_tags", notes) {
        match RelationalTag::parse(&word) {
            Some(tag) if !tags.contains(&tag) => tags.push(tag),
            Some(_) => {}
            None => notes.add(format!("relational tag \"{}\" is unknown, dropped", snippet(&word))),
        }
    }
    cap(&mut tags, RELATIONAL_TAGS_MAX, "relational tags", notes);
    tags
}

fn cap<T>(items: &mut Vec<T>, most: usize, what: &str, notes: &mut Notes) {
    if items.len() > most {
        notes.add(format!("more than {most} {what}, the rest dropped"));
        items.truncate(most);
    }
}

fn quote(item: &Map<String, Value>) -> Option<String> {
    let quote = as_written(&text(item, "quote")?);
    let quote: String = quote.chars().take(QUOTE_LENGTH_MAX).collect();
    (!quote.trim().is_empty()).then_some(quote)
}
