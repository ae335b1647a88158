//! Facts from new memories. An extractor finds them, and each depends on the event that states it.

use memory::Scope;
use memory::ports::StoreError;
use serde_json::Map;

use super::extraction::{
    ExtractionStep, Relation, RelationEnd, RelationError, RelationExtractor, UnreadEvent,
};
use super::ports::{EdgeEnd, GraphWrite, GraphWritten, NewGraphEdge, NewGraphNode};
use super::service::Graph;

/// Types and labels of the user and the persona. They are not entities, because their names may change.
const USER_NODE: (&str, &str) = ("user", "user");
const PERSONA_NODE: (&str, &str) = ("self", "me");

impl Graph {
    /// Extracts the facts of the next waiting session, and marks it as read in the same transaction. After a crash it
    /// is read again, but never stored twice.
    pub async fn extract_next(
        &self,
        finder: &dyn RelationExtractor,
        instance: &str,
    ) -> Result<ExtractionStep, StoreError> {
        let now = self.clock.now();
        let waiting = self.retries.waiting_work(now);
        let ready = self.store.unread_sessions(&waiting, 1).await?.pop();
        let Some(session) = ready else {
            return Ok(ExtractionStep::Nothing { retry_at: self.retries.next_attempt_at() });
        };
        let facts = match finder.extract_relations(&session).await {
            Ok(facts) => facts,
            Err(RelationError(reason)) => {
                self.retries.record_failure(session.session, self.clock.now());
                return Ok(ExtractionStep::Failed { reason });
            }
        };
        let write =
            self.build_relation_write(&session.events, &|event| event.node.to_string(), facts, instance);
        let Some(written) = self.store.commit_facts(&session, write).await? else {
            self.retries.record_failure(session.session, self.clock.now());
            return Ok(ExtractionStep::Failed {
                reason: "its memories changed while they were read".to_owned(),
            });
        };
        self.retries.forget(&session.session);
        self.embed_and_count(&session.scope, written).await
    }

    /// Embeds the new nodes of a write, and returns their number.
    pub(super) async fn embed_and_count(
        &self,
        scope: &Scope,
        written: GraphWritten,
    ) -> Result<ExtractionStep, StoreError> {
        let fresh: Vec<_> =
            written.nodes.into_iter().filter(|node| node.is_new).map(|node| node.value).collect();
        if !fresh.is_empty() {
            self.embed_written(scope, &fresh).await?;
        }
        Ok(ExtractionStep::Read {
            nodes: fresh.len(),
            edges: written.edges.iter().filter(|edge| edge.is_new).count(),
        })
    }

    /// Builds the write for relations. `memory` returns the memory that an event belongs to.
    pub(super) fn build_relation_write(
        &self,
        events: &[UnreadEvent],
        memory: &dyn Fn(&UnreadEvent) -> String,
        facts: Vec<Relation>,
        instance: &str,
    ) -> GraphWrite {
        let now = self.clock.now();
        let mut write =
            GraphWrite { nodes: Vec::new(), edges: Vec::new(), instance: instance.to_owned(), at: now };
        for fact in facts.into_iter().filter(|fact| fact.from != fact.to) {
            let Some(event) = events.iter().find(|event| event.node == fact.event) else { continue };
            let memory = memory(event);
            let from = self.resolve_end(fact.from, &memory, fact.confidence, &mut write);
            let to = self.resolve_end(fact.to, &memory, fact.confidence, &mut write);
            write.edges.push(NewGraphEdge {
                id: self.ids.next(now),
                from,
                to,
                edge_type: fact.relation,
                properties: Map::new(),
                weight: fact.confidence.clamp(0.0, 1.0),
                evidence: Some(event.description.clone()),
                source_memory_id: Some(memory),
                occurred_at: None,
                valid_until: None,
            });
        }
        write
    }

    /// The end of an edge. An end that is not an entity is written as a node that depends on the same event.
    fn resolve_end(
        &self,
        end: RelationEnd,
        memory: &str,
        confidence: f64,
        write: &mut GraphWrite,
    ) -> EdgeEnd {
        let (node_type, label) = match end {
            RelationEnd::Entity(id) => return EdgeEnd::Id(id.0),
            RelationEnd::User => (USER_NODE.0.to_owned(), USER_NODE.1.to_owned()),
            RelationEnd::Persona => (PERSONA_NODE.0.to_owned(), PERSONA_NODE.1.to_owned()),
            RelationEnd::Named { label, node_type } => (node_type, label),
        };
        write.nodes.push(NewGraphNode {
            id: self.ids.next(write.at),
            node_type,
            label: label.clone(),
            description: String::new(),
            properties: Map::new(),
            confidence: confidence.clamp(0.0, 1.0),
            source_memory_id: Some(memory.to_owned()),
            first_learned_at: None,
        });
        EdgeEnd::Label(label)
    }
}
