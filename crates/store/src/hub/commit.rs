//! Commits of the hub: all of it or nothing, and only if nothing was written since the input was read.

use hub::documents::{Version, core_block_of};
use hub::names::DocumentName;
use hub::ports::{DocumentWrite, HubCommit, HubCommitOutcome};
use memory::Scope;

use super::{chunks, conflicts, documents, erase, erased_names, exchange, export, snapshots, state};
use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::forgetting::overwrite;
use crate::graph;
use crate::people::core_blocks;
use crate::rows::{microseconds, to_json};

pub(super) fn commit(
    connection: &Connection,
    scope: &Scope,
    commit: &HubCommit,
) -> std::result::Result<HubCommitOutcome, Failure> {
    let revision = state::revision(connection, scope)?;
    if revision != commit.expected {
        return Ok(HubCommitOutcome::Changed);
    }
    if has_lost_an_event(connection, commit)? {
        return Ok(HubCommitOutcome::Changed);
    }
    let changes_nothing =
        commit.documents.is_empty() && commit.restored.is_none() && commit.erasures.is_empty();
    let revision = if changes_nothing { revision } else { state::raise_revision(connection, scope)? };
    if let Some(restored) = &commit.restored {
        export::restore(connection, scope, restored, revision, commit.at.unwrap_or_default())?;
    }
    for write in &commit.documents {
        write_document(connection, scope, write, revision)?;
        if let Some(label) = core_block_of(&write.name, scope)
            && let Some(shown) = write.heads.first()
        {
            let text = shown.content.as_deref().unwrap_or_default();
            core_blocks::write_block(connection, scope, label, text, &shown.edited_by, write.at)?;
        }
    }
    for erasure in &commit.erasures {
        erase::apply(connection, scope, erasure, (revision, commit.at.unwrap_or_default()))?;
    }
    if let Some(position) = &commit.exchange {
        exchange::write(connection, scope, position)?;
    }
    for conflict in &commit.opened {
        conflicts::open(connection, scope, conflict)?;
    }
    for (id, how) in &commit.settled {
        conflicts::settle(connection, *id, how, commit.at)?;
    }
    for write in &commit.documents {
        conflicts::close_superseded_conflicts(connection, scope, &write.name, commit.at)?;
    }
    for line in &commit.lines {
        if let Some(document) = documents::number(connection, scope, &line.document)? {
            connection
                .prepare_cached(
                    "INSERT INTO hub_lines (document, node_id, session_id, line) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (document, node_id) DO UPDATE SET line = excluded.line, outdated = 0",
                )?
                .execute(params![
                    document,
                    line.node.0.into_bytes(),
                    line.session.0.into_bytes(),
                    line.line
                ])?;
        }
    }
    for snapshot in &commit.snapshots {
        snapshots::insert_snapshot(connection, scope, snapshot)?;
    }
    if let Some(instance) = &commit.instance {
        state::write_instance(connection, scope, instance)?;
        if let Some(heard) = &commit.heard
            && erased_names::note_received(connection, scope, &instance.id, heard, instance.last_sync)?
        {
            overwrite::mark_overwriting_due(connection)?;
        }
    }
    Ok(HubCommitOutcome::Done(revision))
}

/// True if an event of a line in the commit was forgotten since it was read.
fn has_lost_an_event(connection: &Connection, commit: &HubCommit) -> Result<bool> {
    for line in &commit.lines {
        let is_there: bool = connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM concept_nodes WHERE id = ?1 AND deleted_at IS NULL)",
            )?
            .query_row([line.node.0.into_bytes()], |row| row.get(0))?;
        if !is_there {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Replaces the live versions; the former ones become past versions.
pub(super) fn write_document(
    connection: &Connection,
    scope: &Scope,
    write: &DocumentWrite,
    revision: i64,
) -> Result<()> {
    let document = document_or_new(connection, scope, write)?;
    if let Some(label) = &write.prompt_label {
        documents::set_label(connection, scope, &write.name, label)?;
    }
    let before = connection
        .prepare_cached("SELECT number FROM hub_versions WHERE document = ?1 AND state = 'shown'")?
        .query_row([document], |row| row.get::<i64>(0))
        .optional()?;
    connection
        .prepare_cached("UPDATE hub_documents SET revision = ?2, stale = ?3 WHERE number = ?1")?
        .execute(params![document, revision, write.stale])?;
    connection
        .prepare_cached("UPDATE hub_versions SET state = 'past' WHERE document = ?1 AND state <> 'past'")?
        .execute([document])?;
    for version in &write.merged_from {
        insert_version(connection, document, version, "past")?;
    }
    for (index, head) in write.heads.iter().enumerate() {
        let state = if index == 0 { "shown" } else { "beside" };
        if head.number == 0 {
            insert_version(connection, document, head, state)?;
        } else {
            connection
                .prepare_cached(
                    "UPDATE hub_versions SET state = ?3, vector = ?4, written_at = ?5 WHERE document = ?1 AND number = ?2",
                )?
                .execute(params![
                    document,
                    head.number,
                    state,
                    to_json(&head.vector)?,
                    microseconds(head.written_at)
                ])?;
        }
        state::note_seen(connection, scope, &write.name, &head.vector)?;
    }
    if write.heads.first().is_none_or(|shown| Some(shown.number) != before) {
        chunks::replace_chunks(connection, scope, &write.name, document)?;
    }
    if write.heads.first().is_some_and(|shown| shown.content.is_none()) {
        graph::withdraw_document(connection, scope, &write.name, microseconds(write.at))?;
    }
    Ok(())
}

fn document_or_new(connection: &Connection, scope: &Scope, write: &DocumentWrite) -> Result<i64> {
    let name: &DocumentName = &write.name;
    if let Some(number) = documents::number(connection, scope, name)? {
        return Ok(number);
    }
    erased_names::drop(connection, scope, name)?;
    let user = name.is_of_user().then_some(scope.user.as_str());
    connection
        .prepare_cached(
            "INSERT INTO hub_documents (persona_id, user_id, kind, stem, revision, created_at)
             VALUES (?1, ?2, ?3, ?4, 0, ?5) RETURNING number",
        )?
        .query_row(
            params![scope.persona.as_str(), user, name.kind(), name.stem(), microseconds(write.at)],
            |row| row.get(0),
        )
}

fn insert_version(connection: &Connection, document: i64, version: &Version, state: &str) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO hub_versions (document, number, state, content, vector, author, edited_by, by_person,
                                       chat_ids, participants, written_at)
             SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
             FROM hub_versions WHERE document = ?1",
        )?
        .execute(params![
            document,
            state,
            version.content,
            to_json(&version.vector)?,
            version.author.as_str(),
            version.edited_by,
            version.by_person,
            to_json(&version.chat_ids)?,
            to_json(&version.participants)?,
            microseconds(version.written_at),
        ])?;
    Ok(())
}
