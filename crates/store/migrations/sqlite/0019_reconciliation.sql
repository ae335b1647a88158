-- Pairs of statements of which the newer one may replace the older one. The older one is a memory, or words of a message that no
-- memory depends on. `opened_at` is set where the answer was that it has to be asked; else the pair waits for an answer.
CREATE TABLE statement_pairs (
    number      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope       INTEGER NOT NULL,
    newer_seq   INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    older_seq   INTEGER REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    message_seq INTEGER REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start  INTEGER,
    span_end    INTEGER,
    attempts    INTEGER NOT NULL DEFAULT 0,
    asked_with  BLOB,
    opened_at   INTEGER,
    CHECK ((older_seq IS NULL) = (message_seq IS NOT NULL)),
    CHECK ((message_seq IS NULL) = (span_start IS NULL) AND (message_seq IS NULL) = (span_end IS NULL))
) STRICT;
CREATE INDEX statement_pairs_of_scope ON statement_pairs (scope, attempts, number) WHERE opened_at IS NULL;
CREATE INDEX statement_pairs_of_newer ON statement_pairs (newer_seq);
CREATE INDEX statement_pairs_of_older ON statement_pairs (older_seq) WHERE older_seq IS NOT NULL;
CREATE INDEX statement_pairs_of_message ON statement_pairs (message_seq) WHERE message_seq IS NOT NULL;

-- Of a supersession: whether the older memory never was true, NULL where only its tags tell; and the memory that was written of what
-- stays true of it.
ALTER TABLE node_changes ADD COLUMN mistaken INTEGER;
ALTER TABLE node_changes ADD COLUMN rest_seq INTEGER REFERENCES concept_nodes (seq) ON DELETE SET NULL;
CREATE INDEX node_changes_of_rest ON node_changes (rest_seq) WHERE rest_seq IS NOT NULL;
