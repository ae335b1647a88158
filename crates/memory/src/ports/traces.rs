//! Traces: how a reply or a memory was made. They contain people's text, so they belong to their turn or session and
//! are deleted with it.

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;

use super::StoreError;
use crate::identifiers::{SessionId, TurnId};
use crate::scope::Scope;

/// Summary of a turn, without its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnSummary {
    pub turn_id: TurnId,
    pub scope: Scope,
    pub channel_id: String,
    /// Time at which the turn's first message arrived.
    pub started_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// Milliseconds from the first message to the end of the turn.
    pub duration_ms: Option<i64>,
    /// Milliseconds from the request to the first token.
    pub first_token_ms: Option<i64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub llm_model: Option<String>,
}

/// Trace of a turn with its phases.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnTrace {
    pub head: TurnSummary,
    /// An object: prompts, memories, steps with their times, and the error if there was one.
    pub detail: Value,
}

/// A phase of a session's consolidation.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseTrace {
    pub phase: char,
    /// Details of the phase, as a JSON object.
    pub detail: Value,
    pub at: Timestamp,
}

/// Storage of traces, which are deleted after a while.
#[async_trait]
pub trait TraceStore: Send + Sync {
    /// Stores the trace of a turn, replacing an earlier one. Skipped if the turn was deleted.
    async fn store_turn_trace(&self, trace: TurnTrace) -> Result<(), StoreError>;
    /// Turns of a scope with a trace, newest first; with `before`, only those that began before it.
    async fn turn_traces(
        &self,
        scope: &Scope,
        before: Option<(Timestamp, TurnId)>,
        limit: u32,
    ) -> Result<Vec<TurnSummary>, StoreError>;
    /// The trace of a turn.
    async fn turn_trace(&self, id: TurnId) -> Result<Option<TurnTrace>, StoreError>;
    /// Stores the trace of a phase, replacing that of an earlier attempt. Skipped if the session was deleted, or
    /// returned to the queue because something was forgotten.
    async fn store_phase_trace(&self, session: SessionId, phase: PhaseTrace) -> Result<(), StoreError>;
    /// The stored phases of a session, in order.
    async fn phases(&self, session: SessionId) -> Result<Vec<PhaseTrace>, StoreError>;
    /// Physically deletes traces of turns and sessions, and transcripts, that are older than `before`; returns their
    /// number. Counts for the slow cycle's limits stay.
    async fn drop_traces(&self, before: Timestamp) -> Result<u32, StoreError>;
}
