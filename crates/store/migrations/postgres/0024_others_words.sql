-- Messages of people who are neither the user nor the persona, with the name of the one who spoke.
ALTER TABLE recall_messages DROP CONSTRAINT recall_messages_role_check;
ALTER TABLE recall_messages ADD CONSTRAINT recall_messages_role_check CHECK (role IN ('user', 'persona', 'other'));
ALTER TABLE recall_messages ADD COLUMN speaker TEXT;
ALTER TABLE recall_messages ADD CONSTRAINT recall_messages_speaker_check CHECK ((role = 'other') = (speaker IS NOT NULL));
