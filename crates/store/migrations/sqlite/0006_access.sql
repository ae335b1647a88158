-- Named tokens, and the record of what was done with the right to administer.

-- `hash` is an Argon2 PHC string of the whole token, `prefix` its public part.
CREATE TABLE access_tokens (
    name         TEXT    NOT NULL PRIMARY KEY,
    prefix       TEXT    NOT NULL UNIQUE,
    hash         TEXT    NOT NULL,
    scopes       TEXT    NOT NULL CHECK (json_valid(scopes)),
    user_id      TEXT,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE acts (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    token  TEXT    NOT NULL,
    act    TEXT    NOT NULL,
    object TEXT    NOT NULL,
    status INTEGER NOT NULL
) STRICT;
