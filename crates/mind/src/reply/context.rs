//! Values for the two reply templates: lines ready to print.

use serde::Serialize;

/// Values for the system template.
#[derive(Debug, Default, Serialize)]
pub(crate) struct SystemContext {
    pub(super) persona_name: String,
    pub(super) persona_block: String,
    pub(super) user_block: String,
    pub(super) style_block: String,
    pub(super) documents: Vec<LabelledText>,
    pub(super) lore: Vec<LabelledText>,
    pub(super) facts: Vec<FactLine>,
    pub(super) clocks: Vec<String>,
    pub(super) mood: Option<MoodLine>,
    pub(super) entities: Vec<EntityBlock>,
    pub(super) uncertain: Vec<PairLine>,
    pub(super) doubts: Vec<String>,
    pub(super) fulfilled: Vec<String>,
}

/// A text with its label.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LabelledText {
    pub(super) label: String,
    pub(super) text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct FactLine {
    pub(super) label: &'static str,
    pub(super) value: String,
}

#[derive(Debug, Serialize)]
pub(super) struct MoodLine {
    pub(super) mood: String,
    pub(super) energy: u8,
    pub(super) signal: String,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct EntityBlock {
    pub(super) name: String,
    pub(super) description: String,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct PairLine {
    pub(super) a: String,
    pub(super) b: String,
}

/// Values for the user template.
#[derive(Debug, Default, Serialize)]
pub(crate) struct UserContext {
    pub(super) speaker: String,
    pub(super) periods: Vec<LabelledText>,
    pub(super) sessions: Vec<String>,
    pub(super) thoughts: Vec<String>,
    pub(super) pinned_thoughts: Vec<String>,
    pub(super) self_thoughts: Vec<String>,
    /// The events of `event_groups` in one list, for custom templates.
    pub(super) events: Vec<String>,
    pub(super) event_groups: Vec<EventGroup>,
    pub(super) passages: Vec<Vec<String>>,
    pub(super) corrected: Vec<String>,
    pub(super) promises: Vec<String>,
    pub(super) expectations: Vec<String>,
    pub(super) nothing_found: bool,
    pub(super) conversation: Vec<DayGroup>,
    pub(super) said: Vec<String>,
}

/// Recalled events with an impact of the same sign, under a heading.
#[derive(Debug, Serialize)]
pub(super) struct EventGroup {
    pub(super) heading: &'static str,
    pub(super) lines: Vec<String>,
}

/// The messages of the conversation in one day bucket.
#[derive(Debug, Serialize)]
pub(super) struct DayGroup {
    pub(super) heading: &'static str,
    pub(super) lines: Vec<String>,
}

impl SystemContext {
    /// A context with one of everything, to try a template out.
    pub(crate) fn example() -> Self {
        let text = || "text".to_owned();
        Self {
            persona_name: text(),
            persona_block: text(),
            user_block: text(),
            style_block: text(),
            documents: vec![LabelledText { label: text(), text: text() }],
            lore: vec![LabelledText { label: text(), text: text() }],
            facts: vec![FactLine { label: "Name", value: text() }],
            clocks: vec![text()],
            mood: Some(MoodLine { mood: text(), energy: 5, signal: text() }),
            entities: vec![EntityBlock { name: text(), description: text() }],
            uncertain: vec![PairLine { a: text(), b: text() }],
            doubts: vec![text()],
            fulfilled: vec![text()],
        }
    }
}

impl UserContext {
    /// A context with one of everything, to try a template out.
    pub(crate) fn example() -> Self {
        let lines = || vec!["text".to_owned()];
        Self {
            speaker: "text".to_owned(),
            periods: vec![LabelledText { label: "text".to_owned(), text: "text".to_owned() }],
            sessions: lines(),
            thoughts: lines(),
            pinned_thoughts: lines(),
            self_thoughts: lines(),
            events: lines(),
            event_groups: vec![EventGroup { heading: "What was good", lines: lines() }],
            passages: vec![lines()],
            corrected: lines(),
            promises: lines(),
            expectations: lines(),
            nothing_found: true,
            conversation: vec![DayGroup { heading: "Older", lines: lines() }],
            said: lines(),
        }
    }
}
