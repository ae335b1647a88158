-- Thinking between sessions, what becomes of expectations, what calls cost, and how replies and memories came to be.

ALTER TABLE llm_calls ADD COLUMN session_id BLOB;
ALTER TABLE llm_calls ADD COLUMN prompt_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE llm_calls ADD COLUMN cost_usd REAL;
CREATE INDEX llm_calls_by_time ON llm_calls (at);
CREATE INDEX llm_calls_of_session ON llm_calls (session_id) WHERE session_id IS NOT NULL;

-- An expectation without a row here is pending. If the message that fulfilled it goes, it is pending again.
CREATE TABLE settled_expectations (
    node_seq    INTEGER NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    outcome     TEXT    NOT NULL CHECK (outcome IN ('fulfilled', 'expired')),
    message_seq INTEGER REFERENCES recall_messages (seq) ON DELETE CASCADE,
    settled_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX settled_expectations_of_message ON settled_expectations (message_seq) WHERE message_seq IS NOT NULL;
CREATE INDEX concept_nodes_expected ON concept_nodes (event_time_start)
    WHERE type = 'expectation' AND event_time_start IS NOT NULL AND deleted_at IS NULL;

-- The counts stay as long as the scope; the transcript and the questions are texts and may go before.
CREATE TABLE slow_cycles (
    id                BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope             INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id        BLOB    REFERENCES sessions (id) ON DELETE SET NULL,
    created_at        INTEGER NOT NULL,
    input_tokens      INTEGER NOT NULL,
    output_tokens     INTEGER NOT NULL,
    outcome           TEXT    NOT NULL,
    salient_questions TEXT    NOT NULL CHECK (json_valid(salient_questions)),
    transcript        TEXT    CHECK (transcript IS NULL OR json_valid(transcript))
) STRICT;
CREATE INDEX slow_cycles_of_scope ON slow_cycles (scope, created_at);
CREATE INDEX slow_cycles_of_session ON slow_cycles (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX slow_cycles_with_transcript ON slow_cycles (created_at) WHERE transcript IS NOT NULL;

-- Which memories a cycle has read.
CREATE TABLE slow_cycle_events (
    cycle_id BLOB    NOT NULL REFERENCES slow_cycles (id) ON DELETE CASCADE,
    node_seq INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    PRIMARY KEY (cycle_id, node_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX slow_cycle_events_of_node ON slow_cycle_events (node_seq);

-- When a memory that a cycle has read is erased, what was said about it goes too.
CREATE TRIGGER slow_cycle_forgets AFTER DELETE ON slow_cycle_events BEGIN
    UPDATE slow_cycles SET transcript = NULL, salient_questions = '[]' WHERE id = old.cycle_id;
END;

-- How a turn went, with its prompts; a prompt holds words of other turns and sessions of its scope.
CREATE TABLE turn_details (
    turn_id        BLOB    NOT NULL PRIMARY KEY REFERENCES turns (id) ON DELETE CASCADE,
    scope          INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    started_at     INTEGER NOT NULL,
    finished_at    INTEGER,
    first_token_ms INTEGER,
    input_tokens   INTEGER,
    output_tokens  INTEGER,
    model          TEXT,
    detail         TEXT    NOT NULL CHECK (json_valid(detail))
) STRICT;
CREATE INDEX turn_details_of_scope ON turn_details (scope);
CREATE INDEX turn_details_by_time ON turn_details (started_at);

-- What each phase of a session's consolidation did.
CREATE TABLE session_traces (
    session_id BLOB    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    phase      TEXT    NOT NULL CHECK (phase IN ('a', 'b', 'c', 'd', 'e', 'f', 'g')),
    scope      INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    detail     TEXT    NOT NULL CHECK (json_valid(detail)),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, phase)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_traces_of_scope ON session_traces (scope);
CREATE INDEX session_traces_by_time ON session_traces (created_at);
