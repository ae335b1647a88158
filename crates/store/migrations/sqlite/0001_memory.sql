-- The six layers of memory.
-- Times are microseconds UTC. Ids are the 16 bytes of a UUID. `seq` is a row's number within the store and is never
-- given twice. `scope` is the compact number of a (persona, user).

CREATE TABLE personas (
    id                  TEXT    NOT NULL PRIMARY KEY,
    display_name        TEXT    NOT NULL,
    full_name           TEXT,
    gender              TEXT,
    birth_date          TEXT,
    ethnicity           TEXT,
    nationality         TEXT,
    native_language     TEXT,
    locale_region       TEXT,
    education_level     TEXT,
    occupation          TEXT,
    occupation_field    TEXT,
    location            TEXT,
    timezone            TEXT,
    relationship_status TEXT,
    life_stage          TEXT,
    health_status       TEXT,
    created_at          INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    id           TEXT    NOT NULL PRIMARY KEY,
    display_name TEXT,
    timezone     TEXT,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE external_identities (
    channel_id  TEXT NOT NULL,
    external_id TEXT NOT NULL,
    user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (channel_id, external_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX external_identities_of_user ON external_identities (user_id);

-- The counters are the live rows, kept by the transactions that write them.
CREATE TABLE scopes (
    number        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    persona_id    TEXT    NOT NULL REFERENCES personas (id),
    user_id       TEXT    NOT NULL REFERENCES users (id),
    message_count INTEGER NOT NULL DEFAULT 0 CHECK (message_count >= 0),
    node_count    INTEGER NOT NULL DEFAULT 0 CHECK (node_count >= 0),
    UNIQUE (persona_id, user_id)
) STRICT;
CREATE INDEX scopes_of_user ON scopes (user_id);

-- L6.
CREATE TABLE moods (
    scope          INTEGER NOT NULL PRIMARY KEY REFERENCES scopes (number) ON DELETE CASCADE,
    episodic_state TEXT    NOT NULL CHECK (json_valid(episodic_state))
) STRICT;

-- L1. The block `user` is per user, the others are shared.
CREATE TABLE core_blocks (
    persona_id     TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id        TEXT    REFERENCES users (id) ON DELETE CASCADE,
    label          TEXT    NOT NULL CHECK (label IN ('persona', 'user', 'style')),
    content        TEXT    NOT NULL CHECK (length(content) <= 5000),
    version        INTEGER NOT NULL,
    last_edited_by TEXT    NOT NULL,
    updated_at     INTEGER NOT NULL,
    CHECK ((label = 'user') = (user_id IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX core_blocks_shared ON core_blocks (persona_id, label) WHERE user_id IS NULL;
CREATE UNIQUE INDEX core_blocks_of_user ON core_blocks (persona_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX core_blocks_by_user ON core_blocks (user_id) WHERE user_id IS NOT NULL;

CREATE TABLE core_block_appends (
    number     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    REFERENCES users (id) ON DELETE CASCADE,
    label      TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    edited_by  TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX core_block_appends_of_persona ON core_block_appends (persona_id, label, number);
CREATE INDEX core_block_appends_by_user ON core_block_appends (user_id) WHERE user_id IS NOT NULL;

CREATE TABLE sessions (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope            INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    channel_id       TEXT    NOT NULL,
    status           TEXT    NOT NULL CHECK (status IN ('open', 'closing', 'consolidating', 'closed', 'failed')),
    message_count    INTEGER NOT NULL,
    total_tokens     INTEGER NOT NULL,
    first_message_at INTEGER NOT NULL,
    last_message_at  INTEGER NOT NULL,
    closed_at        INTEGER,
    close_trigger    TEXT    CHECK (close_trigger IN ('idle', 'max_length', 'explicit', 'lifecycle', 'catchup')),
    extracted        INTEGER NOT NULL DEFAULT 0,
    reflected        INTEGER NOT NULL DEFAULT 0,
    extracted_events INTEGER NOT NULL DEFAULT 0,
    trivial          INTEGER NOT NULL DEFAULT 0,
    summary          TEXT,
    attempts         INTEGER NOT NULL DEFAULT 0,
    last_error       TEXT,
    retry_at         INTEGER
) STRICT;
CREATE UNIQUE INDEX sessions_open ON sessions (scope, channel_id) WHERE status = 'open';
CREATE INDEX sessions_by_status ON sessions (status, first_message_at);
CREATE INDEX sessions_of_scope ON sessions (scope, first_message_at);
CREATE INDEX sessions_by_start ON sessions (first_message_at);
CREATE INDEX sessions_summarised ON sessions (scope, first_message_at) WHERE summary IS NOT NULL;
CREATE INDEX sessions_closed ON sessions (scope, closed_at) WHERE status = 'closed';

CREATE TABLE turns (
    id              BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id      BLOB    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    channel_id      TEXT    NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN ('pending', 'answered', 'failed')),
    started_at      INTEGER NOT NULL,
    last_message_at INTEGER NOT NULL,
    reason          TEXT
) STRICT;
CREATE INDEX turns_of_session ON turns (session_id);
CREATE INDEX turns_of_scope ON turns (scope);
CREATE INDEX turns_pending ON turns (started_at) WHERE status = 'pending';

-- Names of models whose vectors are stored. Vectors of different models are never compared.
CREATE TABLE embedding_models (
    number      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT    NOT NULL UNIQUE
) STRICT;

-- L2. `embedding_model` says whose vector the row has; without one it is NULL, and the row waits for one.
CREATE TABLE recall_messages (
    seq             INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id              BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id      BLOB    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn_id         BLOB,
    channel_id      TEXT    NOT NULL,
    role            TEXT    NOT NULL CHECK (role IN ('user', 'persona')),
    token_count     INTEGER NOT NULL,
    day             TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    incomplete      INTEGER NOT NULL,
    deleted_at      INTEGER,
    embedding_model INTEGER REFERENCES embedding_models (number),
    content         TEXT    NOT NULL,
    terms           TEXT    NOT NULL
) STRICT;
CREATE INDEX recall_messages_of_scope ON recall_messages (scope) WHERE deleted_at IS NULL;
CREATE INDEX recall_messages_of_session ON recall_messages (session_id);
CREATE INDEX recall_messages_of_turn ON recall_messages (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX recall_messages_by_model ON recall_messages (embedding_model) WHERE deleted_at IS NULL;

-- A vector that is written again takes a new revision, so that a reader who stands at a revision misses nothing.
CREATE TABLE message_vectors (
    revision        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    seq             INTEGER NOT NULL UNIQUE REFERENCES recall_messages (seq) ON DELETE CASCADE,
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model INTEGER NOT NULL REFERENCES embedding_models (number),
    readability     REAL    NOT NULL,
    vector          BLOB    NOT NULL
) STRICT;
CREATE INDEX message_vectors_of_scope ON message_vectors (scope, embedding_model);

-- Terms are parted by blanks; every other ASCII character belongs to a term. Each term carries its scope's number in
-- front, so a list of rows never reaches over to another scope. The terms themselves stand in the rows.
CREATE VIRTUAL TABLE message_words USING fts5 (
    terms, content = '', columnsize = 0, detail = full,
    tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO message_words (message_words, rank) VALUES ('secure-delete', 1);

-- L3 and L4.
CREATE TABLE concept_nodes (
    seq               INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id                BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    scope             INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    type              TEXT    NOT NULL CHECK (type IN ('event', 'thought', 'intention', 'expectation')),
    subject           TEXT    NOT NULL CHECK (subject IN ('user', 'persona', 'shared')),
    emotional_impact  INTEGER NOT NULL CHECK (emotional_impact BETWEEN -10 AND 10),
    emotion_tags      TEXT    NOT NULL CHECK (json_valid(emotion_tags)),
    relational_tags   TEXT    NOT NULL CHECK (json_valid(relational_tags)),
    event_time_start  INTEGER,
    event_time_end    INTEGER,
    source_session_id BLOB    REFERENCES sessions (id) ON DELETE SET NULL,
    mention_count     INTEGER NOT NULL DEFAULT 1,
    superseded_by     BLOB    REFERENCES concept_nodes (id) ON DELETE SET NULL,
    pinned            INTEGER NOT NULL DEFAULT 0,
    access_count      INTEGER NOT NULL DEFAULT 0,
    last_accessed_at  INTEGER,
    created_at        INTEGER NOT NULL,
    deleted_at        INTEGER,
    embedding_model   INTEGER REFERENCES embedding_models (number),
    description       TEXT    NOT NULL,
    terms             TEXT    NOT NULL
) STRICT;
CREATE INDEX concept_nodes_of_scope ON concept_nodes (scope, type) WHERE deleted_at IS NULL;
CREATE INDEX concept_nodes_current ON concept_nodes (scope, type, subject)
    WHERE deleted_at IS NULL AND superseded_by IS NULL;
CREATE INDEX concept_nodes_pinned ON concept_nodes (scope, type, subject)
    WHERE deleted_at IS NULL AND superseded_by IS NULL AND pinned = 1;
CREATE INDEX concept_nodes_by_time ON concept_nodes (scope, created_at) WHERE deleted_at IS NULL;
CREATE INDEX concept_nodes_by_event_start ON concept_nodes (scope, event_time_start, event_time_end)
    WHERE event_time_start IS NOT NULL AND deleted_at IS NULL AND superseded_by IS NULL;
CREATE INDEX concept_nodes_by_event_end ON concept_nodes (scope, event_time_end, event_time_start)
    WHERE event_time_end IS NOT NULL AND deleted_at IS NULL AND superseded_by IS NULL;
CREATE INDEX concept_nodes_of_session ON concept_nodes (source_session_id, type)
    WHERE source_session_id IS NOT NULL;
CREATE INDEX concept_nodes_superseded ON concept_nodes (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX concept_nodes_by_model ON concept_nodes (embedding_model) WHERE deleted_at IS NULL;

CREATE TABLE node_vectors (
    revision        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    seq             INTEGER NOT NULL UNIQUE REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model INTEGER NOT NULL REFERENCES embedding_models (number),
    readability     REAL    NOT NULL,
    vector          BLOB    NOT NULL
) STRICT;
CREATE INDEX node_vectors_of_scope ON node_vectors (scope, embedding_model);

CREATE VIRTUAL TABLE node_words USING fts5 (
    terms, content = '', columnsize = 0, detail = full,
    tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO node_words (node_words, rank) VALUES ('secure-delete', 1);

CREATE TABLE node_evidence (
    node_seq    INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    message_seq INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start  INTEGER NOT NULL,
    span_end    INTEGER NOT NULL,
    quote       TEXT    NOT NULL,
    PRIMARY KEY (node_seq, message_seq, span_start, span_end)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_evidence_of_message ON node_evidence (message_seq);

-- A repeated mention keeps the text that was merged away, so that the merge can be undone.
CREATE TABLE mention_merges (
    number      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    node_seq    INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    session_id  BLOB    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    description TEXT    NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX mention_merges_of_node ON mention_merges (node_seq);
CREATE INDEX mention_merges_of_session ON mention_merges (session_id);

CREATE TABLE concept_node_filling (
    thought_seq INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    event_seq   INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    orphaned    INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (thought_seq, event_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX concept_node_filling_of_event ON concept_node_filling (event_seq);

CREATE TABLE reflections (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope      INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id BLOB    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX reflections_of_scope ON reflections (scope, created_at);
CREATE INDEX reflections_of_session ON reflections (session_id);

-- A person's approval is the evidence of the node that it leads to.
CREATE TABLE rejected_memories (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope            INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id       BLOB    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    description      TEXT    NOT NULL,
    emotional_impact REAL,
    evidence         TEXT    NOT NULL CHECK (json_valid(evidence)),
    reason           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    settled_at       INTEGER,
    approved_node    INTEGER REFERENCES concept_nodes (seq) ON DELETE SET NULL
) STRICT;
CREATE INDEX rejected_memories_waiting ON rejected_memories (scope, created_at) WHERE settled_at IS NULL;
CREATE INDEX rejected_memories_of_session ON rejected_memories (session_id);
CREATE INDEX rejected_memories_of_node ON rejected_memories (approved_node) WHERE approved_node IS NOT NULL;

-- L5.
CREATE TABLE entities (
    id             BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope          INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    canonical_name TEXT    NOT NULL,
    kind           TEXT    NOT NULL CHECK (kind IN ('person', 'place', 'org', 'pet', 'other')),
    description    TEXT,
    owner_override INTEGER NOT NULL DEFAULT 0,
    merge_status   TEXT    NOT NULL DEFAULT 'confirmed'
        CHECK (merge_status IN ('confirmed', 'uncertain', 'disambiguated')),
    merge_target   BLOB    REFERENCES entities (id) ON DELETE SET NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX entities_by_change ON entities (scope, updated_at);
CREATE INDEX entities_by_time ON entities (scope, created_at) WHERE merge_status <> 'uncertain';
CREATE INDEX entities_merge_target ON entities (merge_target) WHERE merge_target IS NOT NULL;

CREATE TABLE entity_aliases (
    number    INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope     INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    folded    TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    entity_id BLOB    NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    UNIQUE (scope, folded)
) STRICT;
CREATE INDEX entity_aliases_of_entity ON entity_aliases (entity_id);

CREATE TABLE concept_node_entities (
    entity_id BLOB    NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    node_seq  INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    PRIMARY KEY (entity_id, node_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX concept_node_entities_of_node ON concept_node_entities (node_seq);

-- What it cost, and why it said that.
CREATE TABLE llm_calls (
    number        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at            INTEGER NOT NULL,
    task          TEXT    NOT NULL,
    tier          TEXT    NOT NULL,
    provider      TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    latency_ms    INTEGER NOT NULL,
    outcome       TEXT    NOT NULL,
    turn_id       BLOB
) STRICT;

CREATE TABLE turn_traces (
    turn_id    BLOB    NOT NULL PRIMARY KEY CHECK (length(turn_id) = 16),
    scope      INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    receipt    TEXT    NOT NULL CHECK (json_valid(receipt)),
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX turn_traces_of_scope ON turn_traces (scope);
