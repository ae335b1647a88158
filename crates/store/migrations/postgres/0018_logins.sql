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
    created_at      BIGINT NOT NULL,
    last_seen_at    BIGINT NOT NULL
);

-- How many users a token may create; NULL where nothing was said.
ALTER TABLE access_tokens ADD COLUMN users_max BIGINT;

-- Users that a token created.
CREATE TABLE token_users (
    prefix  TEXT NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (prefix, user_id)
);

-- Replies that a token asked for, of the last two days. A turn that is asked for twice has two rows.
CREATE TABLE token_turns (
    prefix  TEXT    NOT NULL,
    at      BIGINT NOT NULL,
    turn_id BYTEA
);
CREATE INDEX token_turns_by_time ON token_turns (prefix, at);
