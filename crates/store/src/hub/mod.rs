//! The implementation of [`HubStore`].

mod state;
mod documents;
mod shown_texts;
mod commit;
mod conflicts;
mod snapshots;
mod chunks;
mod core_blocks;
mod forget;
mod diary;
mod export;
pub(crate) mod erased_names;
mod erased_lines;
mod erase;
mod exchange;
mod renaming;

use std::collections::BTreeSet;

use async_trait::async_trait;
use hub::VersionVector;
use hub::documents::{Conflict, Document, Version};
use hub::erasure::ErasedLine;
use hub::export::HubExport;
use hub::names::{DiaryName, DocumentName, InstanceId};
use hub::ports::{
    ChunkCoverage, ChunkHits, ChunkVector, DiaryChunk, DiaryCoverage, DiaryEvent, DocumentFilter,
    DocumentOutline, ExchangePosition, HubCommit, HubCommitOutcome, HubState, HubStore, Instance,
    LoreDocument, LoreState, OutdatedLine, PendingErasure, ShownText, Snapshot, UnembeddedChunk,
};
use jiff::Timestamp;
use memory::identifiers::NodeId;
use memory::ports::{Embedding, Phrase, StoreError};
use memory::text::QueryGram;
use memory::{PersonaId, Scope};

use crate::engine::sql::{self, params};
use crate::home_store::HomeStore;
use crate::index::words;
use crate::rows::microseconds;

pub(crate) use core_blocks::{follow_core_block, forget_core_block_version};
#[cfg(test)]
pub(crate) use diary::EVENTS_WITHOUT_DIARY_LINE;
pub(crate) use diary::mark_outdated;
pub(crate) use forget::{HubForgetting, forget, forget_card, forget_persona};

#[async_trait]
impl HubStore for HomeStore {
    async fn hub_state_with(
        &self,
        scope: &Scope,
        names: &[DocumentName],
    ) -> Result<(HubState, Vec<Option<Document>>), StoreError> {
        let (scope, names) = (scope.clone(), names.to_vec());
        if names.is_empty() {
            let state = self.read_statement(move |connection| Ok(state::read(connection, &scope)?)).await?;
            return Ok((state, Vec::new()));
        }
        self.read(move |connection| {
            let documents = names.iter().map(|name| documents::read_document(connection, &scope, name));
            Ok((state::read(connection, &scope)?, documents.collect::<sql::Result<_>>()?))
        })
        .await
    }

    async fn documents(&self, scope: &Scope, filter: DocumentFilter) -> Result<Vec<Document>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(documents::list(connection, &scope, &filter)?)).await
    }

    async fn document_outlines(&self, scope: &Scope, from: i64) -> Result<Vec<DocumentOutline>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(documents::outlines(connection, &scope, from)?)).await
    }

    async fn document(&self, scope: &Scope, name: &DocumentName) -> Result<Option<Document>, StoreError> {
        let (scope, name) = (scope.clone(), name.clone());
        self.read(move |connection| Ok(documents::read_document(connection, &scope, &name)?)).await
    }

    async fn shown_texts(
        &self,
        scope: &Scope,
        memories: Vec<DiaryName>,
        length_max: u32,
    ) -> Result<Vec<ShownText>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(shown_texts::read(connection, &scope, &memories, length_max)?)).await
    }

    async fn lore(
        &self,
        scope: &Scope,
        known: Option<LoreState>,
    ) -> Result<Option<(LoreState, Vec<LoreDocument>)>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(shown_texts::lore(connection, &scope, known)?)).await
    }

    async fn document_versions(
        &self,
        scope: &Scope,
        name: &DocumentName,
        limit: u32,
    ) -> Result<Vec<Version>, StoreError> {
        let (scope, name) = (scope.clone(), name.clone());
        self.read(move |connection| Ok(documents::versions(connection, &scope, &name, limit)?)).await
    }

    async fn erased_lines(
        &self,
        scope: &Scope,
        names: &[DocumentName],
    ) -> Result<Vec<Vec<ErasedLine>>, StoreError> {
        let (scope, names) = (scope.clone(), names.to_vec());
        self.read(move |connection| {
            let lines = names.iter().map(|name| erased_lines::list(connection, &scope, name));
            Ok(lines.collect::<sql::Result<_>>()?)
        })
        .await
    }

    async fn commit_hub(&self, scope: &Scope, commit: HubCommit) -> Result<HubCommitOutcome, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| commit::commit(unit.connection, &scope, &commit)).await
    }

    async fn set_label(&self, scope: &Scope, name: &DocumentName, label: &str) -> Result<(), StoreError> {
        let (scope, name, label) = (scope.clone(), name.clone(), label.to_owned());
        self.write(move |unit| Ok(documents::set_label(unit.connection, &scope, &name, &label)?)).await
    }

    async fn labels(&self, scope: &Scope) -> Result<Vec<(DocumentName, String)>, StoreError> {
        let scope = scope.clone();
        self.read_statement(move |connection| Ok(documents::labels(connection, &scope)?)).await
    }

    async fn conflicts(&self, scope: &Scope, only_open: bool) -> Result<Vec<Conflict>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(conflicts::list(connection, &scope, only_open)?)).await
    }

    async fn instances(&self, scope: &Scope) -> Result<Vec<Instance>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(state::instances(connection, &scope)?)).await
    }

    async fn unsent_deletions(
        &self,
        scope: &Scope,
        instance: &InstanceId,
    ) -> Result<Vec<Document>, StoreError> {
        let (scope, instance) = (scope.clone(), instance.clone());
        self.read(move |connection| Ok(erased_names::unsent_erasures(connection, &scope, &instance)?)).await
    }

    async fn first_waiting_erasures(
        &self,
        scope: &Scope,
        instance: &InstanceId,
    ) -> Result<VersionVector, StoreError> {
        let (scope, instance) = (scope.clone(), instance.clone());
        self.read(move |connection| {
            Ok(erased_names::first_unreceived_erasures(connection, &scope, &instance)?)
        })
        .await
    }

    async fn exchange_position(&self, scope: &Scope) -> Result<Option<ExchangePosition>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(exchange::exchange_position(connection, &scope)?)).await
    }

    async fn pending_erasures(
        &self,
        scope: &Scope,
        position: &ExchangePosition,
        instance: &InstanceId,
    ) -> Result<Vec<PendingErasure>, StoreError> {
        let (scope, position, instance) = (scope.clone(), position.clone(), instance.clone());
        self.read(move |connection| Ok(exchange::pending_erasures(connection, &scope, &position, &instance)?))
            .await
    }

    async fn events_erased_elsewhere(&self, scope: &Scope) -> Result<Vec<NodeId>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(exchange::events_erased_elsewhere(connection, &scope)?)).await
    }

    async fn note_erasures_reached(
        &self,
        scope: &Scope,
        hub: &InstanceId,
        reached: &VersionVector,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (scope, hub, reached) = (scope.clone(), hub.clone(), reached.clone());
        self.write(move |unit| {
            if exchange::note_erasures_reached(unit.connection, &scope, &hub, &reached, at)? {
                crate::forgetting::overwrite::mark_overwriting_due(unit.connection)?;
            }
            Ok(())
        })
        .await
    }

    async fn own_instance(&self) -> Result<Option<InstanceId>, StoreError> {
        self.read_statement(|connection| Ok(state::own_instance(connection)?)).await
    }

    async fn set_author(&self, author: &InstanceId) -> Result<(), StoreError> {
        let author = author.clone();
        self.write(move |unit| Ok(state::set_author(unit.connection, &author)?)).await
    }

    async fn snapshots(&self, scope: &Scope) -> Result<Vec<Snapshot>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(snapshots::list(connection, &scope)?)).await
    }

    async fn prune_snapshots(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.write(move |unit| {
            let statement = "DELETE FROM hub_snapshots WHERE created_at < ?1";
            Ok(unit.connection.prepare_cached(statement)?.execute([microseconds(before)])? as u64)
        })
        .await
    }

    async fn search_chunks(
        &self,
        scope: &Scope,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<ChunkHits, StoreError> {
        let phrases = phrases.to_vec();
        let asked = phrases.len();
        let found = self.read_scope(scope, move |connection, scope| {
            Ok(chunks::look_up(connection, scope, &phrases, limit)?)
        });
        let mut found = found.await?;
        found.hits.resize_with(asked, words::no_hits);
        Ok(found)
    }

    async fn chunks_numbered(
        &self,
        scope: &Scope,
        fingerprint: &str,
        numbers: &[i64],
    ) -> Result<Vec<DiaryChunk>, StoreError> {
        let (fingerprint, numbers) = (fingerprint.to_owned(), numbers.to_vec());
        self.read_scope(scope, move |connection, scope| {
            Ok(chunks::chunks_by_number(connection, scope, &fingerprint, &numbers)?)
        })
        .await
    }

    async fn chunk_vectors(
        &self,
        scope: &Scope,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<ChunkVector>, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read_scope(scope, move |connection, scope| {
            Ok(chunks::vectors(connection, scope, &fingerprint, after, limit)?)
        })
        .await
    }

    async fn unembedded_chunks(
        &self,
        scope: &Scope,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<UnembeddedChunk>, StoreError> {
        let (scope, fingerprint) = (scope.clone(), fingerprint.to_owned());
        self.read(move |connection| {
            Ok(chunks::chunks_without_vector(connection, &scope, &fingerprint, after, limit)?)
        })
        .await
    }

    async fn put_chunk_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(i64, Embedding)>,
    ) -> Result<(), StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.write(move |unit| Ok(chunks::put_vectors(unit.connection, &fingerprint, &vectors)?)).await
    }

    async fn embedded_memories(&self, scope: &Scope, fingerprint: &str) -> Result<DiaryCoverage, StoreError> {
        let (scope, fingerprint) = (scope.clone(), fingerprint.to_owned());
        self.read(move |connection| Ok(chunks::embedded_chunks(connection, &scope, &fingerprint)?)).await
    }

    async fn chunk_coverage(&self, fingerprint: &str) -> Result<ChunkCoverage, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read(move |connection| Ok(chunks::count_coverage(connection, &fingerprint)?)).await
    }

    async fn purge_chunk_vectors(&self, scope: &Scope) -> Result<u64, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| Ok(chunks::delete_vectors(unit.connection, &scope)?)).await
    }

    async fn memory_names(&self, scope: &Scope) -> Result<Vec<DiaryName>, StoreError> {
        let scope = scope.clone();
        self.read_statement(move |connection| Ok(chunks::diary_names(connection, &scope)?)).await
    }

    async fn memories_with_grams(
        &self,
        scope: &Scope,
        words: Vec<BTreeSet<QueryGram>>,
        limit: u32,
    ) -> Result<Vec<Vec<DiaryName>>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            let found = words.iter().map(|grams| chunks::with_grams(connection, scope, grams, limit));
            Ok(found.collect::<sql::Result<_>>()?)
        })
        .await
    }

    async fn export_hub(&self, scope: &Scope) -> Result<HubExport, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(export::read(connection, &scope)?)).await
    }

    async fn set_own_instance(&self, instance: &InstanceId) -> Result<(), StoreError> {
        let instance = instance.clone();
        self.write(move |unit| {
            let statement = "INSERT INTO hub_own_instance (only_row, id) VALUES (1, ?1)
                             ON CONFLICT (only_row) DO UPDATE SET id = excluded.id, author = '' WHERE hub_own_instance.id <> excluded.id";
            unit.connection.prepare_cached(statement)?.execute([instance.as_str()])?;
            core_blocks::create_block_documents(unit.connection)?;
            chunks::cut_unindexed(unit.connection)?;
            Ok(())
        })
        .await
    }

    async fn rename_days(
        &self,
        from: &InstanceId,
        to: &InstanceId,
    ) -> Result<Vec<(Scope, DocumentName)>, StoreError> {
        let (from, to) = (from.clone(), to.clone());
        self.write(move |unit| Ok(renaming::rename_days(unit.connection, &from, &to)?)).await
    }

    async fn hub_scopes(&self) -> Result<Vec<Scope>, StoreError> {
        self.read_statement(|connection| Ok(state::scopes(connection)?)).await
    }

    async fn has_unfinished_session(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
    ) -> Result<bool, StoreError> {
        self.read_scope_statement(scope, move |connection, scope| {
            let statement = "SELECT EXISTS (SELECT 1 FROM sessions WHERE scope = ?1 AND status <> 'closed'
                                 AND status <> 'failed' AND first_message_at < ?3 AND last_message_at >= ?2)";
            Ok(connection
                .prepare_cached(statement)?
                .query_row(params![scope, microseconds(start), microseconds(end)], |row| row.get(0))?)
        })
        .await
    }

    async fn events_without_diary(&self, limit: u32) -> Result<Vec<DiaryEvent>, StoreError> {
        self.read_statement(move |connection| Ok(diary::events(connection, limit)?)).await
    }

    async fn outdated_lines(&self, limit: u32) -> Result<Vec<OutdatedLine>, StoreError> {
        self.read(move |connection| Ok(diary::outdated_lines(connection, limit)?)).await
    }

    async fn knows_instance(&self, persona: &PersonaId, instance: &InstanceId) -> Result<bool, StoreError> {
        let (persona, instance) = (persona.clone(), instance.clone());
        self.read(move |connection| {
            let statement = "SELECT EXISTS (SELECT 1 FROM hub_seen WHERE persona_id = ?1 AND author = ?2)";
            let key = [persona.as_str(), instance.as_str()];
            Ok(connection.prepare_cached(statement)?.query_row(key, |row| row.get(0))?)
        })
        .await
    }
}
