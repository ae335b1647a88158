//! Erasure: physical and complete, with a receipt.

use std::collections::{BTreeSet, VecDeque};

use super::{
    Confirmations, ErasureReceipt, ForgetMode, ForgetOutcome, ForgetRequest, ForgetResult, ForgetSummary,
    Selection,
};
use crate::core_blocks::CoreBlockLabel;
use crate::identifiers::{ErasureId, MessageId};
use crate::ports::{Clock, Corpus, IdGenerator, Store, StoreError};
use crate::scope::Scope;
use crate::vector_index::VectorIndex;

/// Minimum length of a text to erase by, in characters: a single one would match half of all messages.
pub const TEXT_LENGTH_MIN: usize = 2;

/// Messages to erase in one transaction. A turn waits for one of them at most; 500 messages take about 50 ms.
const MESSAGES_AT_ONCE: usize = 500;

/// A person's request to erase.
#[derive(Clone, Debug)]
pub struct ErasureRequest {
    pub scope: Scope,
    pub selection: Selection,
    /// Treatment of thoughts that depend on erased events.
    pub thoughts: ForgetMode,
    /// The names of the request's non-empty fields.
    pub selected_by: Vec<String>,
    /// The dry run that the person has seen.
    pub confirm: Option<ErasureId>,
}

/// Why an erasure failed.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// A text was given without the id of a dry run.
    #[error(
        "erasing by text needs `confirm`: send `dry_run` first, check the preview, and send the id that it \
            returned; nothing was erased"
    )]
    Unconfirmed,
    /// There is no dry run with this id in this memory from the last ten minutes.
    #[error("`confirm` is not a dry run of the last ten minutes; send `dry_run` again. Nothing was erased")]
    UnknownConfirmation,
    /// The result would differ from the preview.
    #[error(
        "the data has changed since the dry run; send `dry_run` again and check the preview. Nothing was erased"
    )]
    Changed,
    /// Nothing was found. Has the core blocks that contain the text, which only a person edits.
    #[error("nothing was found{}; nothing was erased, and there is no receipt", remaining_blocks_text(.0))]
    Nothing(Vec<CoreBlockLabel>),
    /// The store failed between two groups of a large erasure.
    #[error(
        "a part was erased (receipt {}), and the rest was not changed: {source}; send the request again for \
            the rest",
        receipt.0
    )]
    Interrupted { receipt: ErasureId, source: StoreError },
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn remaining_blocks_text(blocks: &[CoreBlockLabel]) -> String {
    let names: Vec<&str> = blocks.iter().map(|label| label.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(" except in the core blocks that people write ({})", names.join(", "))
}

/// An erasure in progress. It is split into groups of a limited number of messages, each a transaction of its own;
/// the receipt covers all of them. If the program ends between two groups, the receipt lists what was erased, and the
/// same request erases the rest.
pub struct Erasure {
    /// The request with an empty selection, which is divided into the groups.
    request: ForgetRequest,
    /// The preview that the person saw; an erasure in one group must match it.
    expected: Option<ForgetSummary>,
    confirm: Option<ErasureId>,
    groups: VecDeque<Selection>,
    receipt: ErasureReceipt,
    left_core_blocks: Vec<CoreBlockLabel>,
}

impl Erasure {
    pub fn receipt_id(&self) -> ErasureId {
        self.receipt.id
    }

    /// True if another group is to be erased.
    pub fn has_more(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Returns the receipt of all groups.
    ///
    /// # Errors
    ///
    /// [`EraseError::Nothing`] if no group found anything.
    pub fn finish(self) -> Result<ErasureReceipt, EraseError> {
        match self.receipt.taken.is_empty() {
            true => Err(EraseError::Nothing(self.left_core_blocks)),
            false => Ok(self.receipt),
        }
    }
}

/// Erases a person's selection, with a receipt.
#[derive(Clone, Copy)]
pub struct Eraser<'a> {
    pub store: &'a dyn Store,
    /// The vectors in memory.
    pub index: &'a VectorIndex,
    /// Dry runs that wait for confirmation.
    pub confirmations: &'a Confirmations,
    pub clock: &'a dyn Clock,
    pub ids: &'a dyn IdGenerator,
}

impl Eraser<'_> {
    /// Previews an erasure without changing anything. The receipt's id confirms it for ten minutes.
    pub async fn dry_run(&self, request: ErasureRequest) -> Result<ErasureReceipt, EraseError> {
        let act = self.build_forget_request(&request);
        let mut receipt = self.receipt(&request, &act).await?;
        receipt.taken = self.store.preview_forgetting(act).await?;
        let (scope, taken) = (request.scope, receipt.taken.clone());
        self.confirmations.await_confirmation(receipt.id, scope, taken, receipt.created_at);
        Ok(receipt)
    }

    /// Begins an erasure; [`Self::erase_group`] continues it. Overwriting the freed pages is a separate last step,
    /// [`crate::ports::ForgetStore::overwrite_freed`].
    pub async fn begin(&self, request: ErasureRequest) -> Result<Erasure, EraseError> {
        let act = self.build_forget_request(&request);
        let shown = match request.confirm {
            Some(id) => {
                let shown = self.confirmations.preview(id, &request.scope, act.at);
                Some(shown.ok_or(EraseError::UnknownConfirmation)?)
            }
            None if request.selection.text.is_some() => return Err(EraseError::Unconfirmed),
            None => None,
        };
        let receipt = self.receipt(&request, &act).await?;
        let groups = self.split_into_groups(&act.selection, shown.as_ref()).await?;
        let mut expected = shown;
        if groups.len() > 1
            && let Some(shown) = expected.take()
            && !self.store.preview_forgetting(act.clone()).await?.agrees_with(&shown)
        {
            return Err(EraseError::Changed);
        }
        let (confirm, left_core_blocks) = (request.confirm, Vec::new());
        let request = ForgetRequest { selection: Selection::default(), ..act };
        Ok(Erasure { request, expected, confirm, groups, receipt, left_core_blocks })
    }

    /// Erases the next group in one transaction, together with its part of the receipt, and removes its vectors from
    /// memory.
    pub async fn erase_group(&self, erasure: &mut Erasure) -> Result<ForgetSummary, EraseError> {
        let Some(selection) = erasure.groups.pop_front() else { return Ok(ForgetSummary::default()) };
        let act = ForgetRequest { selection, ..erasure.request.clone() };
        // Each group stores its own part, so that earlier parts are not copied.
        let taken = std::mem::take(&mut erasure.receipt.taken);
        let receipt = erasure.receipt.clone();
        erasure.receipt.taken = taken;
        let outcome = match self.store.forget(act, erasure.expected.take(), Some(receipt)).await {
            Ok(outcome) => outcome,
            Err(source) if erasure.receipt.taken.is_empty() => return Err(source.into()),
            Err(source) => return Err(EraseError::Interrupted { receipt: erasure.receipt.id, source }),
        };
        match outcome {
            ForgetOutcome::Changed => Err(EraseError::Changed),
            ForgetOutcome::Nothing(blocks) => {
                erasure.left_core_blocks = blocks;
                Ok(ForgetSummary::default())
            }
            ForgetOutcome::Done(forgotten) => {
                if let Some(id) = erasure.confirm {
                    self.confirmations.settle(id);
                }
                self.drop_vectors(&erasure.request.scope, &forgotten);
                let known: BTreeSet<String> =
                    erasure.receipt.instances.iter().map(|instance| instance.id.clone()).collect();
                let more = forgotten.instances.into_iter().filter(|instance| !known.contains(&instance.id));
                erasure.receipt.instances.extend(more);
                erasure.receipt.taken.merge(forgotten.taken.clone());
                Ok(forgotten.taken)
            }
        }
    }

    /// Splits a selection by its messages. Other rows and the text come last, because most of them are erased with
    /// the messages.
    async fn split_into_groups(
        &self,
        selection: &Selection,
        shown: Option<&ForgetSummary>,
    ) -> Result<VecDeque<Selection>, StoreError> {
        let flags = Selection {
            with_messages: selection.with_messages,
            silences: selection.silences,
            spares_shared: selection.spares_shared,
            ..Selection::default()
        };
        let messages: Vec<MessageId> =
            shown.map_or(&selection.messages, |shown| &shown.messages).iter().copied().collect();
        let mut groups = VecDeque::new();
        for messages in messages.chunks(MESSAGES_AT_ONCE) {
            groups.push_back(Selection { messages: messages.iter().copied().collect(), ..flags.clone() });
        }
        let mut rest = Selection { messages: BTreeSet::new(), ..selection.clone() };
        if shown.is_none() {
            let mut count = messages.len();
            let mut group_count = MESSAGES_AT_ONCE;
            for session in std::mem::take(&mut rest.sessions) {
                let own =
                    self.store.session(session).await?.map_or(0, |session| session.message_count as usize);
                count += own;
                group_count += own;
                if group_count > MESSAGES_AT_ONCE {
                    group_count = own;
                    groups.push_back(flags.clone());
                }
                groups.back_mut().map(|group: &mut Selection| group.sessions.insert(session));
            }
            if count <= MESSAGES_AT_ONCE {
                return Ok([selection.clone()].into());
            }
        } else if messages.len() <= MESSAGES_AT_ONCE {
            return Ok([selection.clone()].into());
        }
        if !rest.is_empty() {
            groups.push_back(rest);
        }
        Ok(groups)
    }

    /// Deletes single items without a receipt.
    pub async fn forget(&self, act: ForgetRequest) -> Result<ForgetResult, StoreError> {
        let scope = act.scope.clone();
        match self.store.forget(act, None, None).await? {
            ForgetOutcome::Done(forgotten) => {
                self.drop_vectors(&scope, &forgotten);
                Ok(*forgotten)
            }
            // Without an expectation nothing can differ, and without a receipt everything is done at once.
            ForgetOutcome::Changed | ForgetOutcome::Nothing(_) => Ok(ForgetResult::default()),
        }
    }

    fn build_forget_request(&self, request: &ErasureRequest) -> ForgetRequest {
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
        let copies = self.store.unreached_copies().await?;
        Ok(ErasureReceipt {
            id: ErasureId(self.ids.next(act.at)),
            scope: request.scope.clone(),
            created_at: act.at,
            selected_by: request.selected_by.clone(),
            taken: super::ForgetSummary::default(),
            copies: copies.files,
            server: copies.server,
            overwritten_at: None,
            instances: Vec::new(),
        })
    }

    fn drop_vectors(&self, scope: &Scope, forgotten: &ForgetResult) {
        self.index.forget(scope, Corpus::Messages, &forgotten.message_seqs);
        self.index.forget(scope, Corpus::Nodes, &forgotten.node_seqs);
    }
}
