-- Daily and significant memories that the graph is still to be drawn from: by a model, and without one by rules.
CREATE TABLE graph_unread_documents (
    document INTEGER NOT NULL PRIMARY KEY REFERENCES hub_documents (number) ON DELETE CASCADE,
    by_rules INTEGER NOT NULL DEFAULT 1
) STRICT;
INSERT INTO graph_unread_documents (document)
    SELECT number FROM hub_documents WHERE kind IN ('daily', 'significant');

-- Beginnings of the digests of lines that were read; `by_rules` if only rules have read them.
CREATE TABLE graph_read_lines (
    document INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    digest   BLOB    NOT NULL CHECK (length(digest) = 16),
    by_rules INTEGER NOT NULL,
    PRIMARY KEY (document, digest)
) STRICT, WITHOUT ROWID;
