//! Instances that pull and push.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{Category, InstanceId};
use crate::version_vector::VersionVector;

/// `sync_pull`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncPull {
    /// Who pulls.
    pub instance_id: InstanceId,
    /// All that it has seen: only what is newer is sent. Without it, everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<VersionVector>,
    /// `nextCursor` of the answer before, for the next page; with the same `since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Documents on a page, 1 to 1000. Without it and without `cursor` everything is sent at once, up to 16 MiB of text.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Kept for older clients; without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_version: Option<u64>,
}

/// A line that was erased from a document. Whoever holds it takes it out of every version that has not seen the erasure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErasedLineItem {
    /// SHA-256, in hexadecimal, of persona, user, kind and name of the document and the words of the line, each with a zero byte
    /// behind it. Tags, list markers, case and white space do not count.
    pub digest: String,
    /// Whose change erased it.
    pub author: InstanceId,
    /// The counter of that change.
    pub counter: u64,
}

/// A version of a document that is kept beside the shown one: neither has seen the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// An identity document on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// When it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deleted_at: Option<Timestamp>,
    /// Other live versions, which wait for a person's decision; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concurrent_versions: Vec<ConcurrentVersion>,
    /// Lines that were erased from it since; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub erased_lines: Vec<ErasedLineItem>,
    /// Present and true if the name was erased too: no copy may keep it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_erased: bool,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// When it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deleted_at: Option<Timestamp>,
    /// Other live versions, which wait for a person's decision; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concurrent_versions: Vec<ConcurrentVersion>,
    /// Lines that were erased from it since; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub erased_lines: Vec<ErasedLineItem>,
    /// Present and true if the name was erased too: no copy may keep it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_erased: bool,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PushingInstance {
    /// Its id.
    pub id: InstanceId,
    /// What it is: `psycheros`, `sby`, `sillytavern`, `openwebui`, `claude-code`, `other` or any word.
    #[serde(rename = "type")]
    pub kind: String,
    /// How it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its own version; without effect.
    #[serde(default)]
    pub version: u64,
}

/// A changed identity document. Names and times are checked item by item, so that one bad item does not stop the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityChange {
    /// The category.
    pub category: String,
    /// The file name.
    pub filename: String,
    /// The text; left out for a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Kept for older clients; without effect.
    #[serde(default)]
    pub version: i64,
    /// When it was written, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_by: Option<String>,
    /// Whether a person wrote it: needed for the documents that only people write, and believed of a token that is not
    /// bound to an instance.
    #[serde(default)]
    pub by_person: bool,
    /// What it has seen, itself included; without it the client's last pull is its base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_vector: Option<VersionVector>,
    /// Whether it is a deletion.
    #[serde(default)]
    pub deleted: bool,
    /// When it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<String>,
}

/// A changed memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryChange {
    /// The granularity.
    pub granularity: String,
    /// The date.
    pub date: String,
    /// Of a significant memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// The text; left out for a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Talks that it tells of.
    #[serde(default)]
    pub chat_ids: Vec<String>,
    /// Whose daily, or who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_instance: Option<String>,
    /// Other instances that took part.
    #[serde(default)]
    pub participating_instances: Vec<String>,
    /// Kept for older clients; without effect.
    #[serde(default)]
    pub version: i64,
    /// When it was first written, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// When it was written, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// Who decided it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited_by: Option<String>,
    /// What it has seen, itself included; without it the client's last pull is its base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_vector: Option<VersionVector>,
    /// Whether it is a deletion.
    #[serde(default)]
    pub deleted: bool,
    /// When it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<String>,
}

/// Words that a person has erased from a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Erasure {
    /// Of an identity document: its category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Of an identity document: its file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Of a memory: its granularity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<String>,
    /// Of a memory: its date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Of a significant memory: its slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// Digests of the lines, as in `erasedLines` of a pull.
    #[serde(default)]
    pub lines: Vec<String>,
    /// Whether the name was erased too: the document goes, and only a digest of its name is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_erased: bool,
}

/// `sync_push`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// What a person has erased at the pusher. It is taken out of every version here too, as far as the pusher wrote it.
    #[serde(default)]
    pub erasures: Vec<Erasure>,
    /// Kept for older clients; without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_version: Option<u64>,
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// One for each erasure, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub erasure_results: Vec<ItemResult>,
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

/// An instance that shares this hub, and how far it has followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FollowingInstance {
    /// Its id.
    pub id: InstanceId,
    /// What it is; `echovessel` for a home.
    pub kind: String,
    /// When it last pulled or pushed.
    #[schemars(with = "String")]
    pub last_sync: Timestamp,
    /// Documents that it does not have as they are shown here.
    pub behind: usize,
    /// Whether it holds a copy of something that was erased here since.
    pub has_erased: bool,
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

/// A persona, as one home tells another which it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HubPersona {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// `sync_status`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncStatus {
    /// The version of the rules by which documents are exchanged. Homes with different ones do not exchange.
    pub protocol_version: u32,
    /// The persona whose hub this is.
    pub persona: HubPersona,
    /// The instance that the caller speaks as: the one that its token is bound to.
    pub speaks_as: InstanceId,
    /// Whether the caller's token is bound to that instance.
    pub is_bound: bool,
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
