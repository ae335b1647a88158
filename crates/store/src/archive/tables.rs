//! The tables of an archive, and the personas that their rows belong to.

/// The assignment of a row to its persona.
pub(super) enum Owner {
    /// The row belongs to the home: only in an archive of all personas.
    Home,
    /// The column has the persona's id.
    Persona(&'static str),
    /// The column has the id of a scope.
    Scope(&'static str),
    /// The column has the id of a user of the persona.
    User(&'static str),
    /// The row belongs to the persona of a row in another table.
    Row { column: &'static str, table: &'static str, key: &'static str },
}

use Owner::{Home, Persona, Row, Scope, User};

/// A table whose rows are archived.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) owner: Owner,
    /// Columns that are not archived, because they are computed.
    pub(super) without: &'static [&'static str],
}

const fn table(name: &'static str, owner: Owner) -> Table {
    Table { name, owner, without: &[] }
}

const fn reference_column(
    name: &'static str,
    column: &'static str,
    table: &'static str,
    key: &'static str,
) -> Table {
    Table { name, owner: Row { column, table, key }, without: &[] }
}

const MODEL_COLUMNS: &[&str] = &["embedding_model"];
const VECTOR_COLUMNS: &[&str] = &["embedding_model", "readability", "vector"];

/// Tables in the order of the archive. Triggers fill those at the end, so these are cleared and written last.
pub(super) const TABLES: &[Table] = &[
    table("personas", Persona("id")),
    table("persona_avatars", Persona("persona_id")),
    table("users", User("id")),
    table("external_identities", User("user_id")),
    table("scopes", Persona("persona_id")),
    table("core_blocks", Persona("persona_id")),
    table("core_block_appends", Persona("persona_id")),
    table("mood_history", Scope("scope")),
    table("import_runs", Scope("scope")),
    reference_column("import_skips", "run", "import_runs", "number"),
    reference_column("import_documents", "run", "import_runs", "number"),
    table("sessions", Scope("scope")),
    table("turns", Scope("scope")),
    Table { name: "recall_messages", owner: Scope("scope"), without: MODEL_COLUMNS },
    table("imported_messages", Scope("scope")),
    reference_column("message_versions", "message_seq", "recall_messages", "seq"),
    reference_column("replaced_messages", "run", "import_runs", "number"),
    reference_column("forgotten_spans", "message_seq", "recall_messages", "seq"),
    Table { name: "concept_nodes", owner: Scope("scope"), without: MODEL_COLUMNS },
    reference_column("node_evidence", "node_seq", "concept_nodes", "seq"),
    reference_column("concept_node_filling", "thought_seq", "concept_nodes", "seq"),
    reference_column("mention_merges", "node_seq", "concept_nodes", "seq"),
    reference_column("mention_evidence", "merge_number", "mention_merges", "number"),
    reference_column("node_changes", "node_seq", "concept_nodes", "seq"),
    table("statement_pairs", Scope("scope")),
    reference_column("settled_expectations", "node_seq", "concept_nodes", "seq"),
    table("rejected_memories", Scope("scope")),
    table("reflections", Scope("scope")),
    Table { name: "entities", owner: Scope("scope"), without: MODEL_COLUMNS },
    table("entity_aliases", Scope("scope")),
    reference_column("concept_node_entities", "node_seq", "concept_nodes", "seq"),
    table("entity_changes", Scope("scope")),
    Table { name: "graph_nodes", owner: Scope("scope"), without: VECTOR_COLUMNS },
    table("graph_edges", Scope("scope")),
    table("graph_sources", Scope("scope")),
    table("hub_documents", Persona("persona_id")),
    reference_column("hub_versions", "document", "hub_documents", "number"),
    reference_column("hub_conflicts", "document", "hub_documents", "number"),
    table("hub_labels", Persona("persona_id")),
    reference_column("hub_lines", "document", "hub_documents", "number"),
    table("hub_snapshots", Persona("persona_id")),
    table("hub_erased_names", Persona("persona_id")),
    reference_column("hub_erased_lines", "document", "hub_documents", "number"),
    table("hub_instances", Persona("persona_id")),
    table("hub_seen", Persona("persona_id")),
    table("hub_revisions", Persona("persona_id")),
    table("hub_untold_deletions", Persona("persona_id")),
    table("tombstones", Scope("scope")),
    reference_column("forgotten_support", "node_seq", "concept_nodes", "seq"),
    reference_column("reduced_nodes", "node_seq", "concept_nodes", "seq"),
    table("erasure_receipts", Persona("persona_id")),
    reference_column("erasure_instances", "receipt_id", "erasure_receipts", "id"),
    reference_column("erasure_parts", "receipt_id", "erasure_receipts", "id"),
    table("proactive_decisions", Scope("scope")),
    table("proactive_mutes", User("user_id")),
    table("llm_calls", Home),
    table("turn_traces", Scope("scope")),
    table("turn_details", Scope("scope")),
    table("session_traces", Scope("scope")),
    table("slow_cycles", Scope("scope")),
    reference_column("slow_cycle_events", "cycle_id", "slow_cycles", "id"),
    reference_column("graph_unread", "node_seq", "concept_nodes", "seq"),
    reference_column("graph_unread_documents", "document", "hub_documents", "number"),
    reference_column("graph_read_lines", "document", "hub_documents", "number"),
    reference_column("hub_untold", "node_seq", "concept_nodes", "seq"),
    table("replaced_values", Scope("scope")),
];

/// Tables that the triggers of others fill.
pub(super) const FILLED_BY_TRIGGERS: [&str; 4] =
    ["graph_unread", "graph_unread_documents", "hub_untold", "replaced_values"];

/// Every table of an archive, and the tables that are left out, with the reasons.
pub fn archived_tables() -> (Vec<&'static str>, &'static [(&'static str, &'static str)]) {
    (TABLES.iter().map(|table| table.name).collect(), UNARCHIVED_TABLES)
}

const COMPUTED_REASON: &str = "computed again from the rows";
const HOME_TABLE_REASON: &str = "belongs to the home, not to the memory";

const UNARCHIVED_TABLES: &[(&str, &str)] = &[
    ("embedding_models", COMPUTED_REASON),
    ("message_vectors", COMPUTED_REASON),
    ("node_vectors", COMPUTED_REASON),
    ("entity_vectors", COMPUTED_REASON),
    ("hub_chunks", COMPUTED_REASON),
    ("hub_chunk_counts", COMPUTED_REASON),
    ("hub_chunk_numbers", COMPUTED_REASON),
    ("hub_vectors", COMPUTED_REASON),
    ("hub_own_instance", HOME_TABLE_REASON),
    ("hub_exchanges", HOME_TABLE_REASON),
    ("overwriting_due", HOME_TABLE_REASON),
    ("schema_migrations", "the manifest has the schema's number"),
    ("access_tokens", "secrets of the home"),
    ("acts", HOME_TABLE_REASON),
    ("logins", "secrets of the home"),
    ("token_users", HOME_TABLE_REASON),
    ("token_turns", HOME_TABLE_REASON),
    ("channel_outbox", HOME_TABLE_REASON),
    ("channel_conversations", HOME_TABLE_REASON),
    ("channel_positions", HOME_TABLE_REASON),
    ("channel_strangers", HOME_TABLE_REASON),
    ("channel_received", HOME_TABLE_REASON),
    ("channel_last_sent", HOME_TABLE_REASON),
    ("former_peers", HOME_TABLE_REASON),
];

impl Table {
    /// SQL condition for a persona's rows; its id is bound as `?1`.
    pub(super) fn persona_condition(&self) -> String {
        let scopes = "FROM scopes WHERE persona_id = ?1";
        match self.owner {
            Home => "FALSE".to_owned(),
            Persona(column) => format!("\"{column}\" = ?1"),
            Scope(column) => format!("\"{column}\" IN (SELECT number {scopes})"),
            User(column) => format!("\"{column}\" IN (SELECT user_id {scopes})"),
            Row { column, table, key } => {
                let parent = TABLES.iter().find(|other| other.name == table).map(Self::persona_condition);
                format!(
                    "\"{column}\" IN (SELECT \"{key}\" FROM \"{table}\" WHERE {})",
                    parent.unwrap_or_default()
                )
            }
        }
    }
}
