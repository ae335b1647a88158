-- The exchange of rows with peers is gone. The names of the peers stay until their owner has been shown what replaces it. Texts that
-- waited for a decision stay as earlier versions; tokens that opened nothing but the exchange go.
CREATE TABLE former_peers (
    name TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
INSERT INTO former_peers (name) SELECT name FROM sync_peers;
DROP TRIGGER sync_notes_new_personas;
DROP TRIGGER sync_notes_changed_personas;
DROP TRIGGER sync_notes_new_users;
DROP TRIGGER sync_notes_changed_users;
DROP TRIGGER sync_notes_new_sessions;
DROP TRIGGER sync_notes_changed_sessions;
DROP TRIGGER sync_notes_new_messages;
DROP TRIGGER sync_notes_changed_messages;
DROP TRIGGER sync_notes_message_versions;
DROP TRIGGER sync_notes_lost_message_versions;
DROP TRIGGER sync_notes_new_nodes;
DROP TRIGGER sync_notes_changed_nodes;
DROP TRIGGER sync_notes_new_node_evidence;
DROP TRIGGER sync_notes_lost_node_evidence;
DROP TRIGGER sync_notes_new_concept_node_filling;
DROP TRIGGER sync_notes_lost_concept_node_filling;
DROP TRIGGER sync_notes_changed_concept_node_filling;
DROP TRIGGER sync_notes_new_concept_node_entities;
DROP TRIGGER sync_notes_lost_concept_node_entities;
DROP TRIGGER sync_notes_new_node_changes;
DROP TRIGGER sync_notes_lost_node_changes;
DROP TRIGGER sync_notes_changed_node_changes;
DROP TRIGGER sync_notes_new_entities;
DROP TRIGGER sync_notes_changed_entities;
DROP TRIGGER sync_notes_new_aliases;
DROP TRIGGER sync_notes_lost_aliases;
DROP TRIGGER sync_notes_new_moods;
DROP TRIGGER sync_notes_lost_moods;
DROP TRIGGER sync_notes_new_core_blocks;
DROP TRIGGER sync_notes_changed_core_blocks;
DROP TRIGGER sync_notes_lost_core_blocks;
DROP TRIGGER sync_notes_erasures;
DROP TRIGGER sync_forgets_rows;
DROP TRIGGER sync_forgets_reduced_nodes;
DROP TRIGGER sync_lists_peers_of_erasures;

INSERT INTO message_versions (message_seq, content, replaced_at)
SELECT m.seq, json_extract(c.other, '$.value'), c.opened_at
FROM sync_conflicts c JOIN recall_messages m ON lower(hex(m.id)) = c.id
WHERE c.kind = 'message' AND c.field = 'content' AND json_extract(c.other, '$.value') IS NOT NULL;
INSERT INTO node_changes (node_seq, kind, author, created_at, undone_at, description)
SELECT n.seq, 'correction', 'person', c.opened_at, c.opened_at, json_extract(c.other, '$.value')
FROM sync_conflicts c JOIN concept_nodes n ON lower(hex(n.id)) = c.id
WHERE c.kind = 'node' AND c.field = 'description' AND json_extract(c.other, '$.value') IS NOT NULL;

DELETE FROM access_tokens WHERE scopes LIKE '%"peer:%';

DROP TABLE sync_noted;
DROP TABLE sync_log;
DROP TABLE sync_rows;
DROP TABLE sync_waiting;
DROP TABLE sync_conflicts;
DROP TABLE sync_peers;
DROP TABLE sync_state;
DROP TABLE sync_actors;
