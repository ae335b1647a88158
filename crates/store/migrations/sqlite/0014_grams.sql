-- Every three characters in a row of a chunk's text, so that an exact search finds the inside of words too. Empty in homes from before,
-- until the program fills it at its start. Triggers keep the index in step with the chunks.
ALTER TABLE hub_chunks ADD COLUMN grams TEXT NOT NULL DEFAULT '';
CREATE VIRTUAL TABLE hub_gram_words USING fts5 (
    grams, content = '', columnsize = 0, detail = none,
    tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO hub_gram_words (hub_gram_words, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER hub_grams_come AFTER INSERT ON hub_chunks WHEN new.grams <> '' BEGIN
    INSERT INTO hub_gram_words (rowid, grams) VALUES (new.number, new.grams);
END;
CREATE TRIGGER hub_grams_filled AFTER UPDATE OF grams ON hub_chunks WHEN old.grams = '' AND new.grams <> '' BEGIN
    INSERT INTO hub_gram_words (rowid, grams) VALUES (new.number, new.grams);
END;
CREATE TRIGGER hub_grams_go AFTER DELETE ON hub_chunks WHEN old.grams <> '' BEGIN
    INSERT INTO hub_gram_words (hub_gram_words, rowid, grams) VALUES ('delete', old.number, old.grams);
END;
