-- What a person puts right, and the way back.

-- Every change of a node after it was written, in one order. A correction keeps the text and the tags that it took the
-- place of (after an undo: those that were taken back); NULL where the words that it came from were withdrawn.
CREATE TABLE node_changes (
    number          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    node_seq        INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    kind            TEXT    NOT NULL CHECK (kind IN ('correction', 'supersession', 'mention_merge')),
    author          TEXT    NOT NULL CHECK (author IN ('extraction', 'person')),
    created_at      INTEGER NOT NULL,
    undone_at       INTEGER,
    description     TEXT,
    relational_tags TEXT    CHECK (json_valid(relational_tags)),
    entities        TEXT    CHECK (json_valid(entities)),
    newer_seq       INTEGER REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    merge_number    INTEGER REFERENCES mention_merges (number) ON DELETE CASCADE,
    CHECK ((kind = 'supersession') = (newer_seq IS NOT NULL)),
    CHECK ((kind = 'mention_merge') = (merge_number IS NOT NULL))
) STRICT;
CREATE INDEX node_changes_of_node ON node_changes (node_seq, number);
CREATE INDEX node_changes_of_newer ON node_changes (newer_seq, number) WHERE newer_seq IS NOT NULL;
CREATE INDEX node_changes_of_merge ON node_changes (merge_number) WHERE merge_number IS NOT NULL;

-- What a repetition was before it was merged: the id that it gets back, and the rest of it as JSON. The places of its
-- words stand apart, without the words: a quote is what stands there in the message.
ALTER TABLE mention_merges ADD COLUMN merged_id BLOB CHECK (length(merged_id) = 16);
ALTER TABLE mention_merges ADD COLUMN merged TEXT CHECK (json_valid(merged));
CREATE TABLE mention_evidence (
    merge_number INTEGER NOT NULL REFERENCES mention_merges (number) ON DELETE CASCADE,
    message_seq  INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start   INTEGER NOT NULL,
    span_end     INTEGER NOT NULL,
    PRIMARY KEY (merge_number, message_seq, span_start, span_end)
) STRICT, WITHOUT ROWID;
CREATE INDEX mention_evidence_of_message ON mention_evidence (message_seq);

INSERT INTO mention_evidence (merge_number, message_seq, span_start, span_end)
    SELECT g.number, e.message_seq, e.span_start, e.span_end
    FROM mention_merges g JOIN node_evidence e ON e.node_seq = g.node_seq
         JOIN recall_messages m ON m.seq = e.message_seq AND m.session_id = g.session_id;
INSERT INTO node_changes (node_seq, kind, author, created_at, merge_number)
    SELECT node_seq, 'mention_merge', 'extraction', created_at, number FROM mention_merges ORDER BY number;
INSERT INTO node_changes (node_seq, kind, author, created_at, newer_seq)
    SELECT o.seq, 'supersession', 'extraction', n.created_at, n.seq
    FROM concept_nodes o JOIN concept_nodes n ON n.id = o.superseded_by ORDER BY n.seq, o.seq;

-- What a message said before its writer changed it. Found by nobody: neither words nor vectors point here.
CREATE TABLE message_versions (
    number      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    message_seq INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    content     TEXT    NOT NULL,
    replaced_at INTEGER NOT NULL
) STRICT;
CREATE INDEX message_versions_of_message ON message_versions (message_seq);

-- The rest of a refused proposal: what it would be, about whom, its tags, its time.
ALTER TABLE rejected_memories ADD COLUMN proposal TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(proposal));
