//! Computes vectors in the background, the newest rows first: for messages, nodes and entities that were written
//! while no model was available, for chunks of documents, and for everything after the embedding model was replaced.
//!
//! The database itself is the queue: a row waits as long as it has no vector of the model. So memory is bounded by
//! one batch, and after a crash the work resumes. Turns have priority.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hub::{Hub, HubError};
use memory::Scope;
use memory::entities::embedded_text;
use memory::ports::{EmbedError, Embedder, Embedding, StoreError, UnembeddedEntity};

use crate::vectors::Vectors;
use crate::worker::{NextRun, WakeCause, Worker};

/// Texts to embed at once. Larger batches are hardly faster, and a turn waits for the running one.
const BATCH: usize = 32;
/// Delay after a document was written, so that several are embedded together. Meanwhile they are found by words.
const DOCUMENTS_GATHERED_FOR: Duration = Duration::from_millis(300);
/// Pause after a failure of the model. Meanwhile turns find memories by words.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(60);
/// Pause while a turn uses the processor. It is the time that a turn takes without its model.
const PAUSE_FOR_TURN: Duration = Duration::from_millis(20);
/// Maximum number of pauses before a batch runs anyway: in a busy home vectors come slowly, but they come.
const YIELDS_MAX: u32 = 250;
/// Batches between two checks of which scopes are complete. A check counts rows, which takes longer than a batch in a
/// large home.
const BATCHES_PER_CHECK: u32 = 32;
/// Vectors of earlier models to remove in one transaction, for each corpus. Turns can write between two transactions.
const REMOVED_AT_ONCE: u32 = 500;

#[derive(Debug, thiserror::Error)]
enum BackfillError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    #[error(transparent)]
    Hub(#[from] HubError),
}

/// Computes missing vectors. Not used without an embedder.
pub(crate) struct VectorWorker {
    vectors: Arc<Vectors>,
    embedder: Arc<dyn Embedder>,
    /// True if the model is stored and its earlier vectors are in use again.
    prepared: bool,
    /// True if there are vectors of other models.
    others: bool,
    logged: Option<String>,
}

impl Worker for VectorWorker {
    const NAME: &str = "vectors";

    async fn run_once(&mut self, _: WakeCause) -> NextRun {
        let failure = self.embed_pending().await.err().map(|error| error.to_string());
        // Each cause is logged once. The work is retried until it succeeds, and `status` shows that it waits.
        if let Some(error) = failure.as_ref().filter(|_| self.logged != failure) {
            tracing::warn!(
                "vectors are not being computed; search by words still finds every message: \
                {error}"
            );
        }
        self.logged.clone_from(&failure);
        let next = if failure.is_some() { NextRun::After(PAUSE_AFTER_FAILURE) } else { NextRun::WhenWoken };
        self.vectors.changeover.note_failure(failure);
        next
    }

    async fn wait_for_work(&self) {
        let core = &self.vectors.core;
        let Some(hub) = self.vectors.shared_self.hub() else { return core.written.notified().await };
        tokio::select! {
            () = core.written.notified() => {}
            // Documents often follow each other: together they cost less, and the model does not delay the next one.
            () = hub.documents_written() => core.clock().sleep(DOCUMENTS_GATHERED_FOR).await,
        }
    }
}

impl VectorWorker {
    pub(crate) fn new(vectors: Arc<Vectors>, embedder: Arc<dyn Embedder>) -> Self {
        Self { vectors, embedder, prepared: false, others: false, logged: None }
    }

    async fn embed_pending(&mut self) -> Result<(), BackfillError> {
        let fingerprint = self.embedder.identify().await?;
        if !self.prepared {
            self.begin_with_model(&fingerprint).await?;
            self.prepared = true;
        }
        let mut batches = 0_u32;
        while !self.vectors.core.stopping.is_cancelled() {
            self.wait_for_running_turns().await;
            // The batch includes everything written so far, so an earlier wake-up is used up.
            pin!(self.vectors.core.written.notified()).enable();
            if !self.fill_batch(&fingerprint).await? {
                self.fill_documents().await?;
                return self.complete_model(&fingerprint).await;
            }
            batches = batches.wrapping_add(1);
            if batches.is_multiple_of(BATCHES_PER_CHECK) {
                self.find_waiting_rows(&fingerprint).await?;
            }
        }
        Ok(())
    }

    /// Stores the model, and reuses its vectors from an earlier time.
    async fn begin_with_model(&mut self, fingerprint: &str) -> Result<(), StoreError> {
        let store = self.vectors.core.store();
        let source = self.embedder.source();
        let known = store.embedding_models().await?;
        if !known.iter().any(|model| model.fingerprint == fingerprint && model.source == source) {
            store.note_embedding_model(fingerprint, source.as_deref()).await?;
        }
        self.others = known.iter().any(|model| model.fingerprint != fingerprint && model.vectors > 0);
        if !self.others {
            self.vectors.changeover.note_waiting_scopes(Vec::new());
            return Ok(());
        }
        while store.adopt_vectors(fingerprint, REMOVED_AT_ONCE).await? > 0 {}
        let coverage = store.vector_coverage(fingerprint).await?;
        self.find_waiting_rows(fingerprint).await?;
        let meanwhile = match self.vectors.changeover.previous_model() {
            Some(_) => "the previous model is used until all memories have vectors",
            None => {
                "the previous model is not available, so messages without vectors are found only by words"
            }
        };
        tracing::info!(
            model = fingerprint,
            rows = coverage.rows,
            missing = coverage.rows.saturating_sub(coverage.with_vector),
            "the embedding model changed: vectors are computed again, newest first; {meanwhile}"
        );
        Ok(())
    }

    async fn find_waiting_rows(&self, fingerprint: &str) -> Result<(), StoreError> {
        let Some(previous) = self.vectors.changeover.previous_model() else { return Ok(()) };
        let waiting =
            self.vectors.core.store().scopes_between_models(fingerprint, previous.fingerprint()).await?;
        self.vectors.changeover.note_waiting_scopes(waiting);
        Ok(())
    }

    /// Waits while turns run: nobody waits for vectors, but somebody may wait for a reply.
    async fn wait_for_running_turns(&self) {
        for _ in 0..YIELDS_MAX {
            if self.vectors.core.turns_running.load(Ordering::Relaxed) == 0
                || self.vectors.core.stopping.is_cancelled()
            {
                return;
            }
            self.vectors.core.clock().sleep(PAUSE_FOR_TURN).await;
        }
    }

    /// Embeds entities that were named or described while no model was available, or whose description has changed.
    /// If the model can't read the name, the whole counts as unreadable.
    async fn fill_entities(&self, fingerprint: &str) -> Result<(), BackfillError> {
        let store = self.vectors.core.store();
        while !self.vectors.core.stopping.is_cancelled() {
            let entities = store.entities_without_vector(fingerprint, BATCH as u32).await?;
            if entities.is_empty() {
                break;
            }
            let text = |entity: &UnembeddedEntity| {
                embedded_text(&entity.canonical_name, entity.description.as_deref())
            };
            let names = entities.iter().map(|entity| entity.canonical_name.clone());
            let texts: Vec<String> = entities.iter().map(text).chain(names).collect();
            let mut of_texts = self.embed(&texts).await?;
            let of_names = of_texts.split_off(entities.len());
            let least = |(text, name): (Embedding, Embedding)| Embedding {
                readability: text.readability.min(name.readability),
                vector: text.vector,
            };
            let embeddings = of_texts.into_iter().zip(of_names).map(least);
            store.put_entity_vectors(fingerprint, entities.into_iter().zip(embeddings).collect()).await?;
        }
        Ok(())
    }

    /// One embedding per text, or none at all.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let embeddings = self.embedder.embed(texts).await?;
        if embeddings.len() == texts.len() {
            return Ok(embeddings);
        }
        let (given, asked) = (embeddings.len(), texts.len());
        Err(EmbedError::Failed(format!("{given} vectors were returned for {asked} texts")))
    }

    /// Embeds some rows; true if there may be more.
    async fn fill_batch(&self, fingerprint: &str) -> Result<bool, BackfillError> {
        self.fill_entities(fingerprint).await?;
        let store = self.vectors.core.store();
        let forgotten = self.vectors.core.forget_epochs.latest_epoch();
        let nodes = store.nodes_without_vector(fingerprint, BATCH as u32).await?;
        let room = BATCH.saturating_sub(nodes.len());
        let messages = store.messages_without_vector(fingerprint, room as u32).await?;
        let rows = nodes.len() + messages.len();
        if rows == 0 {
            return Ok(false);
        }
        let texts: Vec<String> = nodes
            .iter()
            .map(|node| node.description.clone())
            .chain(messages.iter().map(|message| message.content.clone()))
            .collect();
        let mut embeddings = self.embed(&texts).await?.into_iter();
        let of_nodes: Vec<(_, Embedding)> =
            nodes.iter().map(|node| node.id).zip(embeddings.by_ref()).collect();
        let of_messages: Vec<(_, Embedding)> =
            messages.iter().map(|message| message.id).zip(embeddings).collect();
        let _nothing_is_forgotten = self.vectors.core.forget_epochs.block_forgetting().await;
        if self.vectors.core.forget_epochs.latest_epoch() != forgotten {
            // A text may have changed meanwhile, so that its vector is outdated.
            return Ok(true);
        }
        if !of_nodes.is_empty() {
            store.put_node_vectors(fingerprint, of_nodes).await?;
        }
        if !of_messages.is_empty() {
            store.put_message_vectors(fingerprint, of_messages).await?;
        }
        Ok(rows >= BATCH)
    }

    /// Embeds the chunks of documents, until the model fails; the hub logs the reason.
    async fn fill_documents(&self) -> Result<(), BackfillError> {
        let Some(hub) = self.vectors.shared_self.hub() else { return Ok(()) };
        for scope in hub.scopes_with_documents().await? {
            while !self.vectors.core.stopping.is_cancelled() && self.embed_chunks(hub, &scope).await? {
                self.wait_for_running_turns().await;
            }
        }
        Ok(())
    }

    /// Embeds a batch of the scope's chunks; true if there may be more.
    async fn embed_chunks(&self, hub: &Hub, scope: &Scope) -> Result<bool, BackfillError> {
        match hub.embed_batch(scope).await? {
            0 if hub.is_embedding_paused() => {
                Err(EmbedError::Unavailable("chunks of documents are waiting for vectors".to_owned()).into())
            }
            embedded => Ok(embedded > 0),
        }
    }

    /// Removes vectors of other models, once every row has one of this model.
    async fn complete_model(&mut self, fingerprint: &str) -> Result<(), BackfillError> {
        if !self.others {
            return Ok(());
        }
        self.vectors.changeover.note_waiting_scopes(Vec::new());
        self.vectors.core.index().retain_only(fingerprint);
        let mut removed = 0_u64;
        while !self.vectors.core.stopping.is_cancelled() {
            self.wait_for_running_turns().await;
            match self.vectors.core.store().remove_other_vectors(fingerprint, REMOVED_AT_ONCE).await? {
                0 => {
                    self.others = false;
                    tracing::info!(
                        model = fingerprint,
                        removed,
                        "all vectors are computed with the new model"
                    );
                    break;
                }
                count => removed += u64::from(count),
            }
        }
        Ok(())
    }
}
