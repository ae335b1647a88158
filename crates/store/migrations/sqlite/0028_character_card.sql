-- The character card that the persona was made from, as JSON; `export --format card` writes it again.
ALTER TABLE personas ADD COLUMN character_card TEXT;
