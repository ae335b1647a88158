-- Numbers of messages that were received on a channel where each conversation is numbered for itself: the newest, and those
-- shortly before it, because they may come again or in another order. They hold no words.
CREATE TABLE channel_received (
    channel_id   TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    number       INTEGER NOT NULL,
    PRIMARY KEY (channel_id, conversation, number)
) STRICT, WITHOUT ROWID;

-- The platform's name of what was delivered last in a conversation: a piece that may have arrived can only be after it.
CREATE TABLE channel_last_sent (
    channel_id   TEXT NOT NULL,
    conversation TEXT NOT NULL,
    sent_as      TEXT NOT NULL,
    PRIMARY KEY (channel_id, conversation)
) STRICT, WITHOUT ROWID;
