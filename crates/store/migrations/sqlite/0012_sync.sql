-- Homes between two restores: `NAME~INCARNATION`.
CREATE TABLE sync_actors (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    actor  TEXT    NOT NULL UNIQUE
) STRICT;

-- Peers: which changes of which rows are exchanged with other homes. While `enabled` is 0 nothing is noted. `applying` is 1
-- while rows of a peer are written: those are no changes of this home. `time` is the latest hybrid time that was seen.
CREATE TABLE sync_state (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    enabled  INTEGER NOT NULL,
    applying INTEGER NOT NULL,
    own      INTEGER REFERENCES sync_actors (number),
    time     INTEGER NOT NULL
) STRICT;
INSERT INTO sync_state (only_row, enabled, applying, own, time) VALUES (1, 0, 0, NULL, 0);

-- Rows that changed and whose change has no number yet. Written by the triggers below, in the transaction of the row.
CREATE TABLE sync_noted (
    kind TEXT NOT NULL,
    id   TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

-- All changes of all actors, without what they say.
CREATE TABLE sync_log (
    actor INTEGER NOT NULL REFERENCES sync_actors (number),
    idx   INTEGER NOT NULL,
    time  INTEGER NOT NULL,
    kind  TEXT    NOT NULL,
    id    TEXT    NOT NULL,
    PRIMARY KEY (actor, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX sync_log_erasures ON sync_log (actor, idx) WHERE kind = 'erasure';

-- The changes that a row has seen, and of each of its fields a digest and the change that wrote it (JSON).
CREATE TABLE sync_rows (
    kind   TEXT NOT NULL,
    id     TEXT NOT NULL,
    vector TEXT NOT NULL CHECK (json_valid(vector)),
    stamps TEXT NOT NULL CHECK (json_valid(stamps)),
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

-- Rows of peers that refer to rows which have not arrived yet.
CREATE TABLE sync_waiting (
    kind TEXT NOT NULL,
    id   TEXT NOT NULL,
    row  TEXT NOT NULL CHECK (json_valid(row)),
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

-- Texts that lost against a concurrent one, until a person decides. `other` is the field as JSON.
CREATE TABLE sync_conflicts (
    number     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind       TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    field      TEXT    NOT NULL,
    other      TEXT    NOT NULL CHECK (json_valid(other)),
    opened_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX sync_conflicts_of_row ON sync_conflicts (kind, id);

-- Peers. `url` is NULL for one that asks here; `has` is what it has by its own word (JSON).
CREATE TABLE sync_peers (
    name      TEXT    NOT NULL PRIMARY KEY,
    url       TEXT,
    token_env TEXT,
    actor     TEXT,
    has       TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(has)),
    seen_at   INTEGER,
    received  INTEGER NOT NULL DEFAULT 0,
    sent      INTEGER NOT NULL DEFAULT 0,
    error     TEXT
) STRICT, WITHOUT ROWID;

-- ## Triggers

CREATE TRIGGER sync_notes_new_personas AFTER INSERT ON personas
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('persona', new.id);
END;
CREATE TRIGGER sync_notes_changed_personas AFTER UPDATE ON personas
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('persona', new.id);
END;
CREATE TRIGGER sync_notes_new_users AFTER INSERT ON users
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('user', new.id);
END;
CREATE TRIGGER sync_notes_changed_users AFTER UPDATE ON users
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('user', new.id);
END;
CREATE TRIGGER sync_notes_new_sessions AFTER INSERT ON sessions
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('session', lower(hex(new.id)));
END;
CREATE TRIGGER sync_notes_changed_sessions AFTER UPDATE OF closed_at, close_trigger, extracted, reflected, extracted_events, trivial, summary ON sessions
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('session', lower(hex(new.id)));
END;
CREATE TRIGGER sync_notes_new_messages AFTER INSERT ON recall_messages
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('message', lower(hex(new.id)));
END;
CREATE TRIGGER sync_notes_changed_messages AFTER UPDATE OF content, incomplete, token_count ON recall_messages
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('message', lower(hex(new.id)));
END;
CREATE TRIGGER sync_notes_message_versions AFTER INSERT ON message_versions
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'message', lower(hex(id)) FROM recall_messages WHERE seq = new.message_seq;
END;
CREATE TRIGGER sync_notes_lost_message_versions AFTER DELETE ON message_versions
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'message', lower(hex(id)) FROM recall_messages WHERE seq = old.message_seq;
END;
CREATE TRIGGER sync_notes_new_nodes AFTER INSERT ON concept_nodes
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('node', lower(hex(new.id)));
END;
CREATE TRIGGER sync_notes_changed_nodes AFTER UPDATE OF subject, emotional_impact, emotion_tags, relational_tags, event_time_start, event_time_end,
    mention_count, superseded_by, pinned, deleted_at, description ON concept_nodes
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('node', lower(hex(new.id)));
END;
CREATE TRIGGER sync_notes_new_node_evidence AFTER INSERT ON node_evidence
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'node', lower(hex(id)) FROM concept_nodes WHERE seq = new.node_seq;
END;
CREATE TRIGGER sync_notes_lost_node_evidence AFTER DELETE ON node_evidence
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'node', lower(hex(id)) FROM concept_nodes WHERE seq = old.node_seq;
END;
CREATE TRIGGER sync_notes_new_concept_node_filling AFTER INSERT ON concept_node_filling
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'node', lower(hex(id)) FROM concept_nodes WHERE seq = new.thought_seq;
END;
CREATE TRIGGER sync_notes_lost_concept_node_filling AFTER DELETE ON concept_node_filling
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'node', lower(hex(id)) FROM concept_nodes WHERE seq = old.thought_seq;
END;
CREATE TRIGGER sync_notes_changed_concept_node_filling AFTER UPDATE ON concept_node_filling
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'node', lower(hex(id)) FROM concept_nodes WHERE seq = new.thought_seq;
END;
CREATE TRIGGER sync_notes_new_concept_node_entities AFTER INSERT ON concept_node_entities
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'node', lower(hex(id)) FROM concept_nodes WHERE seq = new.node_seq;
END;
CREATE TRIGGER sync_notes_lost_concept_node_entities AFTER DELETE ON concept_node_entities
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'node', lower(hex(id)) FROM concept_nodes WHERE seq = old.node_seq;
END;
CREATE TRIGGER sync_notes_new_node_changes AFTER INSERT ON node_changes
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'node', lower(hex(id)) FROM concept_nodes WHERE seq = new.node_seq;
END;
CREATE TRIGGER sync_notes_lost_node_changes AFTER DELETE ON node_changes
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'node', lower(hex(id)) FROM concept_nodes WHERE seq = old.node_seq;
END;
CREATE TRIGGER sync_notes_changed_node_changes AFTER UPDATE ON node_changes
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'node', lower(hex(id)) FROM concept_nodes WHERE seq = new.node_seq;
END;
CREATE TRIGGER sync_notes_new_entities AFTER INSERT ON entities
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('entity', lower(hex(new.id)));
END;
CREATE TRIGGER sync_notes_changed_entities AFTER UPDATE OF canonical_name, kind, description, owner_override, merge_status, merge_target, merged_into,
    described_at ON entities
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('entity', lower(hex(new.id)));
END;
CREATE TRIGGER sync_notes_new_aliases AFTER INSERT ON entity_aliases
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'entity', lower(hex(id)) FROM entities WHERE id = new.entity_id;
END;
CREATE TRIGGER sync_notes_lost_aliases AFTER DELETE ON entity_aliases
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'entity', lower(hex(id)) FROM entities WHERE id = old.entity_id;
END;
CREATE TRIGGER sync_notes_new_moods AFTER INSERT ON mood_history
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'mood', lower(hex(id)) FROM sessions WHERE id = new.session_id;
END;
CREATE TRIGGER sync_notes_lost_moods AFTER DELETE ON mood_history
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'mood', lower(hex(id)) FROM sessions WHERE id = old.session_id;
END;
CREATE TRIGGER sync_notes_new_core_blocks AFTER INSERT ON core_blocks
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('core_block', new.persona_id || char(31) || new.label || char(31) || coalesce(new.user_id, ''));
END;
CREATE TRIGGER sync_notes_changed_core_blocks AFTER UPDATE ON core_blocks
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('core_block', new.persona_id || char(31) || new.label || char(31) || coalesce(new.user_id, ''));
END;
CREATE TRIGGER sync_notes_lost_core_blocks AFTER DELETE ON core_blocks
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) VALUES ('core_block', old.persona_id || char(31) || old.label || char(31) || coalesce(old.user_id, ''));
END;
CREATE TRIGGER sync_notes_erasures AFTER INSERT ON tombstones
WHEN (SELECT enabled AND NOT applying FROM sync_state) BEGIN
    INSERT OR IGNORE INTO sync_noted (kind, id) SELECT 'erasure', new.kind || ':' || lower(hex(new.id))
        WHERE new.kind IN ('message', 'node', 'entity', 'session');
END;
-- What is kept of a row for its peers goes with it.
CREATE TRIGGER sync_forgets_rows AFTER INSERT ON tombstones BEGIN
    DELETE FROM sync_rows WHERE kind = new.kind AND id = lower(hex(new.id));
    DELETE FROM sync_waiting WHERE kind = new.kind AND id = lower(hex(new.id));
    DELETE FROM sync_conflicts WHERE kind = new.kind AND id = lower(hex(new.id));
END;
CREATE TRIGGER sync_forgets_reduced_nodes AFTER INSERT ON reduced_nodes BEGIN
    DELETE FROM sync_conflicts
    WHERE kind = 'node' AND id = (SELECT lower(hex(id)) FROM concept_nodes WHERE seq = new.node_seq);
END;

-- An erasure is complete when every peer has received it.
CREATE TRIGGER sync_lists_peers_of_erasures AFTER INSERT ON erasure_receipts BEGIN
    INSERT OR IGNORE INTO erasure_instances (receipt_id, instance_id, counter)
    SELECT new.id, 'peer:' || name, 9223372036854775807 FROM sync_peers;
END;
