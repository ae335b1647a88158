//! The slow cycle and traces, which recall does not use.

use memory::identifiers::{CycleId, SessionId};
use memory::ports::{
    ExpectationEnd, OpenPair, PhaseTrace, ReconciliationCommit, ReconciliationStore, ReflectionCandidate,
    SlowCycleCommit, SlowCycleReport, SlowCycleState, SlowCycleStore, TraceStore, TranscriptSummary,
    TurnSummary, TurnTrace, WaitingPair,
};
use serde_json::Value;

use super::*;

#[async_trait]
impl SlowCycleStore for FakeStore {
    async fn slow_cycle_progress(
        &self,
        _scope: &Scope,
        _since: Timestamp,
    ) -> Result<SlowCycleState, StoreError> {
        refused()
    }
    async fn events_to_reflect_on(
        &self,
        _scope: &Scope,
        _since: Timestamp,
        _cycles_max: u32,
        _limit: u32,
    ) -> Result<Vec<ReflectionCandidate>, StoreError> {
        refused()
    }
    async fn entities_to_describe(
        &self,
        _scope: &Scope,
        _nodes: &[NodeId],
        _linked_min: u32,
    ) -> Result<Vec<Entity>, StoreError> {
        refused()
    }
    async fn commit_slow_cycle(&self, _commit: SlowCycleCommit) -> Result<SlowCycleReport, StoreError> {
        refused()
    }
    async fn settle_expectations(
        &self,
        _scope: &Scope,
        _ids: &[NodeId],
        _settled: ExpectationEnd,
    ) -> Result<Vec<NodeId>, StoreError> {
        refused()
    }
    async fn expire_expectations(&self, _now: Timestamp) -> Result<u32, StoreError> {
        refused()
    }
    async fn expectation_end(&self, _id: NodeId) -> Result<Option<ExpectationEnd>, StoreError> {
        refused()
    }
    async fn transcripts(
        &self,
        _scope: &Scope,
        _before: Option<(Timestamp, CycleId)>,
        _limit: u32,
    ) -> Result<Vec<TranscriptSummary>, StoreError> {
        refused()
    }
    async fn transcript(&self, _id: CycleId) -> Result<Option<Value>, StoreError> {
        refused()
    }
}

#[async_trait]
impl TraceStore for FakeStore {
    async fn store_turn_trace(&self, _trace: TurnTrace) -> Result<(), StoreError> {
        refused()
    }
    async fn turn_traces(
        &self,
        _scope: &Scope,
        _before: Option<(Timestamp, TurnId)>,
        _limit: u32,
    ) -> Result<Vec<TurnSummary>, StoreError> {
        refused()
    }
    async fn turn_trace(&self, _id: TurnId) -> Result<Option<TurnTrace>, StoreError> {
        refused()
    }
    async fn store_phase_trace(&self, _session: SessionId, _phase: PhaseTrace) -> Result<(), StoreError> {
        refused()
    }
    async fn phases(&self, _session: SessionId) -> Result<Vec<PhaseTrace>, StoreError> {
        refused()
    }
    async fn drop_traces(&self, _before: Timestamp) -> Result<u32, StoreError> {
        refused()
    }
}

#[async_trait]
impl ReconciliationStore for FakeStore {
    async fn waiting_pairs(
        &self,
        _scope: &Scope,
        _session: SessionId,
        _limit: u32,
    ) -> Result<Vec<WaitingPair>, StoreError> {
        refused()
    }

    async fn commit_reconciliation(&self, _commit: ReconciliationCommit) -> Result<(), StoreError> {
        refused()
    }

    async fn open_pairs(
        &self,
        _scope: &Scope,
        _nodes: &[i64],
        _messages: &[i64],
    ) -> Result<Vec<OpenPair>, StoreError> {
        Ok(Vec::new())
    }
}
