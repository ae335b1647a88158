-- Instances that held a copy of what was erased, until each has pulled past the erasure.
CREATE TABLE erasure_instances (
    receipt_id  BLOB    NOT NULL REFERENCES erasure_receipts (id) ON DELETE CASCADE,
    instance_id TEXT    NOT NULL,
    counter     INTEGER NOT NULL,
    reached_at  INTEGER,
    PRIMARY KEY (receipt_id, instance_id)
) STRICT, WITHOUT ROWID;

-- Names of erased documents, one row for each instance that held a copy, until it knows that the document is gone.
CREATE TABLE hub_untold_deletions (
    persona_id  TEXT NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id     TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    kind        TEXT NOT NULL,
    stem        TEXT NOT NULL,
    PRIMARY KEY (persona_id, user_id, instance_id, kind, stem)
) STRICT, WITHOUT ROWID;
