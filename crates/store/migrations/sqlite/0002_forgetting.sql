-- Forgetting: ids of what is gone, proofs of it, and what is still to be overwritten. No word of what was said.

-- What a living node rested on and what is gone: the link stays, marked.
CREATE TABLE forgotten_support (
    node_seq   INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    kind       TEXT    NOT NULL CHECK (kind IN ('message', 'node')),
    id         BLOB    NOT NULL CHECK (length(id) = 16),
    PRIMARY KEY (node_seq, kind, id)
) STRICT, WITHOUT ROWID;

-- Nodes whose text was replaced by what the words that are left still prove.
CREATE TABLE reduced_nodes (
    node_seq INTEGER NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE
) STRICT;

-- Other instances learn from these that something is gone.
CREATE TABLE tombstones (
    kind         TEXT    NOT NULL CHECK (kind IN ('message', 'node', 'entity', 'rejected', 'turn', 'session')),
    id           BLOB    NOT NULL CHECK (length(id) = 16),
    forgotten_at INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_by_time ON tombstones (forgotten_at);

-- Outlives the scope that it speaks of, so it names it by its ids.
CREATE TABLE erasure_receipts (
    id             BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    persona_id     TEXT    NOT NULL,
    user_id        TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    receipt        TEXT    NOT NULL CHECK (json_valid(receipt)),
    overwritten_at INTEGER
) STRICT;
CREATE INDEX erasure_receipts_of_scope ON erasure_receipts (persona_id, user_id, created_at);
CREATE INDEX erasure_receipts_waiting ON erasure_receipts (created_at) WHERE overwritten_at IS NULL;

-- One row while freed pages and the log may still hold what was forgotten.
CREATE TABLE overwriting_due (
    number INTEGER NOT NULL PRIMARY KEY CHECK (number = 1)
) STRICT;
