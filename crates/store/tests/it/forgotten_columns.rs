//! What forgetting knows of the schema.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::home::Home;

/// What the columns hold when something is forgotten: gone with the row, or taken out of it.
const FORGOTTEN: &[&str] = &[
    "concept_nodes.description",
    "concept_nodes.emotion_tags",
    "concept_nodes.terms",
    "entities.canonical_name",
    "entities.description",
    "entity_aliases.folded",
    "entity_aliases.name",
    "entity_changes.before",
    "graph_edges.properties",
    "graph_edges.type",
    "graph_nodes.described_by",
    "graph_nodes.description",
    "graph_nodes.folded",
    "graph_nodes.label",
    "graph_nodes.properties",
    "graph_nodes.type",
    "graph_sources.evidence",
    "graph_sources.memory",
    "hub_chunks.terms",
    "hub_documents.stem",
    "hub_labels.label",
    "hub_lines.line",
    "hub_snapshots.content",
    "hub_versions.chat_ids",
    "hub_versions.content",
    "hub_versions.edited_by",
    "import_runs.digest",
    "import_runs.files",
    "import_runs.position",
    "import_skips.place",
    "import_skips.reason",
    "mention_merges.description",
    "mention_merges.merged",
    "mood_history.episodic_state",
    "message_versions.content",
    "node_changes.author",
    "node_changes.description",
    "node_changes.entities",
    "node_changes.kind",
    "node_changes.relational_tags",
    "node_evidence.quote",
    "recall_messages.content",
    "recall_messages.external_ref",
    "recall_messages.terms",
    "rejected_memories.description",
    "rejected_memories.evidence",
    "rejected_memories.proposal",
    "rejected_memories.reason",
    "session_traces.detail",
    "sessions.last_error",
    "sessions.summary",
    "slow_cycles.salient_questions",
    "slow_cycles.transcript",
    "turn_details.detail",
    "turn_traces.receipt",
    "turns.reason",
];

/// Written by a person about the persona or about themselves; a receipt names the blocks that contain the text.
const WRITTEN_BY_PEOPLE: &[&str] = &[
    "core_block_appends.content",
    "core_block_appends.edited_by",
    "core_blocks.content",
    "core_blocks.last_edited_by",
    "users.display_name",
];

/// Kept after the erasure for the instances that hold a copy, and gone when each was reached.
const UNTIL_TOLD: &[&str] = &["hub_untold_deletions.stem"];

/// Closed vocabularies, names of models, channels, tokens and acts, ids, days, digests of whole prompts, and receipts of
/// erasures, which hold ids.
const NO_WORDS: &[&str] = &[
    "access_tokens.hash",
    "access_tokens.name",
    "access_tokens.prefix",
    "access_tokens.scopes",
    "access_tokens.user_id",
    "acts.act",
    "acts.object",
    "acts.token",
    "channel_conversations.channel_id",
    "channel_conversations.conversation",
    "channel_conversations.user_id",
    "channel_outbox.channel_id",
    "channel_outbox.conversation",
    "channel_outbox.last_error",
    "channel_outbox.state",
    "channel_positions.channel_id",
    "channel_strangers.channel_id",
    "channel_strangers.external_id",
    "concept_nodes.relational_tags",
    "concept_nodes.subject",
    "concept_nodes.type",
    "import_runs.remembering",
    "import_runs.status",
    "core_block_appends.label",
    "core_block_appends.persona_id",
    "core_block_appends.user_id",
    "core_blocks.label",
    "core_blocks.persona_id",
    "core_blocks.user_id",
    "embedding_models.fingerprint",
    "embedding_models.source",
    "entities.kind",
    "entities.merge_status",
    "entity_changes.change",
    "entity_changes.changed_by",
    "erasure_instances.instance_id",
    "erasure_receipts.persona_id",
    "erasure_receipts.receipt",
    "erasure_receipts.user_id",
    "external_identities.channel_id",
    "external_identities.external_id",
    "external_identities.user_id",
    "forgotten_support.kind",
    "graph_edges.source_instance",
    "graph_nodes.source_instance",
    "hub_conflicts.settled",
    "hub_documents.kind",
    "hub_documents.persona_id",
    "hub_documents.user_id",
    "hub_erased_lines.author",
    "hub_erased_names.kind",
    "hub_erased_names.persona_id",
    "hub_erased_names.user_id",
    "hub_erased_names.vector",
    "hub_instances.base",
    "hub_instances.id",
    "hub_instances.kind",
    "hub_instances.name",
    "hub_instances.persona_id",
    "hub_instances.user_id",
    "hub_labels.kind",
    "hub_labels.persona_id",
    "hub_labels.stem",
    "hub_labels.user_id",
    "hub_own_instance.id",
    "hub_revisions.persona_id",
    "hub_seen.author",
    "hub_seen.persona_id",
    "hub_seen.user_id",
    "hub_snapshots.id",
    "hub_snapshots.kind",
    "hub_snapshots.persona_id",
    "hub_snapshots.reason",
    "hub_snapshots.source",
    "hub_snapshots.stem",
    "hub_snapshots.user_id",
    "hub_untold_deletions.instance_id",
    "hub_untold_deletions.kind",
    "hub_untold_deletions.persona_id",
    "hub_untold_deletions.user_id",
    "hub_versions.author",
    "hub_versions.participants",
    "hub_versions.state",
    "hub_versions.vector",
    "llm_calls.model",
    "llm_calls.outcome",
    "llm_calls.prompt_hash",
    "llm_calls.provider",
    "llm_calls.task",
    "llm_calls.tier",
    "persona_avatars.extension",
    "persona_avatars.persona_id",
    "proactive_decisions.channel_id",
    "proactive_decisions.detail",
    "proactive_decisions.gate",
    "proactive_decisions.outcome",
    "proactive_decisions.trigger",
    "proactive_decisions.trigger_key",
    "proactive_mutes.user_id",
    "recall_messages.channel_id",
    "recall_messages.day",
    "recall_messages.role",
    "schema_migrations.name",
    "schema_migrations.sha256",
    "scopes.persona_id",
    "scopes.user_id",
    "session_traces.phase",
    "sessions.channel_id",
    "sessions.close_trigger",
    "sessions.status",
    "settled_expectations.outcome",
    "slow_cycles.outcome",
    "tombstones.kind",
    "turn_details.model",
    "turns.channel_id",
    "turns.status",
    "users.id",
    "users.timezone",
];

/// Every column that can hold words is known to forgetting. Whoever adds one says here what becomes of it, and does it.
#[tokio::test]
async fn every_text_column_is_known_to_forgetting() {
    let home = Home::open().await;
    let file = Connection::open(&home.path).unwrap();
    let columns: BTreeSet<String> = file
        .prepare(
            "SELECT t.name || '.' || c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c
             WHERE t.type = 'table' AND c.type = 'TEXT' AND t.name <> 'personas' AND t.name NOT LIKE '%_words%'",
        )
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let known: BTreeSet<String> = [FORGOTTEN, UNTIL_TOLD, WRITTEN_BY_PEOPLE, NO_WORDS]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(columns, known);
}
