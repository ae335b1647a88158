-- A function in SQL with a query of its own is planned again in each statement that uses it; one in PL/pgSQL keeps its plan.
CREATE OR REPLACE FUNCTION words_at_places(terms TEXT) RETURNS TSVECTOR IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(string_agg(
        '''' || replace(replace(left(word, 500), '\', '\\'), '''', '''''') || ''':' || least(place, 16383), ' '), '')::tsvector
    FROM unnest(string_to_array(terms, ' ')) WITH ORDINALITY AS words (word, place) WHERE word <> '');
END
$$;
