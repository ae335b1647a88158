//! Tools for the whole hub in one file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Treatment of existing documents by an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ImportMode {
    /// Documents of the archive replace existing ones, which stay as versions. Documents that it does not hold are kept.
    #[default]
    Overwrite,
}

/// Arguments of the tool `entity_import`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct EntityImport {
    /// The archive, encoded in base64.
    pub data: String,
    /// Treatment of existing documents.
    #[serde(default)]
    pub mode: ImportMode,
}

/// Counts of an archive's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveCounts {
    /// Number of identity documents.
    pub identity_files: usize,
    /// Number of memories of all granularities.
    pub memory_entries: usize,
    /// Versions of documents and nodes, including deleted ones.
    #[serde(default)]
    pub versions: usize,
    /// Documents that were deleted.
    #[serde(default)]
    pub deleted: usize,
    /// Conflicts, open and settled ones.
    #[serde(default)]
    pub conflicts: usize,
    /// Nodes of the graph.
    #[serde(default)]
    pub graph_nodes: usize,
    /// Edges of the graph.
    #[serde(default)]
    pub graph_edges: usize,
}

/// Result of the tool `entity_export`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EntityExport {
    /// True if the archive was made.
    pub success: bool,
    /// The archive, encoded in base64.
    pub data: String,
    /// A suggested name for the file.
    pub filename: String,
    /// Counts of the archive's contents.
    pub counts: ArchiveCounts,
}

/// Result of the tool `entity_import`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EntityImported {
    /// True if everything was imported; otherwise nothing was.
    pub success: bool,
    /// A description of the result.
    pub message: String,
    /// Counts of the imported contents.
    pub counts: ArchiveCounts,
}
