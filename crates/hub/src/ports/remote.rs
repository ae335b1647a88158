//! The port to the hub that this home follows.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::api::sync::{HubPersona, ItemResult, SyncPull, SyncPush};
use crate::erasure::ErasedLine;
use crate::names::{DocumentName, InstanceId};
use crate::version_vector::VersionVector;

/// Why a remote hub did not fulfil a request. No change is lost: the next exchange repeats it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RemoteError {
    /// The hub could not be reached or did not answer. The text names the cause and the remedy.
    #[error("{0}")]
    Away(String),
    /// The hub refused; a person has to act first.
    #[error("{0}")]
    Refused(String),
}

/// State of a remote hub, as it reports it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteStatus {
    /// Version of the exchange protocol; 0 for a hub without version vectors.
    #[serde(default)]
    pub protocol_version: u32,
    pub persona: Option<HubPersona>,
    /// The id of this home's instance at the remote hub.
    pub speaks_as: Option<InstanceId>,
    /// True if the token is bound to that instance.
    #[serde(default)]
    pub is_bound: bool,
    /// The remote hub's own instance.
    pub instance: Option<InstanceId>,
    /// All changes that the remote hub has seen.
    #[serde(default)]
    pub version_vector: VersionVector,
}

/// One page of items that this home has not seen. Documents are parsed one by one, and those of unknown kinds are
/// skipped.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemotePage {
    /// Identity documents by category.
    #[serde(default)]
    pub identity_files: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    pub memories: Vec<Value>,
    /// State of the hub after this page.
    #[serde(default)]
    pub new_sync_token: RemoteToken,
    /// Cursor of the next page; `None` on the last one.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// The part of a sync token that a home reads.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteToken {
    /// All changes that the remote hub includes.
    #[serde(default)]
    pub version_vector: VersionVector,
}

/// The answer of a remote hub to a push.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemotePushed {
    /// True if the push was processed.
    pub success: bool,
    /// One result for each item, in the order of the push.
    #[serde(default)]
    pub results: Vec<ItemResult>,
    /// One result for each erasure, in the order of the push.
    #[serde(default)]
    pub erasure_results: Vec<ItemResult>,
}

/// The hub that this home follows, reached over HTTP or a pipe.
#[async_trait]
pub trait RemoteHub: Send + Sync {
    /// Reads the state of the hub.
    async fn sync_status(&self, scope: &Scope) -> Result<RemoteStatus, RemoteError>;
    /// Reads a page of changes that this home has not seen.
    async fn sync_pull(&self, scope: &Scope, pull: &SyncPull) -> Result<RemotePage, RemoteError>;
    /// Sends changes of this home.
    async fn sync_push(&self, scope: &Scope, push: &SyncPush) -> Result<RemotePushed, RemoteError>;
}

/// Position of the exchange of a scope between a home and its hub.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangePosition {
    /// The hub's own instance.
    pub hub: InstanceId,
    /// Changes that this home has received from the hub, by author.
    pub seen: VersionVector,
    /// Cursor of the next page; `None` once everything was received.
    pub cursor: Option<String>,
    /// The last change of each author of this home that may have reached the hub. If the hub knows a later one,
    /// another copy of this home made it.
    pub sent: VersionVector,
    /// Erasures of this home that the hub has applied, by author.
    pub erased: VersionVector,
    /// Time at which the last complete exchange ended.
    pub exchanged_at: Option<Timestamp>,
}

impl ExchangePosition {
    /// The position before the first exchange with a hub.
    pub fn start(hub: InstanceId) -> Self {
        Self {
            hub,
            seen: VersionVector::default(),
            cursor: None,
            sent: VersionVector::default(),
            erased: VersionVector::default(),
            exchanged_at: None,
        }
    }
}

/// Text to remove from a document and its versions, because it was erased elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentErasure {
    pub name: DocumentName,
    /// The lines, each with the change that erased it.
    pub lines: Vec<ErasedLine>,
    /// True if only a digest of the document's name may stay.
    pub takes_name: bool,
    /// True if this hub made the change itself, so that it is passed on to others.
    pub is_own_change: bool,
}

/// An erasure of this home that its hub has to apply.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingErasure {
    pub name: DocumentName,
    /// Lines that were erased from the document.
    pub lines: Vec<ErasedLine>,
    /// True if the document's name was erased too.
    pub name_erased: bool,
}
