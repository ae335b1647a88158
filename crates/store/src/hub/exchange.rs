//! The position of the exchange with the hub that this home follows, and erasures that this hub has not applied yet.

use std::collections::BTreeMap;

use hub::VersionVector;
use hub::erasure::ErasedLine;
use hub::names::{DocumentName, InstanceId};
use hub::ports::{ExchangePosition, PendingErasure};
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::NodeId;

use super::erased_names;
use super::state::instance_id;
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::rows::{self, microseconds, to_json};

/// The hub that this scope was exchanged with; `None` if there was none.
pub(super) fn hub_of(connection: &Connection, scope: &Scope) -> Result<Option<InstanceId>> {
    connection
        .prepare_cached("SELECT hub FROM hub_exchanges WHERE persona_id = ?1 AND user_id = ?2")?
        .query_row([scope.persona.as_str(), scope.user.as_str()], |row| instance_id(row, 0))
        .optional()
}

pub(super) fn exchange_position(connection: &Connection, scope: &Scope) -> Result<Option<ExchangePosition>> {
    let found = connection
        .prepare_cached(
            "SELECT hub, seen, cursor, erased, exchanged_at FROM hub_exchanges WHERE persona_id = ?1 AND user_id = ?2",
        )?
        .query_row([scope.persona.as_str(), scope.user.as_str()], |row| {
            Ok(ExchangePosition {
                hub: instance_id(row, 0)?,
                seen: rows::read_json(row, 1)?,
                cursor: row.get(2)?,
                sent: VersionVector::default(),
                erased: rows::read_json(row, 3)?,
                exchanged_at: rows::optional_time(row, 4)?,
            })
        })
        .optional()?;
    let Some(mut position) = found else { return Ok(None) };
    // Documents that all users share are pushed in any scope.
    let sent: Vec<VersionVector> = connection
        .prepare_cached("SELECT sent FROM hub_exchanges WHERE persona_id = ?1 AND hub = ?2")?
        .query_map([scope.persona.as_str(), position.hub.as_str()], |row| rows::read_json(row, 0))?
        .collect::<Result<_>>()?;
    sent.iter().for_each(|sent| position.sent.join(sent));
    Ok(Some(position))
}

pub(super) fn write(connection: &Connection, scope: &Scope, position: &ExchangePosition) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO hub_exchanges (persona_id, user_id, hub, seen, cursor, sent, erased, exchanged_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (persona_id, user_id) DO UPDATE SET hub = excluded.hub, seen = excluded.seen,
                 cursor = excluded.cursor, sent = excluded.sent, erased = excluded.erased,
                 exchanged_at = excluded.exchanged_at",
        )?
        .execute(params![
            scope.persona.as_str(),
            scope.user.as_str(),
            position.hub.as_str(),
            to_json(&position.seen)?,
            position.cursor,
            to_json(&position.sent)?,
            to_json(&position.erased)?,
            position.exchanged_at.map(microseconds),
        ])?;
    Ok(())
}

pub(super) fn pending_erasures(
    connection: &Connection,
    scope: &Scope,
    position: &ExchangePosition,
    instance: &InstanceId,
) -> Result<Vec<PendingErasure>> {
    let mut lines: BTreeMap<DocumentName, Vec<ErasedLine>> = BTreeMap::new();
    let mut statement = connection.prepare_cached(
        "SELECT d.kind, d.stem, l.digest, l.author, l.counter
         FROM hub_documents d JOIN hub_erased_lines l ON l.document = d.number
         WHERE d.persona_id = ?1 AND (d.user_id IS NULL OR d.user_id = ?2)",
    )?;
    let mut rows = statement.query([scope.persona.as_str(), scope.user.as_str()])?;
    while let Some(row) = &rows.next()? {
        let line = ErasedLine { digest: row.get(2)?, author: instance_id(row, 3)?, counter: row.get(4)? };
        if line.author.is_part_of(instance) && line.counter > position.erased.get(&line.author) {
            let name = DocumentName::parse(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
            lines.entry(name.map_err(|error| rows::unreadable_column(1, error))?).or_default().push(line);
        }
    }
    let in_documents =
        lines.into_iter().map(|(name, lines)| PendingErasure { name, lines, name_erased: false });
    let names = erased_names::unsent_erasures(connection, scope, &position.hub)?;
    let names = names.into_iter().map(|document| PendingErasure {
        name: document.name,
        lines: Vec::new(),
        name_erased: true,
    });
    Ok(in_documents.chain(names).collect())
}

pub(super) fn note_erasures_reached(
    connection: &Connection,
    scope: &Scope,
    hub: &InstanceId,
    reached: &VersionVector,
    at: Timestamp,
) -> Result<bool> {
    for (author, counter) in reached.iter() {
        erased_names::note_reached(connection, scope, hub, (author, counter), at)?;
    }
    let mut is_dropped = false;
    for deletion in erased_names::unsent_erasures(connection, scope, hub)? {
        is_dropped |= erased_names::remove_stored_name(connection, scope, Some(hub), &deletion.name)?;
    }
    Ok(is_dropped)
}

/// Events whose lines were erased elsewhere. Their rows are still there, without text.
pub(super) fn events_erased_elsewhere(connection: &Connection, scope: &Scope) -> Result<Vec<NodeId>> {
    connection
        .prepare_cached(
            "SELECT l.node_id FROM hub_lines l JOIN hub_documents d ON d.number = l.document
             WHERE l.line = '' AND d.persona_id = ?1 AND d.user_id = ?2",
        )?
        .query_map([scope.persona.as_str(), scope.user.as_str()], |row| Ok(NodeId(rows::read_uuid(row, 0)?)))?
        .collect()
}
