//! The complete hub of a scope from one snapshot, and inserting it into another hub.

use std::collections::BTreeMap;

use hub::documents::core_block_of;
use hub::export::{DocumentHistory, ExportedConflict, ExportedVersion, HubExport, VersionState};
use hub::names::DocumentName;
use hub::version_vector::VersionVector;
use jiff::Timestamp;
use memory::Scope;

use super::documents::{self, read_version, version_columns};
use super::{chunks, erased_names, snapshots, state};
use crate::engine::sql::{Connection, Result, Row, params};
use crate::ids::id_within;
use crate::people::core_blocks;
use crate::rows::{self, microseconds, to_json};
use crate::{graph, scopes};

pub(super) fn read(connection: &Connection, scope: &Scope) -> Result<HubExport> {
    let (nodes, edges) = match scopes::number(connection, scope)? {
        Some(number) => graph::whole_graph(connection, number)?,
        None => Default::default(),
    };
    Ok(HubExport {
        documents: export_histories(connection, scope)?,
        labels: documents::labels(connection, scope)?,
        snapshots: snapshots::list(connection, scope)?,
        instances: state::instances(connection, scope)?,
        seen: read_seen(connection, scope, scope.user.as_str())?,
        seen_of_persona: read_seen(connection, scope, "")?,
        erased: erased_names::list(connection, scope, scope.user.as_str())?,
        erased_of_persona: erased_names::list(connection, scope, "")?,
        nodes,
        edges,
    })
}

fn export_histories(connection: &Connection, scope: &Scope) -> Result<Vec<(DocumentName, DocumentHistory)>> {
    let mut found: BTreeMap<i64, (DocumentName, DocumentHistory)> = connection
        .prepare_cached(
            "SELECT number, kind, stem, stale, created_at FROM hub_documents
             WHERE persona_id = ?1 AND (user_id IS NULL OR user_id = ?2)",
        )?
        .query_map([scope.persona.as_str(), scope.user.as_str()], |row| {
            let name = DocumentName::parse(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?)
                .map_err(|error| rows::unreadable_column(2, error))?;
            let history = DocumentHistory {
                stale: row.get(3)?,
                created_at: rows::time(row, 4)?,
                versions: Vec::new(),
                conflicts: Vec::new(),
            };
            Ok((row.get(0)?, (name, history)))
        })?
        .collect::<Result<_>>()?;
    let mut versions = connection.prepare_cached(concat!(
        "SELECT ",
        version_columns!(),
        ", v.state FROM hub_versions v WHERE v.document = ?1 ORDER BY v.number"
    ))?;
    let mut conflicts = connection.prepare_cached(
        "SELECT id, kept, shown, opened_at, settled_at, settled FROM hub_conflicts WHERE document = ?1
         ORDER BY opened_at, id",
    )?;
    for (number, (_, history)) in &mut found {
        let kept = |row: &Row<'_>| {
            let state = match row.get_ref(9)?.as_str()? {
                "shown" => VersionState::Shown,
                "beside" => VersionState::Concurrent,
                _ => VersionState::Past,
            };
            Ok(ExportedVersion { state, version: read_version(row, 0)? })
        };
        history.versions = versions.query_map([number], kept)?.collect::<Result<_>>()?;
        let conflict = |row: &Row<'_>| {
            Ok(ExportedConflict {
                id: rows::read_uuid(row, 0)?,
                kept: row.get(1)?,
                shown: row.get(2)?,
                opened_at: rows::time(row, 3)?,
                settled_at: rows::optional_time(row, 4)?,
                settled: row.get(5)?,
            })
        };
        history.conflicts = conflicts.query_map([number], conflict)?.collect::<Result<_>>()?;
    }
    let mut found: Vec<_> =
        found.into_values().filter(|(_, history)| history.shown_version().is_some()).collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

fn read_seen(connection: &Connection, scope: &Scope, user: &str) -> Result<VersionVector> {
    let mut seen = VersionVector::default();
    let mut statement = connection
        .prepare_cached("SELECT author, counter FROM hub_seen WHERE persona_id = ?1 AND user_id = ?2")?;
    let mut rows = statement.query([scope.persona.as_str(), user])?;
    while let Some(row) = &rows.next()? {
        seen.note_seen(&state::instance_id(row, 0)?, row.get(1)?);
    }
    Ok(seen)
}

/// Inserts documents that the hub never had, unchanged, with everything that belongs to them.
pub(super) fn restore(
    connection: &Connection,
    scope: &Scope,
    whole: &HubExport,
    revision: i64,
    at: Timestamp,
) -> Result<()> {
    for (name, history) in &whole.documents {
        if documents::number(connection, scope, name)?.is_none() {
            restore_document(connection, scope, name, history, revision)?;
        }
        if let Some(label) = core_block_of(name, scope)
            && let Some(shown) = history.shown_version()
        {
            let text = shown.content.as_deref().unwrap_or_default();
            core_blocks::write_block(connection, scope, label, text, &shown.edited_by, at)?;
        }
    }
    for (name, label) in &whole.labels {
        documents::set_label(connection, scope, name, label)?;
    }
    for snapshot in &whole.snapshots {
        snapshots::insert_snapshot(connection, scope, snapshot)?;
    }
    let known = state::instances(connection, scope)?;
    for instance in whole.instances.iter().filter(|one| known.iter().all(|other| other.id != one.id)) {
        state::write_instance(connection, scope, instance)?;
    }
    for (user, seen) in [(scope.user.as_str(), &whole.seen), ("", &whole.seen_of_persona)] {
        for (author, counter) in seen.iter() {
            state::note_author(connection, scope, user, author, counter)?;
        }
    }
    for (user, erased) in [(scope.user.as_str(), &whole.erased), ("", &whole.erased_of_persona)] {
        erased
            .iter()
            .try_for_each(|erased| erased_names::insert_erasure(connection, scope, user, erased, revision))?;
    }
    let number = scopes::number_or_new(connection, scope)?;
    graph::restore(connection, number, &whole.nodes, &whole.edges)
}

fn restore_document(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
    history: &DocumentHistory,
    revision: i64,
) -> Result<()> {
    let user = name.is_of_user().then_some(scope.user.as_str());
    let created = microseconds(history.created_at);
    let document: i64 = connection
        .prepare_cached(
            "INSERT INTO hub_documents (persona_id, user_id, kind, stem, stale, revision, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING number",
        )?
        .query_row(
            params![scope.persona.as_str(), user, name.kind(), name.stem(), history.stale, revision, created],
            |row| row.get(0),
        )?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO hub_versions (document, number, state, content, vector, author, edited_by, by_person,
                                   chat_ids, participants, written_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    for ExportedVersion { state, version } in &history.versions {
        insert.execute(params![
            document,
            version.number,
            state.as_str(),
            version.content,
            to_json(&version.vector)?,
            version.author.as_str(),
            version.edited_by,
            version.by_person,
            to_json(&version.chat_ids)?,
            to_json(&version.participants)?,
            microseconds(version.written_at),
        ])?;
        state::note_seen(connection, scope, name, &version.vector)?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO hub_conflicts (id, document, kept, shown, opened_at, settled_at, settled)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let is_elsewhere = "SELECT EXISTS (SELECT 1 FROM hub_conflicts WHERE id = ?1 AND document <> ?2)";
    for conflict in &history.conflicts {
        let id = id_within(connection, is_elsewhere, conflict.id, document)?;
        insert.execute(params![
            id.into_bytes(),
            document,
            conflict.kept,
            conflict.shown,
            microseconds(conflict.opened_at),
            conflict.settled_at.map(microseconds),
            conflict.settled,
        ])?;
    }
    chunks::replace_chunks(connection, scope, name, document)
}
