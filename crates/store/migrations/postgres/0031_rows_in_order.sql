-- SQLite's indexes end in the number of the row. Here it has to be named, so that the newest rows of a memory are found without
-- sorting all of them.
DROP INDEX recall_messages_of_scope;
CREATE INDEX recall_messages_of_scope ON recall_messages (scope, seq) WHERE deleted_at IS NULL;
DROP INDEX recall_messages_by_time;
CREATE INDEX recall_messages_by_time ON recall_messages (scope, created_at, seq);
DROP INDEX recall_messages_by_place;
CREATE INDEX recall_messages_by_place ON recall_messages (scope, placed_at, seq);
DROP INDEX concept_nodes_of_scope;
CREATE INDEX concept_nodes_of_scope ON concept_nodes (scope, type, seq) WHERE deleted_at IS NULL;
DROP INDEX concept_nodes_current;
CREATE INDEX concept_nodes_current ON concept_nodes (scope, type, subject, seq)
    WHERE deleted_at IS NULL AND superseded_by IS NULL;
DROP INDEX concept_nodes_pinned;
CREATE INDEX concept_nodes_pinned ON concept_nodes (scope, type, subject, seq)
    WHERE deleted_at IS NULL AND superseded_by IS NULL AND pinned = 1;
DROP INDEX concept_nodes_by_time;
CREATE INDEX concept_nodes_by_time ON concept_nodes (scope, created_at, seq) WHERE deleted_at IS NULL;
DROP INDEX concept_nodes_identity;
CREATE INDEX concept_nodes_identity ON concept_nodes (scope, seq)
    WHERE type = 'event' AND subject = 'user' AND deleted_at IS NULL AND superseded_by IS NULL
      AND strpos(relational_tags, '"identity-bearing"') > 0;

-- A function that is strict is not made part of the statements that use it: it was planned again at each use, for a thousand entries.
CREATE OR REPLACE FUNCTION json_each(list TEXT, OUT key BIGINT, OUT value BIGINT, OUT atom TEXT) RETURNS SETOF RECORD
IMMUTABLE LANGUAGE sql AS $$
    SELECT place - 1, CASE json_typeof(entry) WHEN 'number' THEN (entry #>> '{}')::bigint END, entry #>> '{}'
    FROM json_array_elements(list::json) WITH ORDINALITY AS entries (entry, place)
$$;
