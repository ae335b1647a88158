-- Statements of other programs that wait for a person. They are in rejected_memories, in a session of the import.
ALTER TABLE import_runs ADD COLUMN proposed INTEGER NOT NULL DEFAULT 0;
-- Messages whose file gives no time.
ALTER TABLE import_runs ADD COLUMN undated INTEGER NOT NULL DEFAULT 0;
