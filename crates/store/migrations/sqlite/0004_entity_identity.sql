-- L5 in full: who is whom, and how to take it back.

-- An entity that was found to be another keeps its row, its names and its links, and points to the other. So a merge
-- loses nothing, and to undo it is to clear the pointer.
ALTER TABLE entities ADD COLUMN merged_into BLOB REFERENCES entities (id) ON DELETE CASCADE;
-- When its description was last written.
ALTER TABLE entities ADD COLUMN described_at INTEGER;
-- Whose vector it has; without one it is NULL, and the row waits for one.
ALTER TABLE entities ADD COLUMN embedding_model INTEGER REFERENCES embedding_models (number);
CREATE INDEX entities_merged ON entities (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX entities_in_doubt ON entities (scope, updated_at) WHERE merge_status = 'uncertain';
CREATE INDEX entities_by_model ON entities (embedding_model);
CREATE INDEX entities_described ON entities (scope, described_at) WHERE described_at IS NOT NULL;

-- `readability` is the lesser of the name's and of the whole text's.
CREATE TABLE entity_vectors (
    entity_id       BLOB    NOT NULL PRIMARY KEY REFERENCES entities (id) ON DELETE CASCADE,
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model INTEGER NOT NULL REFERENCES embedding_models (number),
    readability     REAL    NOT NULL,
    vector          BLOB    NOT NULL
) STRICT;
CREATE INDEX entity_vectors_of_scope ON entity_vectors (scope, embedding_model);

-- A pet and a colleague may go by one name: each is found by it.
CREATE TABLE entity_names (
    number    INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope     INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    folded    TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    entity_id BLOB    NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    UNIQUE (entity_id, folded)
) STRICT;
INSERT INTO entity_names (number, scope, folded, name, entity_id)
    SELECT number, scope, folded, name, entity_id FROM entity_aliases;
DROP TABLE entity_aliases;
ALTER TABLE entity_names RENAME TO entity_aliases;
CREATE INDEX entity_aliases_by_name ON entity_aliases (scope, folded);

-- What was changed, with what it replaced (`before`), so that the last change can be undone. For a merge `entity_id` is
-- the one that stays and `other_id` the one that was found to be it.
CREATE TABLE entity_changes (
    number     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope      INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    entity_id  BLOB    NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    other_id   BLOB    REFERENCES entities (id) ON DELETE CASCADE,
    change     TEXT    NOT NULL CHECK (change IN ('merge', 'separate', 'rename', 'describe')),
    changed_by TEXT    NOT NULL CHECK (changed_by IN ('owner', 'conversation', 'likeness')),
    before     TEXT    NOT NULL CHECK (json_valid(before)),
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX entity_changes_of_entity ON entity_changes (entity_id, number);
CREATE INDEX entity_changes_of_other ON entity_changes (other_id, number) WHERE other_id IS NOT NULL;
CREATE INDEX entity_changes_of_scope ON entity_changes (scope);
