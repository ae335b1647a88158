use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::macros::resolve_macros;

/// Content of a character card (V1, V2 or V3). Texts are verbatim, with placeholders unresolved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// `1.0`, `2.0` or `3.0`.
    pub spec_version: String,
    pub name: String,
    /// Replaces `{{char}}`, if the nickname differs from the name.
    pub nickname: Option<String>,
    /// Describes the persona of the card.
    pub description: String,
    /// The character's personality in a few words.
    pub personality: String,
    /// Place and situation of the conversation.
    pub scenario: String,
    /// Greeting: an example of style, never a memory.
    pub first_message: String,
    pub alternate_greetings: Vec<String>,
    /// Example conversation: an example of style, never a memory.
    pub example_talk: String,
    /// Instructions before the conversation.
    pub system_prompt: String,
    /// Instructions after the conversation.
    pub post_history_instructions: String,
    /// Notes for users of the card, not for the persona.
    pub creator_notes: String,
    pub creator: String,
    /// The card's own version.
    pub version: String,
    pub tags: Vec<String>,
    /// The picture that the card was embedded in, or that is in its archive.
    pub picture: Option<Picture>,
    /// The lorebook of the card.
    pub lorebook: Option<Lorebook>,
    /// The card's file, for a person.
    pub place: String,
    /// The whole JSON of the card, unchanged, so that it can be exported again.
    #[serde(skip)]
    pub json: Value,
}

/// The bytes of a picture, with their type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    pub media_type: String,
    /// The picture's bytes, without the card in it.
    pub bytes: Vec<u8>,
    /// The picture's own file, or the archive that holds it.
    pub place: String,
}

/// Facts from a card or world book.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lorebook {
    /// Name of the book, or of its file.
    pub name: String,
    /// Entries in the book's order, including those that are switched off.
    pub entries: Vec<LoreEntry>,
    /// The lorebook's file, for a person.
    pub place: String,
}

/// One entry of a lorebook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoreEntry {
    /// Id of the entry, stable within the book.
    pub id: String,
    /// Name or comment of the entry; may be empty.
    pub name: String,
    /// Keys: the entry is used when one of them is named.
    pub keys: Vec<String>,
    /// Secondary keys, if there are any.
    pub secondary_keys: Vec<String>,
    /// The text, exactly as written.
    pub content: String,
    /// True if the entry is always in the prompt.
    pub is_constant: bool,
    /// True if the entry is switched on.
    pub is_enabled: bool,
    /// Condition on `secondary_keys`: `and_any`, `and_all`, `not_all` or `not_any`.
    pub logic: String,
    /// Entries of a higher order stand later in the prompt.
    pub order: i64,
    /// Number of the newest messages that are searched for keys.
    pub scan_depth: Option<u32>,
    /// True if keys are compared letter by letter.
    pub is_case_sensitive: bool,
    /// True if keys must be whole words, false if they may be parts of words; `None` for the default.
    pub whole_words: Option<bool>,
    /// Other fields, by name.
    pub other: serde_json::Map<String, Value>,
}

impl Card {
    /// The name that replaces `{{char}}`.
    pub fn persona_name(&self) -> &str {
        self.nickname.as_deref().filter(|name| !name.is_empty()).unwrap_or(&self.name)
    }

    /// The card with its placeholders resolved.
    #[must_use]
    pub fn resolve_placeholders(&self, user_name: &str) -> Self {
        let persona_name = self.persona_name().to_owned();
        let resolve = |text: &String| resolve_macros(text, &persona_name, user_name);
        let mut card = self.clone();
        for text in [
            &mut card.description,
            &mut card.personality,
            &mut card.scenario,
            &mut card.first_message,
            &mut card.example_talk,
            &mut card.system_prompt,
            &mut card.post_history_instructions,
        ] {
            *text = resolve(text);
        }
        card.alternate_greetings = card.alternate_greetings.iter().map(resolve).collect();
        for entry in card.lorebook.iter_mut().flat_map(|book| &mut book.entries) {
            entry.content = resolve(&entry.content);
        }
        card
    }
}
