-- What a conversation was called in the program that it was imported from.
ALTER TABLE sessions ADD COLUMN title TEXT;
-- The language model that wrote an imported message.
ALTER TABLE recall_messages ADD COLUMN model TEXT;
-- Who said a version that was imported, when, and which model wrote it. NULL for the earlier text of an edited message, whose
-- speaker is the message's.
ALTER TABLE message_versions ADD COLUMN role TEXT;
ALTER TABLE message_versions ADD COLUMN speaker TEXT;
ALTER TABLE message_versions ADD COLUMN model TEXT;
ALTER TABLE message_versions ADD COLUMN said_at INTEGER;
-- Erasing a name finds the messages of its bearer.
CREATE INDEX recall_messages_of_others ON recall_messages (scope) WHERE speaker IS NOT NULL;
