-- The hub: documents of a persona, with every version.
-- `user_id` is NULL for what is the persona's own. `kind` is a category or a granularity, `stem` the file name without
-- its ending. Vectors of versions are JSON objects {instance: counter}.

CREATE TABLE hub_documents (
    number       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    persona_id   TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id      TEXT    REFERENCES users (id) ON DELETE CASCADE,
    kind         TEXT    NOT NULL CHECK (kind IN ('self', 'user', 'relationship', 'custom',
                                                  'daily', 'weekly', 'monthly', 'yearly', 'significant')),
    stem         TEXT    NOT NULL,
    stale        INTEGER NOT NULL DEFAULT 0,
    revision     INTEGER NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX hub_documents_of_persona ON hub_documents (persona_id, kind, stem) WHERE user_id IS NULL;
CREATE UNIQUE INDEX hub_documents_of_user ON hub_documents (persona_id, user_id, kind, stem)
    WHERE user_id IS NOT NULL;
CREATE INDEX hub_documents_by_user ON hub_documents (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX hub_documents_by_revision ON hub_documents (persona_id, revision);

-- A label may be set before there is a document.
CREATE TABLE hub_labels (
    persona_id TEXT NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    stem       TEXT NOT NULL,
    label      TEXT NOT NULL,
    PRIMARY KEY (persona_id, user_id, kind, stem)
) STRICT, WITHOUT ROWID;

CREATE TABLE hub_versions (
    document     INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    number       INTEGER NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('shown', 'beside', 'past')),
    content      TEXT,
    vector       TEXT    NOT NULL CHECK (json_valid(vector)),
    author       TEXT    NOT NULL,
    edited_by    TEXT    NOT NULL,
    by_person    INTEGER NOT NULL,
    chat_ids     TEXT    NOT NULL CHECK (json_valid(chat_ids)),
    participants TEXT    NOT NULL CHECK (json_valid(participants)),
    written_at   INTEGER NOT NULL,
    UNIQUE (document, number)
) STRICT;
CREATE UNIQUE INDEX hub_versions_shown ON hub_versions (document) WHERE state = 'shown';
CREATE INDEX hub_versions_live ON hub_versions (document, state) WHERE state <> 'past';

CREATE TABLE hub_conflicts (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    document   INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    kept       INTEGER NOT NULL,
    shown      INTEGER NOT NULL,
    opened_at  INTEGER NOT NULL,
    settled_at INTEGER,
    settled    TEXT
) STRICT;
CREATE INDEX hub_conflicts_of_document ON hub_conflicts (document);

-- Which line of a diary tells which event: forgetting takes both.
CREATE TABLE hub_lines (
    document   INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    node_id    BLOB    NOT NULL CHECK (length(node_id) = 16),
    session_id BLOB    NOT NULL CHECK (length(session_id) = 16),
    line       TEXT    NOT NULL,
    PRIMARY KEY (document, node_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hub_lines_of_node ON hub_lines (node_id);
CREATE INDEX hub_lines_of_session ON hub_lines (session_id);

CREATE TABLE hub_snapshots (
    id         TEXT    NOT NULL,
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    stem       TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (persona_id, user_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hub_snapshots_by_age ON hub_snapshots (created_at);

-- Instances that have spoken with this hub; `base` is what each has seen.
CREATE TABLE hub_instances (
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT,
    last_sync  INTEGER NOT NULL,
    base       TEXT    NOT NULL CHECK (json_valid(base)),
    PRIMARY KEY (persona_id, user_id, id)
) STRICT, WITHOUT ROWID;

-- The greatest counter of each author that was seen; for the persona's own documents `user_id` is empty.
CREATE TABLE hub_seen (
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    author     TEXT    NOT NULL,
    counter    INTEGER NOT NULL,
    PRIMARY KEY (persona_id, user_id, author)
) STRICT, WITHOUT ROWID;

CREATE TABLE hub_revisions (
    persona_id TEXT    NOT NULL PRIMARY KEY REFERENCES personas (id) ON DELETE CASCADE,
    revision   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The instance that this database is.
CREATE TABLE hub_own_instance (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    id       TEXT    NOT NULL
) STRICT;

-- Pieces of memories that are searched. A piece is bytes `starts_at` to `ends_at` of the shown version.
CREATE TABLE hub_chunks (
    document        INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    piece           INTEGER NOT NULL,
    revision        INTEGER NOT NULL,
    starts_at       INTEGER NOT NULL,
    ends_at         INTEGER NOT NULL,
    terms           TEXT    NOT NULL,
    embedding_model INTEGER REFERENCES embedding_models (number),
    readability     REAL,
    vector          BLOB,
    UNIQUE (document, piece)
) STRICT;
CREATE INDEX hub_chunks_by_model ON hub_chunks (embedding_model);
