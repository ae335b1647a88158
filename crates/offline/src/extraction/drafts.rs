//! Drafts of a session's events, merged down to the allowed number.

use serde::Serialize;
use serde_json::Value;

use super::super::sentences::Language;

/// Maximum events of one session, as in the contract.
pub(super) const EVENTS_MAX: usize = 3;
/// Maximum sentences of one description. The first ones say what a longer story is about.
pub(super) const SENTENCES_MAX: usize = 3;
pub(super) const EMOTION_TAGS_MAX: usize = 4;
pub(super) const RELATIONAL_TAGS_MAX: usize = 3;
/// The tag of a core fact about who the user is.
pub(super) const IDENTITY_BEARING: &str = "identity-bearing";
/// Minimum |impact| of joy or grief. Everyday events have less.
const JOY_OR_GRIEF_IMPACT_MIN: i32 = 4;

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
    fn kinship_with(&self, other: &Event) -> Option<u8> {
        let plain = |event: &Event| event.kind == "event" && event.subject == "user";
        let felt = |event: &Event| event.emotional_impact.abs() >= JOY_OR_GRIEF_IMPACT_MIN;
        let heavy = self.emotional_impact.abs().min(other.emotional_impact.abs()) >= JOY_OR_GRIEF_IMPACT_MIN;
        let opposed = heavy && self.emotional_impact.signum() != other.emotional_impact.signum();
        let sentences = self.evidence.len() + other.evidence.len();
        if sentences > SENTENCES_MAX || opposed || !plain(self) || !plain(other) {
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

    fn merge_event(&mut self, other: Event) {
        let language = Language::from_text(&self.description).unwrap_or_default();
        if !self.description.trim_end_matches(['」', '"']).ends_with(['。', '.', '!', '！', '?', '？', '…'])
        {
            self.description.push_str(language.choose("。", "."));
        }
        self.description.push_str(language.choose("", " "));
        self.description.push_str(&other.description);
        if other.emotional_impact.abs() > self.emotional_impact.abs() {
            self.emotional_impact = other.emotional_impact;
        }
        merge(&mut self.emotion_tags, other.emotion_tags, EMOTION_TAGS_MAX);
        merge(&mut self.relational_tags, other.relational_tags, RELATIONAL_TAGS_MAX);
        merge(&mut self.entities, other.entities, usize::MAX);
        merge(&mut self.supersedes, other.supersedes, usize::MAX);
        self.evidence.extend(other.evidence);
    }

    pub(super) fn user_event(kind: &'static str, description: String) -> Event {
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

/// Reduces the drafts to at most [`EVENTS_MAX`], those of the highest impact: others are merged into related ones as
/// far as the limit of sentences allows, else the one with the lowest impact is dropped. Returns the number of
/// dropped drafts.
pub(super) fn limit_events(drafts: &mut Vec<Event>) -> usize {
    if drafts.len() <= EVENTS_MAX {
        return 0;
    }
    let mut gathering = DraftMerger::from_drafts(std::mem::take(drafts));
    while gathering.waiting > EVENTS_MAX && gathering.merge_nearest_pair() {}
    drafts.extend(gathering.drafts.into_iter().flatten().map(|(event, _)| event));
    // No drafts are related any more.
    let left_out = drafts.len().saturating_sub(EVENTS_MAX);
    drafts.truncate(EVENTS_MAX);
    left_out
}

/// Maximum kinship of two drafts.
const KINSHIP_MAX: u8 = 4;

/// Merges related drafts. The nearest draft of each is computed once, and again only if that one changes, because a
/// long conversation has thousands of drafts.
struct DraftMerger {
    /// Drafts in their order, with their language; `None` for one that was merged into another.
    drafts: Vec<Option<(Event, Option<Language>)>>,
    /// For each draft the nearest later one, with their kinship; of equally near ones the one with the lowest impact,
    /// so that important drafts keep their own wording.
    nearest: Vec<Option<(u8, usize)>>,
    /// Number of drafts that are left.
    waiting: usize,
}

impl DraftMerger {
    fn from_drafts(drafts: Vec<Event>) -> Self {
        let with_language = |event: Event| {
            let language = Language::from_text(&event.description);
            Some((event, language))
        };
        let drafts: Vec<_> = drafts.into_iter().map(with_language).collect();
        let waiting = drafts.len();
        let mut gathering = Self { drafts, nearest: Vec::new(), waiting };
        gathering.nearest =
            (0..waiting).map(|first| gathering.find_nearest_after(first, waiting, KINSHIP_MAX)).collect();
        gathering
    }

    /// Merges the two most similar events; false if no two belong together.
    fn merge_nearest_pair(&mut self) -> bool {
        let pairs = self.nearest.iter().enumerate();
        let nearest =
            pairs.filter_map(|(first, found)| found.map(|(kinship, second)| (kinship, first, second)));
        let Some((_, first, second)) = nearest.max() else { return false };
        let Some((taken, _)) = self.drafts[second].take() else { return false };
        self.nearest[second] = None;
        self.waiting -= 1;
        if let Some((event, language)) = &mut self.drafts[first] {
            event.merge_event(taken);
            *language = Language::from_text(&event.description);
        }
        self.nearest[first] = self.find_nearest_after(first, self.drafts.len(), KINSHIP_MAX);
        for place in 0..second {
            let Some((kinship, partner)) = self.nearest[place] else {
                // A draft without a relative may be related to one that has grown.
                if place < first {
                    self.nearest[place] = self.kinship_between(place, first).map(|kinship| (kinship, first));
                }
                continue;
            };
            if place != first && (partner == first || partner == second) {
                self.nearest[place] = self.nearest_draft_after(place, kinship, partner);
            }
            if place < first {
                let grown = self.kinship_between(place, first).map(|kinship| (kinship, first));
                self.nearest[place] = self.nearest[place].max(grown);
            }
        }
        true
    }

    /// The nearest draft after `partner` with the same kinship; `None` if there is none, as those after it were less
    /// akin.
    fn nearest_draft_after(&self, first: usize, kinship: u8, partner: usize) -> Option<(u8, usize)> {
        match self.find_nearest_after(first, partner, kinship) {
            Some(found) if found.0 >= kinship => Some(found),
            _ => self.find_nearest_after(first, self.drafts.len(), kinship - 1),
        }
    }

    /// The nearest draft between `first` and `end`; the search stops at one with the lowest impact and a kinship of
    /// at least `enough`.
    fn find_nearest_after(&self, first: usize, end: usize, enough: u8) -> Option<(u8, usize)> {
        let mut nearest: Option<(u8, usize)> = None;
        for second in (first + 1..end).rev() {
            let Some(kinship) = self.kinship_between(first, second) else { continue };
            if nearest.is_none_or(|(known, _)| kinship > known) {
                nearest = Some((kinship, second));
            }
            if kinship >= enough {
                break;
            }
        }
        nearest
    }

    fn kinship_between(&self, first: usize, second: usize) -> Option<u8> {
        let ((one, language), (other, its_language)) =
            (self.drafts[first].as_ref()?, self.drafts[second].as_ref()?);
        one.kinship_with(other).filter(|_| language == its_language)
    }
}

pub(super) fn merge<T: PartialEq>(into: &mut Vec<T>, more: Vec<T>, most: usize) {
    for item in more {
        if into.len() < most && !into.contains(&item) {
            into.push(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Merges drafts by applying the rule directly: always the nearest two of all.
    fn merge_nearest_drafts(drafts: &mut Vec<Event>) -> usize {
        let mut left_out = 0;
        while drafts.len() > EVENTS_MAX {
            let pairs = (0..drafts.len())
                .flat_map(|first| (first + 1..drafts.len()).map(move |second| (first, second)));
            let language = |at: usize| Language::from_text(&drafts[at].description);
            let nearest = pairs
                .filter(|(first, second)| language(*first) == language(*second))
                .filter_map(|(first, second)| {
                    Some((drafts[first].kinship_with(&drafts[second])?, first, second))
                })
                .max();
            match nearest {
                Some((_, first, second)) => {
                    let taken = drafts.remove(second);
                    drafts[first].merge_event(taken);
                }
                None => {
                    drafts.pop();
                    left_out += 1;
                }
            }
        }
        left_out
    }

    type Made = (i32, usize, bool, bool, bool, u8);

    fn draft(at: usize, (impact, sentences, identity, disliked, intended, entity): Made) -> Event {
        let chinese = at % 7 == 3;
        let stated =
            if chinese { format!("用户说了第{at}件事") } else { format!("The user told thing {at}") };
        let mut event = Event::user_event(if intended { "intention" } else { "event" }, stated);
        event.emotional_impact = impact;
        let quote = |number| Evidence { message: format!("m{at}"), quote: format!("{at}/{number}") };
        event.evidence = (0..sentences).map(quote).collect();
        event.relational_tags = if identity { vec![IDENTITY_BEARING] } else { Vec::new() };
        event.emotion_tags = if disliked { vec!["dislike"] } else { Vec::new() };
        event.entities = if entity < 4 { vec![format!("E{entity}")] } else { Vec::new() };
        event
    }

    proptest! {
        #[test]
        fn merging_drafts_matches_the_slow_rule(
            made in proptest::collection::vec(
                (-9..10_i32, 1..4_usize, any::<bool>(), any::<bool>(), proptest::bool::weighted(0.1), 0..12_u8),
                0..24,
            ),
        ) {
            let drafts = || made.iter().enumerate().map(|(at, made)| draft(at, *made)).collect::<Vec<Event>>();
            let (mut quickly, mut slowly) = (drafts(), drafts());
            prop_assert_eq!(limit_events(&mut quickly), merge_nearest_drafts(&mut slowly));
            let written = |events: &[Event]| serde_json::to_value(events).unwrap();
            prop_assert_eq!(written(&quickly), written(&slowly));
        }
    }
}
