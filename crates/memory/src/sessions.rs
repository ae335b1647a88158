//! Sessions: parts of a conversation on one channel. An ended session is consolidated.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::SessionId;
use crate::scope::Scope;

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// The session accepts messages.
    Open,
    /// Ended; waits for a consolidation worker.
    Closing,
    /// A worker has claimed the session.
    Consolidating,
    /// The session was consolidated into memory.
    Closed,
    /// Failed after the maximum of retries; a person can retry it.
    Failed,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloseTrigger {
    /// Silence for longer than the policy allows.
    Idle,
    /// Too many messages or tokens.
    MaxLength,
    /// A person ended the session.
    Explicit,
    /// The session ended when the program stopped.
    Lifecycle,
    /// Found overdue at the start of the program.
    Catchup,
}

/// Limits at which a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPolicy {
    /// Silence after which a session ends. Default 30 minutes.
    pub idle: Duration,
    /// Messages after which a session ends. Default 200.
    pub max_messages: u32,
    /// Tokens after which a session ends. Default 20,000.
    pub max_tokens: u64,
}

impl Default for SessionPolicy {
    fn default() -> Self {
        Self { idle: Duration::from_secs(30 * 60), max_messages: 200, max_tokens: 20_000 }
    }
}

/// Prefix of the channels of imported conversations.
pub const IMPORT_CHANNEL_PREFIX: &str = "import-";
/// Channel of the sessions for memories that other programs had saved about the user. They have no messages.
pub const SAVED_MEMORIES_CHANNEL: &str = "import-memories";

/// A stored session. At most one is open per (persona, user, channel).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// The id of the session.
    pub id: SessionId,
    /// The memory that the session belongs to.
    pub scope: Scope,
    /// The channel of the session: opaque, and never in a prompt.
    pub channel_id: String,
    /// The state of the session.
    pub status: SessionStatus,
    /// Number of messages of both sides.
    pub message_count: u32,
    /// Estimated tokens of both sides.
    pub total_tokens: u64,
    /// Time of the first message.
    pub first_message_at: Timestamp,
    /// Time of the last message.
    pub last_message_at: Timestamp,
    /// Time at which the session's consolidation finished.
    pub closed_at: Option<Timestamp>,
    /// Reason for which the session ended.
    pub close_trigger: Option<CloseTrigger>,
    /// True if its extraction is committed; a retry skips it.
    pub extracted: bool,
    /// True if the session's reflection was decided and, if due, committed.
    pub reflected: bool,
    /// Number of events that the session's extraction wrote.
    pub extracted_events: u32,
    /// True if the session was too trivial to ask a model about.
    pub trivial: bool,
    /// A summary in a sentence or two.
    pub summary: Option<String>,
    /// Title of the conversation in the program that it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Number of failed attempts.
    pub attempts: u32,
    /// The error of the last attempt.
    pub last_error: Option<String>,
    /// Time before which the session is not consolidated.
    pub retry_at: Option<Timestamp>,
}

impl Session {
    /// True if the session was imported.
    pub fn is_imported(&self) -> bool {
        self.channel_id.starts_with(IMPORT_CHANNEL_PREFIX)
    }
}

/// The session for a new message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChoice {
    /// The message belongs to the open session.
    Continue,
    /// The message opens a session.
    Open,
    /// The message opens a session, and the open one ends for this reason.
    CloseThenOpen(CloseTrigger),
}

/// Chooses the session for a user's message at time `now`. If the clock went backwards, the session stays open.
pub fn choose_session(open: Option<&Session>, now: Timestamp, policy: &SessionPolicy) -> SessionChoice {
    let Some(session) = open else { return SessionChoice::Open };
    if is_idle(session.last_message_at, now, policy) {
        return SessionChoice::CloseThenOpen(CloseTrigger::Idle);
    }
    if is_full(session.message_count, session.total_tokens, policy) {
        return SessionChoice::CloseThenOpen(CloseTrigger::MaxLength);
    }
    SessionChoice::Continue
}

/// True if the session has the maximum of messages or tokens.
pub fn is_full(message_count: u32, total_tokens: u64, policy: &SessionPolicy) -> bool {
    message_count >= policy.max_messages || total_tokens >= policy.max_tokens
}

/// True if the silence since `last_message_at` is longer than the policy allows.
pub fn is_idle(last_message_at: Timestamp, now: Timestamp, policy: &SessionPolicy) -> bool {
    let quiet = now.duration_since(last_message_at);
    !quiet.is_negative() && quiet.unsigned_abs() > policy.idle
}
