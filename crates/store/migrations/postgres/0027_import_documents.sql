-- Documents that imports wrote, so that a second import finds them and taking one back erases them. `digest` names a document by
-- its format and the publisher's id.
CREATE TABLE import_documents (
    run    BIGINT NOT NULL REFERENCES import_runs (number) ON DELETE CASCADE,
    digest BYTEA  NOT NULL CHECK (length(digest) = 16),
    name   TEXT   NOT NULL,
    PRIMARY KEY (run, digest)
);
CREATE INDEX import_documents_by_digest ON import_documents (digest);
