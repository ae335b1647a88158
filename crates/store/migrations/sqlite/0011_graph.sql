-- The graph. A row with an `entity_id` (its own id too) says of an entity what the graph keeps beside it; name, description
-- and kind are the entity's. `described_by` is the memory that the description came from, `made_entity` says that the
-- entity came into being here.
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

-- What a node or an edge rests on: the memory's id (empty: the word of an instance), and what an edge is known from.
CREATE TABLE graph_sources (
    number     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope      INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    node_id    BLOB    REFERENCES graph_nodes (id) ON DELETE CASCADE,
    edge_id    BLOB    REFERENCES graph_edges (id) ON DELETE CASCADE,
    memory     TEXT    NOT NULL,
    evidence   TEXT,
    CHECK ((node_id IS NULL) <> (edge_id IS NULL))
) STRICT;
CREATE UNIQUE INDEX graph_sources_of_node ON graph_sources (node_id, memory) WHERE node_id IS NOT NULL;
CREATE UNIQUE INDEX graph_sources_of_edge ON graph_sources (edge_id, memory) WHERE edge_id IS NOT NULL;
CREATE INDEX graph_sources_of_memory ON graph_sources (scope, memory) WHERE memory <> '';
