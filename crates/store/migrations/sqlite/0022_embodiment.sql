-- A home may be an embodiment of another home, its hub.
-- The author of this home's changes in version vectors, where it is not the instance itself: another copy of this home used that.
ALTER TABLE hub_own_instance ADD COLUMN author TEXT NOT NULL DEFAULT '';
-- Whose counter `counter` is; empty for the instance itself.
ALTER TABLE erasure_instances ADD COLUMN author TEXT NOT NULL DEFAULT '';
-- How far a scope is exchanged with the hub of this home.
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
