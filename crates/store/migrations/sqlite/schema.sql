-- The schema of a home.
--
-- Times are microseconds since 1970, UTC. Ids are the 16 bytes of a UUID. `seq` is the number of a row within the
-- store and is never reused. `scope` is the number of a persona and a user in `scopes`. Booleans are 0 or 1.

-- ## Personas, users and scopes

-- A persona and the facts of its life; NULL where a fact was never given.
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
    created_at          INTEGER NOT NULL,
    voice_enabled       INTEGER NOT NULL DEFAULT 0,
    voice_id            TEXT,
    -- The one that the persona was made from, as JSON.
    character_card      TEXT
) STRICT;

-- The persona's picture.
CREATE TABLE persona_avatars (
    persona_id TEXT    NOT NULL PRIMARY KEY REFERENCES personas (id) ON DELETE CASCADE,
    extension  TEXT    NOT NULL CHECK (extension IN ('png', 'jpg', 'webp', 'gif')),
    updated_at INTEGER NOT NULL,
    image      BLOB    NOT NULL
) STRICT;

-- People who talk with personas.
CREATE TABLE users (
    id           TEXT    NOT NULL PRIMARY KEY,
    display_name TEXT,
    timezone     TEXT,
    created_at   INTEGER NOT NULL
) STRICT;

-- A user's names on other channels. `created_at` is 0 where it was not recorded.
CREATE TABLE external_identities (
    channel_id  TEXT    NOT NULL,
    external_id TEXT    NOT NULL,
    user_id     TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, external_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX external_identities_of_user ON external_identities (user_id);

-- One persona and one user, as a compact number. The counters count live rows and are updated in the transaction
-- that writes them.
CREATE TABLE scopes (
    number        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    persona_id    TEXT    NOT NULL REFERENCES personas (id),
    user_id       TEXT    NOT NULL REFERENCES users (id),
    message_count INTEGER NOT NULL DEFAULT 0 CHECK (message_count >= 0),
    node_count    INTEGER NOT NULL DEFAULT 0 CHECK (node_count >= 0),
    UNIQUE (persona_id, user_id)
) STRICT;
CREATE INDEX scopes_of_user ON scopes (user_id);

-- ## Core blocks and mood (L1, L6)

-- Text that only people write. The block `user` belongs to one user, the others to the persona.
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

-- Every edit of a core block, with the text after it.
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

-- ## Messages (L2)

-- Messages of one scope on one channel until silence or a limit, and how far their consolidation is. At most one is
-- open per scope and channel.
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
    retry_at         INTEGER,
    -- The run that recorded it; NULL for one that was held here.
    import_run       INTEGER REFERENCES import_runs (number) ON DELETE SET NULL,
    -- What a conversation was called in the program that it was imported from.
    title            TEXT
) STRICT;
CREATE UNIQUE INDEX sessions_open ON sessions (scope, channel_id) WHERE status = 'open';
CREATE INDEX sessions_by_status ON sessions (status, first_message_at);
CREATE INDEX sessions_of_scope ON sessions (scope, first_message_at);
CREATE INDEX sessions_by_start ON sessions (first_message_at);
CREATE INDEX sessions_summarised ON sessions (scope, first_message_at) WHERE summary IS NOT NULL;
CREATE INDEX sessions_of_import ON sessions (import_run, status, first_message_at) WHERE import_run IS NOT NULL;
CREATE INDEX sessions_held_here ON sessions (status, first_message_at) WHERE import_run IS NULL;
CREATE INDEX sessions_closed ON sessions (scope, closed_at) WHERE status = 'closed';

-- A user's messages and the reply to them. A pending turn is resumed at the next start; a failed one says why.
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
CREATE INDEX turns_failed ON turns (last_message_at) WHERE status = 'failed';

-- Embedding models whose vectors are stored; `source` says how to open the model again. Vectors of different models
-- are never compared.
CREATE TABLE embedding_models (
    number      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT    NOT NULL UNIQUE,
    source      TEXT
) STRICT;

-- Messages, verbatim. `embedding_model` is NULL while a message waits for its vector. `external_ref` is the
-- client's own id. `deleted_at` is never set: deleting removes the row.
CREATE TABLE recall_messages (
    seq             INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id              BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id      BLOB    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn_id         BLOB,
    channel_id      TEXT    NOT NULL,
    role            TEXT    NOT NULL CHECK (role IN ('user', 'persona', 'other')),
    token_count     INTEGER NOT NULL,
    day             TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    incomplete      INTEGER NOT NULL,
    deleted_at      INTEGER,
    embedding_model INTEGER REFERENCES embedding_models (number),
    content         TEXT    NOT NULL,
    terms           TEXT    NOT NULL,
    external_ref    TEXT,
    -- Where it stands among the others. What is said here follows what was said here before, even if the clock went back;
    -- what is imported stands at its own time.
    placed_at       INTEGER NOT NULL DEFAULT 0,
    -- The name of the one who spoke, for the role `other`.
    speaker         TEXT    CHECK ((role = 'other') = (speaker IS NOT NULL)),
    -- The language model that wrote an imported message.
    model           TEXT
) STRICT;
CREATE INDEX recall_messages_of_scope ON recall_messages (scope) WHERE deleted_at IS NULL;
CREATE INDEX recall_messages_of_session ON recall_messages (session_id);
CREATE INDEX recall_messages_of_turn ON recall_messages (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX recall_messages_by_model ON recall_messages (embedding_model, seq, scope) WHERE deleted_at IS NULL;
-- What was said on a named day is found without going through the log.
CREATE INDEX recall_messages_by_time ON recall_messages (scope, created_at);
CREATE INDEX recall_messages_by_place ON recall_messages (scope, placed_at);
CREATE INDEX recall_messages_by_external_ref ON recall_messages (channel_id, external_ref)
    WHERE external_ref IS NOT NULL;
-- Erasing a name finds the messages of its bearer.
CREATE INDEX recall_messages_of_others ON recall_messages (scope) WHERE speaker IS NOT NULL;

-- Earlier text of an edited message. Search and recall do not read it.
CREATE TABLE message_versions (
    number      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    message_seq INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    content     TEXT    NOT NULL,
    replaced_at INTEGER NOT NULL,
    -- Who said a version that was imported, when, and which model wrote it. NULL for the earlier text of an edited
    -- message, whose speaker is the message's.
    role        TEXT,
    speaker     TEXT,
    model       TEXT,
    said_at     INTEGER,
    -- The import that added it to a message that was there.
    import_run  INTEGER REFERENCES import_runs (number) ON DELETE CASCADE,
    -- The message whose version it was before that one became a version itself.
    taken_from  BLOB,
    -- The version that it follows in a branch, 0 for the message itself. NULL if it could be shown in the message's
    -- place.
    follows     INTEGER
) STRICT;
CREATE INDEX message_versions_of_message ON message_versions (message_seq);
CREATE INDEX message_versions_of_import ON message_versions (import_run) WHERE import_run IS NOT NULL;

-- Characters of a message whose memory was forgotten while the message stayed, without the words. Extraction does
-- not read them again.
CREATE TABLE forgotten_spans (
    message_seq INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start  INTEGER NOT NULL,
    span_end    INTEGER NOT NULL,
    -- 1 if the words are not to be brought up again either, while the message stays in the conversation.
    silenced    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (message_seq, span_start, span_end)
) STRICT, WITHOUT ROWID;

-- Vectors of messages, one per model. A replaced vector takes a new revision, so that a reader that continues from
-- a revision misses nothing.
CREATE TABLE message_vectors (
    revision        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    seq             INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model INTEGER NOT NULL REFERENCES embedding_models (number),
    readability     REAL    NOT NULL,
    vector          BLOB    NOT NULL,
    UNIQUE (seq, embedding_model)
) STRICT;
CREATE INDEX message_vectors_of_scope ON message_vectors (scope, embedding_model);
CREATE INDEX message_vectors_readability ON message_vectors (seq, embedding_model, readability);

-- Word index of messages. Terms are separated by blanks; any other ASCII character is part of a term. Each term
-- starts with the number of its scope, so that hits never cross scopes. The terms themselves are in
-- `recall_messages`.
CREATE VIRTUAL TABLE message_words USING fts5 (
    terms, content = '', columnsize = 0, detail = full,
    tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO message_words (message_words, rank) VALUES ('secure-delete', 1);

-- ## Events, thoughts, intentions, expectations (L3, L4)

-- Nodes of all four types. A row with `deleted_at` was withdrawn after an edit: its id stays without content.
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
-- With the scope, so that scopes with waiting rows are found in the index alone; with `seq` before it, so that new
-- rows come first.
CREATE INDEX concept_nodes_by_model ON concept_nodes (embedding_model, seq, scope) WHERE deleted_at IS NULL;
CREATE INDEX concept_nodes_expected ON concept_nodes (event_time_start)
    WHERE type = 'expectation' AND event_time_start IS NOT NULL AND deleted_at IS NULL;
-- Weighty events, for their anniversaries.
CREATE INDEX concept_nodes_weighty ON concept_nodes (scope, emotional_impact)
    WHERE type = 'event' AND deleted_at IS NULL AND superseded_by IS NULL
      AND (emotional_impact >= 7 OR emotional_impact <= -7);
-- Events about who the user is, however long the past is.
CREATE INDEX concept_nodes_identity ON concept_nodes (scope)
    WHERE type = 'event' AND subject = 'user' AND deleted_at IS NULL AND superseded_by IS NULL
      AND instr(relational_tags, '"identity-bearing"') > 0;

-- Verbatim quotes that support a node: the message, and the first and past-the-end character.
CREATE TABLE node_evidence (
    node_seq    INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    message_seq INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start  INTEGER NOT NULL,
    span_end    INTEGER NOT NULL,
    quote       TEXT    NOT NULL,
    PRIMARY KEY (node_seq, message_seq, span_start, span_end)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_evidence_of_message ON node_evidence (message_seq);

-- The events that a thought cites. `orphaned` marks an event that was withdrawn.
CREATE TABLE concept_node_filling (
    thought_seq INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    event_seq   INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    orphaned    INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (thought_seq, event_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX concept_node_filling_of_event ON concept_node_filling (event_seq);

-- A repeated mention with the text that was merged away. `merged_id` and `merged` (JSON) restore the node when the
-- merge is undone.
CREATE TABLE mention_merges (
    number      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    node_seq    INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    session_id  BLOB    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    description TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    merged_id   BLOB    CHECK (length(merged_id) = 16),
    merged      TEXT    CHECK (json_valid(merged))
) STRICT;
CREATE INDEX mention_merges_of_node ON mention_merges (node_seq);
CREATE INDEX mention_merges_of_session ON mention_merges (session_id);

-- Where the words of a merged mention are, without the words.
CREATE TABLE mention_evidence (
    merge_number INTEGER NOT NULL REFERENCES mention_merges (number) ON DELETE CASCADE,
    message_seq  INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start   INTEGER NOT NULL,
    span_end     INTEGER NOT NULL,
    PRIMARY KEY (merge_number, message_seq, span_start, span_end)
) STRICT, WITHOUT ROWID;
CREATE INDEX mention_evidence_of_message ON mention_evidence (message_seq);

-- Changes of a node after it was written, in order. A correction keeps the text and tags that it replaced (after an
-- undo, those that were undone); NULL where the words that they came from were withdrawn.
CREATE TABLE node_changes (
    number          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    node_seq        INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    kind            TEXT    NOT NULL CHECK (kind IN ('correction', 'supersession', 'mention_merge')),
    author          TEXT    NOT NULL CHECK (author IN ('extraction', 'person')),
    created_at      INTEGER NOT NULL,
    undone_at       INTEGER,
    description     TEXT,
    relational_tags TEXT    CHECK (json_valid(relational_tags)),
    entities        TEXT    CHECK (json_valid(entities)),
    newer_seq       INTEGER REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    merge_number    INTEGER REFERENCES mention_merges (number) ON DELETE CASCADE,
    -- Of a supersession: 1 if the older memory never was true, NULL where only its tags tell; and the memory that was
    -- written of what stays true of it.
    mistaken        INTEGER,
    rest_seq        INTEGER REFERENCES concept_nodes (seq) ON DELETE SET NULL,
    CHECK ((kind = 'supersession') = (newer_seq IS NOT NULL)),
    CHECK ((kind = 'mention_merge') = (merge_number IS NOT NULL))
) STRICT;
CREATE INDEX node_changes_of_node ON node_changes (node_seq, number);
CREATE INDEX node_changes_of_newer ON node_changes (newer_seq, number) WHERE newer_seq IS NOT NULL;
CREATE INDEX node_changes_of_rest ON node_changes (rest_seq) WHERE rest_seq IS NOT NULL;
CREATE INDEX node_changes_of_merge ON node_changes (merge_number) WHERE merge_number IS NOT NULL;

-- Changes after which a node no longer says what it said: replaced by a newer node, or corrected by a person. A change that
-- is undone has no row.
CREATE TABLE replaced_values (
    scope  INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    change INTEGER NOT NULL REFERENCES node_changes (number) ON DELETE CASCADE,
    PRIMARY KEY (scope, change)
) STRICT, WITHOUT ROWID;
CREATE INDEX replaced_values_of_change ON replaced_values (change);

-- Pairs of statements of which the newer one may replace the older one. The older one is a memory, or words of a message that no
-- memory depends on. `opened_at` is set where the answer was that it has to be asked; else the pair waits for an answer.
CREATE TABLE statement_pairs (
    number      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope       INTEGER NOT NULL,
    newer_seq   INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    older_seq   INTEGER REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    message_seq INTEGER REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start  INTEGER,
    span_end    INTEGER,
    attempts    INTEGER NOT NULL DEFAULT 0,
    asked_with  BLOB,
    opened_at   INTEGER,
    CHECK ((older_seq IS NULL) = (message_seq IS NOT NULL)),
    CHECK ((message_seq IS NULL) = (span_start IS NULL) AND (message_seq IS NULL) = (span_end IS NULL))
) STRICT;
CREATE INDEX statement_pairs_of_scope ON statement_pairs (scope, attempts, number) WHERE opened_at IS NULL;
CREATE INDEX statement_pairs_of_newer ON statement_pairs (newer_seq);
CREATE INDEX statement_pairs_of_older ON statement_pairs (older_seq) WHERE older_seq IS NOT NULL;
CREATE INDEX statement_pairs_of_message ON statement_pairs (message_seq) WHERE message_seq IS NOT NULL;

-- Outcome of an expectation; one without a row is pending. When the message that fulfilled it is removed, it is
-- pending again.
CREATE TABLE settled_expectations (
    node_seq    INTEGER NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    outcome     TEXT    NOT NULL CHECK (outcome IN ('fulfilled', 'expired')),
    message_seq INTEGER REFERENCES recall_messages (seq) ON DELETE CASCADE,
    settled_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX settled_expectations_of_message ON settled_expectations (message_seq) WHERE message_seq IS NOT NULL;

-- Proposals without evidence, until a person decides. `proposal` holds type, subject, tags and time. An approval is
-- the evidence of the node that it creates.
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
    approved_node    INTEGER REFERENCES concept_nodes (seq) ON DELETE SET NULL,
    proposal         TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(proposal))
) STRICT;
CREATE INDEX rejected_memories_waiting ON rejected_memories (scope, created_at) WHERE settled_at IS NULL;
CREATE INDEX rejected_memories_of_session ON rejected_memories (session_id);
CREATE INDEX rejected_memories_of_node ON rejected_memories (approved_node) WHERE approved_node IS NOT NULL;

-- Reflections that stored at least one thought; they count against the daily limit.
CREATE TABLE reflections (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope      INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id BLOB    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX reflections_of_scope ON reflections (scope, created_at);
CREATE INDEX reflections_of_session ON reflections (session_id);

-- Vectors of nodes, one per model, with revisions as in `message_vectors`.
CREATE TABLE node_vectors (
    revision        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    seq             INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model INTEGER NOT NULL REFERENCES embedding_models (number),
    readability     REAL    NOT NULL,
    vector          BLOB    NOT NULL,
    UNIQUE (seq, embedding_model)
) STRICT;
CREATE INDEX node_vectors_of_scope ON node_vectors (scope, embedding_model);
-- Recall reads the readability of some hundred rows; this index keeps their vectors unread.
CREATE INDEX node_vectors_readability ON node_vectors (seq, embedding_model, readability);

-- Word index of nodes, as `message_words`.
CREATE VIRTUAL TABLE node_words USING fts5 (
    terms, content = '', columnsize = 0, detail = full,
    tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO node_words (node_words, rank) VALUES ('secure-delete', 1);

-- ## Entities (L5)

-- Persons, places, organisations, pets and other named things. `merged_into` points to the entity that this one was
-- merged into; its names and links stay, so that clearing the pointer undoes the merge.
CREATE TABLE entities (
    id              BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    canonical_name  TEXT    NOT NULL,
    kind            TEXT    NOT NULL CHECK (kind IN ('person', 'place', 'org', 'pet', 'other')),
    description     TEXT,
    owner_override  INTEGER NOT NULL DEFAULT 0,
    merge_status    TEXT    NOT NULL DEFAULT 'confirmed'
        CHECK (merge_status IN ('confirmed', 'uncertain', 'disambiguated')),
    merge_target    BLOB    REFERENCES entities (id) ON DELETE SET NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    merged_into     BLOB    REFERENCES entities (id) ON DELETE CASCADE,
    described_at    INTEGER,
    embedding_model INTEGER REFERENCES embedding_models (number)
) STRICT;
CREATE INDEX entities_by_change ON entities (scope, updated_at);
CREATE INDEX entities_by_time ON entities (scope, created_at) WHERE merge_status <> 'uncertain';
CREATE INDEX entities_merge_target ON entities (merge_target) WHERE merge_target IS NOT NULL;
CREATE INDEX entities_merged ON entities (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX entities_in_doubt ON entities (scope, updated_at) WHERE merge_status = 'uncertain';
CREATE INDEX entities_by_model ON entities (embedding_model);
CREATE INDEX entities_described ON entities (scope, described_at) WHERE described_at IS NOT NULL;

-- Names of entities. Two entities may share a name.
CREATE TABLE entity_aliases (
    number    INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope     INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    folded    TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    entity_id BLOB    NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    UNIQUE (entity_id, folded)
) STRICT;
CREATE INDEX entity_aliases_by_name ON entity_aliases (scope, folded);

-- Which nodes are about which entities.
CREATE TABLE concept_node_entities (
    entity_id BLOB    NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    node_seq  INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    PRIMARY KEY (entity_id, node_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX concept_node_entities_of_node ON concept_node_entities (node_seq);

-- Changes with the values that they replaced (`before`), so that the last one can be undone. In a merge `entity_id`
-- stays and `other_id` was merged into it.
CREATE TABLE entity_changes (
    number     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope      INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    entity_id  BLOB    NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    other_id   BLOB    REFERENCES entities (id) ON DELETE CASCADE,
    change     TEXT    NOT NULL CHECK (change IN ('merge', 'separate', 'rename', 'describe')),
    changed_by TEXT    NOT NULL CHECK (changed_by IN ('owner', 'conversation', 'likeness')),
    before     TEXT    NOT NULL CHECK (json_valid(before)),
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX entity_changes_of_entity ON entity_changes (entity_id, number);
CREATE INDEX entity_changes_of_other ON entity_changes (other_id, number) WHERE other_id IS NOT NULL;
CREATE INDEX entity_changes_of_scope ON entity_changes (scope);

-- Vectors of names and descriptions. `readability` is the lower one of the name's and the whole text's.
CREATE TABLE entity_vectors (
    entity_id       BLOB    NOT NULL PRIMARY KEY REFERENCES entities (id) ON DELETE CASCADE,
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model INTEGER NOT NULL REFERENCES embedding_models (number),
    readability     REAL    NOT NULL,
    vector          BLOB    NOT NULL
) STRICT;
CREATE INDEX entity_vectors_of_scope ON entity_vectors (scope, embedding_model);

-- ## Graph

-- Graph nodes. A row with an `entity_id` (equal to its own id) holds what the graph adds to that entity; name, kind
-- and description are the entity's. `described_by` is the source of the description; `made_entity` says that the
-- graph created the entity.
CREATE TABLE graph_nodes (
    id                BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope             INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    entity_id         BLOB    UNIQUE REFERENCES entities (id) ON DELETE CASCADE,
    made_entity       INTEGER NOT NULL DEFAULT 0,
    type              TEXT,
    label             TEXT,
    folded            TEXT,
    description       TEXT    NOT NULL DEFAULT '',
    described_by      TEXT,
    properties        TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(properties)),
    confidence        REAL    NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    source_instance   TEXT    NOT NULL DEFAULT '',
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    first_learned_at  INTEGER,
    last_confirmed_at INTEGER,
    version           INTEGER NOT NULL DEFAULT 1,
    deleted_at        INTEGER,
    embedding_model   INTEGER REFERENCES embedding_models (number),
    readability       REAL,
    vector            BLOB,
    CHECK ((entity_id IS NULL) = (type IS NOT NULL AND label IS NOT NULL AND folded IS NOT NULL)),
    CHECK (entity_id IS NULL OR entity_id = id)
) STRICT;
CREATE UNIQUE INDEX graph_nodes_by_label ON graph_nodes (scope, type, folded)
    WHERE entity_id IS NULL AND deleted_at IS NULL;
CREATE INDEX graph_nodes_of_scope ON graph_nodes (scope, updated_at);
CREATE INDEX graph_nodes_by_name ON graph_nodes (scope, folded) WHERE folded IS NOT NULL;
CREATE INDEX graph_nodes_by_model ON graph_nodes (embedding_model) WHERE embedding_model IS NOT NULL;

-- Typed edges between graph nodes.
CREATE TABLE graph_edges (
    id                BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope             INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    from_id           BLOB    NOT NULL REFERENCES graph_nodes (id) ON DELETE CASCADE,
    to_id             BLOB    NOT NULL REFERENCES graph_nodes (id) ON DELETE CASCADE,
    type              TEXT    NOT NULL,
    properties        TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(properties)),
    weight            REAL    NOT NULL CHECK (weight BETWEEN 0 AND 1),
    source_instance   TEXT    NOT NULL DEFAULT '',
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    occurred_at       INTEGER,
    valid_until       INTEGER,
    last_confirmed_at INTEGER,
    version           INTEGER NOT NULL DEFAULT 1,
    deleted_at        INTEGER
) STRICT;
CREATE UNIQUE INDEX graph_edges_once ON graph_edges (scope, from_id, to_id, type) WHERE deleted_at IS NULL;
CREATE INDEX graph_edges_of_scope ON graph_edges (scope, updated_at);
CREATE INDEX graph_edges_from ON graph_edges (from_id);
CREATE INDEX graph_edges_to ON graph_edges (to_id);

-- Sources of a graph node or edge: the id of a memory (empty if an instance stated it), and the evidence of an
-- edge.
CREATE TABLE graph_sources (
    number   INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope    INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    node_id  BLOB    REFERENCES graph_nodes (id) ON DELETE CASCADE,
    edge_id  BLOB    REFERENCES graph_edges (id) ON DELETE CASCADE,
    memory   TEXT    NOT NULL,
    evidence TEXT,
    CHECK ((node_id IS NULL) <> (edge_id IS NULL))
) STRICT;
CREATE UNIQUE INDEX graph_sources_of_node ON graph_sources (node_id, memory) WHERE node_id IS NOT NULL;
CREATE UNIQUE INDEX graph_sources_of_edge ON graph_sources (edge_id, memory) WHERE edge_id IS NOT NULL;
CREATE INDEX graph_sources_of_memory ON graph_sources (scope, memory) WHERE memory <> '';

-- Events from which no relations were extracted yet: new ones, changed ones, and those that are current again.
CREATE TABLE graph_unread (
    node_seq INTEGER NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE
) STRICT;

-- ## Hub: documents and instances

-- Documents of a persona; `user_id` is NULL for the persona's own. `kind` is a category or granularity, `stem` the
-- file name without extension. `stale` marks a roll-up whose sources have changed.
CREATE TABLE hub_documents (
    number     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    REFERENCES users (id) ON DELETE CASCADE,
    kind       TEXT    NOT NULL CHECK (kind IN ('self', 'user', 'relationship', 'custom',
                                                  'daily', 'weekly', 'monthly', 'yearly', 'significant')),
    stem       TEXT    NOT NULL,
    stale      INTEGER NOT NULL DEFAULT 0,
    revision   INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX hub_documents_of_persona ON hub_documents (persona_id, kind, stem) WHERE user_id IS NULL;
CREATE UNIQUE INDEX hub_documents_of_user ON hub_documents (persona_id, user_id, kind, stem)
    WHERE user_id IS NOT NULL;
CREATE INDEX hub_documents_by_user ON hub_documents (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX hub_documents_by_revision ON hub_documents (persona_id, revision);

-- Versions of a document. `beside` marks a head that is not shown. A version without content is a deletion.
-- `vector` is a JSON object of instances and counters.
CREATE TABLE hub_versions (
    document     INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    number       INTEGER NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('shown', 'beside', 'past')),
    content      TEXT,
    vector       TEXT    NOT NULL CHECK (json_valid(vector)),
    author       TEXT    NOT NULL,
    edited_by    TEXT    NOT NULL,
    by_person    INTEGER NOT NULL,
    chat_ids     TEXT    NOT NULL CHECK (json_valid(chat_ids)),
    participants TEXT    NOT NULL CHECK (json_valid(participants)),
    written_at   INTEGER NOT NULL,
    UNIQUE (document, number)
) STRICT;
CREATE UNIQUE INDEX hub_versions_shown ON hub_versions (document) WHERE state = 'shown';
-- Live versions without their texts: a pull looks at all of them and reads the texts of one page.
CREATE INDEX hub_versions_outlines ON hub_versions (document, state, number, vector, octet_length(content))
    WHERE state <> 'past';
CREATE INDEX hub_versions_live ON hub_versions (document, state) WHERE state <> 'past';

-- Two heads with different text, until a person decides.
CREATE TABLE hub_conflicts (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    document   INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    kept       INTEGER NOT NULL,
    shown      INTEGER NOT NULL,
    opened_at  INTEGER NOT NULL,
    settled_at INTEGER,
    settled    TEXT
) STRICT;
CREATE INDEX hub_conflicts_of_document ON hub_conflicts (document);

-- Labels of documents in prompts. A label may exist before its document.
CREATE TABLE hub_labels (
    persona_id TEXT NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    stem       TEXT NOT NULL,
    label      TEXT NOT NULL,
    PRIMARY KEY (persona_id, user_id, kind, stem)
) STRICT, WITHOUT ROWID;

-- The diary line that was written for an event. `outdated` marks a line whose event has been corrected since.
CREATE TABLE hub_lines (
    document   INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    node_id    BLOB    NOT NULL CHECK (length(node_id) = 16),
    session_id BLOB    NOT NULL CHECK (length(session_id) = 16),
    line       TEXT    NOT NULL,
    outdated   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (document, node_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hub_lines_of_node ON hub_lines (node_id);
CREATE INDEX hub_lines_of_session ON hub_lines (session_id);
CREATE INDEX hub_lines_outdated ON hub_lines (node_id) WHERE outdated = 1;

-- Events without a diary line yet.
CREATE TABLE hub_untold (
    node_seq INTEGER NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE
) STRICT;

-- Copies of identity documents, kept for a limited time.
CREATE TABLE hub_snapshots (
    id         TEXT    NOT NULL,
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    stem       TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (persona_id, user_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hub_snapshots_by_age ON hub_snapshots (created_at);

-- Documents that were erased together with their names: a digest of the name, and what had been seen.
CREATE TABLE hub_erased_names (
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    digest     BLOB    NOT NULL CHECK (length(digest) = 32),
    vector     TEXT    NOT NULL CHECK (json_valid(vector)),
    erased_at  INTEGER NOT NULL,
    -- The revision at which it was erased: the deletion comes among the other changes of a pull in pages.
    revision   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (persona_id, user_id, kind, digest)
) STRICT, WITHOUT ROWID;

-- Digests of lines that were erased from a document, and the change that erased them: a version from before that change
-- does not bring them back.
CREATE TABLE hub_erased_lines (
    document INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    digest   BLOB    NOT NULL CHECK (length(digest) = 32),
    author   TEXT    NOT NULL,
    counter  INTEGER NOT NULL,
    PRIMARY KEY (document, digest)
) STRICT, WITHOUT ROWID;

-- Names of erased documents, one row for each instance that held a copy, until it knows that the document is gone.
CREATE TABLE hub_untold_deletions (
    persona_id  TEXT NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id     TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    kind        TEXT NOT NULL,
    stem        TEXT NOT NULL,
    PRIMARY KEY (persona_id, user_id, instance_id, kind, stem)
) STRICT, WITHOUT ROWID;

-- Instances that have synchronised; `base` is what each has seen.
CREATE TABLE hub_instances (
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT,
    last_sync  INTEGER NOT NULL,
    base       TEXT    NOT NULL CHECK (json_valid(base)),
    -- What the last whole pull without `since` gave, as counters: the next pull shows that it arrived.
    sent       TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(sent)),
    PRIMARY KEY (persona_id, user_id, id)
) STRICT, WITHOUT ROWID;

-- The highest counter seen of each author; `user_id` is empty for the persona's own documents.
CREATE TABLE hub_seen (
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    author     TEXT    NOT NULL,
    counter    INTEGER NOT NULL,
    PRIMARY KEY (persona_id, user_id, author)
) STRICT, WITHOUT ROWID;

-- The revision of a persona's hub; every commit raises it.
CREATE TABLE hub_revisions (
    persona_id TEXT    NOT NULL PRIMARY KEY REFERENCES personas (id) ON DELETE CASCADE,
    revision   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The instance that this database is.
CREATE TABLE hub_own_instance (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    id       TEXT    NOT NULL,
    -- The author of this home's changes in version vectors, where it is not the instance itself: another copy of this
    -- home used that.
    author   TEXT    NOT NULL DEFAULT ''
) STRICT;

-- How far a scope is exchanged with the hub of this home, which may be an embodiment of another home.
CREATE TABLE hub_exchanges (
    persona_id TEXT NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT NOT NULL,
    hub        TEXT NOT NULL,
    seen       TEXT NOT NULL CHECK (json_valid(seen)),
    cursor     TEXT,
    sent       TEXT NOT NULL CHECK (json_valid(sent)),
    erased     TEXT NOT NULL CHECK (json_valid(erased)),
    exchanged_at INTEGER,
    PRIMARY KEY (persona_id, user_id)
) STRICT, WITHOUT ROWID;

-- Searchable parts of diary documents: bytes `starts_at` to `ends_at` of the shown version. `number` starts with
-- the document's last day, so that new ones come first, and ends with a count that is never reused. Each term
-- starts with the number of its scope.
CREATE TABLE hub_chunks (
    number    INTEGER NOT NULL PRIMARY KEY,
    document  INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    scope     INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    piece     INTEGER NOT NULL,
    starts_at INTEGER NOT NULL,
    ends_at   INTEGER NOT NULL,
    terms     TEXT    NOT NULL,
    -- Every three characters in a row of the text, so that an exact search finds the inside of words too.
    grams     TEXT    NOT NULL DEFAULT '',
    UNIQUE (document, piece)
) STRICT;
CREATE INDEX hub_chunks_of_scope ON hub_chunks (scope);

-- Number of chunks of a scope.
CREATE TABLE hub_chunk_counts (
    scope  INTEGER NOT NULL PRIMARY KEY REFERENCES scopes (number) ON DELETE CASCADE,
    pieces INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The last count that was used in the number of a chunk.
CREATE TABLE hub_chunk_numbers (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    last     INTEGER NOT NULL
) STRICT;
INSERT INTO hub_chunk_numbers (only_row, last) VALUES (1, 0);

-- Vectors of chunks.
CREATE TABLE hub_vectors (
    number          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    chunk           INTEGER NOT NULL UNIQUE REFERENCES hub_chunks (number) ON DELETE CASCADE,
    scope           INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model INTEGER NOT NULL REFERENCES embedding_models (number),
    readability     REAL    NOT NULL,
    vector          BLOB    NOT NULL
) STRICT;
CREATE INDEX hub_vectors_of_scope ON hub_vectors (scope, embedding_model, number);
CREATE INDEX hub_vectors_by_model ON hub_vectors (embedding_model);

-- Word index of chunks, as `message_words`. Triggers keep it and the counts in step with the chunks.
CREATE VIRTUAL TABLE hub_words USING fts5 (
    terms, content = '', columnsize = 0, detail = full,
    tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO hub_words (hub_words, rank) VALUES ('secure-delete', 1);

-- Index of the `grams` of chunks. Triggers keep it in step with them.
CREATE VIRTUAL TABLE hub_gram_words USING fts5 (
    grams, content = '', columnsize = 0, detail = none,
    tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO hub_gram_words (hub_gram_words, rank) VALUES ('secure-delete', 1);

-- Daily and significant memories that the graph is still to be drawn from: by a model, and without one by rules.
CREATE TABLE graph_unread_documents (
    document INTEGER NOT NULL PRIMARY KEY REFERENCES hub_documents (number) ON DELETE CASCADE,
    by_rules INTEGER NOT NULL DEFAULT 1
) STRICT;

-- Beginnings of the digests of lines that were read; `by_rules` if only rules have read them.
CREATE TABLE graph_read_lines (
    document INTEGER NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    digest   BLOB    NOT NULL CHECK (length(digest) = 16),
    by_rules INTEGER NOT NULL,
    PRIMARY KEY (document, digest)
) STRICT, WITHOUT ROWID;

-- ## Forgetting

-- Ids of what was removed, for other instances. `scope` has no foreign key, because a tombstone outlives its scope;
-- NULL if it was not recorded.
CREATE TABLE tombstones (
    kind         TEXT    NOT NULL CHECK (kind IN ('message', 'node', 'entity', 'rejected', 'turn', 'session')),
    id           BLOB    NOT NULL CHECK (length(id) = 16),
    forgotten_at INTEGER NOT NULL,
    scope        INTEGER,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_by_time ON tombstones (forgotten_at);
CREATE INDEX tombstones_of_scope ON tombstones (scope);

-- Messages and nodes that supported a living node and were removed.
CREATE TABLE forgotten_support (
    node_seq INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    kind     TEXT    NOT NULL CHECK (kind IN ('message', 'node')),
    id       BLOB    NOT NULL CHECK (length(id) = 16),
    PRIMARY KEY (node_seq, kind, id)
) STRICT, WITHOUT ROWID;

-- Nodes whose text was reduced to what the remaining evidence says.
CREATE TABLE reduced_nodes (
    node_seq INTEGER NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE
) STRICT;

-- Proof of an erasure: ids and counts. It names the persona and the user, because it outlives the scope.
CREATE TABLE erasure_receipts (
    id             BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    persona_id     TEXT    NOT NULL,
    user_id        TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    receipt        TEXT    NOT NULL CHECK (json_valid(receipt)),
    overwritten_at INTEGER
) STRICT;
CREATE INDEX erasure_receipts_of_scope ON erasure_receipts (persona_id, user_id, created_at);
CREATE INDEX erasure_receipts_waiting ON erasure_receipts (created_at) WHERE overwritten_at IS NULL;

-- Instances that held a copy of what was erased, until each has pulled past the erasure.
CREATE TABLE erasure_instances (
    receipt_id  BLOB    NOT NULL REFERENCES erasure_receipts (id) ON DELETE CASCADE,
    instance_id TEXT    NOT NULL,
    counter     INTEGER NOT NULL,
    reached_at  INTEGER,
    -- Whose counter `counter` is; empty for the instance itself.
    author      TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (receipt_id, instance_id)
) STRICT, WITHOUT ROWID;

-- What the later groups of a large erasure took. Each group is a transaction of its own, and the receipt covers all.
CREATE TABLE erasure_parts (
    receipt_id BLOB    NOT NULL REFERENCES erasure_receipts (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    taken      TEXT    NOT NULL CHECK (json_valid(taken)),
    PRIMARY KEY (receipt_id, number)
) STRICT, WITHOUT ROWID;

-- One row while freed pages or the write-ahead log may still hold removed text.
CREATE TABLE overwriting_due (
    number INTEGER NOT NULL PRIMARY KEY CHECK (number = 1)
) STRICT;

-- ## Proactive messages

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

-- ## Imports

-- Runs that record what other programs exported. `position` (JSON) is committed with each page. `digest` names the files
-- and the mapping, so that a run that was cut off is resumed.
CREATE TABLE import_runs (
    number        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id            BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    scope         INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    digest        TEXT    NOT NULL,
    files         TEXT    NOT NULL CHECK (json_valid(files)),
    status        TEXT    NOT NULL CHECK (status IN ('recording', 'recorded')),
    remembering   TEXT    NOT NULL CHECK (remembering IN ('on', 'paused', 'off')),
    position      TEXT    NOT NULL CHECK (json_valid(position)),
    found         INTEGER NOT NULL DEFAULT 0,
    recorded      INTEGER NOT NULL DEFAULT 0,
    already_there INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    finished_at   INTEGER,
    -- Statements of other programs that wait for a person. They are in `rejected_memories`, in a session of the import.
    proposed      INTEGER NOT NULL DEFAULT 0,
    -- Messages whose file gives no time.
    undated       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX import_runs_of_scope ON import_runs (scope);
CREATE INDEX import_runs_recording ON import_runs (digest) WHERE status = 'recording';

-- What a run did not take, and why.
CREATE TABLE import_skips (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    run    INTEGER NOT NULL REFERENCES import_runs (number) ON DELETE CASCADE,
    place  TEXT    NOT NULL,
    reason TEXT    NOT NULL
) STRICT;
CREATE INDEX import_skips_of_run ON import_skips (run);

-- Documents that imports wrote, so that a second import finds them and taking one back erases them. `digest` names a document by
-- its format and the publisher's id.
CREATE TABLE import_documents (
    run    INTEGER NOT NULL REFERENCES import_runs (number) ON DELETE CASCADE,
    digest BLOB    NOT NULL CHECK (length(digest) = 16),
    name   TEXT    NOT NULL,
    PRIMARY KEY (run, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX import_documents_by_digest ON import_documents (digest);

-- Digests of the publishers' ids of messages, so that a second import finds what is there.
CREATE TABLE imported_messages (
    scope       INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    digest      BLOB    NOT NULL CHECK (length(digest) = 16),
    message_seq INTEGER NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    PRIMARY KEY (scope, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_messages_of_message ON imported_messages (message_seq);

-- Messages of earlier imports whose text a later import replaced, so that taking the later one back brings it back. `version`
-- holds the text from before; the message that it belongs to has the later text.
CREATE TABLE replaced_messages (
    version    INTEGER NOT NULL PRIMARY KEY REFERENCES message_versions (number) ON DELETE CASCADE,
    run        INTEGER NOT NULL REFERENCES import_runs (number) ON DELETE CASCADE,
    -- The digest that the later text has, NULL if it is that of the text from before. Of a message that is not shown any
    -- more: its own.
    digest     BLOB    CHECK (length(digest) = 16),
    -- The user's day of the text from before.
    day        TEXT    NOT NULL,
    -- Of a message that is not shown any more: its id, and the session that it was in.
    message_id BLOB    CHECK (length(message_id) = 16),
    session_id BLOB    REFERENCES sessions (id) ON DELETE CASCADE,
    CHECK ((message_id IS NULL) = (session_id IS NULL))
) STRICT;
CREATE INDEX replaced_messages_of_run ON replaced_messages (run);
CREATE INDEX replaced_messages_of_session ON replaced_messages (session_id) WHERE session_id IS NOT NULL;

-- ## Channels

-- Messages of the persona that leave through a channel beyond this program. A row is written in the transaction of its
-- message. `sending` is the piece that is being sent: after a crash it is not known whether it arrived.
CREATE TABLE channel_outbox (
    number       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    message_seq  INTEGER NOT NULL UNIQUE REFERENCES recall_messages (seq) ON DELETE CASCADE,
    channel_id   TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('waiting', 'sent', 'undeliverable')),
    pieces_sent  INTEGER NOT NULL DEFAULT 0,
    sending      INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    next_at      INTEGER NOT NULL,
    last_error   TEXT
) STRICT;
CREATE INDEX channel_outbox_open ON channel_outbox (channel_id, conversation, number) WHERE state = 'waiting';
CREATE INDEX channel_outbox_undeliverable ON channel_outbox (channel_id) WHERE state = 'undeliverable';

-- Where a user is reached on a channel.
CREATE TABLE channel_conversations (
    channel_id   TEXT NOT NULL,
    user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    conversation TEXT NOT NULL,
    PRIMARY KEY (channel_id, user_id)
) STRICT, WITHOUT ROWID;

-- Up to where a channel was received.
CREATE TABLE channel_positions (
    channel_id TEXT    NOT NULL PRIMARY KEY,
    position   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Unknown accounts that were answered with a line, for a day. What they wrote is not kept.
CREATE TABLE channel_strangers (
    channel_id  TEXT    NOT NULL,
    external_id TEXT    NOT NULL,
    answered_at INTEGER NOT NULL,
    PRIMARY KEY (channel_id, external_id)
) STRICT, WITHOUT ROWID;

-- Numbers of messages that were received on a channel where each conversation is numbered for itself: the newest, and those
-- shortly before it, because they may come again or in another order. They hold no words.
CREATE TABLE channel_received (
    channel_id   TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    number       INTEGER NOT NULL,
    PRIMARY KEY (channel_id, conversation, number)
) STRICT, WITHOUT ROWID;

-- The platform's name of what was delivered last in a conversation: a piece that may have arrived can only be after it.
CREATE TABLE channel_last_sent (
    channel_id   TEXT NOT NULL,
    conversation TEXT NOT NULL,
    sent_as      TEXT NOT NULL,
    PRIMARY KEY (channel_id, conversation)
) STRICT, WITHOUT ROWID;

-- ## Costs and traces

-- Calls of language models and what they cost.
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
    turn_id       BLOB,
    session_id    BLOB,
    prompt_hash   TEXT    NOT NULL DEFAULT '',
    cost_usd      REAL
) STRICT;
CREATE INDEX llm_calls_by_time ON llm_calls (at);
CREATE INDEX llm_calls_of_session ON llm_calls (session_id) WHERE session_id IS NOT NULL;

-- The receipt of a reply: the memories that it used and their scores.
CREATE TABLE turn_traces (
    turn_id    BLOB    NOT NULL PRIMARY KEY CHECK (length(turn_id) = 16),
    scope      INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    receipt    TEXT    NOT NULL CHECK (json_valid(receipt)),
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX turn_traces_of_scope ON turn_traces (scope);

-- How a turn went, with its prompts, which contain words of other turns of the scope.
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
CREATE INDEX turn_details_by_time ON turn_details (started_at);
CREATE INDEX turn_details_of_scope ON turn_details (scope, started_at, turn_id);

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

-- Slow cycles. The counts stay as long as the scope; transcript and questions may be removed earlier.
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
CREATE INDEX slow_cycles_told ON slow_cycles (scope, created_at, id) WHERE transcript IS NOT NULL;

-- Nodes that a cycle has read. When one of them is removed, the cycle's transcript and questions are removed too.
CREATE TABLE slow_cycle_events (
    cycle_id BLOB    NOT NULL REFERENCES slow_cycles (id) ON DELETE CASCADE,
    node_seq INTEGER NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    PRIMARY KEY (cycle_id, node_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX slow_cycle_events_of_node ON slow_cycle_events (node_seq);

-- ## Access

-- Named tokens. `hash` is an Argon2 PHC string of the token, `prefix` its public part.
CREATE TABLE access_tokens (
    name         TEXT    NOT NULL PRIMARY KEY,
    prefix       TEXT    NOT NULL UNIQUE,
    hash         TEXT    NOT NULL,
    scopes       TEXT    NOT NULL CHECK (json_valid(scopes)),
    user_id      TEXT,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    -- When it ends by itself, how many streams it may have open, how many users it may create; NULL where nothing was said.
    expires_at   INTEGER,
    streams_max  INTEGER,
    users_max    INTEGER
) STRICT, WITHOUT ROWID;

-- Recorded admin requests.
CREATE TABLE acts (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    token  TEXT    NOT NULL,
    act    TEXT    NOT NULL,
    object TEXT    NOT NULL,
    status INTEGER NOT NULL
) STRICT;

-- Acts of one token, to keep it from displacing those of others.
CREATE INDEX acts_of_token ON acts (token, number);

-- Browsers that were logged in by a one-time link. Only digests of their secrets are stored. `token_prefix` is NULL where the owner's
-- token made the link.
CREATE TABLE logins (
    id              TEXT    NOT NULL PRIMARY KEY,
    cookie_digest   TEXT    NOT NULL,
    page_key_digest TEXT    NOT NULL,
    token           TEXT    NOT NULL,
    token_prefix    TEXT,
    address         TEXT    NOT NULL,
    browser         TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    last_seen_at    INTEGER NOT NULL
) STRICT;

-- Users that a token created.
CREATE TABLE token_users (
    prefix  TEXT NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (prefix, user_id)
) STRICT;

-- Replies that a token asked for, of the last two days. A turn that is asked for twice has two rows.
CREATE TABLE token_turns (
    prefix  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    turn_id BLOB
) STRICT;
CREATE INDEX token_turns_by_time ON token_turns (prefix, at);

-- Peers of the exchange of rows that the hub replaced, until the owner has been shown so. Empty in a new home.
CREATE TABLE former_peers (
    name TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- ## Triggers

-- Words and counts follow every chunk, also when a document or a persona is removed.
CREATE TRIGGER hub_chunks_come AFTER INSERT ON hub_chunks BEGIN
    INSERT INTO hub_words (rowid, terms) VALUES (new.number, new.terms);
    INSERT INTO hub_chunk_counts (scope, pieces) VALUES (new.scope, 1)
        ON CONFLICT (scope) DO UPDATE SET pieces = pieces + 1;
END;
CREATE TRIGGER hub_chunks_go AFTER DELETE ON hub_chunks BEGIN
    INSERT INTO hub_words (hub_words, rowid, terms) VALUES ('delete', old.number, old.terms);
    UPDATE hub_chunk_counts SET pieces = pieces - 1 WHERE scope = old.scope;
END;

-- Relations are extracted again from an event that is new, changed or current again.
CREATE TRIGGER graph_reads_new_events AFTER INSERT ON concept_nodes
WHEN new.type = 'event' AND new.deleted_at IS NULL AND new.superseded_by IS NULL BEGIN
    INSERT INTO graph_unread (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER graph_reads_changed_events AFTER UPDATE OF description ON concept_nodes
WHEN new.type = 'event' AND new.deleted_at IS NULL AND new.superseded_by IS NULL
    AND new.description IS NOT old.description BEGIN
    INSERT INTO graph_unread (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER graph_reads_revived_events AFTER UPDATE OF superseded_by ON concept_nodes
WHEN new.type = 'event' AND new.deleted_at IS NULL AND new.superseded_by IS NULL AND old.superseded_by IS NOT NULL BEGIN
    INSERT INTO graph_unread (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER graph_passes_over_old_events AFTER UPDATE OF deleted_at, superseded_by ON concept_nodes
WHEN new.deleted_at IS NOT NULL OR new.superseded_by IS NOT NULL BEGIN
    DELETE FROM graph_unread WHERE node_seq = new.seq;
END;

-- The diary finds the events without a line in `hub_untold`, without reading all events.
CREATE TRIGGER diary_waits_for_new_events AFTER INSERT ON concept_nodes
WHEN new.type = 'event' AND new.deleted_at IS NULL AND new.source_session_id IS NOT NULL BEGIN
    INSERT INTO hub_untold (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER diary_waits_for_revived_events AFTER UPDATE OF deleted_at ON concept_nodes
WHEN new.type = 'event' AND new.deleted_at IS NULL AND old.deleted_at IS NOT NULL
    AND new.source_session_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM hub_lines l WHERE l.node_id = new.id) BEGIN
    INSERT INTO hub_untold (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER diary_passes_over_deleted_events AFTER UPDATE OF deleted_at ON concept_nodes
WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM hub_untold WHERE node_seq = new.seq;
END;
CREATE TRIGGER diary_has_told AFTER INSERT ON hub_lines BEGIN
    DELETE FROM hub_untold WHERE node_seq = (SELECT seq FROM concept_nodes WHERE id = new.node_id);
END;
CREATE TRIGGER diary_tells_again AFTER DELETE ON hub_lines BEGIN
    INSERT INTO hub_untold (node_seq)
    SELECT n.seq FROM concept_nodes n
    WHERE n.id = old.node_id AND n.type = 'event' AND n.deleted_at IS NULL AND n.source_session_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM hub_lines l WHERE l.node_id = old.node_id)
    ON CONFLICT DO NOTHING;
END;

-- What a cycle said about a removed memory is removed too.
CREATE TRIGGER slow_cycle_forgets AFTER DELETE ON slow_cycle_events BEGIN
    UPDATE slow_cycles SET transcript = NULL, salient_questions = '[]' WHERE id = old.cycle_id;
END;

-- The index of grams follows the chunks.
CREATE TRIGGER hub_grams_come AFTER INSERT ON hub_chunks WHEN new.grams <> '' BEGIN
    INSERT INTO hub_gram_words (rowid, grams) VALUES (new.number, new.grams);
END;
CREATE TRIGGER hub_grams_filled AFTER UPDATE OF grams ON hub_chunks WHEN old.grams = '' AND new.grams <> '' BEGIN
    INSERT INTO hub_gram_words (rowid, grams) VALUES (new.number, new.grams);
END;
CREATE TRIGGER hub_grams_go AFTER DELETE ON hub_chunks WHEN old.grams <> '' BEGIN
    INSERT INTO hub_gram_words (hub_gram_words, rowid, grams) VALUES ('delete', old.number, old.grams);
END;

CREATE TRIGGER values_are_replaced AFTER INSERT ON node_changes
WHEN new.kind <> 'mention_merge' AND new.undone_at IS NULL BEGIN
    INSERT INTO replaced_values (scope, change) SELECT scope, new.number FROM concept_nodes WHERE seq = new.node_seq;
END;
CREATE TRIGGER values_are_restored AFTER UPDATE OF undone_at ON node_changes
WHEN new.undone_at IS NOT NULL BEGIN
    DELETE FROM replaced_values WHERE change = new.number;
END;

-- The diary line of an event says since when the event is no longer so, and loses that when it is current again.
CREATE TRIGGER diary_dates_replaced_events AFTER UPDATE OF superseded_by ON concept_nodes
WHEN new.superseded_by IS NOT old.superseded_by BEGIN
    UPDATE hub_lines SET outdated = 1 WHERE node_id = new.id;
END;
