//! What one session leaves: drafts of events, and how many of them are told.

use serde::Serialize;
use serde_json::Value;

use super::super::sentences::Language;

/// Most events of one session, as the contract says.
pub(super) const MOST_EVENTS: usize = 3;
/// Most sentences of one description.
pub(super) const MOST_SENTENCES: usize = 3;
pub(super) const MOST_EMOTION_TAGS: usize = 4;
pub(super) const MOST_RELATIONAL_TAGS: usize = 3;
/// From this far on, an impact is joy or grief and no mere colour.
const FELT_IMPACT: i32 = 4;

#[derive(Serialize)]
pub(super) struct Event {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) description: String,
    pub(super) emotional_impact: i32,
    pub(super) emotion_tags: Vec<&'static str>,
    pub(super) relational_tags: Vec<&'static str>,
    pub(super) subject: &'static str,
    pub(super) event_time: Option<Value>,
    pub(super) evidence: Vec<Evidence>,
    pub(super) supersedes: Vec<String>,
    pub(super) entities: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Evidence {
    pub(super) message: String,
    pub(super) quote: String,
}

impl Event {
    /// Whether both can be told in one breath: plain things about the user, in one language, not joy with grief.
    fn stands_with(&self, other: &Event) -> bool {
        let plain = |event: &Event| event.kind == "event" && event.subject == "user";
        let heavy = self.emotional_impact.abs().min(other.emotional_impact.abs()) >= FELT_IMPACT;
        let opposed = heavy && self.emotional_impact.signum() != other.emotional_impact.signum();
        let sentences = self.evidence.len() + other.evidence.len();
        let one_language = Language::of(&self.description) == Language::of(&other.description);
        plain(self) && plain(other) && !opposed && one_language && sentences <= MOST_SENTENCES
    }

    fn take_in(&mut self, other: Event) {
        let language = Language::of(&self.description).unwrap_or(Language::English);
        if !self.description.trim_end_matches(['」', '"']).ends_with(['。', '.', '!', '！', '?', '？', '…'])
        {
            self.description.push_str(language.pick("。", "."));
        }
        self.description.push_str(language.pick("", " "));
        self.description.push_str(&other.description);
        if other.emotional_impact.abs() > self.emotional_impact.abs() {
            self.emotional_impact = other.emotional_impact;
        }
        merge(&mut self.emotion_tags, other.emotion_tags, MOST_EMOTION_TAGS);
        merge(&mut self.relational_tags, other.relational_tags, MOST_RELATIONAL_TAGS);
        merge(&mut self.entities, other.entities, usize::MAX);
        merge(&mut self.supersedes, other.supersedes, usize::MAX);
        self.evidence.extend(other.evidence);
    }

    pub(super) fn of_user(kind: &'static str, description: String) -> Event {
        Event {
            kind,
            description,
            emotional_impact: 0,
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            subject: "user",
            event_time: None,
            evidence: Vec::new(),
            supersedes: Vec::new(),
            entities: Vec::new(),
        }
    }
}

/// Makes at most [`MOST_EVENTS`] of the drafts, heaviest first: what exceeds them is told together in the last one, as
/// far as a description's sentences go. Returns how many were left out.
pub(super) fn gather(drafts: &mut Vec<Event>) -> usize {
    let beyond = drafts.split_off(drafts.len().min(MOST_EVENTS));
    let mut left_out = 0;
    for event in beyond {
        match drafts.last_mut() {
            Some(last) if last.stands_with(&event) => last.take_in(event),
            _ => left_out += 1,
        }
    }
    left_out
}

pub(super) fn merge<T: PartialEq>(into: &mut Vec<T>, more: Vec<T>, most: usize) {
    for item in more {
        if into.len() < most && !into.contains(&item) {
            into.push(item);
        }
    }
}
