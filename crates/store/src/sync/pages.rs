//! What a peer lacks, cut into pages.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use ::sync::{
    Actor, Head, HybridTime, LogEntry, PAGE_BYTES_MAX, PAGE_ENTRIES_MAX, Page, PageRow, RowKey, VersionVector,
};

use super::numbering::actor;
use super::states;
use crate::rows;

/// Bytes of rows after which a page ends.
const PAGE_BYTES: usize = PAGE_BYTES_MAX / 4;

/// The highest index of each actor.
pub(super) fn known(connection: &Connection) -> Result<VersionVector> {
    let mut statement = connection.prepare_cached(
        "SELECT a.actor, (SELECT max(idx) FROM sync_log l WHERE l.actor = a.number) FROM sync_actors a",
    )?;
    let all = statement.query_map([], |row| Ok((actor(row, 0)?, row.get::<Option<u64>>(1)?)))?;
    let all: Vec<(Actor, Option<u64>)> = all.collect::<Result<_>>()?;
    Ok(all.into_iter().filter_map(|(actor, index)| index.map(|index| (actor, index))).collect())
}

pub(super) fn heads(connection: &Connection) -> Result<BTreeMap<Actor, Head>> {
    let mut heads = BTreeMap::new();
    for (actor, index) in known(connection)?.iter() {
        if let Some(digest) = digest_at(connection, actor, index)? {
            heads.insert(actor.clone(), Head { index, digest });
        }
    }
    Ok(heads)
}

pub(super) fn digest_at(connection: &Connection, actor: &Actor, index: u64) -> Result<Option<String>> {
    let found = connection
        .prepare_cached(
            "SELECT a.actor, l.idx, l.time, l.kind, l.id FROM sync_log l JOIN sync_actors a ON a.number = l.actor
             WHERE a.actor = ?1 AND l.idx = ?2",
        )?
        .query_row(params![actor.to_string(), index], entry)
        .optional()?;
    Ok(found.map(|entry| entry.digest()))
}

fn entry(row: &Row<'_>) -> Result<LogEntry> {
    let key = states::key(row.get_ref(3)?.as_str()?, row.get(4)?)?;
    Ok(LogEntry { actor: actor(row, 0)?, index: row.get(1)?, time: HybridTime(row.get(2)?), row: key })
}

/// The next page, in the order of time, which respects each actor's own. `more` says that it is not the last.
pub(super) fn page_after(connection: &Connection, has: &VersionVector) -> Result<Page> {
    let mut entries = Vec::new();
    for (actor, index) in known(connection)?.iter() {
        let after = has.of(actor);
        if index > after {
            entries.extend(entries_after(connection, actor, after)?);
        }
    }
    entries.sort_by(|a, b| (a.time, &a.actor, a.index).cmp(&(b.time, &b.actor, b.index)));
    let found = entries.len();
    entries.truncate(PAGE_ENTRIES_MAX);
    let mut page = Page::default();
    let (mut seen, mut bytes) = (BTreeSet::new(), 0);
    for entry in entries {
        if bytes > PAGE_BYTES {
            break;
        }
        if seen.insert(entry.row.clone())
            && let Some(row) = row(connection, &entry.row)?
        {
            bytes += rows::to_json(&row)?.len();
            page.rows.push(row);
        }
        page.entries.push(entry);
    }
    page.more = page.entries.len() < found;
    Ok(page)
}

fn entries_after(connection: &Connection, actor: &Actor, after: u64) -> Result<Vec<LogEntry>> {
    connection
        .prepare_cached(
            "SELECT a.actor, l.idx, l.time, l.kind, l.id FROM sync_actors a JOIN sync_log l ON l.actor = a.number
             WHERE a.actor = ?1 AND l.idx > ?2 ORDER BY l.idx LIMIT ?3",
        )?
        .query_map(params![actor.to_string(), after, PAGE_ENTRIES_MAX + 1], entry)?
        .collect()
}

/// The row as it is now, or as it waits for what it refers to.
fn row(connection: &Connection, key: &RowKey) -> Result<Option<PageRow>> {
    if let Some(waiting) = waiting(connection, key)? {
        return Ok(Some(waiting));
    }
    let Some((found, state)) = states::state(connection, key)? else { return Ok(None) };
    Ok(Some(PageRow { key: key.clone(), persona: found.persona, user: found.user, state }))
}

pub(super) fn waiting(connection: &Connection, key: &RowKey) -> Result<Option<PageRow>> {
    connection
        .prepare_cached("SELECT row FROM sync_waiting WHERE kind = ?1 AND id = ?2")?
        .query_row([key.kind.as_str(), key.id.as_str()], |row| rows::json(row, 0))
        .optional()
}
