//! L3 and L4: queries of recall, consolidation and people.

pub(crate) mod new_nodes;
pub(crate) mod node_pages;
pub(crate) mod node_queries;
pub(crate) mod timeline;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{NodeId, RejectedId};
use memory::nodes::{Node, NodeKind, RejectedMemory};
use memory::ports::{EvidencedNode, NodeOrigin, NodePageQuery, NodeStore, StoreError, TimelineItem};
use uuid::Uuid;

use crate::engine::sql::{Result, params};
use crate::home_store::HomeStore;
use crate::rows;

#[async_trait]
impl NodeStore for HomeStore {
    async fn node(&self, id: NodeId) -> Result<Option<EvidencedNode>, StoreError> {
        self.read(move |connection| Ok(node_queries::by_id(connection, id)?)).await
    }

    async fn nodes_before(
        &self,
        scope: &Scope,
        kinds: &[NodeKind],
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Node>, StoreError> {
        let kinds: BTreeSet<NodeKind> = kinds.iter().copied().collect();
        self.read_scope(scope, move |connection, scope| {
            Ok(node_queries::before_number(connection, scope, &kinds, before, limit)?)
        })
        .await
    }

    async fn node_page(&self, scope: &Scope, query: NodePageQuery) -> Result<(Vec<Node>, u64), StoreError> {
        self.read_scope(scope, move |connection, scope| Ok(node_pages::node_page(connection, scope, &query)?))
            .await
    }

    async fn node_origins(&self, nodes: &[i64]) -> Result<BTreeMap<i64, NodeOrigin>, StoreError> {
        let nodes = nodes.to_vec();
        self.read(move |connection| Ok(node_pages::node_origins(connection, &nodes)?)).await
    }

    async fn said_at(&self, nodes: &[i64]) -> Result<BTreeMap<i64, Timestamp>, StoreError> {
        let nodes = nodes.to_vec();
        self.read(move |connection| Ok(node_pages::said_at(connection, &nodes)?)).await
    }

    async fn rejected(
        &self,
        scope: &Scope,
        before: Option<(Timestamp, RejectedId)>,
        limit: u32,
    ) -> Result<Vec<RejectedMemory>, StoreError> {
        let (at, id) = match before {
            Some((at, RejectedId(id))) => (rows::microseconds(at), id),
            None => (i64::MAX, Uuid::nil()),
        };
        self.read_scope(scope, move |connection, scope| {
            let mut statement = connection.prepare_cached(
                "SELECT id, session_id, description, emotional_impact, evidence, reason, created_at, proposal
                 FROM rejected_memories WHERE scope = ?1 AND settled_at IS NULL AND (created_at, id) < (?2, ?3)
                 ORDER BY created_at DESC, id DESC LIMIT ?4",
            )?;
            let key = params![scope, at, id.into_bytes(), limit];
            let rejected = statement.query_map(key, rows::rejected_memory)?;
            Ok(rejected.collect::<Result<_>>()?)
        })
        .await
    }

    async fn timeline(
        &self,
        scope: &Scope,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<(Timestamp, TimelineItem)>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(timeline::timeline(connection, scope, before, limit)?)
        })
        .await
    }
}
