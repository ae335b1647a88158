//! The hub that this home is an embodiment of.

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

/// The reason why a remote hub did not answer a request. No change is lost: the next exchange repeats it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RemoteError {
    /// The hub could not be reached, or did not answer; the text names the cause and the remedy.
    #[error("{0}")]
    Away(String),
    /// The hub refused; a person has to change something first.
    #[error("{0}")]
    Refused(String),
}

/// State of a remote hub, as it reports it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteStatus {
    /// The version of the rules of the exchange; 0 for a hub that keeps no version vectors.
    #[serde(default)]
    pub protocol_version: u32,
    pub persona: Option<HubPersona>,
    /// The instance by which this home is known at the remote hub.
    pub speaks_as: Option<InstanceId>,
    /// True if the token is bound to that instance.
    #[serde(default)]
    pub is_bound: bool,
    /// The instance that the hub is.
    pub instance: Option<InstanceId>,
    /// All changes that the remote hub has seen.
    #[serde(default)]
    pub version_vector: VersionVector,
}

/// One page of what a hub has that this home has not seen. Documents are read one by one: those of a kind that this version
/// does not know are passed over.
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
    /// Cursor of the next page; none on the last one.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// The part of a token that an embodiment reads.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteToken {
    /// Everything that the state has seen.
    #[serde(default)]
    pub version_vector: VersionVector,
}

/// The answer of a remote hub to a push.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemotePushed {
    /// True if the push was taken.
    pub success: bool,
    /// One result for each item, in the order of the push.
    #[serde(default)]
    pub results: Vec<ItemResult>,
    /// One result for each erasure, in the order of the push.
    #[serde(default)]
    pub erasure_results: Vec<ItemResult>,
}

/// The hub that this home is an embodiment of, over HTTP or a pipe.
#[async_trait]
pub trait RemoteHub: Send + Sync {
    /// Reads the state of the hub.
    async fn sync_status(&self, scope: &Scope) -> Result<RemoteStatus, RemoteError>;
    /// Reads a page of changes that this home has not seen.
    async fn sync_pull(&self, scope: &Scope, pull: &SyncPull) -> Result<RemotePage, RemoteError>;
    /// Takes what this home has changed.
    async fn sync_push(&self, scope: &Scope, push: &SyncPush) -> Result<RemotePushed, RemoteError>;
}

/// Position of the exchange of a scope between a home and its hub.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangePosition {
    /// The instance that the hub is.
    pub hub: InstanceId,
    /// Versions of the hub that this home has received, by their authors.
    pub seen: VersionVector,
    /// Cursor of the next page; none once everything has arrived.
    pub cursor: Option<String>,
    /// The last change of each author of this home that may be at the hub. If the hub knows a later one, another copy of this
    /// home made it.
    pub sent: VersionVector,
    /// Erasures of this home that the hub follows, by author.
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

/// Words that go from a document and its versions because they were erased elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentErasure {
    pub name: DocumentName,
    /// The lines; the change that erased each.
    pub lines: Vec<ErasedLine>,
    /// True if nothing but a digest of its name may be left.
    pub takes_name: bool,
    /// True if this hub made the change itself, so that others are to receive it.
    pub is_own_change: bool,
}

/// An erasure of this home that its hub is to follow.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingErasure {
    pub name: DocumentName,
    /// Lines that were erased from the document.
    pub lines: Vec<ErasedLine>,
    /// True if the document's name was erased too.
    pub name_erased: bool,
}
