-- What the later groups of a large erasure took. Each group is a transaction of its own, and the receipt covers all.
CREATE TABLE erasure_parts (
    receipt_id BLOB    NOT NULL REFERENCES erasure_receipts (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    taken      TEXT    NOT NULL CHECK (json_valid(taken)),
    PRIMARY KEY (receipt_id, number)
) STRICT, WITHOUT ROWID;
