//! Sessions: stretches of talk on one channel. When one ends, it becomes memory.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::SessionId;
use crate::scope::Scope;

/// Where a session stands on its way from talk to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// Takes messages.
    Open,
    /// Ended; waits for a consolidation worker.
    Closing,
    /// A worker holds it.
    Consolidating,
    /// Done.
    Closed,
    /// Gave up after the allowed retries; a person can retry it.
    Failed,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloseTrigger {
    /// Quiet for longer than the policy allows.
    Idle,
    /// Too many messages or tokens.
    MaxLength,
    /// A person asked.
    Explicit,
    /// The program stopped.
    Lifecycle,
    /// Found stale at start.
    Catchup,
}

/// When a session ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPolicy {
    /// Silence after which a session is over. Default 30 minutes.
    pub idle: Duration,
    /// Messages at which a session is over. Default 200.
    pub max_messages: u32,
    /// Tokens at which a session is over. Default 20,000.
    pub max_tokens: u64,
}

impl Default for SessionPolicy {
    fn default() -> Self {
        Self { idle: Duration::from_secs(30 * 60), max_messages: 200, max_tokens: 20_000 }
    }
}

/// First letters of the channels of imported conversations.
pub const IMPORT_CHANNEL_PREFIX: &str = "import-";
/// Channel of the sessions that hold what other programs had saved about the user. They have no messages.
pub const SAVED_MEMORIES_CHANNEL: &str = "import-memories";

/// A session as stored. At most one is open per (persona, user, channel).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Whose talk it is.
    pub scope: Scope,
    /// The channel that it took place on: opaque, never in a prompt.
    pub channel_id: String,
    /// Where it stands.
    pub status: SessionStatus,
    /// Messages of both sides.
    pub message_count: u32,
    /// Estimated tokens of both sides.
    pub total_tokens: u64,
    /// Time of the first message.
    pub first_message_at: Timestamp,
    /// Time of the last message.
    pub last_message_at: Timestamp,
    /// When its consolidation finished.
    pub closed_at: Option<Timestamp>,
    /// Why it ended.
    pub close_trigger: Option<CloseTrigger>,
    /// Whether its extraction is committed: a retry skips it.
    pub extracted: bool,
    /// Whether its reflection was decided and, if due, committed.
    pub reflected: bool,
    /// Events that its extraction wrote.
    pub extracted_events: u32,
    /// Whether it was too slight to ask a model about.
    pub trivial: bool,
    /// What it was about, in a sentence or two.
    pub summary: Option<String>,
    /// What the conversation was called in the program that it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Failed attempts so far.
    pub attempts: u32,
    /// What the last attempt failed of.
    pub last_error: Option<String>,
    /// Not claimed before this time.
    pub retry_at: Option<Timestamp>,
}

impl Session {
    /// Whether it was imported.
    pub fn is_imported(&self) -> bool {
        self.channel_id.starts_with(IMPORT_CHANNEL_PREFIX)
    }
}

/// Where a new message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Into the open session.
    Continue,
    /// Into a new session; none is open.
    Open,
    /// Into a new session, after the open one is closed for this reason.
    CloseThenOpen(CloseTrigger),
}

/// Decides where a user's message of time `now` goes. A clock that went backwards keeps the session open.
pub fn choose_session(open: Option<&Session>, now: Timestamp, policy: &SessionPolicy) -> Placement {
    let Some(session) = open else { return Placement::Open };
    if is_idle(session.last_message_at, now, policy) {
        return Placement::CloseThenOpen(CloseTrigger::Idle);
    }
    if is_full(session.message_count, session.total_tokens, policy) {
        return Placement::CloseThenOpen(CloseTrigger::MaxLength);
    }
    Placement::Continue
}

/// Whether the counters have reached the policy's length.
pub fn is_full(message_count: u32, total_tokens: u64, policy: &SessionPolicy) -> bool {
    message_count >= policy.max_messages || total_tokens >= policy.max_tokens
}

/// Whether the silence since `last_message_at` has lasted longer than the policy allows.
pub fn is_idle(last_message_at: Timestamp, now: Timestamp, policy: &SessionPolicy) -> bool {
    let quiet = now.duration_since(last_message_at);
    !quiet.is_negative() && quiet.unsigned_abs() > policy.idle
}
