//! The whole hub in one file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an import treats what is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ImportMode {
    /// What the archive holds takes the place of what is there; what was there stays as versions. Documents that it does not hold are
    /// kept.
    #[default]
    Overwrite,
}

/// `entity_import`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct EntityImport {
    /// The archive, base64.
    pub data: String,
    /// How what is there is treated.
    #[serde(default)]
    pub mode: ImportMode,
}

/// What an archive holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveCounts {
    /// Identity documents.
    pub identity_files: usize,
    /// Memories.
    pub memory_entries: usize,
    /// Versions of both, with those of what was deleted.
    #[serde(default)]
    pub versions: usize,
    /// Documents of which only their deletion is left.
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

/// `entity_export`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EntityExport {
    /// Whether it was made.
    pub success: bool,
    /// The archive, base64.
    pub data: String,
    /// How the file should be called.
    pub filename: String,
    /// What is in it.
    pub counts: ArchiveCounts,
}

/// What an import did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EntityImported {
    /// Whether all of it was taken; nothing of it otherwise.
    pub success: bool,
    /// What happened.
    pub message: String,
    /// What was taken.
    pub counts: ArchiveCounts,
}
