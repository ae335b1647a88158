//! Forgetting, asked of the storage. Each act is one transaction: all of it or nothing, also after a crash.

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

/// Takes memory away, physically.
///
/// What an act promises: messages of the selection are gone with their words, vectors and quotes; a node that
/// is not proven by what is left is gone, and one that held words that are lost says only what is left
/// ([`crate::forget::Support::decide_after_loss`]); thoughts on a node that is gone are marked or gone;
/// names that stand nowhere any more, entities that nothing supports, refused memories, summaries, the mood and the
/// parts of receipts that were made from it are gone. Sessions that are being consolidated in the scope are given
/// back, so that nothing that was computed from it can be committed. Ids of what is gone are kept as tombstones.
#[async_trait]
pub trait ForgetStore: Send + Sync {
    /// The scope of a row; none if it does not exist.
    async fn scope_of(&self, thing: ForgetTarget) -> Result<Option<Scope>, StoreError>;
    /// Rows that depend on a node; none if it does not exist.
    async fn dependents(&self, id: NodeId) -> Result<Option<Dependents>, StoreError>;
    /// Previews an erasure by running it and rolling it back.
    async fn preview_forgetting(&self, act: ForgetRequest) -> Result<ForgetSummary, StoreError>;
    /// Does it. With `expected`, only if it takes exactly that. A receipt is completed with what was taken and stored in
    /// the same transaction; to a stored receipt of the same id it is added.
    async fn forget(
        &self,
        act: ForgetRequest,
        expected: Option<ForgetSummary>,
        receipt: Option<ErasureReceipt>,
    ) -> Result<ForgetOutcome, StoreError>;
    /// Places in a session's messages on which memories rested that a person had forgotten, and that stay as L2's
    /// truth: what is extracted from the session again makes no memory of them. A message takes its places along when
    /// it goes; when it gets new words, they follow those that still stand there ([`ForgottenSpan::relocate_after_edit`]).
    async fn forgotten_spans(&self, session: SessionId) -> Result<Vec<ForgottenSpan>, StoreError>;
    /// Ranges of words that were silenced in these messages, by number ([`crate::forget::Selection::silences`]).
    async fn silenced_spans(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<ForgottenSpan>, StoreError>;
    /// Receipts of the persona and user, newest first; with `before`, only older ones than that.
    async fn erasure_receipts(
        &self,
        scope: &Scope,
        before: Option<ErasureId>,
        limit: u32,
    ) -> Result<Vec<ErasureReceipt>, StoreError>;
    /// The receipt of this id.
    async fn erasure_receipt(&self, id: ErasureId) -> Result<Option<ErasureReceipt>, StoreError>;
    /// Overwrites what freed pages and the log still hold, if anything was forgotten since the last time. Says whether
    /// nothing is left to overwrite; if not, it is to be tried again.
    async fn overwrite_freed(&self, at: Timestamp) -> Result<bool, StoreError>;
    /// Copies of the database beside it, which forgetting does not reach: names of files.
    async fn unreached_copies(&self) -> Result<UnreachedCopies, StoreError>;
    /// Audit rows of a core block, newest first; with `before`, only rows with smaller numbers.
    async fn core_block_appends(
        &self,
        scope: &Scope,
        label: CoreBlockLabel,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<CoreBlockAppend>, StoreError>;
    /// Takes an audit row away; the block stays as it is. Says whether it was there.
    async fn forget_core_block_append(
        &self,
        scope: &Scope,
        label: CoreBlockLabel,
        id: i64,
    ) -> Result<bool, StoreError>;
    /// Takes away all that the persona is and remembers, of all users, and leaves it under this name as if it were
    /// new. None if there is no such persona.
    async fn reset_persona(
        &self,
        persona: &PersonaId,
        name: &str,
        at: Timestamp,
    ) -> Result<Option<ResetCounts>, StoreError>;
}
