//! The scope of a memory: (persona, user) and nothing else. Memory does not depend on the channel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum length of a persona or user id, in characters. Ids are part of paths, headers and file names.
pub const ID_LENGTH_MAX: usize = 128;

/// Id of a persona, as written in the configuration or by an admin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct PersonaId(String);

/// Id of a user. `self` is the owner of the home.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct UserId(String);

/// The scope of a memory: one persona and one user.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// The persona that remembers.
    pub persona: PersonaId,
    /// The user whom it remembers.
    pub user: UserId,
}

impl Scope {
    /// The memory of `persona` about `user`.
    pub fn new(persona: PersonaId, user: UserId) -> Self {
        Self { persona, user }
    }
}

/// A text that is not a valid id of a persona or user.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("an id must have 1 to {ID_LENGTH_MAX} characters without control characters")]
pub struct InvalidId;

fn checked_id(text: String) -> Result<String, InvalidId> {
    let length = text.chars().count();
    let valid =
        (1..=ID_LENGTH_MAX).contains(&length) && !text.chars().any(char::is_control) && text.trim() == text;
    if valid { Ok(text) } else { Err(InvalidId) }
}

macro_rules! string_id {
    ($name:ident) => {
        impl $name {
            /// Checks an id: 1 to [`ID_LENGTH_MAX`] characters, no control characters, no white space at either end.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
                checked_id(text.into()).map(Self)
            }

            /// The id as written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

string_id!(PersonaId);
string_id!(UserId);

impl UserId {
    /// The owner of the home, who is also the default user.
    pub fn owner() -> Self {
        Self("self".to_owned())
    }
}
