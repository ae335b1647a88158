//! Whose memory it is. Everything is scoped by (persona, user) and by nothing else: memory has no channel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest persona or user id that is accepted, in characters. Ids are part of paths, headers and file names.
pub const ID_LENGTH_MAX: usize = 128;

/// Names a persona, as the configuration or an admin call spells it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct PersonaId(String);

/// Names the person who talks with the persona. `self` is the owner of the home.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct UserId(String);

/// One memory: what one persona and one user share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// The persona that remembers.
    pub persona: PersonaId,
    /// The user who is remembered.
    pub user: UserId,
}

impl Scope {
    /// The memory that `persona` has of `user`.
    pub fn new(persona: PersonaId, user: UserId) -> Self {
        Self { persona, user }
    }
}

/// An id that cannot name a persona or a user.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("an id needs 1 to {ID_LENGTH_MAX} characters without control characters")]
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
            /// Takes 1 to [`ID_LENGTH_MAX`] characters, none a control character, no white space at either end.
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
    /// The owner of the home, and the user that is meant where none is named.
    pub fn owner() -> Self {
        Self("self".to_owned())
    }
}
