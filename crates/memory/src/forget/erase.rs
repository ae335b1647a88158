//! Erasing: physical and complete, with a receipt.

use super::{
    Confirmations, ErasureReceipt, ForgetMode, ForgetOutcome, ForgetRequest, ForgetResult, Selection,
};
use crate::core_blocks::CoreBlockLabel;
use crate::identifiers::ErasureId;
use crate::ports::{Clock, Corpus, IdGenerator, Store, StoreError};
use crate::scope::Scope;
use crate::vector_index::VectorIndex;

/// Shortest text that can be erased by, in characters: a single one would take half of what was ever said.
pub const TEXT_LENGTH_MIN: usize = 2;

/// A request to erase, by a person.
#[derive(Clone, Debug)]
pub struct ErasureRequest {
    pub scope: Scope,
    pub selection: Selection,
    /// Treatment of thoughts that depend on erased events.
    pub thoughts: ForgetMode,
    /// The fields of the request that selected something.
    pub selected_by: Vec<String>,
    /// The dry run that a person has seen.
    pub confirm: Option<ErasureId>,
}

/// Why nothing was erased.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// A text was given without the id of a dry run.
    #[error(
        "erasing by text needs `confirm`: ask with `dry_run` first, look at what it would take, and send the id that \
         it returned; nothing was erased"
    )]
    Unconfirmed,
    /// No dry run of this id in this memory is younger than ten minutes.
    #[error(
        "`confirm` names no dry run of the last ten minutes; ask with `dry_run` again, nothing was erased"
    )]
    UnknownConfirmation,
    /// The result would differ from the preview.
    #[error(
        "what would go has changed since the dry run; ask with `dry_run` again and look at it, nothing was erased"
    )]
    Changed,
    /// Nothing of it is in this memory. The core blocks that contain the text, which only a person edits.
    #[error("nothing of that is in this memory{}; nothing was erased, and there is no receipt", beside(.0))]
    Nothing(Vec<CoreBlockLabel>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn beside(blocks: &[CoreBlockLabel]) -> String {
    let names: Vec<&str> = blocks.iter().map(|label| label.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(" but in the core blocks that people write ({})", names.join(", "))
}

/// Erases what a person selects, with a receipt.
#[derive(Clone, Copy)]
pub struct Eraser<'a> {
    pub store: &'a dyn Store,
    /// The vectors in memory.
    pub index: &'a VectorIndex,
    /// Dry runs that wait.
    pub confirmations: &'a Confirmations,
    pub clock: &'a dyn Clock,
    pub ids: &'a dyn IdGenerator,
}

impl Eraser<'_> {
    /// Previews [`Eraser::erase`]. Changes nothing; the receipt's id confirms it for ten minutes.
    pub async fn dry_run(&self, request: ErasureRequest) -> Result<ErasureReceipt, EraseError> {
        let act = self.act(&request);
        let mut receipt = self.receipt(&request, &act).await?;
        receipt.taken = self.store.preview_forgetting(act).await?;
        let (scope, taken) = (request.scope, receipt.taken.clone());
        self.confirmations.expect(receipt.id, scope, taken, receipt.created_at);
        Ok(receipt)
    }

    /// Erases in one transaction, which the receipt is part of, and takes the vectors out of memory. Overwriting the
    /// freed pages is a second step, [`crate::ports::ForgetStore::overwrite_freed`].
    pub async fn erase(&self, request: ErasureRequest) -> Result<ErasureReceipt, EraseError> {
        let act = self.act(&request);
        let expected = match request.confirm {
            Some(id) => {
                let shown = self.confirmations.preview(id, &request.scope, act.at);
                Some(shown.ok_or(EraseError::UnknownConfirmation)?)
            }
            None if request.selection.text.is_some() => return Err(EraseError::Unconfirmed),
            None => None,
        };
        let receipt = self.receipt(&request, &act).await?;
        let scope = request.scope.clone();
        match self.store.forget(act, expected, Some(receipt.clone())).await? {
            ForgetOutcome::Changed => Err(EraseError::Changed),
            ForgetOutcome::Nothing(blocks) => Err(EraseError::Nothing(blocks)),
            ForgetOutcome::Done(forgotten) => {
                if let Some(id) = request.confirm {
                    self.confirmations.settle(id);
                }
                self.drop_vectors(&scope, &forgotten);
                Ok(ErasureReceipt { taken: forgotten.taken, instances: forgotten.instances, ..receipt })
            }
        }
    }

    /// Forgets without a receipt: the deletion of one thing.
    pub async fn forget(&self, act: ForgetRequest) -> Result<ForgetResult, StoreError> {
        let scope = act.scope.clone();
        match self.store.forget(act, None, None).await? {
            ForgetOutcome::Done(forgotten) => {
                self.drop_vectors(&scope, &forgotten);
                Ok(*forgotten)
            }
            // Nothing was expected, so nothing can differ from it; and without a receipt all is done as it stands.
            ForgetOutcome::Changed | ForgetOutcome::Nothing(_) => Ok(ForgetResult::default()),
        }
    }

    fn act(&self, request: &ErasureRequest) -> ForgetRequest {
        ForgetRequest {
            scope: request.scope.clone(),
            selection: request.selection.clone(),
            thoughts: request.thoughts,
            at: self.clock.now(),
        }
    }

    async fn receipt(
        &self,
        request: &ErasureRequest,
        act: &ForgetRequest,
    ) -> Result<ErasureReceipt, StoreError> {
        Ok(ErasureReceipt {
            id: ErasureId(self.ids.next(act.at)),
            scope: request.scope.clone(),
            created_at: act.at,
            selected_by: request.selected_by.clone(),
            taken: super::ForgetSummary::default(),
            copies: self.store.copies().await?,
            overwritten_at: None,
            instances: Vec::new(),
        })
    }

    fn drop_vectors(&self, scope: &Scope, forgotten: &ForgetResult) {
        self.index.forget(scope, Corpus::Messages, &forgotten.message_seqs);
        self.index.forget(scope, Corpus::Nodes, &forgotten.node_seqs);
    }
}
