//! The results of a run: its sessions and their memories.

use std::collections::BTreeSet;

use memory::identifiers::{ImportId, RejectedId};
use memory::nodes::{Node, NodeKind};
use memory::ports::{ImportMemories, ImportedSession};

use crate::engine::sql::{Connection, Result, Row, params};
use crate::rows::{self, node_columns, saved_memories_channel};

/// Counts of the memories of the session `s`.
macro_rules! memory_counts {
    () => {
        concat!(
            "(SELECT count(*) FROM concept_nodes n WHERE n.source_session_id = s.id AND n.deleted_at IS NULL
              AND n.type IN ('event', 'intention')) AS events,
         (SELECT count(*) FROM concept_nodes n WHERE n.source_session_id = s.id AND n.deleted_at IS NULL
              AND n.type IN ('thought', 'expectation')) AS thoughts,
         (SELECT count(*) FROM rejected_memories r
          WHERE r.session_id = s.id AND s.channel_id <> ",
            saved_memories_channel!(),
            ") AS rejected,
         (SELECT count(*) FROM concept_nodes n WHERE n.source_session_id = s.id AND n.deleted_at IS NULL
              AND EXISTS (SELECT 1 FROM node_vectors v WHERE v.seq = n.seq)) AS embedded"
        )
    };
}

pub(super) fn count_memories(connection: &Connection, id: ImportId) -> Result<ImportMemories> {
    connection
        .prepare_cached(concat!(
            "SELECT coalesce(sum(events), 0), coalesce(sum(thoughts), 0), coalesce(sum(rejected), 0),
                    coalesce(sum(embedded), 0)
             FROM (SELECT ",
            memory_counts!(),
            " FROM import_runs r JOIN sessions s ON s.import_run = r.number WHERE r.id = ?1) counted"
        ))?
        .query_row([id.0.into_bytes()], |row| read_counts(row, 0))
}

pub(super) fn waiting_proposals(connection: &Connection, id: ImportId) -> Result<Vec<RejectedId>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT j.id FROM import_runs r JOIN sessions c ON c.import_run = r.number
             JOIN rejected_memories j ON j.session_id = c.id
         WHERE r.id = ?1 AND c.channel_id = ",
        saved_memories_channel!(),
        " AND j.settled_at IS NULL ORDER BY c.first_message_at, j.id",
    ))?;
    let proposal = |row: &Row<'_>| Ok(RejectedId(rows::read_uuid(row, 0)?));
    statement.query_map([id.0.into_bytes()], proposal)?.collect()
}

pub(super) fn sessions(
    connection: &Connection,
    id: ImportId,
    from: u64,
    limit: u32,
) -> Result<Vec<ImportedSession>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT s.status, s.summary, s.last_error,
                (SELECT coalesce(sum(length(m.content)), 0) FROM recall_messages m WHERE m.session_id = s.id), ",
        memory_counts!(),
        " FROM import_runs r JOIN sessions s ON s.import_run = r.number
         WHERE r.id = ?1 AND s.channel_id <> ",
        saved_memories_channel!(),
        " ORDER BY s.first_message_at, s.id LIMIT ?2 OFFSET ?3"
    ))?;
    let session = |row: &Row<'_>| {
        Ok(ImportedSession {
            status: rows::read_enum(row, 0)?,
            summary: row.get(1)?,
            last_error: row.get(2)?,
            characters: row.get(3)?,
            memories: read_counts(row, 4)?,
        })
    };
    statement.query_map(params![id.0.into_bytes(), limit, from], session)?.collect()
}

fn read_counts(row: &Row<'_>, at: usize) -> Result<ImportMemories> {
    Ok(ImportMemories {
        events: row.get(at)?,
        thoughts: row.get(at + 1)?,
        rejected: row.get(at + 2)?,
        embedded: row.get(at + 3)?,
    })
}

pub(super) fn imported_nodes(
    connection: &Connection,
    id: ImportId,
    kinds: &BTreeSet<NodeKind>,
    limit: u32,
) -> Result<Vec<Node>> {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        node_columns!(),
        " FROM import_runs r JOIN sessions s ON s.import_run = r.number
              JOIN concept_nodes n ON n.source_session_id = s.id
         WHERE r.id = ?1 AND n.type IN (SELECT atom FROM json_each(?2)) AND n.deleted_at IS NULL
             AND n.superseded_by IS NULL
         ORDER BY n.seq DESC LIMIT ?3"
    ))?;
    statement.query_map(params![id.0.into_bytes(), rows::to_json(&kinds)?, limit], rows::read_node)?.collect()
}
