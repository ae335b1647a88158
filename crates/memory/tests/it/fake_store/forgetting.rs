//! The fake store implements no erasure.

use memory::forget::{
    CoreBlockAppend, Dependents, ErasureReceipt, ForgetOutcome, ForgetRequest, ForgetSummary, ForgetTarget,
    ForgottenSpan, ResetCounts, UnreachedCopies,
};
use memory::identifiers::ErasureId;
use memory::ports::ForgetStore;

use super::*;

#[async_trait]
impl ForgetStore for FakeStore {
    async fn scope_of(&self, _thing: ForgetTarget) -> Result<Option<Scope>, StoreError> {
        refused()
    }
    async fn dependents(&self, _id: NodeId) -> Result<Option<Dependents>, StoreError> {
        refused()
    }
    async fn preview_forgetting(&self, _act: ForgetRequest) -> Result<ForgetSummary, StoreError> {
        refused()
    }
    async fn forget(
        &self,
        _act: ForgetRequest,
        _expected: Option<ForgetSummary>,
        _receipt: Option<ErasureReceipt>,
    ) -> Result<ForgetOutcome, StoreError> {
        refused()
    }
    async fn forgotten_spans(&self, _session: SessionId) -> Result<Vec<ForgottenSpan>, StoreError> {
        refused()
    }
    async fn silenced_spans(&self, _scope: &Scope, _seqs: &[i64]) -> Result<Vec<ForgottenSpan>, StoreError> {
        Ok(Vec::new())
    }
    async fn erasure_receipts(
        &self,
        _scope: &Scope,
        _before: Option<ErasureId>,
        _limit: u32,
    ) -> Result<Vec<ErasureReceipt>, StoreError> {
        refused()
    }
    async fn erasure_receipt(&self, _id: ErasureId) -> Result<Option<ErasureReceipt>, StoreError> {
        refused()
    }
    async fn overwrite_freed(&self, _at: Timestamp) -> Result<bool, StoreError> {
        refused()
    }
    async fn unreached_copies(&self) -> Result<UnreachedCopies, StoreError> {
        refused()
    }
    async fn core_block_appends(
        &self,
        _scope: &Scope,
        _label: CoreBlockLabel,
        _before: Option<i64>,
        _limit: u32,
    ) -> Result<Vec<CoreBlockAppend>, StoreError> {
        refused()
    }
    async fn forget_core_block_append(
        &self,
        _scope: &Scope,
        _label: CoreBlockLabel,
        _id: i64,
    ) -> Result<bool, StoreError> {
        refused()
    }
    async fn reset_persona(
        &self,
        _persona: &PersonaId,
        _name: &str,
        _at: Timestamp,
    ) -> Result<Option<ResetCounts>, StoreError> {
        refused()
    }
}
