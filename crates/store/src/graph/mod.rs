//! The implementation of [`GraphStore`]: entities as nodes, nodes of other types, edges, and their sources.

mod read;
mod write;
mod change;
mod relations;
mod document_facts;
mod withdraw;
mod links;
mod vectors;
mod export;

use std::collections::HashMap;

use async_trait::async_trait;
use hub::graph::{
    EdgeChange, GraphEdge, GraphNode, GraphStore, GraphWithdrawal, GraphWrite, GraphWritten, NodeChange,
    NodeDeleteOutcome, NodeUpdateOutcome, UnembeddedNode, UnreadDocument, UnreadSession,
};
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::SessionId;
use memory::ports::{Embedding, StoreError};
use uuid::Uuid;

use crate::home_store::HomeStore;
use crate::rows::microseconds;
use crate::scopes;
pub(crate) use document_facts::mark_unread;
pub(crate) use export::{restore, whole_graph};
pub(crate) use withdraw::{forget_text, withdraw, withdraw_document};

#[async_trait]
impl GraphStore for HomeStore {
    async fn graph_nodes(&self, scope: &Scope) -> Result<Vec<GraphNode>, StoreError> {
        self.read_scope(scope, |connection, scope| Ok(read::all_nodes(connection, scope)?)).await
    }

    async fn graph_nodes_of(&self, scope: &Scope, ids: &[Uuid]) -> Result<Vec<GraphNode>, StoreError> {
        let ids = ids.to_vec();
        self.read_scope(scope, move |connection, scope| {
            let mut nodes: Vec<GraphNode> = Vec::with_capacity(ids.len());
            for id in ids {
                let node = read::load_node(connection, scope, id)?;
                nodes.extend(node.filter(|node| nodes.iter().all(|known| known.id != node.id)));
            }
            Ok(nodes)
        })
        .await
    }

    async fn graph_edges(&self, scope: &Scope) -> Result<Vec<GraphEdge>, StoreError> {
        self.read_scope(scope, |connection, scope| Ok(read::edges(connection, scope)?)).await
    }

    async fn graph_edges_at(&self, scope: &Scope, nodes: &[Uuid]) -> Result<Vec<GraphEdge>, StoreError> {
        let nodes = nodes.to_vec();
        self.read_scope(scope, move |connection, scope| Ok(read::edges_at(connection, scope, &nodes)?)).await
    }

    async fn write_graph(&self, scope: &Scope, write: GraphWrite) -> Result<GraphWritten, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| {
            let scope = scopes::number_or_new(unit.connection, &scope)?;
            Ok(write::write(unit.connection, scope, &write)?)
        })
        .await
    }

    async fn unread_sessions(
        &self,
        passed_over: &[SessionId],
        limit: u32,
    ) -> Result<Vec<UnreadSession>, StoreError> {
        let passed_over = passed_over.to_vec();
        self.read(move |connection| Ok(relations::unread_sessions(connection, &passed_over, limit)?)).await
    }

    async fn commit_facts(
        &self,
        session: &UnreadSession,
        write: GraphWrite,
    ) -> Result<Option<GraphWritten>, StoreError> {
        let session = session.clone();
        self.write(move |unit| Ok(relations::commit(unit.connection, &session, &write)?)).await
    }

    async fn unread_document(
        &self,
        passed_over: &[i64],
        by_rules: bool,
    ) -> Result<Option<UnreadDocument>, StoreError> {
        let passed_over = passed_over.to_vec();
        self.read(move |connection| {
            Ok(document_facts::next_unread_document(connection, &passed_over, by_rules)?)
        })
        .await
    }

    async fn commit_document_facts(
        &self,
        document: &UnreadDocument,
        write: GraphWrite,
        by_rules: bool,
    ) -> Result<Option<GraphWritten>, StoreError> {
        let document = document.clone();
        self.write(move |unit| Ok(document_facts::commit(unit.connection, &document, &write, by_rules)?))
            .await
    }

    async fn change_graph_node(
        &self,
        scope: &Scope,
        id: Uuid,
        change: NodeChange,
        at: Timestamp,
    ) -> Result<NodeUpdateOutcome, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| match scopes::number(unit.connection, &scope)? {
            Some(scope) => Ok(change::change_node(unit.connection, scope, id, &change, at)?),
            None => Ok(NodeUpdateOutcome::NotThere),
        })
        .await
    }

    async fn delete_graph_node(
        &self,
        scope: &Scope,
        id: Uuid,
        permanent: bool,
        at: Timestamp,
    ) -> Result<NodeDeleteOutcome, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| match scopes::number(unit.connection, &scope)? {
            Some(scope) => Ok(change::delete_node(unit.connection, scope, id, permanent, at)?),
            None => Ok(NodeDeleteOutcome::NotThere),
        })
        .await
    }

    async fn change_graph_edge(
        &self,
        scope: &Scope,
        id: Uuid,
        change: EdgeChange,
        at: Timestamp,
    ) -> Result<Option<GraphEdge>, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| match scopes::number(unit.connection, &scope)? {
            Some(scope) => Ok(change::change_edge(unit.connection, scope, id, &change, at)?),
            None => Ok(None),
        })
        .await
    }

    async fn delete_graph_edge(&self, scope: &Scope, id: Uuid, at: Timestamp) -> Result<bool, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| match scopes::number(unit.connection, &scope)? {
            Some(scope) => Ok(change::delete_edge(unit.connection, scope, id, at)?),
            None => Ok(false),
        })
        .await
    }

    async fn withdraw_from_graph(
        &self,
        scope: &Scope,
        memory_id: &str,
        at: Timestamp,
    ) -> Result<GraphWithdrawal, StoreError> {
        let (scope, memory_id) = (scope.clone(), memory_id.to_owned());
        self.write(move |unit| match scopes::number(unit.connection, &scope)? {
            Some(scope) => Ok(withdraw(unit.connection, scope, &memory_id, microseconds(at))?),
            None => Ok(GraphWithdrawal::default()),
        })
        .await
    }

    async fn memories_linked_to(
        &self,
        scope: &Scope,
        folded: &str,
    ) -> Result<HashMap<String, u32>, StoreError> {
        let folded = folded.to_owned();
        self.read_scope(scope, move |connection, scope| {
            Ok(links::count_links_by_memory(connection, scope, &folded)?)
        })
        .await
    }

    async fn names_in_text(&self, scope: &Scope, folded: &str) -> Result<Vec<Vec<String>>, StoreError> {
        let folded = folded.to_owned();
        self.read_scope(scope, move |connection, scope| Ok(links::names_in_text(connection, scope, &folded)?))
            .await
    }

    async fn graph_vectors(
        &self,
        scope: &Scope,
        fingerprint: &str,
    ) -> Result<Vec<(Uuid, Embedding)>, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read_scope(scope, move |connection, scope| {
            Ok(vectors::vectors_of_scope(connection, scope, &fingerprint)?)
        })
        .await
    }

    async fn graph_nodes_without_vector(
        &self,
        scope: &Scope,
        fingerprint: &str,
        limit: u32,
    ) -> Result<Vec<UnembeddedNode>, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read_scope(scope, move |connection, scope| {
            Ok(vectors::nodes_without_vector(connection, scope, &fingerprint, limit)?)
        })
        .await
    }

    async fn put_graph_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(UnembeddedNode, Embedding)>,
    ) -> Result<(), StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.write(move |unit| Ok(vectors::write_vectors(unit.connection, &fingerprint, &vectors)?)).await
    }

    async fn clear_graph_vectors(&self, scope: &Scope) -> Result<u64, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| match scopes::number(unit.connection, &scope)? {
            Some(scope) => Ok(vectors::clear(unit.connection, scope)?),
            None => Ok(0),
        })
        .await
    }
}
