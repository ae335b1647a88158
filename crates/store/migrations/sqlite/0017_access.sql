-- When a token ends by itself, and how many streams it may have open; NULL where nothing was said.
ALTER TABLE access_tokens ADD COLUMN expires_at INTEGER;
ALTER TABLE access_tokens ADD COLUMN streams_max INTEGER;

-- Acts of one token, to keep it from displacing those of others.
CREATE INDEX acts_of_token ON acts (token, number);
