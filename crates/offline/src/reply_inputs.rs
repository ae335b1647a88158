//! Inputs of a reply, as the prompt has them.

use serde::Deserialize;

#[derive(Default, Deserialize)]
pub(super) struct ReplyInputs {
    pub(super) user_text: String,
    #[serde(default)]
    pub(super) language: Option<String>,
    /// Roll-ups of the weeks, months or years that the text asks about.
    #[serde(default)]
    pub(super) periods: Vec<Period>,
    #[serde(default)]
    pub(super) memories: Vec<Memory>,
    #[serde(default)]
    pub(super) passages: Vec<Passage>,
    /// The user's preceding messages, newest first.
    #[serde(default)]
    pub(super) recent: Vec<Passage>,
    #[serde(default)]
    pub(super) persona_name: Option<String>,
    /// True if memories and passages are only the nearest, and none is about the text.
    #[serde(default)]
    pub(super) nothing_found: bool,
}

#[derive(Deserialize)]
pub(super) struct Period {
    pub(super) text: String,
}

#[derive(Deserialize)]
pub(super) struct Memory {
    pub(super) description: String,
    #[serde(default)]
    pub(super) kind: String,
}

#[derive(Deserialize)]
pub(super) struct Passage {
    #[serde(default)]
    pub(super) speaker: String,
    /// The name of another speaker.
    #[serde(default)]
    pub(super) name: Option<String>,
    pub(super) text: String,
    #[serde(default)]
    pub(super) date: Option<String>,
}
