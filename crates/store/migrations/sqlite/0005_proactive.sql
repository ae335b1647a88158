-- Decisions about messages that the persona sends without being asked. One that is being made has no outcome. A decision
-- holds until the next one about its scope. `trigger_key` names an occasion by numbers. No words of the two are kept here.
CREATE TABLE proactive_decisions (
    id          BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope       INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    at          INTEGER NOT NULL,
    outcome     TEXT    CHECK (outcome IN ('sent', 'nothing_to_say', 'dropped', 'deferred', 'failed')),
    gate        TEXT    CHECK (gate IN ('muted', 'quiet_hours', 'cold_user', 'rate_limit', 'turn_in_flight',
                                        'spend_cap', 'too_late', 'no_trigger')),
    trigger     TEXT    CHECK (trigger IN ('promise_due', 'expectation_due', 'shock', 'anniversary',
                                           'long_silence')),
    trigger_key TEXT,
    node_seq    INTEGER REFERENCES concept_nodes (seq) ON DELETE SET NULL,
    message_seq INTEGER REFERENCES recall_messages (seq) ON DELETE SET NULL,
    -- The number of the message, which stays when the message is deleted.
    sent_seq    INTEGER,
    channel_id  TEXT,
    detail      TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX proactive_decisions_by_time ON proactive_decisions (at, id);
CREATE INDEX proactive_decisions_of_scope ON proactive_decisions (scope, at, id);
CREATE INDEX proactive_decisions_sent ON proactive_decisions (scope, at) WHERE outcome = 'sent';
CREATE INDEX proactive_decisions_of_trigger ON proactive_decisions (scope, trigger_key)
    WHERE trigger_key IS NOT NULL;
CREATE INDEX proactive_decisions_unfinished ON proactive_decisions (id) WHERE outcome IS NULL;
CREATE INDEX proactive_decisions_of_node ON proactive_decisions (node_seq) WHERE node_seq IS NOT NULL;
CREATE INDEX proactive_decisions_of_message ON proactive_decisions (message_seq) WHERE message_seq IS NOT NULL;

-- Until when a user wants no messages that were not asked for.
CREATE TABLE proactive_mutes (
    user_id     TEXT    NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    muted_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Weighty events, for their anniversaries.
CREATE INDEX concept_nodes_weighty ON concept_nodes (scope, emotional_impact)
    WHERE type = 'event' AND deleted_at IS NULL AND superseded_by IS NULL
      AND (emotional_impact >= 7 OR emotional_impact <= -7);
