//! Port for forgetting. Each operation is one transaction: all of it or nothing, also after a crash.

use async_trait::async_trait;
use jiff::Timestamp;

use super::StoreError;
use crate::core_blocks::CoreBlockLabel;
use crate::forget::{
    CoreBlockAppend, Dependents, ErasureReceipt, ForgetOutcome, ForgetRequest, ForgetSummary, ForgetTarget,
    ForgottenSpan, ResetCounts, UnreachedCopies,
};
use crate::identifiers::{ErasureId, NodeId, SessionId};
use crate::scope::{PersonaId, Scope};

/// Erases memory physically.
///
/// An erasure removes the selected messages with their terms, vectors and quotes; nodes that the remaining evidence
/// does not support, while nodes with lost words are reduced to the remaining evidence
/// ([`crate::forget::Support::decide_after_loss`]). It removes or marks thoughts about removed nodes; and it removes
/// names that occur nowhere any more, unsupported entities, refused memories, summaries, the mood and parts of
/// receipts that were derived from it. Running consolidations in the scope are returned to the queue, so that nothing
/// computed from the erased text can be committed. Ids of erased rows are stored as tombstones.
#[async_trait]
pub trait ForgetStore: Send + Sync {
    /// The scope of a row; `None` if it does not exist.
    async fn scope_of(&self, thing: ForgetTarget) -> Result<Option<Scope>, StoreError>;
    /// Nodes that depend on a node, or that it depends on; `None` if it does not exist.
    async fn dependents(&self, id: NodeId) -> Result<Option<Dependents>, StoreError>;
    /// Previews an erasure by running it and rolling it back.
    async fn preview_forgetting(&self, act: ForgetRequest) -> Result<ForgetSummary, StoreError>;
    /// Erases. With `expected`, only if the result is exactly that. The receipt is completed with the result and
    /// stored in the same transaction; if a receipt with this id exists, the result is added to it.
    async fn forget(
        &self,
        act: ForgetRequest,
        expected: Option<ForgetSummary>,
        receipt: Option<ErasureReceipt>,
    ) -> Result<ForgetOutcome, StoreError>;
    /// Spans of a session's messages that were the evidence of forgotten memories, while the messages stay in L2:
    /// another extraction of the session makes no memory of them. A removed message removes its spans; in an edited
    /// one, they move to the same text if it is still there ([`ForgottenSpan::relocate_after_edit`]).
    async fn forgotten_spans(&self, session: SessionId) -> Result<Vec<ForgottenSpan>, StoreError>;
    /// Silenced spans of these messages, by number ([`crate::forget::Selection::silences`]).
    async fn silenced_spans(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<ForgottenSpan>, StoreError>;
    /// Receipts of the persona and user, newest first; with `before`, only older ones.
    async fn erasure_receipts(
        &self,
        scope: &Scope,
        before: Option<ErasureId>,
        limit: u32,
    ) -> Result<Vec<ErasureReceipt>, StoreError>;
    /// The receipt with this id.
    async fn erasure_receipt(&self, id: ErasureId) -> Result<Option<ErasureReceipt>, StoreError>;
    /// Overwrites freed pages and the log, if anything was forgotten since the last time. Returns true if nothing is
    /// left to overwrite; otherwise call it again later.
    async fn overwrite_freed(&self, at: Timestamp) -> Result<bool, StoreError>;
    /// Copies of the database that forgetting does not reach: names of files beside it.
    async fn unreached_copies(&self) -> Result<UnreachedCopies, StoreError>;
    /// Audit rows of a core block, newest first; with `before`, only rows with smaller numbers.
    async fn core_block_appends(
        &self,
        scope: &Scope,
        label: CoreBlockLabel,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<CoreBlockAppend>, StoreError>;
    /// Deletes an audit row; the block does not change. True if the row existed.
    async fn forget_core_block_append(
        &self,
        scope: &Scope,
        label: CoreBlockLabel,
        id: i64,
    ) -> Result<bool, StoreError>;
    /// Deletes the persona's memory of all users and its texts, and leaves it under this name as if it were new.
    /// `None` if there is no such persona.
    async fn reset_persona(
        &self,
        persona: &PersonaId,
        name: &str,
        at: Timestamp,
    ) -> Result<Option<ResetCounts>, StoreError>;
}
