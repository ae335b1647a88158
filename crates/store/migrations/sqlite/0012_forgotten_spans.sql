-- Words that a person had forgotten in messages that stay: places without words, so that a session that is extracted
-- again makes no memory of them a second time.
CREATE TABLE forgotten_spans (
    message_seq INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start  INTEGER NOT NULL,
    span_end    INTEGER NOT NULL,
    PRIMARY KEY (message_seq, span_start, span_end)
) STRICT, WITHOUT ROWID;

-- Whose memory it was in. A tombstone outlives its scope, so this refers to nothing; NULL in those that are older.
ALTER TABLE tombstones ADD COLUMN scope INTEGER;
CREATE INDEX tombstones_of_scope ON tombstones (scope);
