//! Tools for synchronisation with other instances.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{Category, InstanceId};
use crate::version_vector::VersionVector;

/// Arguments of the tool `sync_pull`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncPull {
    /// The instance that pulls.
    pub instance_id: InstanceId,
    /// Everything that the instance has seen: only newer items are sent. Without it, all items are.
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

/// A line that was erased from a document. Every holder of the document removes it from all versions that do not
/// include the erasure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErasedLineItem {
    /// SHA-256, in hexadecimal, of persona, user, kind and name of the document and the words of the line, each
    /// followed by a zero byte. Tags, list markers, case and white space are ignored.
    pub digest: String,
    /// The author of the change that erased the line.
    pub author: InstanceId,
    /// The counter of that change.
    pub counter: u64,
}

/// A version of a document stored beside the shown one: neither includes the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConcurrentVersion {
    /// The text; absent if this version is a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The instance that wrote the version.
    pub source_instance: InstanceId,
    /// The author of this version: an instance, `editor:file` or `admin`.
    pub edited_by: String,
    /// True if a person wrote it.
    pub by_person: bool,
    /// Time at which the version was written.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// All changes that the version includes, its own too.
    pub version_vector: VersionVector,
    /// Present and true for a deletion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// An identity document as one hub sends it to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityItem {
    /// The category of the document.
    pub category: Category,
    /// The name of the file.
    pub filename: String,
    /// The text; none if it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The label of the document in prompts.
    pub prompt_label: String,
    /// The number of the document's versions.
    pub version: i64,
    /// Time at which this version was written.
    #[schemars(with = "String")]
    pub last_modified: Timestamp,
    /// The author of this version.
    pub modified_by: String,
    /// The instance that wrote the document.
    pub source_instance: InstanceId,
    /// True if a person wrote it.
    pub by_person: bool,
    /// All changes that this version includes.
    pub version_vector: VersionVector,
    /// Present and true for a deletion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// Time at which the document was deleted.
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
    /// Documents about the persona.
    #[serde(rename = "self")]
    pub own: Vec<IdentityItem>,
    /// Documents about the user.
    pub user: Vec<IdentityItem>,
    /// Documents about their relationship.
    pub relationship: Vec<IdentityItem>,
    /// Documents about anything else.
    pub custom: Vec<IdentityItem>,
}

/// A memory as one hub sends it to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryItem {
    /// The id of the memory.
    pub id: String,
    /// The granularity of the memory.
    pub granularity: String,
    /// The date of the memory.
    pub date: String,
    /// The slug of a significant memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// The text; none if it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Chats that the memory is about.
    pub chat_ids: Vec<String>,
    /// The instance that wrote the memory; a daily belongs to it.
    pub source_instance: InstanceId,
    /// Other instances that took part.
    pub participating_instances: Vec<InstanceId>,
    /// The number of the memory's versions.
    pub version: i64,
    /// Time at which the memory was first written.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// Time at which this version was written.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// The author of this version.
    pub edited_by: String,
    /// All changes that this version includes.
    pub version_vector: VersionVector,
    /// Present and true for a deletion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// Time at which the memory was deleted.
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

/// State of the hub, for the next pull.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncToken {
    /// Rises with every change.
    pub server_version: i64,
    /// Time of the answer.
    #[schemars(with = "String")]
    pub timestamp: Timestamp,
    /// Digest of the state; empty while pages follow.
    pub hash: String,
    /// All changes that the hub includes: `since` of the next pull. While pages follow, it repeats the `since` of
    /// this pull.
    pub version_vector: VersionVector,
}

/// Result of the tool `sync_pull`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncPulled {
    /// Always true: errors are reported as errors.
    pub success: bool,
    /// Identity documents by category.
    pub identity_files: IdentityItems,
    /// Memories of all granularities.
    pub memories: Vec<MemoryItem>,
    /// The token of the next pull.
    pub new_sync_token: SyncToken,
    /// `cursor` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// The instance that pushes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PushingInstance {
    /// The id of the instance.
    pub id: InstanceId,
    /// The kind of program: `psycheros`, `sby`, `sillytavern`, `openwebui`, `claude-code`, `other` or any other word.
    #[serde(rename = "type")]
    pub kind: String,
    /// A display name of the instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The instance's own version; without effect.
    #[serde(default)]
    pub version: u64,
}

/// A changed identity document. Names and times are checked item by item, so that one bad item does not stop the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityChange {
    /// The category of the document.
    pub category: String,
    /// The name of the file.
    pub filename: String,
    /// The text; left out for a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Kept for older clients; without effect.
    #[serde(default)]
    pub version: i64,
    /// Time of the change, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// The author of the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_by: Option<String>,
    /// The instance that wrote the text, if that is another one than the author of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_instance: Option<String>,
    /// True if a person wrote the text. Documents that only people write require it; it is accepted from tokens that
    /// are not bound to an instance.
    #[serde(default)]
    pub by_person: bool,
    /// All changes that the version includes, its own too. Without it, the version of the client's last pull is
    /// assumed as its base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_vector: Option<VersionVector>,
    /// True if the change is a deletion.
    #[serde(default)]
    pub deleted: bool,
    /// Time at which the document was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<String>,
}

/// A memory that was changed or deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryChange {
    /// The granularity of the memory.
    pub granularity: String,
    /// The date of the memory.
    pub date: String,
    /// The slug of a significant memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// The text; left out for a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Chats that the memory is about.
    #[serde(default)]
    pub chat_ids: Vec<String>,
    /// The instance of a daily; for other memories the author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_instance: Option<String>,
    /// Other instances that took part.
    #[serde(default)]
    pub participating_instances: Vec<String>,
    /// Kept for older clients; without effect.
    #[serde(default)]
    pub version: i64,
    /// Time at which the memory was created, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Time of the change, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// The author of the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited_by: Option<String>,
    /// All changes that the version includes, its own too. Without it, the version of the client's last pull is
    /// assumed as its base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_vector: Option<VersionVector>,
    /// True if the change deletes the memory.
    #[serde(default)]
    pub deleted: bool,
    /// Time at which the memory was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<String>,
}

/// Words that a person has erased from a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Erasure {
    /// The category of an identity document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The file name of an identity document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The granularity of a memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<String>,
    /// The date of a memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The slug of a significant memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// Digests of the lines, as in `erasedLines` of a pull.
    #[serde(default)]
    pub lines: Vec<String>,
    /// True if the name was erased too: the document is deleted, and only a digest of its name is stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_erased: bool,
}

/// Arguments of the tool `sync_push`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncPush {
    /// The instance that pushes.
    pub instance: PushingInstance,
    /// The identity documents that changed.
    #[serde(default)]
    pub identity_changes: Vec<IdentityChange>,
    /// Changed memories of all granularities.
    #[serde(default)]
    pub memory_changes: Vec<MemoryChange>,
    /// Erasures by a person at the pushing home. The hub removes the lines too, from versions that the home wrote.
    #[serde(default)]
    pub erasures: Vec<Erasure>,
    /// Kept for older clients; without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_version: Option<u64>,
}

/// The result for an item of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ItemStatus {
    /// The version is now the shown one.
    Applied,
    /// The hub already had the item, or a later version that includes it.
    Known,
    /// The item is stored beside another version; a person decides between them.
    Conflict,
    /// The item was rejected.
    Refused,
}

/// The result for one item of a push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemResult {
    /// The category of an identity document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The granularity, for a memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<String>,
    /// The file name of an identity document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The date, for a memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The slug of a significant memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// The result for the item.
    pub status: ItemStatus,
    /// The reason of the status, or a correction of the item, such as a time too far in the future.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Result of the tool `sync_push`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncPushed {
    /// True if the push was processed; single items may still be refused.
    pub success: bool,
    /// The token of the next pull.
    pub new_sync_token: SyncToken,
    /// Conflicts that the push opened.
    pub conflicts: Vec<super::conflicts::ConflictEntry>,
    /// One result for each item, identity documents first, in the order of the push.
    pub results: Vec<ItemResult>,
    /// One result for each erasure, in the order of the push.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub erasure_results: Vec<ItemResult>,
}

/// An instance and the time of its last call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectedInstance {
    /// The id of the instance.
    pub id: InstanceId,
    /// The kind of program.
    #[serde(rename = "type")]
    pub kind: String,
    /// Time at which the instance last pulled or pushed.
    #[schemars(with = "String")]
    pub last_sync: Timestamp,
}

/// An instance that shares this hub, with how much of it the instance has received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FollowingInstance {
    /// The id of the instance.
    pub id: InstanceId,
    /// The kind of program; `echovessel` for a home.
    pub kind: String,
    /// Time at which the instance last pulled or pushed.
    #[schemars(with = "String")]
    pub last_sync: Timestamp,
    /// Number of documents of which the instance has an older version, or none.
    pub behind: usize,
    /// True if the instance holds a copy of something that was erased here since.
    pub has_erased: bool,
}

/// State of extracting facts from memories, since the start of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtractionStatus {
    /// True if there is a model that can extract facts.
    pub llm_available: bool,
    /// Time at which a model was last asked to extract the graph.
    #[schemars(with = "Option<String>")]
    pub last_attempt: Option<Timestamp>,
    /// Time at which that last succeeded.
    #[schemars(with = "Option<String>")]
    pub last_success: Option<Timestamp>,
    /// The reason why the last extraction failed.
    pub last_error: Option<String>,
    /// Number of times that a model was asked to extract the graph.
    pub attempts_total: u64,
    /// Number of times that this succeeded.
    pub successes_total: u64,
    /// Nodes that extraction has created.
    pub nodes_created_total: u64,
    /// Edges that extraction has created.
    pub edges_created_total: u64,
}

/// A persona's identity, as one home states it to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HubPersona {
    /// The id of the persona.
    pub id: String,
    /// The name of the persona.
    pub name: String,
}

/// Result of the tool `sync_status`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncStatus {
    /// Version of the exchange protocol. Homes with different versions do not exchange.
    pub protocol_version: u32,
    /// The persona of the hub.
    pub persona: HubPersona,
    /// The instance in whose name the caller acts: the one that its token is bound to.
    pub speaks_as: InstanceId,
    /// True if the caller's token is bound to that instance.
    pub is_bound: bool,
    /// The hub's own instance: the author of changes that it makes itself.
    pub instance: InstanceId,
    /// Rises with every change.
    pub server_version: i64,
    /// Instances that have called this hub.
    pub connected_instances: Vec<ConnectedInstance>,
    /// All changes that the hub has seen.
    pub version_vector: VersionVector,
    /// Conflicts that wait for a person.
    pub open_conflicts: usize,
    /// State of extracting facts from memories.
    pub extraction: ExtractionStatus,
}
