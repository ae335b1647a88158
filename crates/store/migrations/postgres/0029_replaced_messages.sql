-- Messages of earlier imports whose text a later import replaced, so that taking the later one back brings it back. `version`
-- holds the text from before; the message that it belongs to has the later text.
CREATE TABLE replaced_messages (
    version    BIGINT NOT NULL PRIMARY KEY REFERENCES message_versions (number) ON DELETE CASCADE,
    run        BIGINT NOT NULL REFERENCES import_runs (number) ON DELETE CASCADE,
    -- The digest that the later text has, NULL if it is that of the text from before. Of a message that is not shown any
    -- more: its own.
    digest     BYTEA    CHECK (length(digest) = 16),
    -- The user's day of the text from before.
    day        TEXT    NOT NULL,
    -- Of a message that is not shown any more: its id, and the session that it was in.
    message_id BYTEA   CHECK (length(message_id) = 16),
    session_id BYTEA   REFERENCES sessions (id) ON DELETE CASCADE,
    CHECK ((message_id IS NULL) = (session_id IS NULL))
);
CREATE INDEX replaced_messages_of_run ON replaced_messages (run);
CREATE INDEX replaced_messages_of_session ON replaced_messages (session_id) WHERE session_id IS NOT NULL;
-- The import that added a version to a message that was there. `taken_from` is the message whose version it was before that one
-- became a version itself.
ALTER TABLE message_versions ADD COLUMN import_run BIGINT REFERENCES import_runs (number) ON DELETE CASCADE;
ALTER TABLE message_versions ADD COLUMN taken_from BYTEA;
-- The version that it follows in a branch, 0 for the message itself. NULL if it could be shown in the message's place.
ALTER TABLE message_versions ADD COLUMN follows BIGINT;
CREATE INDEX message_versions_of_import ON message_versions (import_run) WHERE import_run IS NOT NULL;
-- The program that writes into this home, one at a time. Each of its transactions notes its number here: a program that lost the
-- confirmation of a commit finds out whether it was done. `process` names it among the processes of its machine.
CREATE TABLE writer (
    number  BIGINT      NOT NULL PRIMARY KEY CHECK (number = 1),
    program UUID,
    process TEXT,
    seen_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    commits BIGINT      NOT NULL DEFAULT 0
);
INSERT INTO writer (number) VALUES (1);
