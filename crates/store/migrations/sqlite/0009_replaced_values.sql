-- Changes after which a node no longer says what it said: replaced by a newer node, or corrected by a person. A change that
-- is undone has no row.
CREATE TABLE replaced_values (
    scope  INTEGER NOT NULL REFERENCES scopes (number) ON DELETE CASCADE,
    change INTEGER NOT NULL REFERENCES node_changes (number) ON DELETE CASCADE,
    PRIMARY KEY (scope, change)
) STRICT, WITHOUT ROWID;
CREATE INDEX replaced_values_of_change ON replaced_values (change);
INSERT INTO replaced_values (scope, change)
    SELECT n.scope, c.number FROM node_changes c JOIN concept_nodes n ON n.seq = c.node_seq
    WHERE c.kind <> 'mention_merge' AND c.undone_at IS NULL;

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
UPDATE hub_lines SET outdated = 1 WHERE node_id IN (SELECT id FROM concept_nodes WHERE superseded_by IS NOT NULL);
