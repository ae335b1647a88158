-- The daemons that share this home, a row for each process. The one that holds the home is named in `writer`; the others stand by
-- and pass requests on to its address.
CREATE TABLE daemons (
    id               TEXT        NOT NULL PRIMARY KEY,
    address          TEXT        NOT NULL,
    version          TEXT        NOT NULL,
    state            TEXT        NOT NULL CHECK (state IN ('running', 'draining', 'dead')),
    turns_per_minute BIGINT      NOT NULL DEFAULT 0,
    started_at       TIMESTAMPTZ NOT NULL,
    seen_at          TIMESTAMPTZ NOT NULL
);
-- What all daemons of this home must know: the secret by which they trust requests of one another, and the owner's token, or only its
-- digest where the operator gives no more.
CREATE TABLE shared_access (
    number       BIGINT NOT NULL PRIMARY KEY CHECK (number = 1),
    secret       TEXT   NOT NULL,
    owner_digest TEXT   NOT NULL,
    owner_token  TEXT
);
ALTER TABLE shared_access ALTER COLUMN secret SET STATISTICS 0, ALTER COLUMN owner_digest SET STATISTICS 0,
    ALTER COLUMN owner_token SET STATISTICS 0;
