-- Events about who the user is: asked for at any length of the past. What is deleted or replaced leaves the index.
CREATE INDEX concept_nodes_identity ON concept_nodes (scope)
    WHERE type = 'event' AND subject = 'user' AND deleted_at IS NULL AND superseded_by IS NULL
      AND instr(relational_tags, '"identity-bearing"') > 0;

-- Traces and transcripts of a scope, the newest first, page by page.
DROP INDEX turn_details_of_scope;
CREATE INDEX turn_details_of_scope ON turn_details (scope, started_at, turn_id);
CREATE INDEX slow_cycles_told ON slow_cycles (scope, created_at, id) WHERE transcript IS NOT NULL;
