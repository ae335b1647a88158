//! Everything that a hub stores of a persona and a user, for archives.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::documents::Version;
use crate::graph::{GraphEdge, GraphNode};
use crate::names::DocumentName;
use crate::records::{Instance, Snapshot};
use crate::version_vector::VersionVector;

/// Position of a version among those of its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VersionState {
    /// The version that readers see.
    Shown,
    /// A version that is concurrent with the shown one.
    #[serde(rename = "beside")]
    Concurrent,
    /// A version that another one has replaced.
    Past,
}

impl VersionState {
    /// The state's name in the database and in archives.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Concurrent => "beside",
            Self::Past => "past",
        }
    }
}

/// A version with its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExportedVersion {
    pub state: VersionState,
    /// The version itself; without content if it is a deletion.
    #[serde(flatten)]
    pub version: Version,
}

/// A conflict, with its versions by their numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedConflict {
    pub id: Uuid,
    /// The number of the version that is not shown.
    pub kept: i64,
    /// The version that was shown when the conflict was opened.
    pub shown: i64,
    pub opened_at: Timestamp,
    /// Time at which the conflict was settled.
    pub settled_at: Option<Timestamp>,
    pub settled: Option<String>,
}

/// A document with its history, even if it was deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentHistory {
    /// True if a roll-up's sources have changed since it was written.
    pub stale: bool,
    /// Time at which the document was first written.
    pub created_at: Timestamp,
    /// Every version, the oldest first. Exactly one of them is shown.
    pub versions: Vec<ExportedVersion>,
    /// Every conflict, the oldest first.
    pub conflicts: Vec<ExportedConflict>,
}

impl DocumentHistory {
    /// The version that is shown.
    pub fn shown_version(&self) -> Option<&Version> {
        let shown = self.versions.iter().find(|kept| kept.state == VersionState::Shown);
        shown.map(|kept| &kept.version)
    }
}

/// A memory that a node or an edge depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedSource {
    /// The memory's id; empty if an instance stated it without a memory.
    pub memory: String,
    /// The evidence of an edge.
    pub evidence: Option<String>,
}

/// A node, with the fields that the API does not show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedNode {
    #[serde(flatten)]
    pub node: GraphNode,
    /// True if a person wrote the node's description.
    pub described_by_person: bool,
    /// The memory that the description came from.
    pub described_by: Option<String>,
    /// True for an entity that was created in the graph.
    pub made_here: bool,
    /// Time at which the node was deleted softly.
    pub deleted_at: Option<Timestamp>,
    /// Memories that the node depends on, the oldest first.
    pub sources: Vec<ExportedSource>,
}

/// An edge, with the fields that the API does not show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedEdge {
    #[serde(flatten)]
    pub edge: GraphEdge,
    /// Time at which the edge was deleted softly.
    pub deleted_at: Option<Timestamp>,
    /// Memories that the edge depends on, the oldest first.
    pub sources: Vec<ExportedSource>,
}

/// A document that was erased together with its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErasedName {
    /// The document's category or granularity.
    pub kind: String,
    /// SHA-256 of persona, user, kind and name.
    pub digest: [u8; 32],
    /// All changes that the document included, its deletion too.
    pub vector: VersionVector,
    pub erased_at: Timestamp,
}

/// Everything that a hub stores of a scope.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HubExport {
    /// Every document with its history, also those that were deleted.
    pub documents: Vec<(DocumentName, DocumentHistory)>,
    /// Labels of documents in prompts, where they were set.
    pub labels: Vec<(DocumentName, String)>,
    /// Copies of identity documents.
    pub snapshots: Vec<Snapshot>,
    /// Instances that have connected to the hub.
    pub instances: Vec<Instance>,
    /// All changes to the user's documents that the hub has received.
    pub seen: VersionVector,
    /// All changes to the persona's own documents that the hub has received.
    pub seen_of_persona: VersionVector,
    /// The user's documents that were erased together with their names.
    pub erased: Vec<ErasedName>,
    /// The persona's own documents that were erased together with their names.
    pub erased_of_persona: Vec<ErasedName>,
    pub nodes: Vec<ExportedNode>,
    pub edges: Vec<ExportedEdge>,
}
