//! Access control: named tokens with their scopes, logins, and the audit log.

use std::fmt;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scope::UserId;

/// Maximum length of a token's name, in characters. It is shown in lists and in every line of the audit log.
pub const TOKEN_NAME_LENGTH_MAX: usize = 64;
/// Maximum length of a hub instance in a scope, in characters. It is a host or agent name, and fits into one line of
/// a table.
pub const INSTANCE_LENGTH_MAX: usize = 64;

/// An area of the program that a token gives access to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum AccessScope {
    /// Conversation: send, watch, read messages.
    Chat,
    /// Watch and read messages, without sending any.
    ChatRead,
    /// Read and change everything.
    Admin,
    /// Read everything without changing it.
    AdminRead,
    /// The metrics, for monitoring.
    Metrics,
    /// The OpenAI-compatible endpoint (`/v1`).
    Openai,
    /// The tools of the hub, called as this instance.
    Hub(String),
}

/// The actor under which the audit log records the owner.
pub const OWNER: &str = "owner";

/// A text that is no scope.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "unknown scope `{0}`; allowed are chat, chat:read, admin, admin:read, metrics, openai or hub:INSTANCE"
)]
pub struct InvalidAccessScope(String);

impl FromStr for AccessScope {
    type Err = InvalidAccessScope;

    fn from_str(text: &str) -> Result<Self, InvalidAccessScope> {
        match text {
            "chat" => Ok(Self::Chat),
            "chat:read" => Ok(Self::ChatRead),
            "admin" => Ok(Self::Admin),
            "admin:read" => Ok(Self::AdminRead),
            "metrics" => Ok(Self::Metrics),
            "openai" => Ok(Self::Openai),
            _ => match text.strip_prefix("hub:") {
                Some(instance) if is_plain_name(instance, INSTANCE_LENGTH_MAX) => {
                    Ok(Self::Hub(instance.to_owned()))
                }
                _ => Err(InvalidAccessScope(text.to_owned())),
            },
        }
    }
}

impl fmt::Display for AccessScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chat => formatter.write_str("chat"),
            Self::ChatRead => formatter.write_str("chat:read"),
            Self::Admin => formatter.write_str("admin"),
            Self::AdminRead => formatter.write_str("admin:read"),
            Self::Metrics => formatter.write_str("metrics"),
            Self::Openai => formatter.write_str("openai"),
            Self::Hub(instance) => write!(formatter, "hub:{instance}"),
        }
    }
}

impl TryFrom<String> for AccessScope {
    type Error = InvalidAccessScope;
    fn try_from(text: String) -> Result<Self, InvalidAccessScope> {
        text.parse()
    }
}

impl From<AccessScope> for String {
    fn from(scope: AccessScope) -> String {
        scope.to_string()
    }
}

/// True if a name is valid for a token or an instance: 1 to `length_max` letters, digits, `.`, `_` and `-`, so that
/// it needs no quoting in a path, a log line or a shell.
pub fn is_plain_name(name: &str, length_max: usize) -> bool {
    (1..=length_max).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !name.starts_with(['.', '-'])
}

/// A token as stored: only its hash is stored, from which the token can't be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedToken {
    /// The name that the owner gave the token; unique.
    pub name: String,
    /// The public part of the token, by which it is found; unique.
    pub prefix: String,
    /// Argon2 hash of the whole token, as a PHC string.
    pub hash: String,
    /// The areas that the token gives access to; never empty.
    pub scopes: Vec<AccessScope>,
    /// The only user that it may act for; `None` for all.
    pub user: Option<UserId>,
    /// Time at which the token was created.
    pub created_at: Timestamp,
    /// Time at which the token was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// Time at which the token expires.
    pub expires_at: Option<Timestamp>,
    /// Maximum open streams; `None` for the server's default.
    pub streams_max: Option<u32>,
    /// Maximum users that it may create; `None` for the server's default.
    pub users_max: Option<u32>,
}

/// A browser that was logged in by a one-time link. Only digests of its two secrets are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Public and unique id, 16 hexadecimal digits.
    pub id: String,
    /// Digest of the secret in the cookie.
    pub cookie_digest: String,
    /// Digest of the secret that the page stores for its own origin.
    pub page_key_digest: String,
    /// The token that made the link: [`OWNER`], or a name.
    pub token: String,
    /// The public part of that token; `None` for the owner's.
    pub token_prefix: Option<String>,
    /// The network address from which the link was opened.
    pub address: String,
    /// The browser and system, as `Firefox, Linux`.
    pub browser: String,
    /// Time at which the link was opened.
    pub created_at: Timestamp,
    /// Time at which the login was last used, to the minute.
    pub last_seen_at: Timestamp,
}

/// Lifetime of an unused login. Somebody who opens the page once a month stays logged in.
pub const LOGIN_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);

impl Login {
    /// Time at which the login expires unless it is used before.
    pub fn expires_at(&self) -> Timestamp {
        self.last_seen_at.saturating_add(LOGIN_LIFETIME).unwrap_or(Timestamp::MAX)
    }
}

/// An administrative action. It records the action and its target, never a person's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Timestamp,
    /// The token that was used: `owner`, or a name.
    pub token: String,
    /// The action, as method and path: `POST /api/admin/sessions/{id}/close`.
    pub act: String,
    /// Ids of the changed rows and names of the changed keys, separated by spaces; empty if there are none.
    pub object: String,
    /// The HTTP status of the response.
    pub status: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_as_they_are_written() {
        for text in
            ["chat", "chat:read", "admin", "admin:read", "metrics", "openai", "hub:laptop", "hub:pi.local_2"]
        {
            assert_eq!(text.parse::<AccessScope>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "Chat",
            "chat:",
            "chat:write",
            "metrics:read",
            "hub",
            "hub:",
            "hub:a b",
            "hub:../x",
            "peer:kitchen",
            "owner",
            "chat,admin",
        ] {
            assert!(text.parse::<AccessScope>().is_err(), "{text}");
        }
    }
}
