-- Runs that record what other programs exported. `position` (JSON) is committed with each page. `digest` names the files
-- and the mapping, so that a run that was cut off is resumed.
CREATE TABLE import_runs (
    number        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id            BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    scope         INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    digest        TEXT    NOT NULL,
    files         TEXT    NOT NULL CHECK (json_valid(files)),
    status        TEXT    NOT NULL CHECK (status IN ('recording', 'recorded')),
    remembering   TEXT    NOT NULL CHECK (remembering IN ('on', 'paused', 'off')),
    position      TEXT    NOT NULL CHECK (json_valid(position)),
    found         INTEGER NOT NULL DEFAULT 0,
    recorded      INTEGER NOT NULL DEFAULT 0,
    already_there INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    finished_at   INTEGER
) STRICT;
CREATE INDEX import_runs_of_scope ON import_runs (scope);
CREATE INDEX import_runs_recording ON import_runs (digest) WHERE status = 'recording';

-- What a run did not take, and why.
CREATE TABLE import_skips (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    run    INTEGER NOT NULL REFERENCES import_runs (number) ON DELETE CASCADE,
    place  TEXT    NOT NULL,
    reason TEXT    NOT NULL
) STRICT;
CREATE INDEX import_skips_of_run ON import_skips (run);

-- Digests of the publishers' ids of messages, so that a second import finds what is there.
CREATE TABLE imported_messages (
    scope       INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    digest      BLOB    NOT NULL CHECK (length(digest) = 16),
    message_seq INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    PRIMARY KEY (scope, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_messages_of_message ON imported_messages (message_seq);

-- The run that recorded a session; NULL for one that was held here.
ALTER TABLE sessions ADD COLUMN import_run INTEGER REFERENCES import_runs (number) ON DELETE SET NULL;
CREATE INDEX sessions_of_import ON sessions (import_run, status, first_message_at) WHERE import_run IS NOT NULL;
CREATE INDEX sessions_held_here ON sessions (status, first_message_at) WHERE import_run IS NULL;

-- Where a message stands among the others. What is said here follows what was said here before, even if the clock went back; what
-- is imported stands at its own time.
ALTER TABLE recall_messages ADD COLUMN placed_at INTEGER NOT NULL DEFAULT 0;
UPDATE recall_messages SET placed_at = placed.at
FROM (SELECT seq, max(created_at) OVER (PARTITION BY scope ORDER BY seq) AS at FROM recall_messages) AS placed
WHERE placed.seq = recall_messages.seq;
CREATE INDEX recall_messages_by_place ON recall_messages (scope, placed_at);
