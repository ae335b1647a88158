-- The schema of a home on PostgreSQL: the same tables, columns, keys and indexes as SQLite's migrations give.

-- ## Functions that SQLite has under these names

CREATE FUNCTION json_each(list TEXT, OUT key BIGINT, OUT value BIGINT, OUT atom TEXT) RETURNS SETOF RECORD
IMMUTABLE LANGUAGE sql AS $$
    SELECT place - 1, CASE json_typeof(entry) WHEN 'number' THEN (entry #>> '{}')::bigint END, entry #>> '{}'
    FROM json_array_elements(list::json) WITH ORDINALITY AS entries (entry, place)
$$;
CREATE FUNCTION instr(content TEXT, part TEXT) RETURNS INTEGER IMMUTABLE STRICT LANGUAGE sql AS 'SELECT strpos(content, part)';
CREATE FUNCTION max(a BIGINT, b BIGINT) RETURNS BIGINT IMMUTABLE STRICT LANGUAGE sql AS 'SELECT greatest(a, b)';
CREATE FUNCTION max(a DOUBLE PRECISION, b DOUBLE PRECISION) RETURNS DOUBLE PRECISION IMMUTABLE STRICT LANGUAGE sql AS 'SELECT greatest(a, b)';
CREATE FUNCTION min(a BIGINT, b BIGINT) RETURNS BIGINT IMMUTABLE STRICT LANGUAGE sql AS 'SELECT least(a, b)';
CREATE FUNCTION json_patch(target TEXT, patch TEXT) RETURNS TEXT IMMUTABLE STRICT LANGUAGE sql AS 'SELECT (target::jsonb || patch::jsonb)::text';
CREATE FUNCTION json_extract(content TEXT, path TEXT) RETURNS TEXT IMMUTABLE STRICT LANGUAGE sql AS $$ SELECT content::jsonb #>> string_to_array(substr(path, 3), '.') $$;
CREATE FUNCTION unhex(digits TEXT) RETURNS BYTEA IMMUTABLE STRICT LANGUAGE sql AS $$
    SELECT CASE WHEN digits ~ '^([0-9A-Fa-f]{2})*$' THEN decode(digits, 'hex') END
$$;
CREATE FUNCTION hex(bytes BYTEA) RETURNS TEXT IMMUTABLE STRICT LANGUAGE sql AS $$ SELECT upper(encode(bytes, 'hex')) $$;
CREATE FUNCTION smaller(a BYTEA, b BYTEA) RETURNS BYTEA IMMUTABLE STRICT LANGUAGE sql AS 'SELECT least(a, b)';
CREATE AGGREGATE min(BYTEA) (SFUNC = smaller, STYPE = BYTEA);
CREATE FUNCTION substr(content TEXT, place BIGINT, count BIGINT) RETURNS TEXT IMMUTABLE STRICT LANGUAGE sql AS 'SELECT substr(content, place::int, count::int)';
CREATE FUNCTION add_real(a DOUBLE PRECISION, b DOUBLE PRECISION) RETURNS DOUBLE PRECISION IMMUTABLE LANGUAGE sql AS 'SELECT a + coalesce(b, 0)';
CREATE AGGREGATE total(DOUBLE PRECISION) (SFUNC = add_real, STYPE = DOUBLE PRECISION, INITCOND = '0');
CREATE FUNCTION join_text(a TEXT, b TEXT, separator TEXT) RETURNS TEXT IMMUTABLE LANGUAGE sql AS 'SELECT CASE WHEN b IS NULL THEN a WHEN a IS NULL THEN b ELSE a || separator || b END';
CREATE FUNCTION join_text(a TEXT, b TEXT) RETURNS TEXT IMMUTABLE LANGUAGE sql AS $$ SELECT join_text(a, b, ',') $$;
CREATE AGGREGATE group_concat(TEXT) (SFUNC = join_text, STYPE = TEXT);
CREATE AGGREGATE group_concat(TEXT, TEXT) (SFUNC = join_text, STYPE = TEXT);
CREATE FUNCTION count_true(sum BIGINT, found BOOLEAN) RETURNS BIGINT IMMUTABLE LANGUAGE sql AS 'SELECT CASE WHEN found IS NULL THEN sum ELSE coalesce(sum, 0) + found::int END';
CREATE AGGREGATE sum(BOOLEAN) (SFUNC = count_true, STYPE = BIGINT);
CREATE AGGREGATE max(BOOLEAN) (SFUNC = boolor_statefunc, STYPE = BOOLEAN);

-- Terms, separated by blanks, with their places: what a word index holds.
-- A term of the word index has at most 2,046 bytes. Of a longer one, such as an address or encoded data, the first 500 characters
-- are in the index.
CREATE FUNCTION words_at_places(terms TEXT) RETURNS TSVECTOR IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(string_agg(
        '''' || replace(replace(left(word, 500), '\', '\\'), '''', '''''') || ''':' || least(place, 16383), ' '), '')::tsvector
    FROM unnest(string_to_array(terms, ' ')) WITH ORDINALITY AS words (word, place) WHERE word <> '');
END
$$;

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
    created_at          BIGINT NOT NULL,
    voice_enabled       BIGINT NOT NULL DEFAULT 0,
    voice_id            TEXT,
    character_card      TEXT
);

CREATE TABLE persona_avatars (
    persona_id TEXT    NOT NULL PRIMARY KEY REFERENCES personas (id) ON DELETE CASCADE,
    extension  TEXT    NOT NULL CHECK (extension IN ('png', 'jpg', 'webp', 'gif')),
    updated_at BIGINT NOT NULL,
    image      BYTEA    NOT NULL
);

CREATE TABLE users (
    id           TEXT    NOT NULL PRIMARY KEY,
    display_name TEXT,
    timezone     TEXT,
    created_at   BIGINT NOT NULL
);

CREATE TABLE external_identities (
    channel_id  TEXT    NOT NULL,
    external_id TEXT    NOT NULL,
    user_id     TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, external_id)
);

CREATE TABLE scopes (
    number        BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    persona_id    TEXT    NOT NULL REFERENCES personas (id),
    user_id       TEXT    NOT NULL REFERENCES users (id),
    message_count BIGINT NOT NULL DEFAULT 0 CHECK (message_count >= 0),
    node_count    BIGINT NOT NULL DEFAULT 0 CHECK (node_count >= 0),
    UNIQUE (persona_id, user_id)
);

CREATE TABLE core_blocks (
    persona_id     TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id        TEXT    REFERENCES users (id) ON DELETE CASCADE,
    label          TEXT    NOT NULL CHECK (label IN ('persona', 'user', 'style')),
    content        TEXT    NOT NULL CHECK (length(content) <= 5000),
    version        BIGINT NOT NULL,
    last_edited_by TEXT    NOT NULL,
    updated_at     BIGINT NOT NULL,
    CHECK ((label = 'user') = (user_id IS NOT NULL))
);

CREATE TABLE core_block_appends (
    number     BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    REFERENCES users (id) ON DELETE CASCADE,
    label      TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    version    BIGINT NOT NULL,
    edited_by  TEXT    NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE embedding_models (
    number      BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    fingerprint TEXT    NOT NULL UNIQUE,
    source      TEXT
);

CREATE TABLE message_words (
    number BIGINT NOT NULL PRIMARY KEY,
    terms TSVECTOR NOT NULL
);
CREATE INDEX message_words_terms ON message_words USING gin (terms) WITH (gin_pending_list_limit = 256);

CREATE TABLE node_words (
    number BIGINT NOT NULL PRIMARY KEY,
    terms TSVECTOR NOT NULL
);
CREATE INDEX node_words_terms ON node_words USING gin (terms) WITH (gin_pending_list_limit = 256);

CREATE TABLE entities (
    id              BYTEA    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope           BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    canonical_name  TEXT    NOT NULL,
    kind            TEXT    NOT NULL CHECK (kind IN ('person', 'place', 'org', 'pet', 'other')),
    description     TEXT,
    owner_override  BIGINT NOT NULL DEFAULT 0,
    merge_status    TEXT    NOT NULL DEFAULT 'confirmed'
        CHECK (merge_status IN ('confirmed', 'uncertain', 'disambiguated')),
    merge_target    BYTEA    REFERENCES entities (id) ON DELETE SET NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    merged_into     BYTEA    REFERENCES entities (id) ON DELETE CASCADE,
    described_at    BIGINT,
    embedding_model BIGINT REFERENCES embedding_models (number)
);

CREATE TABLE entity_aliases (
    number    BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope     BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    folded    TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    entity_id BYTEA    NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    UNIQUE (entity_id, folded)
);

CREATE TABLE entity_changes (
    number     BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope      BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    entity_id  BYTEA    NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    other_id   BYTEA    REFERENCES entities (id) ON DELETE CASCADE,
    change     TEXT    NOT NULL CHECK (change IN ('merge', 'separate', 'rename', 'describe')),
    changed_by TEXT    NOT NULL CHECK (changed_by IN ('owner', 'conversation', 'likeness')),
    before     TEXT    NOT NULL CHECK ((before::json IS NULL) = (before IS NULL)),
    created_at BIGINT NOT NULL
);

CREATE TABLE entity_vectors (
    entity_id       BYTEA    NOT NULL PRIMARY KEY REFERENCES entities (id) ON DELETE CASCADE,
    scope           BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model BIGINT NOT NULL REFERENCES embedding_models (number),
    readability     DOUBLE PRECISION    NOT NULL,
    vector          BYTEA    NOT NULL
);

CREATE TABLE graph_nodes (
    id                BYTEA    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope             BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    entity_id         BYTEA    UNIQUE REFERENCES entities (id) ON DELETE CASCADE,
    made_entity       BIGINT NOT NULL DEFAULT 0,
    type              TEXT,
    label             TEXT,
    folded            TEXT,
    description       TEXT    NOT NULL DEFAULT '',
    described_by      TEXT,
    properties        TEXT    NOT NULL DEFAULT '{}' CHECK ((properties::json IS NULL) = (properties IS NULL)),
    confidence        DOUBLE PRECISION    NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    source_instance   TEXT    NOT NULL DEFAULT '',
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    first_learned_at  BIGINT,
    last_confirmed_at BIGINT,
    version           BIGINT NOT NULL DEFAULT 1,
    deleted_at        BIGINT,
    embedding_model   BIGINT REFERENCES embedding_models (number),
    readability       DOUBLE PRECISION,
    vector            BYTEA,
    CHECK ((entity_id IS NULL) = (type IS NOT NULL AND label IS NOT NULL AND folded IS NOT NULL)),
    CHECK (entity_id IS NULL OR entity_id = id)
);

CREATE TABLE graph_edges (
    id                BYTEA    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope             BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    from_id           BYTEA    NOT NULL REFERENCES graph_nodes (id) ON DELETE CASCADE,
    to_id             BYTEA    NOT NULL REFERENCES graph_nodes (id) ON DELETE CASCADE,
    type              TEXT    NOT NULL,
    properties        TEXT    NOT NULL DEFAULT '{}' CHECK ((properties::json IS NULL) = (properties IS NULL)),
    weight            DOUBLE PRECISION    NOT NULL CHECK (weight BETWEEN 0 AND 1),
    source_instance   TEXT    NOT NULL DEFAULT '',
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    occurred_at       BIGINT,
    valid_until       BIGINT,
    last_confirmed_at BIGINT,
    version           BIGINT NOT NULL DEFAULT 1,
    deleted_at        BIGINT
);

CREATE TABLE graph_sources (
    number   BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope    BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    node_id  BYTEA    REFERENCES graph_nodes (id) ON DELETE CASCADE,
    edge_id  BYTEA    REFERENCES graph_edges (id) ON DELETE CASCADE,
    memory   TEXT    NOT NULL,
    evidence TEXT,
    CHECK ((node_id IS NULL) <> (edge_id IS NULL))
);

CREATE TABLE hub_documents (
    number     BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    REFERENCES users (id) ON DELETE CASCADE,
    kind       TEXT    NOT NULL CHECK (kind IN ('self', 'user', 'relationship', 'custom',
                                                  'daily', 'weekly', 'monthly', 'yearly', 'significant')),
    stem       TEXT    NOT NULL,
    stale      BIGINT NOT NULL DEFAULT 0,
    revision   BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE hub_versions (
    document     BIGINT NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    number       BIGINT NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('shown', 'beside', 'past')),
    content      TEXT,
    vector       TEXT    NOT NULL CHECK ((vector::json IS NULL) = (vector IS NULL)),
    author       TEXT    NOT NULL,
    edited_by    TEXT    NOT NULL,
    by_person    BIGINT NOT NULL,
    chat_ids     TEXT    NOT NULL CHECK ((chat_ids::json IS NULL) = (chat_ids IS NULL)),
    participants TEXT    NOT NULL CHECK ((participants::json IS NULL) = (participants IS NULL)),
    written_at   BIGINT NOT NULL,
    UNIQUE (document, number)
);

CREATE TABLE hub_conflicts (
    id         BYTEA    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    document   BIGINT NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    kept       BIGINT NOT NULL,
    shown      BIGINT NOT NULL,
    opened_at  BIGINT NOT NULL,
    settled_at BIGINT,
    settled    TEXT
);

CREATE TABLE hub_labels (
    persona_id TEXT NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    stem       TEXT NOT NULL,
    label      TEXT NOT NULL,
    PRIMARY KEY (persona_id, user_id, kind, stem)
);

CREATE TABLE hub_lines (
    document   BIGINT NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    node_id    BYTEA    NOT NULL CHECK (length(node_id) = 16),
    session_id BYTEA    NOT NULL CHECK (length(session_id) = 16),
    line       TEXT    NOT NULL,
    outdated   BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (document, node_id)
);

CREATE TABLE hub_snapshots (
    id         TEXT    NOT NULL,
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    stem       TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (persona_id, user_id, id)
);

CREATE TABLE hub_erased_names (
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    digest     BYTEA    NOT NULL CHECK (length(digest) = 32),
    vector     TEXT    NOT NULL CHECK ((vector::json IS NULL) = (vector IS NULL)),
    erased_at  BIGINT NOT NULL,
    revision   BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (persona_id, user_id, kind, digest)
);

CREATE TABLE hub_instances (
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT,
    last_sync  BIGINT NOT NULL,
    base       TEXT    NOT NULL CHECK ((base::json IS NULL) = (base IS NULL)),
    -- What the last whole pull without `since` gave, as counters: the next pull shows that it arrived.
    sent       TEXT    NOT NULL DEFAULT '{}' CHECK ((sent::json IS NULL) = (sent IS NULL)),
    PRIMARY KEY (persona_id, user_id, id)
);

CREATE TABLE hub_seen (
    persona_id TEXT    NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    author     TEXT    NOT NULL,
    counter    BIGINT NOT NULL,
    PRIMARY KEY (persona_id, user_id, author)
);

CREATE TABLE hub_revisions (
    persona_id TEXT    NOT NULL PRIMARY KEY REFERENCES personas (id) ON DELETE CASCADE,
    revision   BIGINT NOT NULL
);

CREATE TABLE hub_own_instance (
    only_row BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
    id       TEXT    NOT NULL,
    -- The author of this home's changes in version vectors, where it is not the instance itself: another copy of this
    -- home used that.
    author   TEXT    NOT NULL DEFAULT ''
);

CREATE TABLE hub_chunks (
    number    BIGINT NOT NULL PRIMARY KEY,
    document  BIGINT NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    scope     BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    piece     BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    ends_at   BIGINT NOT NULL,
    terms     TEXT    NOT NULL,
    -- Every three characters in a row of the text, so that an exact search finds the inside of words too.
    grams     TEXT    NOT NULL DEFAULT '',
    UNIQUE (document, piece)
);

CREATE TABLE hub_chunk_counts (
    scope  BIGINT NOT NULL PRIMARY KEY REFERENCES scopes (number) ON DELETE CASCADE,
    pieces BIGINT NOT NULL
);

CREATE TABLE hub_chunk_numbers (
    only_row BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
    last     BIGINT NOT NULL
);
INSERT INTO hub_chunk_numbers (only_row, last) VALUES (1, 0);

CREATE TABLE hub_vectors (
    number          BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    chunk           BIGINT NOT NULL UNIQUE REFERENCES hub_chunks (number) ON DELETE CASCADE,
    scope           BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model BIGINT NOT NULL REFERENCES embedding_models (number),
    readability     DOUBLE PRECISION    NOT NULL,
    vector          BYTEA    NOT NULL
);

CREATE TABLE hub_words (
    number BIGINT NOT NULL PRIMARY KEY,
    terms TSVECTOR NOT NULL
);
CREATE INDEX hub_words_terms ON hub_words USING gin (terms) WITH (gin_pending_list_limit = 256);

CREATE TABLE tombstones (
    kind         TEXT    NOT NULL CHECK (kind IN ('message', 'node', 'entity', 'rejected', 'turn', 'session')),
    id           BYTEA    NOT NULL CHECK (length(id) = 16),
    forgotten_at BIGINT NOT NULL,
    scope        BIGINT,
    PRIMARY KEY (kind, id)
);

CREATE TABLE erasure_receipts (
    id             BYTEA    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    persona_id     TEXT    NOT NULL,
    user_id        TEXT    NOT NULL,
    created_at     BIGINT NOT NULL,
    receipt        TEXT    NOT NULL CHECK ((receipt::json IS NULL) = (receipt IS NULL)),
    overwritten_at BIGINT
);

CREATE TABLE overwriting_due (
    number BIGINT NOT NULL PRIMARY KEY CHECK (number = 1)
);

CREATE TABLE llm_calls (
    number        BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at            BIGINT NOT NULL,
    task          TEXT    NOT NULL,
    tier          TEXT    NOT NULL,
    provider      TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    latency_ms    BIGINT NOT NULL,
    outcome       TEXT    NOT NULL,
    turn_id       BYTEA,
    session_id    BYTEA,
    prompt_hash   TEXT    NOT NULL DEFAULT '',
    cost_usd      DOUBLE PRECISION
);

CREATE TABLE turn_traces (
    turn_id    BYTEA    NOT NULL PRIMARY KEY CHECK (length(turn_id) = 16),
    scope      BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    receipt    TEXT    NOT NULL CHECK ((receipt::json IS NULL) = (receipt IS NULL)),
    created_at BIGINT NOT NULL
);

CREATE TABLE access_tokens (
    name         TEXT    NOT NULL PRIMARY KEY,
    prefix       TEXT    NOT NULL UNIQUE,
    hash         TEXT    NOT NULL,
    scopes       TEXT    NOT NULL CHECK ((scopes::json IS NULL) = (scopes IS NULL)),
    user_id      TEXT,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    -- When it ends by itself, how many streams it may have open, how many users it may create; NULL where nothing was said.
    expires_at   BIGINT,
    streams_max  BIGINT,
    users_max    BIGINT
);

CREATE TABLE acts (
    number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at     BIGINT NOT NULL,
    token  TEXT    NOT NULL,
    act    TEXT    NOT NULL,
    object TEXT    NOT NULL,
    status BIGINT NOT NULL
);

CREATE TABLE hub_erased_lines (
    document BIGINT NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    digest   BYTEA    NOT NULL CHECK (length(digest) = 32),
    author   TEXT    NOT NULL,
    counter  BIGINT NOT NULL,
    PRIMARY KEY (document, digest)
);

CREATE TABLE proactive_mutes (
    user_id     TEXT    NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    muted_until BIGINT NOT NULL
);

CREATE TABLE erasure_instances (
    receipt_id  BYTEA    NOT NULL REFERENCES erasure_receipts (id) ON DELETE CASCADE,
    instance_id TEXT    NOT NULL,
    counter     BIGINT NOT NULL,
    reached_at  BIGINT,
    -- Whose counter `counter` is; empty for the instance itself.
    author      TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (receipt_id, instance_id)
);

-- What the later groups of a large erasure took. Each group is a transaction of its own, and the receipt covers all.
CREATE TABLE erasure_parts (
    receipt_id BYTEA  NOT NULL REFERENCES erasure_receipts (id) ON DELETE CASCADE,
    number     BIGINT NOT NULL,
    taken      TEXT   NOT NULL CHECK ((taken::json IS NULL) = (taken IS NULL)),
    PRIMARY KEY (receipt_id, number)
);

CREATE TABLE hub_untold_deletions (
    persona_id  TEXT NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id     TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    kind        TEXT NOT NULL,
    stem        TEXT NOT NULL,
    PRIMARY KEY (persona_id, user_id, instance_id, kind, stem)
);

CREATE TABLE import_runs (
    number        BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id            BYTEA    NOT NULL UNIQUE CHECK (length(id) = 16),
    scope         BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    digest        TEXT    NOT NULL,
    files         TEXT    NOT NULL CHECK ((files::json IS NULL) = (files IS NULL)),
    status        TEXT    NOT NULL CHECK (status IN ('recording', 'recorded')),
    remembering   TEXT    NOT NULL CHECK (remembering IN ('on', 'paused', 'off')),
    position      TEXT    NOT NULL CHECK ((position::json IS NULL) = (position IS NULL)),
    found         BIGINT NOT NULL DEFAULT 0,
    recorded      BIGINT NOT NULL DEFAULT 0,
    already_there BIGINT NOT NULL DEFAULT 0,
    created_at    BIGINT NOT NULL,
    finished_at   BIGINT,
    -- Statements of other programs that wait for a person. They are in `rejected_memories`, in a session of the import.
    proposed      BIGINT NOT NULL DEFAULT 0,
    -- Messages whose file gives no time.
    undated       BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE import_skips (
    number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    run    BIGINT NOT NULL REFERENCES import_runs (number) ON DELETE CASCADE,
    place  TEXT    NOT NULL,
    reason TEXT    NOT NULL
);

CREATE TABLE channel_conversations (
    channel_id   TEXT NOT NULL,
    user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    conversation TEXT NOT NULL,
    PRIMARY KEY (channel_id, user_id)
);

CREATE TABLE channel_positions (
    channel_id TEXT    NOT NULL PRIMARY KEY,
    position   BIGINT NOT NULL
);

CREATE TABLE channel_strangers (
    channel_id  TEXT    NOT NULL,
    external_id TEXT    NOT NULL,
    answered_at BIGINT NOT NULL,
    PRIMARY KEY (channel_id, external_id)
);

CREATE TABLE sessions (
    id               BYTEA    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope            BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    channel_id       TEXT    NOT NULL,
    status           TEXT    NOT NULL CHECK (status IN ('open', 'closing', 'consolidating', 'closed', 'failed')),
    message_count    BIGINT NOT NULL,
    total_tokens     BIGINT NOT NULL,
    first_message_at BIGINT NOT NULL,
    last_message_at  BIGINT NOT NULL,
    closed_at        BIGINT,
    close_trigger    TEXT    CHECK (close_trigger IN ('idle', 'max_length', 'explicit', 'lifecycle', 'catchup')),
    extracted        BIGINT NOT NULL DEFAULT 0,
    reflected        BIGINT NOT NULL DEFAULT 0,
    extracted_events BIGINT NOT NULL DEFAULT 0,
    trivial          BIGINT NOT NULL DEFAULT 0,
    summary          TEXT,
    attempts         BIGINT NOT NULL DEFAULT 0,
    last_error       TEXT,
    retry_at         BIGINT,
    import_run BIGINT REFERENCES import_runs (number) ON DELETE SET NULL,
    -- What a conversation was called in the program that it was imported from.
    title            TEXT
);

CREATE TABLE turns (
    id              BYTEA    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope           BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id      BYTEA    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    channel_id      TEXT    NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN ('pending', 'answered', 'failed')),
    started_at      BIGINT NOT NULL,
    last_message_at BIGINT NOT NULL,
    reason          TEXT
);

CREATE TABLE recall_messages (
    seq             BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id              BYTEA    NOT NULL UNIQUE CHECK (length(id) = 16),
    scope           BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id      BYTEA    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn_id         BYTEA,
    channel_id      TEXT    NOT NULL,
    role            TEXT    NOT NULL CHECK (role IN ('user', 'persona', 'other')),
    token_count     BIGINT NOT NULL,
    day             TEXT    NOT NULL,
    created_at      BIGINT NOT NULL,
    incomplete      BIGINT NOT NULL,
    deleted_at      BIGINT,
    embedding_model BIGINT REFERENCES embedding_models (number),
    content         TEXT    NOT NULL,
    terms           TEXT    NOT NULL,
    external_ref    TEXT,
    placed_at BIGINT NOT NULL DEFAULT 0,
    -- The name of the one who spoke, for the role `other`.
    speaker         TEXT    CONSTRAINT recall_messages_speaker_check CHECK ((role = 'other') = (speaker IS NOT NULL)),
    -- The language model that wrote an imported message.
    model           TEXT
);

CREATE TABLE message_versions (
    number      BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    message_seq BIGINT NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    content     TEXT    NOT NULL,
    replaced_at BIGINT NOT NULL,
    -- Who said a version that was imported, when, and which model wrote it. NULL for the earlier text of an edited
    -- message, whose speaker is the message's.
    role        TEXT,
    speaker     TEXT,
    model       TEXT,
    said_at     BIGINT,
    -- The import that added it to a message that was there.
    import_run  BIGINT REFERENCES import_runs (number) ON DELETE CASCADE,
    -- The message whose version it was before that one became a version itself.
    taken_from  BYTEA,
    -- The version that it follows in a branch, 0 for the message itself. NULL if it could be shown in the message's
    -- place.
    follows     BIGINT
);

CREATE TABLE forgotten_spans (
    message_seq BIGINT NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start  BIGINT NOT NULL,
    span_end    BIGINT NOT NULL,
    -- 1 if the words are not to be brought up again either, while the message stays in the conversation.
    silenced    BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (message_seq, span_start, span_end)
);

CREATE TABLE message_vectors (
    revision        BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    seq             BIGINT NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    scope           BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model BIGINT NOT NULL REFERENCES embedding_models (number),
    readability     DOUBLE PRECISION    NOT NULL,
    vector          BYTEA    NOT NULL,
    UNIQUE (seq, embedding_model)
);

CREATE TABLE concept_nodes (
    seq               BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id                BYTEA    NOT NULL UNIQUE CHECK (length(id) = 16),
    scope             BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    type              TEXT    NOT NULL CHECK (type IN ('event', 'thought', 'intention', 'expectation')),
    subject           TEXT    NOT NULL CHECK (subject IN ('user', 'persona', 'shared')),
    emotional_impact  BIGINT NOT NULL CHECK (emotional_impact BETWEEN -10 AND 10),
    emotion_tags      TEXT    NOT NULL CHECK ((emotion_tags::json IS NULL) = (emotion_tags IS NULL)),
    relational_tags   TEXT    NOT NULL CHECK ((relational_tags::json IS NULL) = (relational_tags IS NULL)),
    event_time_start  BIGINT,
    event_time_end    BIGINT,
    source_session_id BYTEA    REFERENCES sessions (id) ON DELETE SET NULL,
    mention_count     BIGINT NOT NULL DEFAULT 1,
    superseded_by     BYTEA    REFERENCES concept_nodes (id) ON DELETE SET NULL,
    pinned            BIGINT NOT NULL DEFAULT 0,
    access_count      BIGINT NOT NULL DEFAULT 0,
    last_accessed_at  BIGINT,
    created_at        BIGINT NOT NULL,
    deleted_at        BIGINT,
    embedding_model   BIGINT REFERENCES embedding_models (number),
    description       TEXT    NOT NULL,
    terms             TEXT    NOT NULL
);

CREATE TABLE node_evidence (
    node_seq    BIGINT NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    message_seq BIGINT NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start  BIGINT NOT NULL,
    span_end    BIGINT NOT NULL,
    quote       TEXT    NOT NULL,
    PRIMARY KEY (node_seq, message_seq, span_start, span_end)
);

CREATE TABLE concept_node_filling (
    thought_seq BIGINT NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    event_seq   BIGINT NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    orphaned    BIGINT NOT NULL DEFAULT 0,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (thought_seq, event_seq)
);

CREATE TABLE mention_merges (
    number      BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    node_seq    BIGINT NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    session_id  BYTEA    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    description TEXT    NOT NULL,
    created_at  BIGINT NOT NULL,
    merged_id   BYTEA    CHECK (length(merged_id) = 16),
    merged      TEXT    CHECK ((merged::json IS NULL) = (merged IS NULL))
);

CREATE TABLE mention_evidence (
    merge_number BIGINT NOT NULL REFERENCES mention_merges (number) ON DELETE CASCADE,
    message_seq  BIGINT NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start   BIGINT NOT NULL,
    span_end     BIGINT NOT NULL,
    PRIMARY KEY (merge_number, message_seq, span_start, span_end)
);

CREATE TABLE node_changes (
    number          BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    node_seq        BIGINT NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    kind            TEXT    NOT NULL CHECK (kind IN ('correction', 'supersession', 'mention_merge')),
    author          TEXT    NOT NULL CHECK (author IN ('extraction', 'person')),
    created_at      BIGINT NOT NULL,
    undone_at       BIGINT,
    description     TEXT,
    relational_tags TEXT    CHECK ((relational_tags::json IS NULL) = (relational_tags IS NULL)),
    entities        TEXT    CHECK ((entities::json IS NULL) = (entities IS NULL)),
    newer_seq       BIGINT REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    merge_number    BIGINT REFERENCES mention_merges (number) ON DELETE CASCADE,
    -- Of a supersession: 1 if the older memory never was true, NULL where only its tags tell; and the memory that was
    -- written of what stays true of it.
    mistaken        BIGINT,
    rest_seq        BIGINT REFERENCES concept_nodes (seq) ON DELETE SET NULL,
    CHECK ((kind = 'supersession') = (newer_seq IS NOT NULL)),
    CHECK ((kind = 'mention_merge') = (merge_number IS NOT NULL))
);

CREATE TABLE settled_expectations (
    node_seq    BIGINT NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    outcome     TEXT    NOT NULL CHECK (outcome IN ('fulfilled', 'expired')),
    message_seq BIGINT REFERENCES recall_messages (seq) ON DELETE CASCADE,
    settled_at  BIGINT NOT NULL
);

CREATE TABLE rejected_memories (
    id               BYTEA    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope            BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id       BYTEA    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    description      TEXT    NOT NULL,
    emotional_impact DOUBLE PRECISION,
    evidence         TEXT    NOT NULL CHECK ((evidence::json IS NULL) = (evidence IS NULL)),
    reason           TEXT    NOT NULL,
    created_at       BIGINT NOT NULL,
    settled_at       BIGINT,
    approved_node    BIGINT REFERENCES concept_nodes (seq) ON DELETE SET NULL,
    proposal         TEXT    NOT NULL DEFAULT '{}' CHECK ((proposal::json IS NULL) = (proposal IS NULL))
);

CREATE TABLE reflections (
    id         BYTEA    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope      BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id BYTEA    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL
);

CREATE TABLE node_vectors (
    revision        BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    seq             BIGINT NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    scope           BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    embedding_model BIGINT NOT NULL REFERENCES embedding_models (number),
    readability     DOUBLE PRECISION    NOT NULL,
    vector          BYTEA    NOT NULL,
    UNIQUE (seq, embedding_model)
);

CREATE TABLE concept_node_entities (
    entity_id BYTEA    NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    node_seq  BIGINT NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    PRIMARY KEY (entity_id, node_seq)
);

CREATE TABLE graph_unread (
    node_seq BIGINT NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE
);

CREATE TABLE hub_untold (
    node_seq BIGINT NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE
);

CREATE TABLE forgotten_support (
    node_seq BIGINT NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    kind     TEXT    NOT NULL CHECK (kind IN ('message', 'node')),
    id       BYTEA    NOT NULL CHECK (length(id) = 16),
    PRIMARY KEY (node_seq, kind, id)
);

CREATE TABLE reduced_nodes (
    node_seq BIGINT NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE
);

CREATE TABLE turn_details (
    turn_id        BYTEA    NOT NULL PRIMARY KEY REFERENCES turns (id) ON DELETE CASCADE,
    scope          BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    started_at     BIGINT NOT NULL,
    finished_at    BIGINT,
    first_token_ms BIGINT,
    input_tokens   BIGINT,
    output_tokens  BIGINT,
    model          TEXT,
    detail         TEXT    NOT NULL CHECK ((detail::json IS NULL) = (detail IS NULL))
);

CREATE TABLE session_traces (
    session_id BYTEA    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    phase      TEXT    NOT NULL CHECK (phase IN ('a', 'b', 'c', 'd', 'e', 'f', 'g')),
    scope      BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    detail     TEXT    NOT NULL CHECK ((detail::json IS NULL) = (detail IS NULL)),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (session_id, phase)
);

CREATE TABLE slow_cycles (
    id                BYTEA    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope             BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id        BYTEA    REFERENCES sessions (id) ON DELETE SET NULL,
    created_at        BIGINT NOT NULL,
    input_tokens      BIGINT NOT NULL,
    output_tokens     BIGINT NOT NULL,
    outcome           TEXT    NOT NULL,
    salient_questions TEXT    NOT NULL CHECK ((salient_questions::json IS NULL) = (salient_questions IS NULL)),
    transcript        TEXT    CHECK (transcript IS NULL OR transcript::json IS NOT NULL)
);

CREATE TABLE slow_cycle_events (
    cycle_id BYTEA    NOT NULL REFERENCES slow_cycles (id) ON DELETE CASCADE,
    node_seq BIGINT NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    PRIMARY KEY (cycle_id, node_seq)
);

CREATE TABLE mood_history (
    seq            BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope          BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    session_id     BYTEA             REFERENCES sessions (id) ON DELETE CASCADE CHECK (length(session_id) = 16),
    felt_at        BIGINT NOT NULL,
    episodic_state TEXT    NOT NULL CHECK ((episodic_state::json IS NULL) = (episodic_state IS NULL))
);

CREATE TABLE proactive_decisions (
    id          BYTEA    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    scope       BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    at          BIGINT NOT NULL,
    outcome     TEXT    CHECK (outcome IN ('sent', 'nothing_to_say', 'dropped', 'deferred', 'failed')),
    gate        TEXT    CHECK (gate IN ('muted', 'quiet_hours', 'cold_user', 'rate_limit', 'turn_in_flight',
                                        'spend_cap', 'too_late', 'no_trigger')),
    trigger     TEXT    CHECK (trigger IN ('promise_due', 'expectation_due', 'shock', 'anniversary',
                                           'long_silence')),
    trigger_key TEXT,
    node_seq    BIGINT REFERENCES concept_nodes (seq) ON DELETE SET NULL,
    message_seq BIGINT REFERENCES recall_messages (seq) ON DELETE SET NULL,

    sent_seq    BIGINT,
    channel_id  TEXT,
    detail      TEXT
);

CREATE TABLE imported_messages (
    scope       BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    digest      BYTEA    NOT NULL CHECK (length(digest) = 16),
    message_seq BIGINT NOT NULL REFERENCES recall_messages (seq) ON DELETE CASCADE,
    PRIMARY KEY (scope, digest)
);

CREATE TABLE channel_outbox (
    number       BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    message_seq  BIGINT NOT NULL UNIQUE REFERENCES recall_messages (seq) ON DELETE CASCADE,
    channel_id   TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('waiting', 'sent', 'undeliverable')),
    pieces_sent  BIGINT NOT NULL DEFAULT 0,
    sending      BIGINT,
    attempts     BIGINT NOT NULL DEFAULT 0,
    created_at   BIGINT NOT NULL,
    next_at      BIGINT NOT NULL,
    last_error   TEXT
);

CREATE TABLE replaced_values (
    scope  BIGINT NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    change BIGINT NOT NULL REFERENCES node_changes (number) ON DELETE CASCADE,
    PRIMARY KEY (scope, change)
);

CREATE INDEX external_identities_of_user ON external_identities (user_id);
CREATE INDEX scopes_of_user ON scopes (user_id);
CREATE UNIQUE INDEX core_blocks_shared ON core_blocks (persona_id, label) WHERE user_id IS NULL;
CREATE UNIQUE INDEX core_blocks_of_user ON core_blocks (persona_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX core_blocks_by_user ON core_blocks (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX core_block_appends_of_persona ON core_block_appends (persona_id, label, number);
CREATE INDEX core_block_appends_by_user ON core_block_appends (user_id) WHERE user_id IS NOT NULL;
CREATE UNIQUE INDEX sessions_open ON sessions (scope, channel_id) WHERE status = 'open';
CREATE INDEX sessions_by_status ON sessions (status, first_message_at);
CREATE INDEX sessions_of_scope ON sessions (scope, first_message_at);
CREATE INDEX sessions_by_start ON sessions (first_message_at);
CREATE INDEX sessions_summarised ON sessions (scope, first_message_at) WHERE summary IS NOT NULL;
CREATE INDEX sessions_closed ON sessions (scope, closed_at) WHERE status = 'closed';
CREATE INDEX turns_of_session ON turns (session_id);
CREATE INDEX turns_of_scope ON turns (scope);
CREATE INDEX turns_pending ON turns (started_at) WHERE status = 'pending';
CREATE INDEX turns_failed ON turns (last_message_at) WHERE status = 'failed';
CREATE INDEX recall_messages_of_scope ON recall_messages (scope, seq) WHERE deleted_at IS NULL;
CREATE INDEX recall_messages_of_session ON recall_messages (session_id, seq);
CREATE INDEX recall_messages_of_turn ON recall_messages (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX recall_messages_by_model ON recall_messages (embedding_model, seq, scope) WHERE deleted_at IS NULL;
CREATE INDEX message_versions_of_message ON message_versions (message_seq);
CREATE INDEX message_vectors_of_scope ON message_vectors (scope, embedding_model);
CREATE INDEX message_vectors_readability ON message_vectors (seq, embedding_model, readability);
CREATE INDEX concept_nodes_of_scope ON concept_nodes (scope, type, seq) WHERE deleted_at IS NULL;
CREATE INDEX concept_nodes_current ON concept_nodes (scope, type, subject, seq)
    WHERE deleted_at IS NULL AND superseded_by IS NULL;
CREATE INDEX concept_nodes_pinned ON concept_nodes (scope, type, subject, seq)
    WHERE deleted_at IS NULL AND superseded_by IS NULL AND pinned = 1;
CREATE INDEX concept_nodes_by_time ON concept_nodes (scope, created_at, seq) WHERE deleted_at IS NULL;
CREATE INDEX concept_nodes_by_event_start ON concept_nodes (scope, event_time_start, event_time_end)
    WHERE event_time_start IS NOT NULL AND deleted_at IS NULL AND superseded_by IS NULL;
CREATE INDEX concept_nodes_by_event_end ON concept_nodes (scope, event_time_end, event_time_start)
    WHERE event_time_end IS NOT NULL AND deleted_at IS NULL AND superseded_by IS NULL;
CREATE INDEX concept_nodes_of_session ON concept_nodes (source_session_id, type)
    WHERE source_session_id IS NOT NULL;
CREATE INDEX concept_nodes_superseded ON concept_nodes (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX concept_nodes_by_model ON concept_nodes (embedding_model, seq, scope) WHERE deleted_at IS NULL;
CREATE INDEX concept_nodes_expected ON concept_nodes (event_time_start)
    WHERE type = 'expectation' AND event_time_start IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX concept_nodes_identity ON concept_nodes (scope, seq)
    WHERE type = 'event' AND subject = 'user' AND deleted_at IS NULL AND superseded_by IS NULL
      AND strpos(relational_tags, '"identity-bearing"') > 0;
CREATE INDEX node_evidence_of_message ON node_evidence (message_seq);
CREATE INDEX concept_node_filling_of_event ON concept_node_filling (event_seq);
CREATE INDEX mention_merges_of_node ON mention_merges (node_seq);
CREATE INDEX mention_merges_of_session ON mention_merges (session_id);
CREATE INDEX mention_evidence_of_message ON mention_evidence (message_seq);
CREATE INDEX node_changes_of_node ON node_changes (node_seq, number);
CREATE INDEX node_changes_of_newer ON node_changes (newer_seq, number) WHERE newer_seq IS NOT NULL;
CREATE INDEX node_changes_of_merge ON node_changes (merge_number) WHERE merge_number IS NOT NULL;
CREATE INDEX settled_expectations_of_message ON settled_expectations (message_seq) WHERE message_seq IS NOT NULL;
CREATE INDEX rejected_memories_waiting ON rejected_memories (scope, created_at) WHERE settled_at IS NULL;
CREATE INDEX rejected_memories_of_session ON rejected_memories (session_id);
CREATE INDEX rejected_memories_of_node ON rejected_memories (approved_node) WHERE approved_node IS NOT NULL;
CREATE INDEX reflections_of_scope ON reflections (scope, created_at);
CREATE INDEX reflections_of_session ON reflections (session_id);
CREATE INDEX node_vectors_of_scope ON node_vectors (scope, embedding_model);
CREATE INDEX node_vectors_readability ON node_vectors (seq, embedding_model, readability);
CREATE INDEX entities_by_change ON entities (scope, updated_at);
CREATE INDEX entities_by_time ON entities (scope, created_at) WHERE merge_status <> 'uncertain';
CREATE INDEX entities_merge_target ON entities (merge_target) WHERE merge_target IS NOT NULL;
CREATE INDEX entities_merged ON entities (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX entities_in_doubt ON entities (scope, updated_at) WHERE merge_status = 'uncertain';
CREATE INDEX entities_by_model ON entities (embedding_model);
CREATE INDEX entities_described ON entities (scope, described_at) WHERE described_at IS NOT NULL;
CREATE INDEX entity_aliases_by_name ON entity_aliases (scope, folded);
CREATE INDEX concept_node_entities_of_node ON concept_node_entities (node_seq);
CREATE INDEX entity_changes_of_entity ON entity_changes (entity_id, number);
CREATE INDEX entity_changes_of_other ON entity_changes (other_id, number) WHERE other_id IS NOT NULL;
CREATE INDEX entity_changes_of_scope ON entity_changes (scope);
CREATE INDEX entity_vectors_of_scope ON entity_vectors (scope, embedding_model);
CREATE UNIQUE INDEX graph_nodes_by_label ON graph_nodes (scope, type, folded)
    WHERE entity_id IS NULL AND deleted_at IS NULL;
CREATE INDEX graph_nodes_of_scope ON graph_nodes (scope, updated_at);
CREATE INDEX graph_nodes_by_name ON graph_nodes (scope, folded) WHERE folded IS NOT NULL;
CREATE INDEX graph_nodes_by_model ON graph_nodes (embedding_model) WHERE embedding_model IS NOT NULL;
CREATE UNIQUE INDEX graph_edges_once ON graph_edges (scope, from_id, to_id, type) WHERE deleted_at IS NULL;
CREATE INDEX graph_edges_of_scope ON graph_edges (scope, updated_at);
CREATE INDEX graph_edges_from ON graph_edges (from_id);
CREATE INDEX graph_edges_to ON graph_edges (to_id);
CREATE UNIQUE INDEX graph_sources_of_node ON graph_sources (node_id, memory) WHERE node_id IS NOT NULL;
CREATE UNIQUE INDEX graph_sources_of_edge ON graph_sources (edge_id, memory) WHERE edge_id IS NOT NULL;
CREATE INDEX graph_sources_of_memory ON graph_sources (scope, memory) WHERE memory <> '';
CREATE UNIQUE INDEX hub_documents_of_persona ON hub_documents (persona_id, kind, stem) WHERE user_id IS NULL;
CREATE UNIQUE INDEX hub_documents_of_user ON hub_documents (persona_id, user_id, kind, stem)
    WHERE user_id IS NOT NULL;
CREATE INDEX hub_documents_by_user ON hub_documents (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX hub_documents_by_revision ON hub_documents (persona_id, revision);
CREATE UNIQUE INDEX hub_versions_shown ON hub_versions (document) WHERE state = 'shown';
CREATE INDEX hub_versions_live ON hub_versions (document, state) WHERE state <> 'past';
CREATE INDEX hub_conflicts_of_document ON hub_conflicts (document);
CREATE INDEX hub_lines_of_node ON hub_lines (node_id);
CREATE INDEX hub_lines_of_session ON hub_lines (session_id);
CREATE INDEX hub_lines_outdated ON hub_lines (node_id) WHERE outdated = 1;
CREATE INDEX hub_snapshots_by_age ON hub_snapshots (created_at);
CREATE INDEX hub_chunks_of_scope ON hub_chunks (scope);
CREATE INDEX hub_vectors_of_scope ON hub_vectors (scope, embedding_model, number);
CREATE INDEX hub_vectors_by_model ON hub_vectors (embedding_model);
CREATE INDEX tombstones_by_time ON tombstones (forgotten_at);
CREATE INDEX tombstones_of_scope ON tombstones (scope);
CREATE INDEX erasure_receipts_of_scope ON erasure_receipts (persona_id, user_id, created_at);
CREATE INDEX erasure_receipts_waiting ON erasure_receipts (created_at) WHERE overwritten_at IS NULL;
CREATE INDEX llm_calls_by_time ON llm_calls (at);
CREATE INDEX llm_calls_of_session ON llm_calls (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX turn_traces_of_scope ON turn_traces (scope);
CREATE INDEX turn_details_by_time ON turn_details (started_at);
CREATE INDEX turn_details_of_scope ON turn_details (scope, started_at, turn_id);
CREATE INDEX session_traces_of_scope ON session_traces (scope);
CREATE INDEX session_traces_by_time ON session_traces (created_at);
CREATE INDEX slow_cycles_of_scope ON slow_cycles (scope, created_at);
CREATE INDEX slow_cycles_of_session ON slow_cycles (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX slow_cycles_with_transcript ON slow_cycles (created_at) WHERE transcript IS NOT NULL;
CREATE INDEX slow_cycles_told ON slow_cycles (scope, created_at, id) WHERE transcript IS NOT NULL;
CREATE INDEX slow_cycle_events_of_node ON slow_cycle_events (node_seq);
CREATE INDEX recall_messages_by_time ON recall_messages (scope, created_at, seq);
CREATE INDEX mood_history_by_scope ON mood_history (scope, felt_at, seq);
CREATE INDEX mood_history_by_session ON mood_history (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX proactive_decisions_by_time ON proactive_decisions (at, id);
CREATE INDEX proactive_decisions_of_scope ON proactive_decisions (scope, at, id);
CREATE INDEX proactive_decisions_sent ON proactive_decisions (scope, at) WHERE outcome = 'sent';
CREATE INDEX proactive_decisions_of_trigger ON proactive_decisions (scope, trigger_key)
    WHERE trigger_key IS NOT NULL;
CREATE INDEX proactive_decisions_unfinished ON proactive_decisions (id) WHERE outcome IS NULL;
CREATE INDEX proactive_decisions_of_node ON proactive_decisions (node_seq) WHERE node_seq IS NOT NULL;
CREATE INDEX proactive_decisions_of_message ON proactive_decisions (message_seq) WHERE message_seq IS NOT NULL;
CREATE INDEX concept_nodes_weighty ON concept_nodes (scope, emotional_impact)
    WHERE type = 'event' AND deleted_at IS NULL AND superseded_by IS NULL
      AND (emotional_impact >= 7 OR emotional_impact <= -7);
CREATE INDEX import_runs_of_scope ON import_runs (scope);
CREATE INDEX import_runs_recording ON import_runs (digest) WHERE status = 'recording';
CREATE INDEX import_skips_of_run ON import_skips (run);

-- Documents that imports wrote, so that a second import finds them and taking one back erases them. `digest` names a document by
-- its format and the publisher's id.
CREATE TABLE import_documents (
    run    BIGINT NOT NULL REFERENCES import_runs (number) ON DELETE CASCADE,
    digest BYTEA  NOT NULL CHECK (length(digest) = 16),
    name   TEXT   NOT NULL,
    PRIMARY KEY (run, digest)
);
CREATE INDEX import_documents_by_digest ON import_documents (digest);
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
CREATE INDEX message_versions_of_import ON message_versions (import_run) WHERE import_run IS NOT NULL;
CREATE INDEX imported_messages_of_message ON imported_messages (message_seq);
CREATE INDEX sessions_of_import ON sessions (import_run, status, first_message_at) WHERE import_run IS NOT NULL;
CREATE INDEX sessions_held_here ON sessions (status, first_message_at) WHERE import_run IS NULL;
CREATE INDEX recall_messages_by_place ON recall_messages (scope, placed_at, seq);
CREATE INDEX channel_outbox_open ON channel_outbox (channel_id, conversation, number) WHERE state = 'waiting';
CREATE INDEX channel_outbox_undeliverable ON channel_outbox (channel_id) WHERE state = 'undeliverable';
CREATE INDEX recall_messages_by_external_ref ON recall_messages (channel_id, external_ref)
    WHERE external_ref IS NOT NULL;
CREATE INDEX replaced_values_of_change ON replaced_values (change);

CREATE FUNCTION hub_chunks_come() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO hub_words (number, terms) VALUES (new.number, words_at_places(new.terms));
    INSERT INTO hub_chunk_counts (scope, pieces) VALUES (new.scope, 1)
        ON CONFLICT (scope) DO UPDATE SET pieces = hub_chunk_counts.pieces + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER hub_chunks_come AFTER INSERT ON hub_chunks FOR EACH ROW
    EXECUTE FUNCTION hub_chunks_come();

CREATE FUNCTION hub_chunks_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM hub_words WHERE number = old.number;
    UPDATE hub_chunk_counts SET pieces = pieces - 1 WHERE scope = old.scope;
    RETURN NULL;
END $$;
CREATE TRIGGER hub_chunks_go AFTER DELETE ON hub_chunks FOR EACH ROW
    EXECUTE FUNCTION hub_chunks_go();

CREATE FUNCTION graph_reads_new_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO graph_unread (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_reads_new_events AFTER INSERT ON concept_nodes FOR EACH ROW
    WHEN (new.type = 'event' AND new.deleted_at IS NULL AND new.superseded_by IS NULL)
    EXECUTE FUNCTION graph_reads_new_events();

CREATE FUNCTION graph_reads_changed_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO graph_unread (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_reads_changed_events AFTER UPDATE OF description ON concept_nodes FOR EACH ROW
    WHEN (new.type = 'event' AND new.deleted_at IS NULL AND new.superseded_by IS NULL
    AND new.description IS DISTINCT FROM old.description)
    EXECUTE FUNCTION graph_reads_changed_events();

CREATE FUNCTION graph_reads_revived_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO graph_unread (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_reads_revived_events AFTER UPDATE OF superseded_by ON concept_nodes FOR EACH ROW
    WHEN (new.type = 'event' AND new.deleted_at IS NULL AND new.superseded_by IS NULL AND old.superseded_by IS NOT NULL)
    EXECUTE FUNCTION graph_reads_revived_events();

CREATE FUNCTION graph_passes_over_old_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM graph_unread WHERE node_seq = new.seq;
    RETURN NULL;
END $$;
CREATE TRIGGER graph_passes_over_old_events AFTER UPDATE OF deleted_at, superseded_by ON concept_nodes FOR EACH ROW
    WHEN (new.deleted_at IS NOT NULL OR new.superseded_by IS NOT NULL)
    EXECUTE FUNCTION graph_passes_over_old_events();

CREATE FUNCTION diary_waits_for_new_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO hub_untold (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER diary_waits_for_new_events AFTER INSERT ON concept_nodes FOR EACH ROW
    WHEN (new.type = 'event' AND new.deleted_at IS NULL AND new.source_session_id IS NOT NULL)
    EXECUTE FUNCTION diary_waits_for_new_events();

CREATE FUNCTION diary_waits_for_revived_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM hub_lines l WHERE l.node_id = new.id) THEN
    INSERT INTO hub_untold (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER diary_waits_for_revived_events AFTER UPDATE OF deleted_at ON concept_nodes FOR EACH ROW
    WHEN (new.type = 'event' AND new.deleted_at IS NULL AND old.deleted_at IS NOT NULL
    AND new.source_session_id IS NOT NULL)
    EXECUTE FUNCTION diary_waits_for_revived_events();

CREATE FUNCTION diary_passes_over_deleted_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM hub_untold WHERE node_seq = new.seq;
    RETURN NULL;
END $$;
CREATE TRIGGER diary_passes_over_deleted_events AFTER UPDATE OF deleted_at ON concept_nodes FOR EACH ROW
    WHEN (new.deleted_at IS NOT NULL)
    EXECUTE FUNCTION diary_passes_over_deleted_events();

CREATE FUNCTION diary_has_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM hub_untold WHERE node_seq = (SELECT seq FROM concept_nodes WHERE id = new.node_id);
    RETURN NULL;
END $$;
CREATE TRIGGER diary_has_told AFTER INSERT ON hub_lines FOR EACH ROW
    EXECUTE FUNCTION diary_has_told();

CREATE FUNCTION diary_tells_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO hub_untold (node_seq)
    SELECT n.seq FROM concept_nodes n
    WHERE n.id = old.node_id AND n.type = 'event' AND n.deleted_at IS NULL AND n.source_session_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM hub_lines l WHERE l.node_id = old.node_id)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER diary_tells_again AFTER DELETE ON hub_lines FOR EACH ROW
    EXECUTE FUNCTION diary_tells_again();

CREATE FUNCTION slow_cycle_forgets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE slow_cycles SET transcript = NULL, salient_questions = '[]' WHERE id = old.cycle_id;
    RETURN NULL;
END $$;
CREATE TRIGGER slow_cycle_forgets AFTER DELETE ON slow_cycle_events FOR EACH ROW
    EXECUTE FUNCTION slow_cycle_forgets();

CREATE FUNCTION values_are_replaced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO replaced_values (scope, change) SELECT scope, new.number FROM concept_nodes WHERE seq = new.node_seq;
    RETURN NULL;
END $$;
CREATE TRIGGER values_are_replaced AFTER INSERT ON node_changes FOR EACH ROW
    WHEN (new.kind <> 'mention_merge' AND new.undone_at IS NULL)
    EXECUTE FUNCTION values_are_replaced();

CREATE FUNCTION values_are_restored() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM replaced_values WHERE change = new.number;
    RETURN NULL;
END $$;
CREATE TRIGGER values_are_restored AFTER UPDATE OF undone_at ON node_changes FOR EACH ROW
    WHEN (new.undone_at IS NOT NULL)
    EXECUTE FUNCTION values_are_restored();

CREATE FUNCTION diary_dates_replaced_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE hub_lines SET outdated = 1 WHERE node_id = new.id;
    RETURN NULL;
END $$;
CREATE TRIGGER diary_dates_replaced_events AFTER UPDATE OF superseded_by ON concept_nodes FOR EACH ROW
    WHEN (new.superseded_by IS DISTINCT FROM old.superseded_by)
    EXECUTE FUNCTION diary_dates_replaced_events();

-- ## Documents and channels

-- Without the vector, which SQLite's has: an entry of an index has at most a third of a page here.
CREATE INDEX hub_versions_outlines ON hub_versions (document, state, number) WHERE state <> 'past';

-- Daily and significant memories that the graph is still to be drawn from: by a model, and without one by rules.
CREATE TABLE graph_unread_documents (
    document BIGINT NOT NULL PRIMARY KEY REFERENCES hub_documents (number) ON DELETE CASCADE,
    by_rules BIGINT NOT NULL DEFAULT 1
);

-- Beginnings of the digests of lines that were read; `by_rules` if only rules have read them.
CREATE TABLE graph_read_lines (
    document BIGINT NOT NULL REFERENCES hub_documents (number) ON DELETE CASCADE,
    digest   BYTEA  NOT NULL CHECK (length(digest) = 16),
    by_rules BIGINT NOT NULL,
    PRIMARY KEY (document, digest)
);

-- Numbers of messages that were received on a channel where each conversation is numbered for itself.
CREATE TABLE channel_received (
    channel_id   TEXT   NOT NULL,
    conversation TEXT   NOT NULL,
    number       BIGINT NOT NULL,
    PRIMARY KEY (channel_id, conversation, number)
);

-- The platform's name of what was delivered last in a conversation.
CREATE TABLE channel_last_sent (
    channel_id   TEXT NOT NULL,
    conversation TEXT NOT NULL,
    sent_as      TEXT NOT NULL,
    PRIMARY KEY (channel_id, conversation)
);

-- Index of the `grams` of chunks. Triggers keep it in step with them.
CREATE TABLE hub_gram_words (
    number BIGINT   NOT NULL PRIMARY KEY,
    terms  TSVECTOR NOT NULL
);
CREATE INDEX hub_gram_words_terms ON hub_gram_words USING gin (terms) WITH (gin_pending_list_limit = 256);

CREATE FUNCTION hub_grams_come() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO hub_gram_words (number, terms) VALUES (new.number, words_at_places(new.grams));
    RETURN NULL;
END $$;
CREATE TRIGGER hub_grams_come AFTER INSERT ON hub_chunks FOR EACH ROW
    WHEN (new.grams <> '') EXECUTE FUNCTION hub_grams_come();
CREATE TRIGGER hub_grams_filled AFTER UPDATE OF grams ON hub_chunks FOR EACH ROW
    WHEN (old.grams = '' AND new.grams <> '') EXECUTE FUNCTION hub_grams_come();

CREATE FUNCTION hub_grams_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM hub_gram_words WHERE number = old.number;
    RETURN NULL;
END $$;
CREATE TRIGGER hub_grams_go AFTER DELETE ON hub_chunks FOR EACH ROW
    WHEN (old.grams <> '') EXECUTE FUNCTION hub_grams_go();

-- ## Access

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
    created_at      BIGINT NOT NULL,
    last_seen_at    BIGINT NOT NULL
);

-- Users that a token created.
CREATE TABLE token_users (
    prefix  TEXT NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (prefix, user_id)
);

-- Replies that a token asked for, of the last two days. A turn that is asked for twice has two rows.
CREATE TABLE token_turns (
    prefix  TEXT    NOT NULL,
    at      BIGINT NOT NULL,
    turn_id BYTEA
);
CREATE INDEX token_turns_by_time ON token_turns (prefix, at);

-- ## Corrections

-- Pairs of statements of which the newer one may replace the older one. The older one is a memory, or words of a message that no
-- memory depends on. `opened_at` is set where the answer was that it has to be asked; else the pair waits for an answer.
CREATE TABLE statement_pairs (
    number      BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope       BIGINT NOT NULL,
    newer_seq   BIGINT NOT NULL REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    older_seq   BIGINT REFERENCES concept_nodes (seq) ON DELETE CASCADE,
    message_seq BIGINT REFERENCES recall_messages (seq) ON DELETE CASCADE,
    span_start  BIGINT,
    span_end    BIGINT,
    attempts    BIGINT NOT NULL DEFAULT 0,
    asked_with  BYTEA,
    opened_at   BIGINT,
    CHECK ((older_seq IS NULL) = (message_seq IS NOT NULL)),
    CHECK ((message_seq IS NULL) = (span_start IS NULL) AND (message_seq IS NULL) = (span_end IS NULL))
);
CREATE INDEX statement_pairs_of_scope ON statement_pairs (scope, attempts, number) WHERE opened_at IS NULL;
CREATE INDEX statement_pairs_of_newer ON statement_pairs (newer_seq);
CREATE INDEX statement_pairs_of_older ON statement_pairs (older_seq) WHERE older_seq IS NOT NULL;
CREATE INDEX statement_pairs_of_message ON statement_pairs (message_seq) WHERE message_seq IS NOT NULL;
CREATE INDEX node_changes_of_rest ON node_changes (rest_seq) WHERE rest_seq IS NOT NULL;

-- ## Several machines

-- Peers of the exchange of rows that the hub replaced, until the owner has been shown so. Empty in a new home.
CREATE TABLE former_peers (
    name TEXT NOT NULL PRIMARY KEY
);

-- How far a scope is exchanged with the hub of this home, which may be an embodiment of another home.
CREATE TABLE hub_exchanges (
    persona_id TEXT NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    user_id    TEXT NOT NULL,
    hub        TEXT NOT NULL,
    seen       TEXT NOT NULL,
    cursor     TEXT,
    sent       TEXT NOT NULL,
    erased     TEXT NOT NULL,
    exchanged_at BIGINT,
    PRIMARY KEY (persona_id, user_id)
);

-- Erasing a name finds the messages of its bearer.
CREATE INDEX recall_messages_of_others ON recall_messages (scope) WHERE speaker IS NOT NULL;

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

-- The daemons that share this home, a row for each process. The one that holds the home is named in `writer`; the others stand by
-- and pass requests on to its address.
CREATE TABLE daemons (
    id               TEXT        NOT NULL PRIMARY KEY,
    address          TEXT        NOT NULL,
    version          TEXT        NOT NULL,
    state            TEXT        NOT NULL CHECK (state IN ('running', 'draining', 'dead')),
    turns_per_minute BIGINT      NOT NULL DEFAULT 0,
    started_at       TIMESTAMPTZ NOT NULL,
    seen_at          TIMESTAMPTZ NOT NULL
);
-- What all daemons of this home must know: the secret by which they trust requests of one another, and the owner's token, or only its
-- digest where the operator gives no more.
CREATE TABLE shared_access (
    number       BIGINT NOT NULL PRIMARY KEY CHECK (number = 1),
    secret       TEXT   NOT NULL,
    owner_digest TEXT   NOT NULL,
    owner_token  TEXT
);
ALTER TABLE shared_access ALTER COLUMN secret SET STATISTICS 0, ALTER COLUMN owner_digest SET STATISTICS 0,
    ALTER COLUMN owner_token SET STATISTICS 0;

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
