//! Fills in vectors behind the talk: of messages, and of nodes that were written while no model was at hand.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use memory::entities::embedded_text;
use memory::ports::{EmbedError, Embedder, Embedding, StoreError, UnembeddedEntity};

use crate::life::Life;

/// Texts embedded at once; few, so that a turn never waits long for the model.
const BATCH: u32 = 16;
/// How long to leave the model alone after it failed.
const REST_AFTER_FAILURE: Duration = Duration::from_secs(60);
/// How long to let a turn have the processor.
const YIELD_TO_TURN: Duration = Duration::from_millis(20);

#[derive(Debug, thiserror::Error)]
enum BackfillError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// Works until the program stops; without an embedder there is nothing to do.
pub(crate) async fn run(life: Arc<Life>) {
    let Some(embedder) = life.embedder() else { return };
    loop {
        let pause = match fill_all(&life, embedder).await {
            Ok(()) => None,
            Err(error) => {
                tracing::warn!("vectors wait; words still find every message: {error}");
                Some(REST_AFTER_FAILURE)
            }
        };
        let wait = async {
            match pause {
                Some(pause) => life.clock().sleep(pause).await,
                None => life.written.notified().await,
            }
        };
        tokio::select! {
            () = wait => {}
            () = life.stopping.cancelled() => return,
        }
    }
}

async fn fill_all(life: &Life, embedder: &dyn Embedder) -> Result<(), BackfillError> {
    let fingerprint = embedder.fingerprint();
    while !life.stopping.is_cancelled() {
        while life.turns_running.load(Ordering::Relaxed) > 0 && !life.stopping.is_cancelled() {
            life.clock().sleep(YIELD_TO_TURN).await;
        }
        let forgotten = life.forgettings.of_all();
        let nodes = life.store().nodes_without_vector(fingerprint, BATCH).await?;
        let messages = life.store().messages_without_vector(fingerprint, BATCH).await?;
        fill_entities(life, embedder).await?;
        if nodes.is_empty() && messages.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> = nodes
            .iter()
            .map(|node| node.description.clone())
            .chain(messages.iter().map(|message| message.content.clone()))
            .collect();
        let embeddings = embedder.embed(&texts).await?;
        if embeddings.len() != texts.len() {
            let (given, asked) = (embeddings.len(), texts.len());
            return Err(EmbedError::Failed(format!("{given} vectors came for {asked} texts")).into());
        }
        let mut embeddings = embeddings.into_iter();
        let of_nodes: Vec<(_, Embedding)> =
            nodes.iter().map(|node| node.id).zip(embeddings.by_ref()).collect();
        let of_messages: Vec<(_, Embedding)> =
            messages.iter().map(|message| message.id).zip(embeddings).collect();
        let _nothing_is_forgotten = life.forgettings.hold().await;
        if life.forgettings.of_all() != forgotten {
            // A text may have changed meanwhile, and its vector would still say the old one.
            continue;
        }
        life.store().put_node_vectors(fingerprint, of_nodes).await?;
        life.store().put_message_vectors(fingerprint, of_messages).await?;
    }
    Ok(())
}

/// Vectors of entities that were named or described while no model was at hand, or whose description has changed. A
/// name that the model can't read makes the whole unreadable, whatever the description says.
async fn fill_entities(life: &Life, embedder: &dyn Embedder) -> Result<(), BackfillError> {
    let fingerprint = embedder.fingerprint();
    loop {
        let entities = life.store().entities_without_vector(fingerprint, BATCH).await?;
        if entities.is_empty() || life.stopping.is_cancelled() {
            return Ok(());
        }
        let text =
            |entity: &UnembeddedEntity| embedded_text(&entity.canonical_name, entity.description.as_deref());
        let names = entities.iter().map(|entity| entity.canonical_name.clone());
        let texts: Vec<String> = entities.iter().map(text).chain(names).collect();
        let mut of_texts = embedder.embed(&texts).await?;
        if of_texts.len() != texts.len() {
            let (given, asked) = (of_texts.len(), texts.len());
            return Err(EmbedError::Failed(format!("{given} vectors came for {asked} texts")).into());
        }
        let of_names = of_texts.split_off(entities.len());
        let least = |(text, name): (Embedding, Embedding)| Embedding {
            readability: text.readability.min(name.readability),
            vector: text.vector,
        };
        let embeddings = of_texts.into_iter().zip(of_names).map(least);
        life.store().put_entity_vectors(fingerprint, entities.into_iter().zip(embeddings).collect()).await?;
    }
}
