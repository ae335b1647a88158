//! Tools for dailies, roll-ups and significant memories.

use jiff::Timestamp;
use memory::recall::FormerValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{DiaryDate, Granularity, InstanceId, Slug};

/// Arguments of the tool `memory_create`. A daily is merged into the existing one; other memories replace the
/// existing one, which stays as a version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryCreate {
    /// The granularity of the memory.
    pub granularity: Granularity,
    /// The date, in the granularity's form.
    pub date: DiaryDate,
    /// The text, as Markdown.
    #[schemars(length(min = 1))]
    pub content: String,
    /// Chats that the memory is about.
    #[serde(default)]
    pub chat_ids: Vec<String>,
    /// The instance that writes the memory; a daily belongs to its instance.
    pub instance_id: InstanceId,
    /// Other instances that took part.
    #[serde(default)]
    pub participating_instances: Vec<InstanceId>,
    /// Short name of a significant memory. Made of the title if it is missing.
    pub slug: Option<Slug>,
}

/// Result of writing a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryWritten {
    /// True if the memory was written.
    pub success: bool,
    /// A description of the result.
    pub message: String,
    /// The id of the memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_id: Option<String>,
}

/// Arguments of the tool `memory_search`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemorySearch {
    /// The text to search for.
    #[schemars(length(min = 1))]
    pub query: String,
    /// The instance that asks.
    pub instance_id: InstanceId,
    /// The query's vector by the hub's own model, instead of embedding it.
    pub query_embedding: Option<Vec<f32>>,
    /// Minimum final score; default 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_score: Option<f64>,
    /// Maximum number of results; default 10.
    #[schemars(range(min = 1, max = 50))]
    pub max_results: Option<u32>,
}

/// The method by which a memory was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchMethod {
    /// Search by meaning and words.
    Vector,
    /// The search compared words alone, without vectors.
    Text,
}

/// A memory that was found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundMemory {
    /// The id of the memory.
    pub id: String,
    /// The granularity of the memory.
    pub granularity: Granularity,
    /// The date of the memory.
    pub date: DiaryDate,
    /// The slug of a significant memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// 0.8·vector + 0.05·recency + 0.05·graph + 0.1·instance.
    pub score: f64,
    /// The whole memory, or the part that fits best.
    pub excerpt: String,
    /// The instance that wrote the memory.
    pub source_instance: InstanceId,
    /// Same as the granularity.
    pub tier: Granularity,
    /// Whole days since the memory's last day.
    pub age_days: i64,
    /// Relevance: the cosine, at least 0, or the relevance by words if it is higher.
    pub vector_score: f64,
    /// 1 / (1 + 0.007·age in days).
    pub recency_score: f64,
    /// Strength of the memory's links to entities that the query names.
    pub graph_score: f64,
    /// 1 if the asking instance wrote the memory.
    pub instance_score: f64,
    /// The method by which the memory was found.
    pub method: SearchMethod,
    /// True if the memory is about the query: its relevance, on the scale of recall, is at least 0.75 of the best
    /// one's, and the best one's is at least 0.4.
    pub is_meant: bool,
    /// A value in the excerpt that was corrected since, with the current one. The memory itself does not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_longer_current: Option<FormerValue>,
}

/// Result of the tool `memory_search`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResults {
    /// Matches, the best first.
    pub results: Vec<FoundMemory>,
    /// The method of the search.
    pub search_method: SearchMethod,
    /// True if vectors could be compared.
    pub vector_available: bool,
}

/// Arguments of the tool `memory_grep`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryGrep {
    /// Words in any script; a memory with some of them matches.
    #[schemars(length(min = 1))]
    pub query: String,
    /// Maximum number of results; default 20.
    #[schemars(range(min = 1, max = 50), extend("default" = 20))]
    pub max_results: Option<u32>,
}

/// A memory that contains the words.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GreppedMemory {
    /// The granularity of the memory.
    pub granularity: Granularity,
    /// The date of the memory.
    pub date: DiaryDate,
    /// The slug of a significant memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// The memory's title, or its date.
    pub title: String,
    /// Share of the query's words that are in the memory.
    pub score: f64,
    /// The words around the first match.
    pub context: String,
}

/// Result of the tool `memory_grep`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrepResults {
    /// Matches, the best first.
    pub results: Vec<GreppedMemory>,
    /// Number of memories that were searched.
    pub total_scanned: usize,
}

/// Arguments of the tool `memory_list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryList {
    /// Lists this granularity only.
    pub granularity: Option<Granularity>,
    /// Maximum number of entries; default 20.
    #[schemars(range(min = 1, max = 100), extend("default" = 20))]
    pub limit: Option<u32>,
    /// Number of entries to skip.
    #[schemars(extend("default" = 0))]
    pub offset: Option<u32>,
    /// Only memories that begin on or before this day.
    #[schemars(with = "Option<String>")]
    pub before_date: Option<jiff::civil::Date>,
    /// Only memories that end on or after this day.
    #[schemars(with = "Option<String>")]
    pub after_date: Option<jiff::civil::Date>,
}

/// An entry of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedMemory {
    /// The id of the memory.
    pub id: String,
    /// The granularity of the memory.
    pub granularity: Granularity,
    /// The date; for a significant memory with its slug.
    pub date: String,
    /// The first 100 characters.
    pub preview: String,
    /// The instance that wrote the memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_instance: Option<InstanceId>,
    /// True if the memory is a roll-up whose sources have changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<bool>,
}

/// A list of memories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MemoryListing {
    /// Memories, the newest first.
    pub memories: Vec<ListedMemory>,
    /// Total number of memories.
    pub total: usize,
}

/// Arguments of the tools `memory_read` and `memory_delete`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryRef {
    /// The granularity of the memory.
    pub granularity: Granularity,
    /// The date of the memory.
    pub date: DiaryDate,
    /// The slug of a significant memory; may be left out if the date has only one.
    pub slug: Option<Slug>,
    /// The instance of a daily; may be left out if the date has only one.
    pub instance_id: Option<InstanceId>,
}

/// A memory as it is read.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryEntry {
    /// The id of the memory.
    pub id: String,
    /// The granularity of the memory.
    pub granularity: Granularity,
    /// The date of the memory.
    pub date: DiaryDate,
    /// The text, as Markdown.
    pub content: String,
    /// Chats that the memory is about.
    pub chat_ids: Vec<String>,
    /// The instance that wrote the memory.
    pub source_instance: InstanceId,
    /// Other instances that took part.
    pub participating_instances: Vec<InstanceId>,
    /// The slug of a significant memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Counts the memory's versions from 1.
    pub version: i64,
    /// Time at which the memory was first written.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// Time at which this version was written.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// The author of this version.
    pub edited_by: String,
    /// True if the memory is a roll-up whose sources have changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<bool>,
}

/// Result of the tool `memory_read`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryReadResult {
    /// True if the memory exists.
    pub success: bool,
    /// The memory, if it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryEntry>,
    /// The reason why the memory was not found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Arguments of the tool `memory_update`: a correction by a person. The text before stays as a version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryUpdate {
    /// The granularity of the memory.
    pub granularity: Granularity,
    /// The date of the memory.
    pub date: DiaryDate,
    /// The whole new text.
    #[schemars(length(min = 1))]
    pub content: String,
    /// The author of the correction.
    pub edited_by: Option<String>,
    /// The slug of a significant memory.
    pub slug: Option<Slug>,
    /// The instance of a daily.
    pub instance_id: Option<InstanceId>,
}

/// Arguments of the tool `memory_consolidate`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryConsolidate {
    /// Weekly, monthly or yearly. Without `targetDate`, every finished period at that level whose roll-up is missing
    /// or outdated.
    pub granularity: Option<Granularity>,
    /// One period: its own name or any date in it. It is summarised even if it is not over.
    pub target_date: Option<DiaryDate>,
    /// True to summarise every finished period whose roll-up is missing or outdated.
    #[serde(default)]
    pub all: bool,
}

/// A period whose roll-up is missing, or older than its sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PendingPeriod {
    /// Weekly, monthly or yearly.
    pub kind: String,
    /// The file name of the period's roll-up, written or not.
    pub filename: String,
    /// True if the period is over and its roll-up will soon be written in the background.
    pub due: bool,
    /// True if the roll-up is written and its sources have changed since.
    pub stale: bool,
}

/// The result of writing the roll-up of one period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Consolidation {
    /// Weekly, monthly or yearly.
    pub granularity: Granularity,
    /// The period that was summarised.
    pub date_str: String,
    /// True if the summary was written.
    pub success: bool,
    /// The reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Result of the tool `memory_consolidate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Consolidations {
    /// True if none failed.
    pub success: bool,
    /// One result for each period.
    pub consolidations: Vec<Consolidation>,
    /// A description of the result.
    pub message: String,
}

/// Result of the tool `memory_embedding_purge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Purged {
    /// Memories whose vectors were deleted.
    pub purged: u64,
    /// Memories that still have vectors.
    pub remaining: u64,
    /// A description of the result.
    pub message: String,
}

/// Result of the tool `memory_embedding_rebuild`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rebuilt {
    /// Memories that have vectors now.
    pub rebuilt: u64,
    /// Memories that could not be embedded.
    pub failed: u64,
    /// Number of all memories.
    pub total: u64,
    /// A description of the result.
    pub message: String,
}
