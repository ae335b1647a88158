//! Inputs of a reply, as the prompt gives them.

use serde::Deserialize;

#[derive(Default, Deserialize)]
pub(super) struct ReplyInputs {
    pub(super) user_text: String,
    #[serde(default)]
    pub(super) language: Option<String>,
    /// Weeks, months or years that the text asks about, as they were told.
    #[serde(default)]
    pub(super) periods: Vec<Period>,
    #[serde(default)]
    pub(super) memories: Vec<Memory>,
    #[serde(default)]
    pub(super) passages: Vec<Passage>,
    /// The user's messages shortly before, newest first.
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
    /// The name of somebody else who said it.
    #[serde(default)]
    pub(super) name: Option<String>,
    pub(super) text: String,
    #[serde(default)]
    pub(super) date: Option<String>,
}
