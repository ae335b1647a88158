-- Pieces of memories are searched where they lie: their words in an index of their own, their vectors in rows of their own.
-- What stood in hub_chunks is made anew from the documents at the next start.

DROP TABLE hub_chunks;

-- A piece is bytes `starts_at` to `ends_at` of the shown version. Its number begins with its memory's last day, so that the
-- newest come first, and ends with a count that is never given twice. Every term carries the number of the scope in front.
CREATE TABLE hub_chunks (
    number    INTEGER NOT NULL PRIMARY KEY,
    document  INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    scope     INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    piece     INTEGER NOT NULL,
    starts_at INTEGER NOT NULL,
    ends_at   INTEGER NOT NULL,
    terms     TEXT    NOT NULL,
    UNIQUE (document, piece)
) STRICT;
CREATE INDEX hub_chunks_of_scope ON hub_chunks (scope);

CREATE TABLE hub_vectors (
    number          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    chunk           INTEGER NOT NULL UNIQUE REFERENCES hub_chunks (number) ON DELETE CASCADE,
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model INTEGER NOT NULL REFERENCES embedding_models (number),
    readability     REAL    NOT NULL,
    vector          BLOB    NOT NULL
) STRICT;
CREATE INDEX hub_vectors_of_scope ON hub_vectors (scope, embedding_model, number);
CREATE INDEX hub_vectors_by_model ON hub_vectors (embedding_model);

CREATE VIRTUAL TABLE hub_words USING fts5 (
    terms, content = '', columnsize = 0, detail = full,
    tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO hub_words (hub_words, rank) VALUES ('secure-delete', 1);

-- How many pieces a scope has, and the last count that was given to one.
CREATE TABLE hub_chunk_counts (
    scope  INTEGER NOT NULL PRIMARY KEY REFERENCES scopes (number) ON DELETE CASCADE,
    pieces INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE hub_chunk_numbers (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    last     INTEGER NOT NULL
) STRICT;
INSERT INTO hub_chunk_numbers (only_row, last) VALUES (1, 0);

-- Words and counts follow whatever takes a piece away, also a document or a persona that goes.
CREATE TRIGGER hub_chunks_come AFTER INSERT ON hub_chunks BEGIN
    INSERT INTO hub_words (rowid, terms) VALUES (new.number, new.terms);
    INSERT INTO hub_chunk_counts (scope, pieces) VALUES (new.scope, 1)
        ON CONFLICT (scope) DO UPDATE SET pieces = pieces + 1;
END;
CREATE TRIGGER hub_chunks_go AFTER DELETE ON hub_chunks BEGIN
    INSERT INTO hub_words (hub_words, rowid, terms) VALUES ('delete', old.number, old.terms);
    UPDATE hub_chunk_counts SET pieces = pieces - 1 WHERE scope = old.scope;
END;

-- Documents that were erased because their very name held the text: that they are gone is kept, under a digest of the name.
CREATE TABLE hub_erased_names (
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    digest     BLOB    NOT NULL CHECK (length(digest) = 32),
    vector     TEXT    NOT NULL CHECK (json_valid(vector)),
    erased_at  INTEGER NOT NULL,
    PRIMARY KEY (persona_id, user_id, kind, digest)
) STRICT, WITHOUT ROWID;

-- A line whose event says something else since: the diary follows.
ALTER TABLE hub_lines ADD COLUMN outdated INTEGER NOT NULL DEFAULT 0;
CREATE INDEX hub_lines_outdated ON hub_lines (node_id) WHERE outdated = 1;
