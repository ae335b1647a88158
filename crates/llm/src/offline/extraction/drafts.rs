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
/// The tag of a core fact about who the user is.
pub(super) const IDENTITY_BEARING: &str = "identity-bearing";
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
    /// How much belongs together what both tell; `None` for what must not be told in one breath. Plain things about the
    /// user in one language do: what is about the same ones most, then who the user is, then what they like or what they
    /// don't, then the calm facts of a life. Joy and grief stand by themselves, and so does what the user dislikes.
    fn kinship(&self, other: &Event) -> Option<u8> {
        let plain = |event: &Event| event.kind == "event" && event.subject == "user";
        let felt = |event: &Event| event.emotional_impact.abs() >= FELT_IMPACT;
        let heavy = self.emotional_impact.abs().min(other.emotional_impact.abs()) >= FELT_IMPACT;
        let opposed = heavy && self.emotional_impact.signum() != other.emotional_impact.signum();
        let sentences = self.evidence.len() + other.evidence.len();
        let one_language = Language::of(&self.description) == Language::of(&other.description);
        if !plain(self) || !plain(other) || opposed || !one_language || sentences > MOST_SENTENCES {
            return None;
        }
        if self.entities.iter().any(|entity| other.entities.contains(entity)) {
            return Some(4);
        }
        if felt(self) || felt(other) {
            return None;
        }
        let identity = |event: &Event| event.relational_tags.contains(&IDENTITY_BEARING);
        let calm = |event: &Event| !event.emotion_tags.contains(&"dislike");
        match (identity(self) && identity(other), calm(self), calm(other)) {
            (true, true, true) => Some(3),
            (_, false, false) => Some(2),
            (_, true, true) if self.emotion_tags == other.emotion_tags => Some(2),
            (_, true, true) => Some(1),
            _ => None,
        }
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

/// Makes at most [`MOST_EVENTS`] of the drafts, heaviest first: what exceeds them is told together with what it belongs
/// to, as far as a description's sentences go, and else the lightest is left out. Returns how many were left out.
pub(super) fn gather(drafts: &mut Vec<Event>) -> usize {
    let mut left_out = 0;
    while drafts.len() > MOST_EVENTS {
        let pairs =
            (0..drafts.len()).flat_map(|first| (first + 1..drafts.len()).map(move |second| (first, second)));
        // Of equally near ones the lightest: the weighty keep their own words.
        let nearest = pairs
            .filter_map(|(first, second)| Some((drafts[first].kinship(&drafts[second])?, first, second)))
            .max_by_key(|(kinship, first, second)| (*kinship, *first, *second));
        match nearest {
            Some((_, first, second)) => {
                let taken = drafts.remove(second);
                drafts[first].take_in(taken);
            }
            None => {
                drafts.pop();
                left_out += 1;
            }
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
