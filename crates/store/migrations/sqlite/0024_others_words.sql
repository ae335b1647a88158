-- Messages of people who are neither the user nor the persona. A CHECK can only be changed in the schema's own text.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, 'CHECK (role IN (''user'', ''persona''))', 'CHECK (role IN (''user'', ''persona'', ''other''))')
WHERE type = 'table' AND name = 'recall_messages';
PRAGMA writable_schema = RESET;
-- The name of the one who spoke, for the role other.
ALTER TABLE recall_messages ADD COLUMN speaker TEXT CHECK ((role = 'other') = (speaker IS NOT NULL));
