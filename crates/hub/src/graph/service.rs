//! The service of the graph.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use memory::Scope;
use memory::entities::{embedded_text, fold_name};
use memory::identifiers::{EntityId, SessionId};
use memory::ports::{
    Clock, CorrectionStore, Embedder, Embedding, EntityStore, IdGenerator, StoreError, UnembeddedEntity,
};
use memory::recall::OutdatedValues;

use crate::ports::DiaryLinks;
use crate::retries::Retries;

use super::ports::{GraphNode, GraphStore, GraphWithdrawal, UnembeddedNode};

/// Nodes to embed in one batch, which bounds the memory; further batches follow until every node has its vector.
const EMBEDDED_AT_ONCE: u32 = 256;

/// The graph of all scopes.
#[derive(Clone)]
pub struct Graph {
    pub(super) store: Arc<dyn GraphStore>,
    entities: Arc<dyn EntityStore>,
    corrections: Arc<dyn CorrectionStore>,
    pub(super) embedder: Option<Arc<dyn Embedder>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    /// Sessions whose extraction failed.
    pub(super) retries: Arc<Retries<SessionId>>,
    /// Documents, by number, whose extraction failed.
    pub(super) document_retries: Arc<Retries<i64>>,
}

impl Graph {
    /// Creates a graph on this storage. Without an embedder it is searched by words alone.
    pub fn new(
        store: Arc<dyn GraphStore>,
        entities: Arc<dyn EntityStore>,
        corrections: Arc<dyn CorrectionStore>,
        embedder: Option<Arc<dyn Embedder>>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        Self {
            store,
            entities,
            corrections,
            embedder,
            clock,
            ids,
            retries: Arc::default(),
            document_retries: Arc::default(),
        }
    }

    /// Removes nodes and edges that depended only on a deleted memory.
    pub async fn withdraw(&self, scope: &Scope, memory_id: &str) -> Result<GraphWithdrawal, StoreError> {
        self.store.withdraw_from_graph(scope, memory_id, self.clock.now()).await
    }

    /// Computes all vectors of nodes again. Returns how many succeeded, how many failed, and the total.
    pub async fn rebuild_vectors(&self, scope: &Scope) -> Result<(u64, u64, u64), StoreError> {
        self.store.clear_graph_vectors(scope).await?;
        let nodes = self.store.graph_nodes(scope).await?;
        let (entities, own): (Vec<_>, Vec<_>) =
            nodes.into_iter().filter(|node| !node.deleted).partition(|node| node.entity);
        let total = (entities.len() + own.len()) as u64;
        self.embed_missing(scope).await?;
        self.embed_entities(&entities).await?;
        let Some(fingerprint) = self.fingerprint().await else { return Ok((0, total, total)) };
        let made = self.store.graph_vectors(scope, &fingerprint).await?;
        let there = |node: &GraphNode| made.iter().any(|(id, _)| *id == node.id);
        let rebuilt = entities.iter().chain(&own).filter(|node| there(node)).count() as u64;
        Ok((rebuilt, total - rebuilt, total))
    }

    /// Notes on each node which parts of its label or description were corrected later.
    pub(super) async fn set_outdated_values<'a>(
        &self,
        scope: &Scope,
        nodes: impl Iterator<Item = &'a mut GraphNode>,
    ) -> Result<(), StoreError> {
        let nodes: Vec<&mut GraphNode> = nodes.collect();
        let texts = nodes.iter().flat_map(|node| [node.label.clone(), node.description.clone()]).collect();
        let corrected =
            OutdatedValues::former_values_in_texts(self.corrections.as_ref(), scope, texts).await?;
        for node in nodes {
            node.no_longer_current =
                corrected.former_value_in_description(&node.label, &node.aliases, &node.description);
        }
        Ok(())
    }

    /// The fingerprint of the embedding model; `None` without a model.
    pub(super) async fn fingerprint(&self) -> Option<String> {
        self.embedder.as_ref()?.identify().await.ok()
    }

    /// Embeds nodes without a vector. If the model fails, they are found by words alone.
    pub(super) async fn embed_missing(&self, scope: &Scope) -> Result<(), StoreError> {
        let Some(fingerprint) = self.fingerprint().await else { return Ok(()) };
        loop {
            let waiting =
                self.store.graph_nodes_without_vector(scope, &fingerprint, EMBEDDED_AT_ONCE).await?;
            if waiting.is_empty() {
                return Ok(());
            }
            let texts = waiting.iter().map(embedded_text_of).collect();
            let Some(embeddings) = self.embed(texts).await else { return Ok(()) };
            let vectors = waiting.into_iter().zip(embeddings).collect();
            self.store.put_graph_vectors(&fingerprint, vectors).await?;
        }
    }

    /// Embeds new nodes, so that they can be found by meaning at once.
    pub(super) async fn embed_written(&self, scope: &Scope, nodes: &[GraphNode]) -> Result<(), StoreError> {
        let entities: Vec<GraphNode> = nodes.iter().filter(|node| node.entity).cloned().collect();
        self.embed_entities(&entities).await?;
        self.embed_missing(scope).await
    }

    async fn embed_entities(&self, nodes: &[GraphNode]) -> Result<(), StoreError> {
        let Some(fingerprint) = self.fingerprint().await.filter(|_| !nodes.is_empty()) else { return Ok(()) };
        let described = |node: &GraphNode| Some(node.description.clone()).filter(|text| !text.is_empty());
        let entities: Vec<UnembeddedEntity> = nodes
            .iter()
            .map(|node| UnembeddedEntity {
                id: EntityId(node.id),
                canonical_name: node.label.clone(),
                description: described(node),
            })
            .collect();
        let texts = entities
            .iter()
            .map(|entity| embedded_text(&entity.canonical_name, entity.description.as_deref()));
        let names = entities.iter().map(|entity| entity.canonical_name.clone());
        let Some(mut embeddings) = self.embed(texts.chain(names).collect()).await else { return Ok(()) };
        let of_names = embeddings.split_off(entities.len());
        // If the model can't read a name, the vector of its text means nothing, whatever the description says.
        for (embedding, name) in embeddings.iter_mut().zip(of_names) {
            embedding.readability = embedding.readability.min(name.readability);
        }
        self.entities.put_entity_vectors(&fingerprint, entities.into_iter().zip(embeddings).collect()).await
    }

    async fn embed(&self, texts: Vec<String>) -> Option<Vec<Embedding>> {
        let count = texts.len();
        let embeddings = self.embedder.as_ref()?.embed(&texts).await.ok()?;
        (embeddings.len() == count).then_some(embeddings)
    }
}

#[async_trait]
impl DiaryLinks for Graph {
    async fn linked_memories(&self, scope: &Scope, query: &str) -> Result<HashMap<String, u32>, StoreError> {
        self.store.memories_linked_to(scope, &fold_name(query)).await
    }

    async fn names_in(&self, scope: &Scope, query: &str) -> Result<Vec<Vec<String>>, StoreError> {
        self.store.names_in_text(scope, &fold_name(query)).await
    }
}

/// The text of a node that is embedded.
fn embedded_text_of(node: &UnembeddedNode) -> String {
    embedded_text(&node.label, Some(&node.description))
}
