//! Names and relations that documents bring which other programs, or people, wrote: each depends on a line of the document.

use memory::Scope;
use memory::ports::StoreError;
use serde_json::Map;

use super::ports::{GraphWrite, NewGraphNode};
use super::relations::{
    ExtractionStep, KnownEntity, Relation, RelationError, RelationExtractor, UnreadEvent,
};
use super::service::Graph;
use crate::names::DiaryName;

/// Confidence of a name that occurs in a line.
const NAME_CONFIDENCE: f64 = 0.7;

/// A daily or significant memory with lines that the graph was not drawn from yet. Lines that the persona's own memory wrote
/// are not among them: their events are read themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadDocument {
    /// The number of the document.
    pub number: i64,
    /// The name of the document.
    pub name: DiaryName,
    pub scope: Scope,
    /// The name of the persona.
    pub persona: String,
    /// The name of the user, if it is known.
    pub user: Option<String>,
    /// The next unread lines, in their order; empty if all were read.
    pub lines: Vec<UnreadEvent>,
    /// Entities that these lines name.
    pub entities: Vec<KnownEntity>,
}

/// Facts extracted from the lines of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentFacts {
    /// Names that stand in the lines and are not known yet, each with its type.
    pub names: Vec<(String, String)>,
    /// Relations between entities; `event` is the id of a line.
    pub relations: Vec<Relation>,
}

impl Graph {
    /// Draws names and relations of the next lines that wait, in one transaction with the note that they were read. Without a
    /// model rules find names; the lines then wait for a model too.
    pub async fn extract_next_document(
        &self,
        extractor: &dyn RelationExtractor,
        instance: &str,
    ) -> Result<ExtractionStep, StoreError> {
        let by_rules = !extractor.can_find_facts();
        let waiting = self.document_retries.waiting(self.clock.now());
        let Some(document) = self.store.unread_document(&waiting, by_rules).await? else {
            return Ok(ExtractionStep::Nothing { retry_at: self.document_retries.next() });
        };
        let facts = if document.lines.is_empty() {
            Ok(DocumentFacts::default())
        } else {
            extractor.extract_document(&document).await
        };
        let facts = match facts {
            Ok(facts) => facts,
            Err(RelationError(reason)) => {
                self.document_retries.note(document.number, self.clock.now());
                return Ok(ExtractionStep::Failed { reason });
            }
        };
        let write = self.write_of_document(&document, facts, instance);
        let Some(written) = self.store.commit_document_facts(&document, write, by_rules).await? else {
            self.document_retries.note(document.number, self.clock.now());
            return Ok(ExtractionStep::Failed {
                reason: "the document changed while it was read".to_owned(),
            });
        };
        self.document_retries.forget(&document.number);
        self.step_of(&document.scope, written).await
    }

    fn write_of_document(
        &self,
        document: &UnreadDocument,
        facts: DocumentFacts,
        instance: &str,
    ) -> GraphWrite {
        let memory = document.name.id();
        let mut write =
            self.write_of_relations(&document.lines, &|_| memory.clone(), facts.relations, instance);
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
