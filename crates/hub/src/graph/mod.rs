//! The graph of people, places and topics.
//!
//! Entities are shared: what the memory knows as an entity (L5: a person, place, organisation, pet or other named
//! thing) is a node of the graph with the same id, and the entity's own name, description and identity rules. Nodes
//! of other types, and all edges, exist only here. Every node and edge stores the memories that it depends on; when
//! the last of them is deleted, it is withdrawn too. Nothing else is removed automatically.

mod service;
mod nodes;
mod edges;
mod transaction;
mod extraction;
mod relations;
mod document_facts;
mod walk;
mod search;
mod overview;
mod responses;
mod ports;

pub use edges::{EdgeCreate, EdgeGet, EdgeText, EdgeUpdate};
pub use extraction::{
    DocumentFacts, ExtractionStep, KnownEntity, Relation, RelationEnd, RelationError, RelationExtractor,
    UnreadDocument, UnreadEvent, UnreadSession,
};
pub use nodes::{NodeCreate, NodeDelete, NodeList, NodeText, NodeUpdate};
pub use overview::insights;
pub use ports::{
    EdgeChange, EdgeEnd, GraphEdge, GraphNode, GraphStore, GraphWithdrawal, GraphWrite, GraphWritten,
    NewGraphEdge, NewGraphNode, NodeChange, NodeDeleteOutcome, NodeUpdateOutcome, UnembeddedNode,
    UnresolvedEdge, WriteResult,
};

pub use responses::{
    Deleted, EdgeResponse, EdgesResponse, Insight, InsightsResponse, NodeHit, NodeListResponse, NodeResponse,
    NodeSearchResponse, StatsResponse, SubgraphResponse, TransactionResponse, TraverseResponse, VisitedNode,
};
pub use search::NodeSearch;
pub use service::Graph;
pub use transaction::{TransactionEdge, WriteTransaction};
pub use walk::{Direction, Subgraph, Traverse};

use jiff::Timestamp;
use jiff::civil::Date;
use memory::entities::EntityKind;

/// Maximum length of a node's label, in characters. Labels are drawn in the graph and compared with the words of
/// queries.
pub const LABEL_LENGTH_MAX: usize = 256;
/// Maximum length of a description or evidence, in characters. Longer text belongs into a document, which the node
/// can name.
pub const PROSE_LENGTH_MAX: usize = 4_000;
/// Maximum properties of a node or an edge, in bytes of JSON. They are part of every list of nodes.
pub const PROPERTIES_BYTES_MAX: usize = 16 * 1024;
/// Maximum nodes, and maximum edges, in one transaction. Turns wait until all of them are written.
pub const TRANSACTION_MAX: usize = 1_000;

/// The kind of entity for a node type; `None` for a type that the memory does not have.
pub fn entity_kind(node_type: &str) -> Option<EntityKind> {
    match node_type {
        "person" => Some(EntityKind::Person),
        "place" => Some(EntityKind::Place),
        "org" | "organization" | "organisation" => Some(EntityKind::Org),
        "pet" => Some(EntityKind::Pet),
        "other" => Some(EntityKind::Other),
        _ => None,
    }
}

/// Parses a time as clients write it: RFC 3339, or a day, which begins at midnight UTC.
pub(crate) fn parse_moment(text: &str) -> Option<Timestamp> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    let day: Date = text.parse().ok()?;
    day.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

/// Parses the time of a field. The error names the field.
pub(crate) fn parse_time_field(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, String> {
    match text {
        None => Ok(None),
        Some(text) => parse_moment(text).map(Some).ok_or_else(|| {
            format!("{field}: {text:?} is not a time; use the form 2026-01-31T08:00:00Z or 2026-01-31")
        }),
    }
}

/// Refuses a text that is too long for its field.
pub(crate) fn check_length(field: &str, text: &str, length_max: usize) -> Result<(), String> {
    let length = text.chars().count();
    if length > length_max {
        return Err(format!(
            "{field} has {length} characters; the limit is {length_max}. Nothing was written"
        ));
    }
    Ok(())
}

/// Refuses properties that are too large.
pub(crate) fn properties_fit(properties: &serde_json::Map<String, serde_json::Value>) -> Result<(), String> {
    let bytes = serde_json::to_string(properties).map_or(usize::MAX, |text| text.len());
    if bytes > PROPERTIES_BYTES_MAX {
        return Err(format!(
            "properties have {bytes} bytes; the limit is {PROPERTIES_BYTES_MAX}. Nothing was written"
        ));
    }
    Ok(())
}
