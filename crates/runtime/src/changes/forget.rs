//! Forgetting: removes deleted or erased data from rows, the index, files, sound and stored events.

use memory::forget::{
    Dependents, EraseError, Eraser, ErasureReceipt, ErasureRequest, ForgetMode, ForgetRequest, ForgetSummary,
    ForgetTarget, ResetCounts, Selection,
};
use memory::identifiers::{ErasureId, NodeId};
use memory::ports::StoreError;
use memory::{PersonaId, Scope};

use crate::changes::Changes;
use crate::events::memory_bodies::MemoryForgotten;

impl Changes {
    /// The scope of a row; `None` if it does not exist.
    pub async fn scope_of(&self, thing: ForgetTarget) -> Result<Option<Scope>, StoreError> {
        self.core.store().scope_of(thing).await
    }

    /// Rows that depend on a node, and the effect of deleting it in either mode.
    pub async fn preview_delete(
        &self,
        id: NodeId,
    ) -> Result<Option<(Dependents, [(ForgetMode, ForgetSummary); 2])>, StoreError> {
        let (store, now) = (self.core.store(), self.core.clock().now());
        let Some(found) = store.dependents(id).await? else { return Ok(None) };
        let orphan = found.preview_deletion(store, ForgetMode::Orphan, now).await?;
        let cascade = found.preview_deletion(store, ForgetMode::Cascade, now).await?;
        Ok(Some((found, [(ForgetMode::Orphan, orphan), (ForgetMode::Cascade, cascade)])))
    }

    /// Deletes a person's selection: its rows at once, and the freed pages are overwritten within a minute. Returns
    /// everything that was deleted with it.
    pub async fn delete(
        &self,
        scope: Scope,
        selection: Selection,
        thoughts: ForgetMode,
    ) -> Result<ForgetSummary, StoreError> {
        let core = &self.core;
        let act = ForgetRequest { scope: scope.clone(), selection, thoughts, at: core.clock().now() };
        let _alone = core.forget_epochs.begin_forgetting().await;
        let taken = self.new_eraser().forget(act).await?.taken;
        core.forget_epochs.count(&scope);
        self.shared_self.follow_forgetting(&scope).await;
        self.voice.forget_sound(&scope, &taken.messages).await;
        self.publish_forgotten(&scope, None, &taken);
        Ok(taken)
    }

    /// Previews an erasure. The receipt's id confirms it for ten minutes.
    pub async fn erase_dry_run(&self, request: ErasureRequest) -> Result<ErasureReceipt, EraseError> {
        self.new_eraser().dry_run(request).await
    }

    /// Erases physically and completely, with a receipt. Returns once freed pages and the log are overwritten, or
    /// when that has to wait, which the receipt then says.
    pub async fn erase(&self, request: ErasureRequest) -> Result<ErasureReceipt, EraseError> {
        let scope = request.scope.clone();
        let receipt = self.erase_rows(request).await?;
        if !receipt.taken.is_empty() {
            self.overwrite_erased(&scope).await;
        }
        Ok(self.core.store().erasure_receipt(receipt.id).await?.unwrap_or(receipt))
    }

    /// The first half of [`erase`](Self::erase): nobody sees the erased rows any more; the freed pages are still to
    /// be overwritten, at the next background check at the latest.
    pub(crate) async fn erase_rows(&self, request: ErasureRequest) -> Result<ErasureReceipt, EraseError> {
        let (core, scope) = (&self.core, request.scope.clone());
        let mut erasure = self.new_eraser().begin(request).await?;
        while erasure.has_more() {
            // Turns can commit between two groups.
            let _alone = core.forget_epochs.begin_forgetting().await;
            let taken = self.new_eraser().erase_group(&mut erasure).await?;
            core.forget_epochs.count(&scope);
            self.shared_self.follow_forgetting(&scope).await;
            self.voice.forget_sound(&scope, &taken.messages).await;
            self.publish_forgotten(&scope, Some(erasure.receipt_id()), &taken);
        }
        erasure.finish()
    }

    /// The second half: overwrites freed pages.
    pub(crate) async fn overwrite_erased(&self, scope: &Scope) {
        if self.overwrite_freed().await {
            // A commit from just before may be published just after.
            self.core.broadcast().withdraw(scope);
        }
    }

    /// Resets a persona: its texts and its memory of all users are deleted. `None` if there is no such persona.
    pub async fn reset_persona(&self, persona: &PersonaId) -> Result<Option<ResetCounts>, StoreError> {
        let core = &self.core;
        let settings = core.settings();
        let name =
            if *persona == settings.persona { settings.persona_name.as_str() } else { persona.as_str() };
        let counts = {
            let _alone = core.forget_epochs.begin_forgetting().await;
            let counts = core.store().reset_persona(persona, name, core.clock().now()).await?;
            core.index().forget_persona(persona);
            core.forget_epochs.count_persona(persona);
            self.shared_self.forget_files_of(persona).await;
            self.voice.forget_sound_of(persona).await;
            for scope in core.broadcast().withdraw_persona(persona) {
                core.publish(&scope, MemoryForgotten::of_removal(None, ForgetSummary::default()));
            }
            counts
        };
        self.overwrite_freed().await;
        Ok(counts)
    }

    fn new_eraser(&self) -> Eraser<'_> {
        Eraser {
            store: self.core.store(),
            index: self.core.index(),
            confirmations: &self.core.forget_epochs.confirmations,
            clock: self.core.clock(),
            ids: self.core.ids(),
        }
    }

    /// Overwrites freed pages and the log, if anything was forgotten.
    pub(crate) async fn overwrite_freed(&self) -> bool {
        match self.core.store().overwrite_freed(self.core.clock().now()).await {
            Ok(done) => done,
            // It stays due, and the next check tries again.
            Err(error) => {
                tracing::warn!("the data was erased, but freed pages could not be overwritten yet: {error}");
                false
            }
        }
    }

    /// Publishes what was forgotten, by ids, and withdraws events that subscribers could still receive again.
    fn publish_forgotten(&self, scope: &Scope, receipt: Option<ErasureId>, taken: &ForgetSummary) {
        self.core.broadcast().withdraw(scope);
        if !taken.is_empty() {
            self.core.publish(scope, MemoryForgotten::of_removal(receipt, taken.clone()));
        }
        // Rewritten nodes wait for vectors.
        self.core.written.notify_one();
        // A session that was returned to the queue waits again.
        self.core.session_ended.notify_one();
    }
}
