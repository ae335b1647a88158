-- Browsers that were logged in by a one-time link. Only digests of their secrets are stored. `token_prefix` is NULL where the owner's
-- token made the link.
CREATE TABLE logins (
    id              TEXT    NOT NULL PRIMARY KEY,
    cookie_digest   TEXT    NOT NULL,
    page_key_digest TEXT    NOT NULL,
    token           TEXT    NOT NULL,
    token_prefix    TEXT,
    address         TEXT    NOT NULL,
    browser         TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    last_seen_at    INTEGER NOT NULL
) STRICT;

-- How many users a token may create; NULL where nothing was said.
ALTER TABLE access_tokens ADD COLUMN users_max INTEGER;

-- Users that a token created.
CREATE TABLE token_users (
    prefix  TEXT NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (prefix, user_id)
) STRICT;

-- Replies that a token asked for, of the last two days. A turn that is asked for twice has two rows.
CREATE TABLE token_turns (
    prefix  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    turn_id BLOB
) STRICT;
CREATE INDEX token_turns_by_time ON token_turns (prefix, at);
