//! Records that a hub stores besides its documents.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::client_base::ClientBase;
use crate::names::{DocumentName, InstanceId};
use crate::version_vector::VersionVector;

/// An instance that has connected to this hub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    pub id: InstanceId,
    /// The kind of program: `psycheros`, `sillytavern`, …
    pub kind: String,
    pub name: Option<String>,
    /// Time at which the instance last pulled or pushed.
    pub last_sync: Timestamp,
    /// For each document, the changes that the instance has seen: the base of what it sends without version vectors.
    pub base: ClientBase,
    /// The counters of the last complete answer to a pull without `since`; the next such pull shows that it arrived.
    /// Empty if the instance pulls with `since`.
    #[serde(default, skip_serializing_if = "VersionVector::is_empty")]
    pub sent: VersionVector,
}

/// A copy of an identity document, kept for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub id: String,
    pub name: DocumentName,
    pub content: String,
    /// Time at which the snapshot was made.
    pub created_at: Timestamp,
    /// Why: `manual`, `scheduled`, `pre-replace`.
    pub reason: String,
    pub source: String,
}
