-- Messages of earlier imports whose text a later import replaced, so that taking the later one back brings it back. `version`
-- holds the text from before; the message that it belongs to has the later text.
CREATE TABLE replaced_messages (
    version    BIGINT NOT NULL PRIMARY KEY REFERENCES message_versions (number) ON DELETE CASCADE,
    run        BIGINT NOT NULL REFERENCES import_runs (number) ON DELETE CASCADE,
    -- The digest that the later text has, NULL if it is that of the text from before. Of a message that is not shown any
    -- more: its own.
    digest     BYTEA    CHECK (length(digest) = 16),
    -- The user's day of the text from before.
    day        TEXT    NOT NULL,
    -- Of a message that is not shown any more: its id, and the session that it was in.
    message_id BYTEA   CHECK (length(message_id) = 16),
    session_id BYTEA   REFERENCES sessions (id) ON DELETE CASCADE,
    CHECK ((message_id IS NULL) = (session_id IS NULL))
);
CREATE INDEX replaced_messages_of_run ON replaced_messages (run);
CREATE INDEX replaced_messages_of_session ON replaced_messages (session_id) WHERE session_id IS NOT NULL;
-- The import that added a version to a message that was there. `taken_from` is the message whose version it was before that one
-- became a version itself.
ALTER TABLE message_versions ADD COLUMN import_run BIGINT REFERENCES import_runs (number) ON DELETE CASCADE;
ALTER TABLE message_versions ADD COLUMN taken_from BYTEA;
-- The version that it follows in a branch, 0 for the message itself. NULL if it could be shown in the message's place.
ALTER TABLE message_versions ADD COLUMN follows BIGINT;
CREATE INDEX message_versions_of_import ON message_versions (import_run) WHERE import_run IS NOT NULL;
-- The program that writes into this home, one at a time. Each of its transactions notes its number here: a program that lost the
-- confirmation of a commit finds out whether it was done. `process` names it among the processes of its machine.
CREATE TABLE writer (
    number  BIGINT      NOT NULL PRIMARY KEY CHECK (number = 1),
    program UUID,
    process TEXT,
    seen_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    commits BIGINT      NOT NULL DEFAULT 0
);
INSERT INTO writer (number) VALUES (1);

-- The planner's statistics hold values of a column. Words are kept out of them: an erasure would not reach them there.
ALTER TABLE concept_nodes ALTER COLUMN description SET STATISTICS 0, ALTER COLUMN emotion_tags SET STATISTICS 0,
    ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE core_block_appends ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN edited_by SET STATISTICS 0;
ALTER TABLE core_blocks ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN last_edited_by SET STATISTICS 0;
ALTER TABLE entities ALTER COLUMN canonical_name SET STATISTICS 0, ALTER COLUMN description SET STATISTICS 0;
ALTER TABLE entity_aliases ALTER COLUMN folded SET STATISTICS 0, ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE entity_changes ALTER COLUMN before SET STATISTICS 0;
ALTER TABLE graph_edges ALTER COLUMN properties SET STATISTICS 0, ALTER COLUMN type SET STATISTICS 0;
ALTER TABLE graph_nodes ALTER COLUMN described_by SET STATISTICS 0, ALTER COLUMN description SET STATISTICS 0,
    ALTER COLUMN folded SET STATISTICS 0, ALTER COLUMN label SET STATISTICS 0,
    ALTER COLUMN properties SET STATISTICS 0, ALTER COLUMN type SET STATISTICS 0;
ALTER TABLE graph_sources ALTER COLUMN evidence SET STATISTICS 0, ALTER COLUMN memory SET STATISTICS 0;
ALTER TABLE hub_chunks ALTER COLUMN grams SET STATISTICS 0, ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE hub_documents ALTER COLUMN stem SET STATISTICS 0;
ALTER TABLE hub_gram_words ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE hub_labels ALTER COLUMN label SET STATISTICS 0;
ALTER TABLE hub_lines ALTER COLUMN line SET STATISTICS 0;
ALTER TABLE hub_snapshots ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE hub_untold_deletions ALTER COLUMN stem SET STATISTICS 0;
ALTER TABLE hub_versions ALTER COLUMN chat_ids SET STATISTICS 0, ALTER COLUMN content SET STATISTICS 0,
    ALTER COLUMN edited_by SET STATISTICS 0;
ALTER TABLE hub_words ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE import_documents ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE import_runs ALTER COLUMN digest SET STATISTICS 0, ALTER COLUMN files SET STATISTICS 0,
    ALTER COLUMN position SET STATISTICS 0;
ALTER TABLE import_skips ALTER COLUMN place SET STATISTICS 0, ALTER COLUMN reason SET STATISTICS 0;
ALTER TABLE mention_merges ALTER COLUMN description SET STATISTICS 0, ALTER COLUMN merged SET STATISTICS 0;
ALTER TABLE message_versions ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0,
    ALTER COLUMN speaker SET STATISTICS 0;
ALTER TABLE message_words ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE mood_history ALTER COLUMN episodic_state SET STATISTICS 0;
ALTER TABLE node_changes ALTER COLUMN author SET STATISTICS 0, ALTER COLUMN description SET STATISTICS 0,
    ALTER COLUMN entities SET STATISTICS 0, ALTER COLUMN kind SET STATISTICS 0,
    ALTER COLUMN relational_tags SET STATISTICS 0;
ALTER TABLE node_evidence ALTER COLUMN quote SET STATISTICS 0;
ALTER TABLE node_words ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE recall_messages ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN external_ref SET STATISTICS 0,
    ALTER COLUMN model SET STATISTICS 0, ALTER COLUMN speaker SET STATISTICS 0, ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE rejected_memories ALTER COLUMN description SET STATISTICS 0, ALTER COLUMN evidence SET STATISTICS 0,
    ALTER COLUMN proposal SET STATISTICS 0, ALTER COLUMN reason SET STATISTICS 0;
ALTER TABLE session_traces ALTER COLUMN detail SET STATISTICS 0;
ALTER TABLE sessions ALTER COLUMN last_error SET STATISTICS 0, ALTER COLUMN summary SET STATISTICS 0,
    ALTER COLUMN title SET STATISTICS 0;
ALTER TABLE slow_cycles ALTER COLUMN salient_questions SET STATISTICS 0, ALTER COLUMN transcript SET STATISTICS 0;
ALTER TABLE turn_details ALTER COLUMN detail SET STATISTICS 0;
ALTER TABLE turn_traces ALTER COLUMN receipt SET STATISTICS 0;
ALTER TABLE turns ALTER COLUMN reason SET STATISTICS 0;
ALTER TABLE users ALTER COLUMN display_name SET STATISTICS 0;
