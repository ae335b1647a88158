-- Events that the graph was not drawn from yet: only those that come from now on, and those whose text changes.
CREATE TABLE graph_unread (
    node_seq INTEGER NOT NULL PRIMARY KEY REFERENCES concept_nodes (seq) ON DELETE CASCADE
) STRICT;

CREATE TRIGGER graph_reads_new_events AFTER INSERT ON concept_nodes
WHEN new.type = 'event' AND new.deleted_at IS NULL AND new.superseded_by IS NULL BEGIN
    INSERT INTO graph_unread (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER graph_reads_changed_events AFTER UPDATE OF description ON concept_nodes
WHEN new.type = 'event' AND new.deleted_at IS NULL AND new.superseded_by IS NULL
    AND new.description IS NOT old.description BEGIN
    INSERT INTO graph_unread (node_seq) VALUES (new.seq) ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER graph_passes_over_old_events AFTER UPDATE OF deleted_at, superseded_by ON concept_nodes
WHEN new.deleted_at IS NOT NULL OR new.superseded_by IS NOT NULL BEGIN
    DELETE FROM graph_unread WHERE node_seq = new.seq;
END;
