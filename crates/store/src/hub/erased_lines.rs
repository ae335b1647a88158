//! Digests of lines that were erased from documents.

use hub::erasure::{ErasedLine, line_digest};
use hub::names::{DocumentName, InstanceId};
use memory::Scope;

use super::documents;
use super::state::instance_id;
use crate::engine::sql::{Connection, Result, params};

/// Records that this change of this instance erased lines of a document.
pub(super) fn insert_erased_lines<'a>(
    connection: &Connection,
    scope: &Scope,
    (document, name): (i64, &DocumentName),
    lines: impl Iterator<Item = &'a str>,
    (author, counter): &(InstanceId, u64),
) -> Result<()> {
    let digests: Vec<[u8; 32]> = lines.filter_map(|line| line_digest(scope, name, line)).collect();
    insert_digests(connection, document, digests.iter(), &(author.clone(), *counter))
}

/// Records erased lines by their digests.
pub(super) fn insert_digests<'a>(
    connection: &Connection,
    document: i64,
    digests: impl Iterator<Item = &'a [u8; 32]>,
    (author, counter): &(InstanceId, u64),
) -> Result<()> {
    for digest in digests {
        connection
            .prepare_cached(
                "INSERT INTO hub_erased_lines (document, digest, author, counter) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (document, digest) DO UPDATE SET author = excluded.author, counter = excluded.counter",
            )?
            .execute(params![document, digest, author.as_str(), counter])?;
    }
    Ok(())
}

pub(super) fn list(connection: &Connection, scope: &Scope, name: &DocumentName) -> Result<Vec<ErasedLine>> {
    let Some(document) = documents::number(connection, scope, name)? else { return Ok(Vec::new()) };
    connection
        .prepare_cached("SELECT digest, author, counter FROM hub_erased_lines WHERE document = ?1")?
        .query_map([document], |row| {
            Ok(ErasedLine { digest: row.get(0)?, author: instance_id(row, 1)?, counter: row.get(2)? })
        })?
        .collect()
}
