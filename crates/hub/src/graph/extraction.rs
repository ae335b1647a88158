//! Input and output of fact extraction, from sessions and documents.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::entities::EntityKind;
use memory::identifiers::{EntityId, NodeId, SessionId};

use crate::names::DiaryName;

/// An entity that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownEntity {
    pub id: EntityId,
    pub name: String,
    pub aliases: Vec<String>,
    pub kind: EntityKind,
}

/// An event from which no facts were extracted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadEvent {
    /// The event's id; for a line of a document, the beginning of the line's digest.
    pub node: NodeId,
    /// The text of the event, or of a diary line without its bullet.
    pub description: String,
    /// Verbatim quotes that the event depends on.
    pub quotes: Vec<String>,
}

/// A session with events from which no facts were extracted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadSession {
    pub scope: Scope,
    pub session: SessionId,
    pub persona: String,
    /// The name of the user, if it is known.
    pub user: Option<String>,
    /// The session's unread events, the oldest first.
    pub events: Vec<UnreadEvent>,
    /// Entities that the session's events are about.
    pub entities: Vec<KnownEntity>,
}

/// One end of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationEnd {
    /// The person who talks with the persona.
    User,
    Persona,
    /// An entity that the memory knows.
    Entity(EntityId),
    /// Something that the event's text names.
    Named {
        /// The name as written in the event.
        label: String,
        /// The type of the node, as in the graph.
        node_type: String,
    },
}

/// A relation between two entities that an event states.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    pub from: RelationEnd,
    pub to: RelationEnd,
    /// The type of the relation, such as `lives_in`.
    pub relation: String,
    /// The event that the relation depends on.
    pub event: NodeId,
    /// The certainty of the relation, from 0 to 1.
    pub confidence: f64,
}

/// A daily or significant memory with lines from which no facts were extracted yet. Lines of the persona's own memory
/// are excluded: their events are read instead.
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
    /// Entities that the document's lines name.
    pub entities: Vec<KnownEntity>,
}

/// Facts extracted from the lines of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentFacts {
    /// Names in the lines that are not known yet, each with its type.
    pub names: Vec<(String, String)>,
    /// Relations between entities; `event` is the id of a line.
    pub relations: Vec<Relation>,
}

/// The reason why no facts could be extracted for now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RelationError(pub String);

/// Extracts facts from events.
#[async_trait]
pub trait RelationExtractor: Send + Sync {
    /// Relations whose ends are known entities or named by their event; may be empty.
    async fn extract_relations(&self, session: &UnreadSession) -> Result<Vec<Relation>, RelationError>;

    /// Names and relations in lines of a document; may be empty. Without a model, names found by rules.
    async fn extract_document(&self, document: &UnreadDocument) -> Result<DocumentFacts, RelationError>;

    /// True if the extractor can find relations. Otherwise nothing is asked, and the events wait for one that can.
    fn can_find_facts(&self) -> bool;
}

/// The result of one step of extraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtractionStep {
    /// There is nothing to do before this time, or before there are new events.
    Nothing {
        /// Time at which a failed extraction is tried again.
        retry_at: Option<Timestamp>,
    },
    /// A session's events were read; these are the numbers of new nodes and edges.
    Read { nodes: usize, edges: usize },
    /// The session is tried again later.
    Failed { reason: String },
}
