-- When a token ends by itself, and how many streams it may have open; NULL where nothing was said.
ALTER TABLE access_tokens ADD COLUMN expires_at BIGINT;
ALTER TABLE access_tokens ADD COLUMN streams_max BIGINT;
