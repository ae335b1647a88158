//! L1: texts about the persona, the user, and the way of speaking. Written only by people; background code reads
//! them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum length of one block, in characters. All three are in every prompt: in Chinese 15,000 tokens.
pub const CORE_BLOCK_LENGTH_MAX: usize = 5_000;

/// Label of a core block. Labels of older versions are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CoreBlockLabel {
    /// Describes the persona. Shared by all its users.
    Persona,
    /// Describes the user. One per user.
    User,
    /// Rules for the persona's way of speaking. Shared by all its users; only one writer may change it.
    Style,
}

impl CoreBlockLabel {
    /// All labels in the order of the prompt.
    pub const ALL: [Self; 3] = [Self::Persona, Self::User, Self::Style];

    /// The label's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::User => "user",
            Self::Style => "style",
        }
    }
}

/// The three core blocks as a turn reads them; an unwritten block is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreBlocks {
    /// Describes the persona, shared by all its users.
    pub persona: String,
    /// Describes the user of this memory.
    pub user: String,
    /// Rules for the persona's way of speaking.
    pub style: String,
}

impl CoreBlocks {
    /// The text of one block.
    pub fn block(&self, label: CoreBlockLabel) -> &str {
        match label {
            CoreBlockLabel::Persona => &self.persona,
            CoreBlockLabel::User => &self.user,
            CoreBlockLabel::Style => &self.style,
        }
    }
}

/// A core block that is too long to store.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "the {label} block has {length} characters; the limit is {CORE_BLOCK_LENGTH_MAX}. Nothing was written"
)]
pub struct CoreBlockTooLong {
    pub label: &'static str,
    /// The block's length in characters.
    pub length: usize,
}

/// Refuses a text above the limit; nothing is ever cut silently.
pub fn check_length(label: CoreBlockLabel, text: &str) -> Result<(), CoreBlockTooLong> {
    let length = text.chars().count();
    if length > CORE_BLOCK_LENGTH_MAX {
        return Err(CoreBlockTooLong { label: label.as_str(), length });
    }
    Ok(())
}
