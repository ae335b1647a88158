-- What a persona has beside its words: whether it is to be heard, its voice, its picture.
ALTER TABLE personas ADD COLUMN voice_enabled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE personas ADD COLUMN voice_id TEXT;

CREATE TABLE persona_avatars (
    persona_id TEXT    NOT NULL PRIMARY KEY REFERENCES personas (id) ON DELETE CASCADE,
    extension  TEXT    NOT NULL CHECK (extension IN ('png', 'jpg', 'webp', 'gif')),
    updated_at INTEGER NOT NULL,
    image      BLOB    NOT NULL
) STRICT;

-- When a name elsewhere was found to be a user's; 0 for those from before.
ALTER TABLE external_identities ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;

-- Turns that wait for a person.
CREATE INDEX turns_failed ON turns (last_message_at) WHERE status = 'failed';
