-- The moods that sessions left the persona in, one row for each session, as JSON. The newest row is the current mood.
-- `session_id` is NULL for a mood from before this table.
CREATE TABLE mood_history (
    seq            INTEGER NOT NULL PRIMARY KEY,
    scope          INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id     BLOB             REFERENCES sessions (id) ON DELETE CASCADE CHECK (length(session_id) = 16),
    felt_at        INTEGER NOT NULL,
    episodic_state TEXT    NOT NULL CHECK (json_valid(episodic_state))
) STRICT;
CREATE INDEX mood_history_by_scope ON mood_history (scope, felt_at, seq);
CREATE INDEX mood_history_by_session ON mood_history (session_id) WHERE session_id IS NOT NULL;

INSERT INTO mood_history (scope, felt_at, episodic_state)
SELECT scope,
       unixepoch(substr(felt, 1, 19)) * 1000000
           + CAST(substr(rtrim(substr(felt, 21), 'Z') || '000000', 1, 6) AS INTEGER),
       episodic_state
FROM (SELECT scope, json_extract(episodic_state, '$.updated_at') AS felt, episodic_state FROM moods);

DROP TABLE moods;
