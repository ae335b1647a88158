-- Events that no diary tells yet. The diary looks for them after every session and every act of the hub: without this
-- list, through all events there are.
CREATE TABLE hub_untold (
    node_seq INTEGER NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE
) STRICT;

INSERT INTO hub_untold (node_seq)
SELECT n.seq FROM concept_nodes n
WHERE n.type = 'event' AND n.deleted_at IS NULL AND n.source_session_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM hub_lines l WHERE l.node_id = n.id);

CREATE TRIGGER diary_waits_for_new_events AFTER INSERT ON concept_nodes
WHEN new.type = 'event' AND new.deleted_at IS NULL AND new.source_session_id IS NOT NULL BEGIN
    INSERT INTO hub_untold (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER diary_passes_over_deleted_events AFTER UPDATE OF deleted_at ON concept_nodes
WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM hub_untold WHERE node_seq = new.seq;
END;

CREATE TRIGGER diary_waits_for_revived_events AFTER UPDATE OF deleted_at ON concept_nodes
WHEN new.type = 'event' AND new.deleted_at IS NULL AND old.deleted_at IS NOT NULL
    AND new.source_session_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM hub_lines l WHERE l.node_id = new.id) BEGIN
    INSERT INTO hub_untold (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
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
