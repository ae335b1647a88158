-- Every three characters in a row of a chunk's text, so that an exact search finds the inside of words too. Triggers keep the
-- index in step with the chunks.
ALTER TABLE hub_chunks ADD COLUMN grams TEXT NOT NULL DEFAULT '';

CREATE TABLE hub_gram_words (
    number BIGINT   NOT NULL PRIMARY KEY,
    terms  TSVECTOR NOT NULL
);
CREATE INDEX hub_gram_words_terms ON hub_gram_words USING gin (terms);

CREATE FUNCTION hub_grams_come() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO hub_gram_words (number, terms) VALUES (new.number, words_at_places(new.grams));
    RETURN NULL;
END $$;
CREATE TRIGGER hub_grams_come AFTER INSERT ON hub_chunks FOR EACH ROW
    WHEN (new.grams <> '') EXECUTE FUNCTION hub_grams_come();
CREATE TRIGGER hub_grams_filled AFTER UPDATE OF grams ON hub_chunks FOR EACH ROW
    WHEN (old.grams = '' AND new.grams <> '') EXECUTE FUNCTION hub_grams_come();

CREATE FUNCTION hub_grams_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM hub_gram_words WHERE number = old.number;
    RETURN NULL;
END $$;
CREATE TRIGGER hub_grams_go AFTER DELETE ON hub_chunks FOR EACH ROW
    WHEN (old.grams <> '') EXECUTE FUNCTION hub_grams_go();
