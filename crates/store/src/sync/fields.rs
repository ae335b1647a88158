//! Rows as fields: the same names on every machine, no local numbers.

use crate::engine::sql::{Connection, OptionalExtension, Result};
use ::sync::{Kind, RowKey};
use serde_json::{Map, Value};

use crate::rows::unreadable;

/// A row as it is: its scope by names, and its values.
pub(super) struct RowFields {
    pub(super) persona: Option<String>,
    pub(super) user: Option<String>,
    pub(super) values: Map<String, Value>,
}

const PERSONA: &str = "SELECT id, NULL, json_object(
        'display_name', display_name, 'full_name', full_name, 'gender', gender, 'birth_date', birth_date,
        'ethnicity', ethnicity, 'nationality', nationality, 'native_language', native_language,
        'locale_region', locale_region, 'education_level', education_level, 'occupation', occupation,
        'occupation_field', occupation_field, 'location', location, 'timezone', timezone,
        'relationship_status', relationship_status, 'life_stage', life_stage, 'health_status', health_status,
        'created_at', created_at)
    FROM personas WHERE id = ?1";

const USER: &str = "SELECT NULL, id, json_object(
        'display_name', display_name, 'timezone', timezone, 'created_at', created_at)
    FROM users WHERE id = ?1";

const SESSION: &str = "SELECT s.persona_id, s.user_id, json_object(
        'channel', c.channel_id, 'first_message_at', c.first_message_at, 'closed_at', c.closed_at,
        'close_trigger', c.close_trigger, 'extracted', c.extracted, 'reflected', c.reflected,
        'extracted_events', c.extracted_events, 'trivial', c.trivial, 'summary', c.summary)
    FROM sessions c JOIN scopes s ON s.number = c.scope WHERE c.id = unhex(?1)";

const MESSAGE: &str = "SELECT s.persona_id, s.user_id, json_object(
        'session', lower(hex(m.session_id)), 'turn', CASE WHEN m.turn_id IS NULL THEN NULL ELSE lower(hex(m.turn_id)) END,
        'channel', m.channel_id, 'role', m.role, 'tokens', m.token_count, 'day', m.day, 'created_at', m.created_at,
        'placed_at', m.placed_at, 'incomplete', m.incomplete, 'content', m.content, 'external_ref', m.external_ref)
    FROM recall_messages m JOIN scopes s ON s.number = m.scope WHERE m.id = unhex(?1)";

const NODE: &str = "SELECT s.persona_id, s.user_id, json_object(
        'type', n.type, 'subject', n.subject, 'impact', n.emotional_impact, 'emotion_tags', n.emotion_tags,
        'relational_tags', n.relational_tags, 'event_start', n.event_time_start, 'event_end', n.event_time_end,
        'session', CASE WHEN n.source_session_id IS NULL THEN NULL ELSE lower(hex(n.source_session_id)) END,
        'mentions', n.mention_count,
        'superseded_by', CASE WHEN n.superseded_by IS NULL THEN NULL ELSE lower(hex(n.superseded_by)) END,
        'pinned', n.pinned, 'created_at', n.created_at, 'deleted_at', n.deleted_at, 'description', n.description)
    FROM concept_nodes n JOIN scopes s ON s.number = n.scope WHERE n.id = unhex(?1)";

const ENTITY: &str = "SELECT s.persona_id, s.user_id, json_object(
        'name', e.canonical_name, 'kind', e.kind, 'description', e.description, 'owner_override', e.owner_override,
        'merge_status', e.merge_status,
        'merge_target', CASE WHEN e.merge_target IS NULL THEN NULL ELSE lower(hex(e.merge_target)) END,
        'merged_into', CASE WHEN e.merged_into IS NULL THEN NULL ELSE lower(hex(e.merged_into)) END,
        'created_at', e.created_at, 'updated_at', e.updated_at, 'described_at', e.described_at)
    FROM entities e JOIN scopes s ON s.number = e.scope WHERE e.id = unhex(?1)";

const MOOD: &str = "SELECT s.persona_id, s.user_id, json_object(
        'session', lower(hex(h.session_id)), 'felt_at', h.felt_at, 'state', h.episodic_state)
    FROM mood_history h JOIN scopes s ON s.number = h.scope WHERE h.session_id = unhex(?1)";

const CORE_BLOCK: &str = "SELECT persona_id, user_id, json_object(
        'label', label, 'content', content, 'edited_by', last_edited_by, 'updated_at', updated_at)
    FROM core_blocks WHERE persona_id || char(31) || label || char(31) || coalesce(user_id, '') = ?1";

const ERASURE: &str = "SELECT s.persona_id, s.user_id, json_object('at', t.forgotten_at)
    FROM tombstones t LEFT JOIN scopes s ON s.number = t.scope
    WHERE t.kind = substr(?1, 1, instr(?1, ':') - 1) AND t.id = unhex(substr(?1, instr(?1, ':') + 1))";

/// Elements of sets: the field's name and its value as JSON.
fn sets(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Message => &["SELECT 'version/' || v.replaced_at, json_quote(v.content)
            FROM message_versions v JOIN recall_messages m ON m.seq = v.message_seq WHERE m.id = unhex(?1)"],
        Kind::Node => &[
            "SELECT 'evidence/' || lower(hex(m.id)) || '/' || e.span_start || '/' || e.span_end, json_quote(e.quote)
             FROM concept_nodes n JOIN node_evidence e ON e.node_seq = n.seq
                 JOIN recall_messages m ON m.seq = e.message_seq WHERE n.id = unhex(?1)",
            "SELECT 'cites/' || lower(hex(o.id)), json_array(f.orphaned, f.created_at)
             FROM concept_nodes n JOIN concept_node_filling f ON f.thought_seq = n.seq
                 JOIN concept_nodes o ON o.seq = f.event_seq WHERE n.id = unhex(?1)",
            "SELECT 'about/' || lower(hex(l.entity_id)), '1'
             FROM concept_nodes n JOIN concept_node_entities l ON l.node_seq = n.seq WHERE n.id = unhex(?1)",
            "SELECT 'change/' || c.created_at || '/' || c.kind || '/' || coalesce(lower(hex(o.id)), ''),
                 json_object('author', c.author, 'undone_at', c.undone_at, 'description', c.description,
                     'relational_tags', c.relational_tags)
             FROM concept_nodes n JOIN node_changes c ON c.node_seq = n.seq
                 LEFT JOIN concept_nodes o ON o.seq = c.newer_seq
             WHERE n.id = unhex(?1) AND c.kind <> 'mention_merge'",
        ],
        Kind::Entity => &["SELECT 'alias/' || folded, json_quote(name) FROM entity_aliases
            WHERE entity_id = unhex(?1)"],
        _ => &[],
    }
}

/// Reads a row; `None` if it is not there.
pub(super) fn read(connection: &Connection, key: &RowKey) -> Result<Option<RowFields>> {
    let statement = match key.kind {
        Kind::Erasure => ERASURE,
        Kind::Persona => PERSONA,
        Kind::User => USER,
        Kind::Session => SESSION,
        Kind::Message => MESSAGE,
        Kind::Entity => ENTITY,
        Kind::Node => NODE,
        Kind::Mood => MOOD,
        Kind::CoreBlock => CORE_BLOCK,
    };
    let found = connection
        .prepare_cached(statement)?
        .query_row([&key.id], |row| Ok((row.get(0)?, row.get(1)?, parsed(&row.get::<String>(2)?)?)))
        .optional()?;
    let Some((persona, user, Value::Object(mut values))) = found else { return Ok(None) };
    for set in sets(key.kind) {
        let mut statement = connection.prepare_cached(set)?;
        let mut rows = statement.query([&key.id])?;
        while let Some(row) = rows.next()? {
            values.insert(row.get(0)?, parsed(&row.get::<String>(1)?)?);
        }
    }
    Ok(Some(RowFields { persona, user, values }))
}

fn parsed(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(|error| unreadable(2, error))
}
