-- The exchange of rows with peers is gone. The names of the peers stay until their owner has been shown what replaces it. Texts that
-- waited for a decision stay as earlier versions; tokens that opened nothing but the exchange go.
CREATE TABLE former_peers (
    name TEXT NOT NULL PRIMARY KEY
);
INSERT INTO former_peers (name) SELECT name FROM sync_peers;
DROP FUNCTION sync_notes_new_personas() CASCADE;
DROP FUNCTION sync_notes_changed_personas() CASCADE;
DROP FUNCTION sync_notes_new_users() CASCADE;
DROP FUNCTION sync_notes_changed_users() CASCADE;
DROP FUNCTION sync_notes_new_sessions() CASCADE;
DROP FUNCTION sync_notes_changed_sessions() CASCADE;
DROP FUNCTION sync_notes_new_messages() CASCADE;
DROP FUNCTION sync_notes_changed_messages() CASCADE;
DROP FUNCTION sync_notes_message_versions() CASCADE;
DROP FUNCTION sync_notes_lost_message_versions() CASCADE;
DROP FUNCTION sync_notes_new_nodes() CASCADE;
DROP FUNCTION sync_notes_changed_nodes() CASCADE;
DROP FUNCTION sync_notes_new_node_evidence() CASCADE;
DROP FUNCTION sync_notes_lost_node_evidence() CASCADE;
DROP FUNCTION sync_notes_new_concept_node_filling() CASCADE;
DROP FUNCTION sync_notes_lost_concept_node_filling() CASCADE;
DROP FUNCTION sync_notes_changed_concept_node_filling() CASCADE;
DROP FUNCTION sync_notes_new_concept_node_entities() CASCADE;
DROP FUNCTION sync_notes_lost_concept_node_entities() CASCADE;
DROP FUNCTION sync_notes_new_node_changes() CASCADE;
DROP FUNCTION sync_notes_lost_node_changes() CASCADE;
DROP FUNCTION sync_notes_changed_node_changes() CASCADE;
DROP FUNCTION sync_notes_new_entities() CASCADE;
DROP FUNCTION sync_notes_changed_entities() CASCADE;
DROP FUNCTION sync_notes_new_aliases() CASCADE;
DROP FUNCTION sync_notes_lost_aliases() CASCADE;
DROP FUNCTION sync_notes_new_moods() CASCADE;
DROP FUNCTION sync_notes_lost_moods() CASCADE;
DROP FUNCTION sync_notes_new_core_blocks() CASCADE;
DROP FUNCTION sync_notes_changed_core_blocks() CASCADE;
DROP FUNCTION sync_notes_lost_core_blocks() CASCADE;
DROP FUNCTION sync_notes_erasures() CASCADE;
DROP FUNCTION sync_forgets_rows() CASCADE;
DROP FUNCTION sync_forgets_reduced_nodes() CASCADE;
DROP FUNCTION sync_lists_peers_of_erasures() CASCADE;

INSERT INTO message_versions (message_seq, content, replaced_at)
SELECT m.seq, (c.other::jsonb) ->> 'value', c.opened_at
FROM sync_conflicts c JOIN recall_messages m ON encode(m.id, 'hex') = c.id
WHERE c.kind = 'message' AND c.field = 'content' AND (c.other::jsonb) ->> 'value' IS NOT NULL;
INSERT INTO node_changes (node_seq, kind, author, created_at, undone_at, description)
SELECT n.seq, 'correction', 'person', c.opened_at, c.opened_at, (c.other::jsonb) ->> 'value'
FROM sync_conflicts c JOIN concept_nodes n ON encode(n.id, 'hex') = c.id
WHERE c.kind = 'node' AND c.field = 'description' AND (c.other::jsonb) ->> 'value' IS NOT NULL;

DELETE FROM access_tokens WHERE scopes LIKE '%"peer:%';

DROP TABLE sync_noted;
DROP TABLE sync_log;
DROP TABLE sync_rows;
DROP TABLE sync_waiting;
DROP TABLE sync_conflicts;
DROP TABLE sync_peers;
DROP TABLE sync_state;
DROP TABLE sync_actors;
