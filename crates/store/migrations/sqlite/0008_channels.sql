-- Messages of the persona that leave through a channel beyond this program. A row is written in the transaction of its
-- message. `sending` is the piece that is being sent: after a crash it is not known whether it arrived.
CREATE TABLE channel_outbox (
    number       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    message_seq  INTEGER NOT NULL UNIQUE REFERENCES recall_messages (seq) ON DELETE CASCADE,
    channel_id   TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('waiting', 'sent', 'undeliverable')),
    pieces_sent  INTEGER NOT NULL DEFAULT 0,
    sending      INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    next_at      INTEGER NOT NULL,
    last_error   TEXT
) STRICT;
CREATE INDEX channel_outbox_open ON channel_outbox (channel_id, conversation, number) WHERE state = 'waiting';
CREATE INDEX channel_outbox_undeliverable ON channel_outbox (channel_id) WHERE state = 'undeliverable';

-- Where a user is reached on a channel.
CREATE TABLE channel_conversations (
    channel_id   TEXT NOT NULL,
    user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    conversation TEXT NOT NULL,
    PRIMARY KEY (channel_id, user_id)
) STRICT, WITHOUT ROWID;

-- Up to where a channel was received.
CREATE TABLE channel_positions (
    channel_id TEXT    NOT NULL PRIMARY KEY,
    position   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Unknown accounts that were answered with a line, for a day. What they wrote is not kept.
CREATE TABLE channel_strangers (
    channel_id  TEXT    NOT NULL,
    external_id TEXT    NOT NULL,
    answered_at INTEGER NOT NULL,
    PRIMARY KEY (channel_id, external_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX recall_messages_by_external_ref ON recall_messages (channel_id, external_ref)
    WHERE external_ref IS NOT NULL;
