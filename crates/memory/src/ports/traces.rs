//! Traces: how a reply and a memory came to be. They hold words of people, so they belong to their turn or session and
//! to its scope, and go with them.

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
    /// Milliseconds from the first message to the end.
    pub duration_ms: Option<i64>,
    /// Milliseconds from the question to the first word.
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

/// Traces with a limited life.
#[async_trait]
pub trait TraceStore: Send + Sync {
    /// Keeps the trace of a turn, in place of an earlier one. One whose turn is gone is passed over.
    async fn keep_turn_trace(&self, trace: TurnTrace) -> Result<(), StoreError>;
    /// Turns of a scope that have a trace, newest first; with `before`, only those that began before that one.
    async fn turn_traces(
        &self,
        scope: &Scope,
        before: Option<(Timestamp, TurnId)>,
        limit: u32,
    ) -> Result<Vec<TurnSummary>, StoreError>;
    /// The trace of a turn.
    async fn turn_trace(&self, id: TurnId) -> Result<Option<TurnTrace>, StoreError>;
    /// Keeps what a phase did, in place of what an earlier attempt left. One whose session is gone, or was given back
    /// because something was forgotten, is passed over.
    async fn keep_phase(&self, session: SessionId, phase: PhaseTrace) -> Result<(), StoreError>;
    /// The phases of a session that are known, in order.
    async fn phases(&self, session: SessionId) -> Result<Vec<PhaseTrace>, StoreError>;
    /// Deletes, physically, the traces of turns and sessions and the transcripts that are older than `before`; says how
    /// many. What counts towards the slow cycle's limits stays.
    async fn drop_traces(&self, before: Timestamp) -> Result<u32, StoreError>;
}
