-- While one embedding model takes the place of another, a row has a vector of each: the older one serves until the newer
-- one's are complete. `source` says how a model can be opened again.
ALTER TABLE embedding_models ADD COLUMN source TEXT;

CREATE TABLE message_vectors_of_models (
    revision        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    seq             INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model INTEGER NOT NULL REFERENCES embedding_models (number),
    readability     REAL    NOT NULL,
    vector          BLOB    NOT NULL,
    UNIQUE (seq, embedding_model)
) STRICT;
INSERT INTO message_vectors_of_models (revision, seq, scope, embedding_model, readability, vector)
    SELECT revision, seq, scope, embedding_model, readability, vector FROM message_vectors ORDER BY revision;
DROP TABLE message_vectors;
ALTER TABLE message_vectors_of_models RENAME TO message_vectors;
CREATE INDEX message_vectors_of_scope ON message_vectors (scope, embedding_model);

CREATE TABLE node_vectors_of_models (
    revision        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    seq             INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model INTEGER NOT NULL REFERENCES embedding_models (number),
    readability     REAL    NOT NULL,
    vector          BLOB    NOT NULL,
    UNIQUE (seq, embedding_model)
) STRICT;
INSERT INTO node_vectors_of_models (revision, seq, scope, embedding_model, readability, vector)
    SELECT revision, seq, scope, embedding_model, readability, vector FROM node_vectors ORDER BY revision;
DROP TABLE node_vectors;
ALTER TABLE node_vectors_of_models RENAME TO node_vectors;
CREATE INDEX node_vectors_of_scope ON node_vectors (scope, embedding_model);

-- With the scope, so that the scopes that still wait are read from the index alone; with the number before it, so that
-- the newest rows still come first.
DROP INDEX recall_messages_by_model;
CREATE INDEX recall_messages_by_model ON recall_messages (embedding_model, seq, scope) WHERE deleted_at IS NULL;
DROP INDEX concept_nodes_by_model;
CREATE INDEX concept_nodes_by_model ON concept_nodes (embedding_model, seq, scope) WHERE deleted_at IS NULL;
