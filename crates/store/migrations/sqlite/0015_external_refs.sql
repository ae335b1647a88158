-- The client's own name for a line, so that a reply that comes after a crash, or is said anew, still says what it answers.
ALTER TABLE recall_messages ADD COLUMN external_ref TEXT;
