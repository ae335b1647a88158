-- What the later groups of a large erasure took. Each group is a transaction of its own, and the receipt covers all.
CREATE TABLE erasure_parts (
    receipt_id BYTEA  NOT NULL REFERENCES erasure_receipts (id) ON DELETE CASCADE,
    number     BIGINT NOT NULL,
    taken      TEXT   NOT NULL CHECK ((taken::json IS NULL) = (taken IS NULL)),
    PRIMARY KEY (receipt_id, number)
);
