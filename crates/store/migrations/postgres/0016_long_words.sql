-- A term of the word index has at most 2,046 bytes. Of a longer one, such as an address or encoded data, the first 500 characters
-- are in the index.
CREATE OR REPLACE FUNCTION words_at_places(terms TEXT) RETURNS TSVECTOR IMMUTABLE STRICT LANGUAGE sql AS $$
    SELECT coalesce(string_agg(
        '''' || replace(replace(left(word, 500), '\', '\\'), '''', '''''') || ''':' || least(place, 16383), ' '), '')::tsvector
    FROM unnest(string_to_array(terms, ' ')) WITH ORDINALITY AS words (word, place) WHERE word <> ''
$$;
