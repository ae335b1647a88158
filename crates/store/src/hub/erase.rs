//! Removes text from documents that was erased at another home.

use std::collections::BTreeSet;

use hub::erasure::line_digest;
use hub::export::ErasedName;
use hub::names::DocumentName;
use hub::ports::DocumentErasure;
use hub::version_vector::VersionVector;
use jiff::Timestamp;
use memory::Scope;

use super::forget::{self, Row};
use super::{chunks, documents, erased_lines, erased_names, state};
use crate::engine::sql::{Connection, Result, params};
use crate::forgetting::{self, overwrite};
use crate::graph;
use crate::rows::microseconds;

/// Removes the text from every version, with everything derived from it. True if anything was removed.
pub(super) fn apply(
    connection: &Connection,
    scope: &Scope,
    erasure: &DocumentErasure,
    (revision, at): (i64, Timestamp),
) -> Result<bool> {
    let Some(number) = documents::number(connection, scope, &erasure.name)? else { return Ok(false) };
    if erasure.takes_name {
        erase_document(connection, scope, number, erasure, (revision, at))?;
        overwrite::mark_overwriting_due(connection)?;
        return Ok(true);
    }
    let digests: BTreeSet<[u8; 32]> = erasure.lines.iter().map(|line| line.digest).collect();
    let is_erased =
        |line: &str| line_digest(scope, &erasure.name, line).is_some_and(|digest| digests.contains(&digest));
    let mut removed = BTreeSet::new();
    let mut is_live_changed = false;
    for (version, is_live, content) in versions_with_text(connection, number)? {
        let (gone, kept): (Vec<&str>, Vec<&str>) = content.lines().partition(|line| is_erased(line));
        if gone.is_empty() {
            continue;
        }
        connection
            .prepare_cached("UPDATE hub_versions SET content = ?3 WHERE document = ?1 AND number = ?2")?
            .execute(params![number, version, format!("{}\n", kept.join("\n").trim_end())])?;
        removed.extend(gone.into_iter().map(str::to_owned));
        is_live_changed |= is_live;
    }
    take_snapshots(connection, scope, &erasure.name, &is_erased)?;
    // The row stays without text, so that the event is not written again before it is forgotten.
    for line in &removed {
        connection
            .prepare_cached("UPDATE hub_lines SET line = '', outdated = 0 WHERE document = ?1 AND line = ?2")?
            .execute(params![number, line])?;
    }
    let row = Row { number, name: erasure.name.clone() };
    if erasure.is_own_change || is_live_changed {
        let change = forget::change_by_this_instance(connection, scope, &row)?;
        if erasure.is_own_change {
            erased_lines::insert_digests(connection, number, digests.iter(), &change)?;
        }
    }
    if !erasure.is_own_change {
        for line in &erasure.lines {
            let change = (line.author.clone(), line.counter);
            erased_lines::insert_digests(connection, number, std::iter::once(&line.digest), &change)?;
        }
    }
    if removed.is_empty() {
        settle(connection, scope, &row, revision)?;
        return Ok(false);
    }
    graph::withdraw_document(connection, scope, &erasure.name, microseconds(at))?;
    connection.prepare_cached("DELETE FROM hub_chunks WHERE document = ?1")?.execute([number])?;
    settle(connection, scope, &row, revision)?;
    if erasure.is_own_change {
        rewrite_roll_ups(connection, scope, &erasure.name, (revision, at))?;
    }
    forgetting::clear_traces_quoting(connection, scope, &removed)?;
    overwrite::mark_overwriting_due(connection)?;
    Ok(true)
}

/// Versions with a text: number, true if live, text.
fn versions_with_text(connection: &Connection, document: i64) -> Result<Vec<(i64, bool, String)>> {
    connection
        .prepare_cached(
            "SELECT number, state <> 'past', content FROM hub_versions WHERE document = ?1 AND content IS NOT NULL",
        )?
        .query_map([document], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}

/// Gives a changed document its revision, and creates its chunks.
fn settle(connection: &Connection, scope: &Scope, row: &Row, revision: i64) -> Result<()> {
    connection
        .prepare_cached("UPDATE hub_documents SET revision = ?2 WHERE number = ?1")?
        .execute(params![row.number, revision])?;
    chunks::replace_chunks(connection, scope, &row.name, row.number)
}

/// Marks roll-ups of the document as outdated, so that they are written again without the text.
fn rewrite_roll_ups(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
    (revision, at): (i64, Timestamp),
) -> Result<()> {
    let DocumentName::Diary(memory) = name else { return Ok(()) };
    for above in memory.roll_ups_above() {
        let name = DocumentName::Diary(above);
        let Some(number) = documents::number(connection, scope, &name)? else { continue };
        let row = Row { number, name };
        forget::insert_tombstone(connection, scope, &row, microseconds(at))?;
        graph::withdraw_document(connection, scope, &row.name, microseconds(at))?;
        settle(connection, scope, &row, revision)?;
    }
    Ok(())
}

fn take_snapshots(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
    is_erased: &dyn Fn(&str) -> bool,
) -> Result<()> {
    let key = params![scope.persona.as_str(), state::owner(scope, name), name.kind(), name.stem()];
    let snapshots: Vec<(String, String)> = connection
        .prepare_cached(
            "SELECT id, content FROM hub_snapshots WHERE persona_id = ?1 AND user_id = ?2 AND kind = ?3 AND stem = ?4",
        )?
        .query_map(key, |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_>>()?;
    for (id, _) in snapshots.iter().filter(|(_, content)| content.lines().any(is_erased)) {
        connection
            .prepare_cached("DELETE FROM hub_snapshots WHERE persona_id = ?1 AND user_id = ?2 AND id = ?3")?
            .execute([scope.persona.as_str(), state::owner(scope, name), id])?;
    }
    Ok(())
}

/// Deletes a document except for a digest of its name.
fn erase_document(
    connection: &Connection,
    scope: &Scope,
    number: i64,
    erasure: &DocumentErasure,
    (revision, at): (i64, Timestamp),
) -> Result<()> {
    let name = &erasure.name;
    let mut seen = VersionVector::default();
    for version in documents::versions(connection, scope, name, u32::MAX)? {
        seen.join(&version.vector);
    }
    graph::withdraw_document(connection, scope, name, microseconds(at))?;
    take_snapshots(connection, scope, name, &|_| true)?;
    connection
        .prepare_cached(
            "DELETE FROM hub_labels WHERE persona_id = ?1 AND user_id = ?2 AND kind = ?3 AND stem = ?4",
        )?
        .execute(params![scope.persona.as_str(), state::owner(scope, name), name.kind(), name.stem()])?;
    if erasure.is_own_change {
        erased_names::insert_erased_name(connection, scope, name, seen, microseconds(at))?;
        for instance in state::instances(connection, scope)? {
            if instance.base.has_document(name) {
                erased_names::store_name_for_instance(connection, scope, &instance.id, name)?;
            }
        }
    } else {
        let digest = erased_names::digest(scope, name);
        let erased = ErasedName { kind: name.kind().to_owned(), digest, vector: seen, erased_at: at };
        erased_names::insert_erasure(connection, scope, state::owner(scope, name), &erased, revision)?;
    }
    connection.prepare_cached("DELETE FROM hub_documents WHERE number = ?1")?.execute([number])?;
    Ok(())
}
