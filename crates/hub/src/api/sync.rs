//! Instances that pull and push.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{Category, InstanceId};
use crate::version_vector::VersionVector;

/// `sync_pull`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncPull {
    /// Who pulls.
    pub instance_id: InstanceId,
    /// All that it has seen: only what is newer is sent. Without it, everything.
    pub since: Option<VersionVector>,
    /// `nextCursor` of the answer before, for the next page; with the same `since`.
    pub cursor: Option<String>,
    /// Documents on a page, 1 to 1000. Without it and without `cursor` everything is sent at once, up to 16 MiB of text.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// Kept for older clients; without effect.
    pub last_sync_version: Option<u64>,
}

/// A version of a document that is kept beside the shown one: neither has seen the other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConcurrentVersion {
    /// The text; absent if this version is a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The instance that wrote it.
    pub source_instance: InstanceId,
    /// Who decided it: an instance, `editor:file`, `admin`.
    pub edited_by: String,
    /// Whether a person wrote it.
    pub by_person: bool,
    /// When it was written.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// What it has seen, itself included.
    pub version_vector: VersionVector,
    /// Present and true for a deletion.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// An identity document on its way.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityItem {
    /// The category.
    pub category: Category,
    /// The file name.
    pub filename: String,
    /// The text; none if it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// How a prompt calls it.
    pub prompt_label: String,
    /// Counts its versions.
    pub version: i64,
    /// When this version was written.
    #[schemars(with = "String")]
    pub last_modified: Timestamp,
    /// Who wrote it.
    pub modified_by: String,
    /// The instance that wrote it.
    pub source_instance: InstanceId,
    /// Whether a person wrote it.
    pub by_person: bool,
    /// What this version has seen.
    pub version_vector: VersionVector,
    /// Present and true for a deletion.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// When it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deleted_at: Option<Timestamp>,
    /// Other live versions, which wait for a person's decision; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concurrent_versions: Vec<ConcurrentVersion>,
}

/// Identity documents by category.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct IdentityItems {
    /// Who the persona is.
    #[serde(rename = "self")]
    pub own: Vec<IdentityItem>,
    /// Who the user is.
    pub user: Vec<IdentityItem>,
    /// What is between them.
    pub relationship: Vec<IdentityItem>,
    /// Anything else.
    pub custom: Vec<IdentityItem>,
}

/// A memory on its way.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryItem {
    /// Its id.
    pub id: String,
    /// The granularity.
    pub granularity: String,
    /// The date.
    pub date: String,
    /// The slug of a significant memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// The text; none if it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Talks that it tells of.
    pub chat_ids: Vec<String>,
    /// The instance that wrote it; of a daily, the one that it belongs to.
    pub source_instance: InstanceId,
    /// Other instances that took part.
    pub participating_instances: Vec<InstanceId>,
    /// Counts its versions.
    pub version: i64,
    /// When it was first written.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// When this version was written.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// Who decided this version.
    pub edited_by: String,
    /// What this version has seen.
    pub version_vector: VersionVector,
    /// Present and true for a deletion.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// When it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deleted_at: Option<Timestamp>,
    /// Other live versions, which wait for a person's decision; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concurrent_versions: Vec<ConcurrentVersion>,
}

/// Where the hub stands, for the next pull.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncToken {
    /// Rises with every change.
    pub server_version: i64,
    /// When.
    #[schemars(with = "String")]
    pub timestamp: Timestamp,
    /// Digest of the state; empty while pages follow.
    pub hash: String,
    /// All that is in the state: `since` of the next pull. While pages follow it is the `since` that was asked with.
    pub version_vector: VersionVector,
}

/// What a pull gives.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncPulled {
    /// Always true.
    pub success: bool,
    /// Identity documents.
    pub identity_files: IdentityItems,
    /// Memories.
    pub memories: Vec<MemoryItem>,
    /// For the next pull.
    pub new_sync_token: SyncToken,
    /// `cursor` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Who pushes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct PushingInstance {
    /// Its id.
    pub id: InstanceId,
    /// What it is: `psycheros`, `sby`, `sillytavern`, `openwebui`, `claude-code`, `other` or any word.
    #[serde(rename = "type")]
    pub kind: String,
    /// How it is called.
    pub name: Option<String>,
    /// Its own version; without effect.
    #[serde(default)]
    pub version: u64,
}

/// A changed identity document. Names and times are checked item by item, so that one bad item does not stop the rest.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityChange {
    /// The category.
    pub category: String,
    /// The file name.
    pub filename: String,
    /// The text; left out for a deletion.
    pub content: Option<String>,
    /// Kept for older clients; without effect.
    #[serde(default)]
    pub version: i64,
    /// When it was written, RFC 3339.
    pub last_modified: Option<String>,
    /// Who wrote it.
    pub modified_by: Option<String>,
    /// Whether a person wrote it: needed for the documents that only people write, and believed of a token that is not
    /// bound to an instance.
    #[serde(default)]
    pub by_person: bool,
    /// What it has seen, itself included; without it the client's last pull is its base.
    pub version_vector: Option<VersionVector>,
    /// Whether it is a deletion.
    #[serde(default)]
    pub deleted: bool,
    /// When it was deleted.
    pub deleted_at: Option<String>,
}

/// A changed memory.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryChange {
    /// The granularity.
    pub granularity: String,
    /// The date.
    pub date: String,
    /// Of a significant memory.
    pub slug: Option<String>,
    /// The text; left out for a deletion.
    pub content: Option<String>,
    /// Talks that it tells of.
    #[serde(default)]
    pub chat_ids: Vec<String>,
    /// Whose daily, or who wrote it.
    pub source_instance: Option<String>,
    /// Other instances that took part.
    #[serde(default)]
    pub participating_instances: Vec<String>,
    /// Kept for older clients; without effect.
    #[serde(default)]
    pub version: i64,
    /// When it was first written, RFC 3339.
    pub created_at: Option<String>,
    /// When it was written, RFC 3339.
    pub updated_at: Option<String>,
    /// Who decided it.
    pub edited_by: Option<String>,
    /// What it has seen, itself included; without it the client's last pull is its base.
    pub version_vector: Option<VersionVector>,
    /// Whether it is a deletion.
    #[serde(default)]
    pub deleted: bool,
    /// When it was deleted.
    pub deleted_at: Option<String>,
}

/// `sync_push`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncPush {
    /// Who pushes.
    pub instance: PushingInstance,
    /// Identity documents.
    #[serde(default)]
    pub identity_changes: Vec<IdentityChange>,
    /// Memories.
    #[serde(default)]
    pub memory_changes: Vec<MemoryChange>,
    /// Kept for older clients; without effect.
    pub last_sync_version: Option<u64>,
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ItemStatus {
    /// It is shown now.
    Applied,
    /// It was there already, or something newer that has seen it.
    Known,
    /// It is kept beside another version; a person decides.
    Conflict,
    /// It was not taken.
    Refused,
}

/// What became of an item of a push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ItemResult {
    /// Of an identity document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Of a memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<String>,
    /// Of an identity document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Of a memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Of a significant memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// What became of it.
    pub status: ItemStatus,
    /// Why, or what was changed of it, such as a time that lies too far ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a push did.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncPushed {
    /// Whether it was taken; single items may still be refused.
    pub success: bool,
    /// For the next pull.
    pub new_sync_token: SyncToken,
    /// Conflicts that it opened.
    pub conflicts: Vec<super::conflicts::ConflictEntry>,
    /// One for each item, identity documents first, in order.
    pub results: Vec<ItemResult>,
}

/// An instance and when it last spoke.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectedInstance {
    /// Its id.
    pub id: InstanceId,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it last pulled or pushed.
    #[schemars(with = "String")]
    pub last_sync: Timestamp,
}

/// How the drawing of facts from memories fares, since the start of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtractionStatus {
    /// Whether there is a model that facts can be asked of.
    pub llm_available: bool,
    /// When one was last asked.
    #[schemars(with = "Option<String>")]
    pub last_attempt: Option<Timestamp>,
    /// When that last succeeded.
    #[schemars(with = "Option<String>")]
    pub last_success: Option<Timestamp>,
    /// Why it last failed.
    pub last_error: Option<String>,
    /// How often one was asked.
    pub attempts_total: u64,
    /// How often that succeeded.
    pub successes_total: u64,
    /// Nodes that came of it.
    pub nodes_created_total: u64,
    /// Edges that came of it.
    pub edges_created_total: u64,
}

/// `sync_status`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncStatus {
    /// The instance that this hub is: the author of what it writes itself.
    pub instance: InstanceId,
    /// Rises with every change.
    pub server_version: i64,
    /// Who has spoken with this hub.
    pub connected_instances: Vec<ConnectedInstance>,
    /// What was seen.
    pub version_vector: VersionVector,
    /// Conflicts that wait for a person.
    pub open_conflicts: usize,
    /// How the drawing of facts fares.
    pub extraction: ExtractionStatus,
}
