//! Removal, in one transaction. Forgetting starts from a selection ([`select`]), an edit or another reply from its
//! messages ([`message_edits`]). From there both take the same steps on a [`removal::RemovalSet`]: [`follow`] adds
//! what was derived, [`names`] unsupported entities; [`remains`], [`traces`] and [`mod@remove`] remove it. Forgotten
//! rows are deleted; nodes that an edit withdraws are marked ([`withdraw`]). [`overwrite`] clears freed pages and the
//! write-ahead log.

mod select;
mod follow;
mod removal;
mod names;
mod remains;
mod traces;
mod remove;
mod dependents;
mod spans;
mod receipts;
pub(crate) mod overwrite;
mod reset;
pub(crate) mod withdraw;
pub(crate) mod support;
pub(crate) mod message_edits;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::core_blocks::CoreBlockLabel;
use memory::forget::{
    CoreBlockAppend, Dependents, ErasureReceipt, ForgetOutcome, ForgetRequest, ForgetResult, ForgetSummary,
    ForgetTarget, ForgottenSpan, InstanceWithCopy, LossReason, ResetCounts, UnreachedCopies,
};
use memory::identifiers::{ErasureId, MessageId, NodeId, SessionId};
use memory::ports::{ForgetStore, StoreError};
use memory::{PersonaId, Scope};

use crate::engine::failure::Failure;
use crate::engine::postgres::{clear_erased_words, note_cleared};
use crate::engine::run_blocking;
use crate::engine::writer::UnitOfWork;
use crate::home_store::HomeStore;
use crate::hub::{self, HubForgetting};
use crate::people::core_blocks;
use crate::rows::{column, microseconds};
use crate::scopes;
use removal::{RemovalSet, RowKey, uuid_of_key};
use traces::ErasedTexts;

pub(crate) use traces::clear_traces_quoting;

#[async_trait]
impl ForgetStore for HomeStore {
    async fn scope_of(&self, thing: ForgetTarget) -> Result<Option<Scope>, StoreError> {
        self.read(move |connection| Ok(dependents::scope_of(connection, thing)?)).await
    }

    async fn dependents(&self, id: NodeId) -> Result<Option<Dependents>, StoreError> {
        self.read(move |connection| Ok(dependents::dependents(connection, id)?)).await
    }

    async fn preview_forgetting(&self, act: ForgetRequest) -> Result<ForgetSummary, StoreError> {
        self.write(move |unit| preview(unit, &act)).await
    }

    async fn forget(
        &self,
        act: ForgetRequest,
        expected: Option<ForgetSummary>,
        receipt: Option<ErasureReceipt>,
    ) -> Result<ForgetOutcome, StoreError> {
        self.write(move |unit| {
            // Compared before anything is deleted: within a savepoint each deletion gets slower the more came before
            // it.
            if let Some(expected) = &expected
                && !preview(unit, &act)?.agrees_with(expected)
            {
                return Ok(ForgetOutcome::Changed);
            }
            let forgotten = forget(unit, &act, false)?;
            if let Some(receipt) = receipt.as_ref().filter(|_| !forgotten.taken.is_empty()) {
                let receipt = ErasureReceipt { taken: forgotten.taken.clone(), ..receipt.clone() };
                receipts::insert_receipt(unit.connection, &receipt, &forgotten.instances)?;
            }
            Ok(if receipt.is_some() && forgotten.taken.is_empty() {
                ForgetOutcome::Nothing(forgotten.taken.left_core_blocks)
            } else {
                ForgetOutcome::Done(Box::new(forgotten))
            })
        })
        .await
    }

    async fn forgotten_spans(&self, session: SessionId) -> Result<Vec<ForgottenSpan>, StoreError> {
        self.read(move |connection| Ok(spans::spans_of_session(connection, session)?)).await
    }

    async fn silenced_spans(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<ForgottenSpan>, StoreError> {
        let seqs = seqs.to_vec();
        self.read_scope_statement(scope, move |connection, scope| {
            Ok(spans::silenced_spans(connection, scope, &seqs)?)
        })
        .await
    }

    async fn erasure_receipts(
        &self,
        scope: &Scope,
        before: Option<ErasureId>,
        limit: u32,
    ) -> Result<Vec<ErasureReceipt>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(receipts::list(connection, &scope, before, limit)?)).await
    }

    async fn erasure_receipt(&self, id: ErasureId) -> Result<Option<ErasureReceipt>, StoreError> {
        self.read(move |connection| Ok(receipts::by_id(connection, id)?)).await
    }

    async fn overwrite_freed(&self, at: Timestamp) -> Result<bool, StoreError> {
        // Called often and nearly always without work, so a reader checks first, without waiting for the writer.
        if !self.read_statement(|connection| Ok(overwrite::is_due(connection)?)).await? {
            return Ok(true);
        }
        let Some(address) = self.address.clone() else {
            return self.writer.run_alone(move |unit| Ok(overwrite::overwrite(unit.connection, at)?)).await;
        };
        // Two would wait for each other at every table. The second finds nothing left to do.
        let _alone = self.clearing.lock().await;
        // On a connection of its own: it may take minutes, and nobody has to wait for it.
        let cleared = run_blocking(move || clear_erased_words(&address)).await?;
        // Receipts stay open: freed blocks are not overwritten on a server.
        self.write(move |unit| Ok(note_cleared(unit.connection, cleared)?)).await?;
        Ok(true)
    }

    async fn unreached_copies(&self) -> Result<UnreachedCopies, StoreError> {
        if let Some(address) = &self.address {
            return Ok(UnreachedCopies { files: Vec::new(), server: Some(address.to_string()) });
        }
        let path = self.path.clone();
        let files = run_blocking(move || overwrite::list_copies(&path)).await?;
        Ok(UnreachedCopies { files, server: None })
    }

    async fn core_block_appends(
        &self,
        scope: &Scope,
        label: CoreBlockLabel,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<CoreBlockAppend>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| {
            Ok(core_blocks::list_block_edits(connection, &scope, label, before, limit)?)
        })
        .await
    }

    async fn forget_core_block_append(
        &self,
        scope: &Scope,
        label: CoreBlockLabel,
        id: i64,
    ) -> Result<bool, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| {
            let gone = core_blocks::forget_append(unit.connection, &scope, label, id)?;
            if gone {
                overwrite::mark_overwriting_due(unit.connection)?;
            }
            Ok(gone)
        })
        .await
    }

    async fn reset_persona(
        &self,
        persona: &PersonaId,
        name: &str,
        at: Timestamp,
    ) -> Result<Option<ResetCounts>, StoreError> {
        let (persona, name) = (persona.clone(), name.to_owned());
        let counts = self.write(move |unit| reset::reset(unit, &persona, &name, at)).await;
        self.scope_numbers.clear();
        counts
    }
}

/// Previews an erasure by running it within a savepoint.
fn preview(unit: &mut UnitOfWork<'_>, act: &ForgetRequest) -> Result<ForgetSummary, Failure> {
    Ok(unit.run_in_savepoint(|unit| forget(unit, act, true), |_| false)?.taken)
}

/// Forgets a person's selection. For a preview, the caller rolls back.
fn forget(unit: &mut UnitOfWork<'_>, act: &ForgetRequest, is_preview: bool) -> Result<ForgetResult, Failure> {
    let connection = unit.connection;
    // A scope without messages may have documents.
    let Some(scope) = scopes::number_if_known(connection, &act.scope)? else {
        return Ok(ForgetResult::default());
    };
    let mut going = RemovalSet::new(scope, LossReason::Forgotten, act.thoughts.into());
    going.text.clone_from(&act.selection.text);
    going.documents.clone_from(&act.selection.documents);
    going.silences = act.selection.silences;
    going.spares_shared = act.selection.spares_shared;
    going.is_preview = is_preview;
    select::select(connection, &mut going, &act.selection)?;
    let saying_the_same = select::ids_with_same_text(connection, &going)?;
    follow::add_dependents(connection, &mut going)?;
    if !is_preview {
        overwrite::make_overwriting_due(connection, going.messages.len() + going.nodes.len())?;
    }
    let mut taken = ForgetSummary::default();
    for seq in saying_the_same.into_iter().filter(|seq| !going.messages.contains_key(seq)) {
        let id = "SELECT id FROM recall_messages WHERE seq = ?1";
        let ids = column::<RowKey>(connection, id, seq)?;
        taken.left_messages.extend(ids.into_iter().map(|id| MessageId(uuid_of_key(id))));
    }
    taken.left_core_blocks = remains::left_core_blocks(connection, &going)?;
    let instances = remove(unit, &act.scope, &going, microseconds(act.at), &mut taken)?;
    if !taken.is_empty() && !is_preview {
        remove::requeue_and_recount_sessions(connection, &going)?;
    }
    if (!taken.is_empty() || taken.counts.traces > 0) && !is_preview {
        overwrite::mark_overwriting_due(connection)?;
    }
    let message_seqs = going.messages.keys().copied().collect();
    let node_seqs = going.nodes.keys().chain(going.rewritten.keys()).copied().collect();
    let instances = instances.into_iter().map(|id| InstanceWithCopy { id, reached_at: None }).collect();
    Ok(ForgetResult { taken, message_seqs, node_seqs, instances })
}

/// Removes a complete set: rows, names, and everything derived from them, in the memory and in the hub. Returns the
/// instances that have copies of changed documents.
fn remove(
    unit: &mut UnitOfWork<'_>,
    scope: &Scope,
    going: &RemovalSet,
    at: i64,
    taken: &mut ForgetSummary,
) -> Result<Vec<String>, Failure> {
    let connection = unit.connection;
    let names = match going.reason {
        LossReason::Forgotten => names::names_to_forget(connection, going)?,
        LossReason::Edited => names::names_to_withdraw(connection, going)?,
    };
    let lost = ErasedTexts::read(connection, going, &names)?;
    if going.is_forgotten() {
        remains::clear_summaries(connection, going, taken)?;
        remains::clear_moods(connection, going, taken)?;
    }
    remains::clear_receipts(connection, going, taken)?;
    remove::remove_rows(unit, going, at, taken)?;
    remove::rewrite(unit, going, taken)?;
    remove::remove_names(connection, going, &names, at, taken)?;
    remains::clear_graph(connection, going, at, taken)?;
    if going.is_forgotten() {
        remains::clear_turns(connection, going, at, taken)?;
    }
    let nodes = going.nodes.values().map(|node| node.id).chain(going.rewritten.values().map(|node| node.id));
    let nodes = nodes.map(|id| id.0.into_bytes()).collect();
    let documents = HubForgetting {
        nodes: &nodes,
        documents: &going.documents,
        text: going.text.as_deref(),
        spares_shared: going.spares_shared,
        at,
    };
    hub::forget_card(connection, scope, &documents)?;
    let documents = hub::forget(connection, scope, &documents)?;
    taken.counts.documents = documents.count;
    taken.left_documents = documents.left;
    traces::clear_traces(connection, going, &lost, taken)?;
    Ok(documents.instances.iter().map(ToString::to_string).collect())
}
