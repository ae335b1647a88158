-- Digests of lines that were erased from a document, and the change that erased them: a version from before that change
-- does not bring them back.
CREATE TABLE hub_erased_lines (
    document INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    digest   BLOB    NOT NULL CHECK (length(digest) = 32),
    author   TEXT    NOT NULL,
    counter  INTEGER NOT NULL,
    PRIMARY KEY (document, digest)
) STRICT, WITHOUT ROWID;
