//! Names and relations from documents written by other programs or people. Each depends on a line of the document.

use memory::ports::StoreError;
use serde_json::Map;

use super::extraction::{DocumentFacts, ExtractionStep, RelationError, RelationExtractor, UnreadDocument};
use super::ports::{GraphWrite, NewGraphNode};
use super::service::Graph;

/// Confidence of a name that occurs in a line. It is lower than that of a relation that a model read from the line.
const NAME_CONFIDENCE: f64 = 0.7;

impl Graph {
    /// Extracts names and relations from the next unread lines and marks them as read, in one transaction. Without a
    /// model, rules find the names, and the lines wait for a model.
    pub async fn extract_next_document(
        &self,
        extractor: &dyn RelationExtractor,
        instance: &str,
    ) -> Result<ExtractionStep, StoreError> {
        let by_rules = !extractor.can_find_facts();
        let waiting = self.document_retries.waiting_work(self.clock.now());
        let Some(document) = self.store.unread_document(&waiting, by_rules).await? else {
            return Ok(ExtractionStep::Nothing { retry_at: self.document_retries.next_attempt_at() });
        };
        let facts = if document.lines.is_empty() {
            Ok(DocumentFacts::default())
        } else {
            extractor.extract_document(&document).await
        };
        let facts = match facts {
            Ok(facts) => facts,
            Err(RelationError(reason)) => {
                self.document_retries.record_failure(document.number, self.clock.now());
                return Ok(ExtractionStep::Failed { reason });
            }
        };
        let write = self.build_document_write(&document, facts, instance);
        let Some(written) = self.store.commit_document_facts(&document, write, by_rules).await? else {
            self.document_retries.record_failure(document.number, self.clock.now());
            return Ok(ExtractionStep::Failed {
                reason: "the document changed while it was read".to_owned(),
            });
        };
        self.document_retries.forget(&document.number);
        self.embed_and_count(&document.scope, written).await
    }

    fn build_document_write(
        &self,
        document: &UnreadDocument,
        facts: DocumentFacts,
        instance: &str,
    ) -> GraphWrite {
        let memory = document.name.id();
        let mut write =
            self.build_relation_write(&document.lines, &|_| memory.clone(), facts.relations, instance);
        for (label, node_type) in facts.names {
            write.nodes.push(NewGraphNode {
                id: self.ids.next(write.at),
                node_type,
                label,
                description: String::new(),
                properties: Map::new(),
                confidence: NAME_CONFIDENCE,
                source_memory_id: Some(memory.clone()),
                first_learned_at: None,
            });
        }
        write
    }
}
