//! The state of a row: its values from the tables, and who wrote them from `sync_rows`.

use std::collections::BTreeMap;

use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use ::sync::{Actor, Field, HybridTime, Kind, RowKey, RowState, Stamp, VersionVector};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fields::{self, RowFields};
use crate::rows::{to_json, unreadable};

/// A digest of a field's value and the change that wrote it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptStamp(pub(super) String, pub(super) i64, pub(super) Actor, pub(super) u64);

/// What is kept of a row beside its values.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptRow {
    pub(super) vector: VersionVector,
    pub(super) stamps: BTreeMap<String, KeptStamp>,
}

/// Tells values apart without holding them.
pub(super) fn digest(value: &Value) -> String {
    let mut digest = hex::encode(Sha256::digest(value.to_string()));
    digest.truncate(16);
    digest
}

pub(super) fn kept(connection: &Connection, key: &RowKey) -> Result<KeptRow> {
    let found = connection
        .prepare_cached("SELECT vector, stamps FROM sync_rows WHERE kind = ?1 AND id = ?2")?
        .query_row([key.kind.as_str(), key.id.as_str()], |row| {
            Ok(KeptRow { vector: crate::rows::json(row, 0)?, stamps: crate::rows::json(row, 1)? })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

pub(super) fn keep(connection: &Connection, key: &RowKey, row: &KeptRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO sync_rows (kind, id, vector, stamps) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (kind, id) DO UPDATE SET vector = excluded.vector, stamps = excluded.stamps",
        )?
        .execute(params![key.kind.as_str(), key.id, to_json(&row.vector)?, to_json(&row.stamps)?])?;
    Ok(())
}

/// Keeps who wrote the fields of a state.
pub(super) fn keep_state(connection: &Connection, key: &RowKey, state: &RowState) -> Result<()> {
    let stamps = state.fields.iter().map(|(name, field)| {
        let Stamp { time, actor, index } = &field.stamp;
        (name.clone(), KeptStamp(digest(&field.value), time.0, actor.clone(), *index))
    });
    keep(connection, key, &KeptRow { vector: state.vector.clone(), stamps: stamps.collect() })
}

/// The row with its scope; `None` if it is not here. A field that was taken away is `null`.
pub(super) fn state(connection: &Connection, key: &RowKey) -> Result<Option<(RowFields, RowState)>> {
    let found = match fields::read(connection, key)? {
        Some(found) => found,
        None if can_be_emptied(key.kind) => {
            RowFields { persona: None, user: None, values: serde_json::Map::new() }
        }
        None => return Ok(None),
    };
    let kept = kept(connection, key)?;
    let fields: BTreeMap<String, Field> = kept
        .stamps
        .into_iter()
        .map(|(name, KeptStamp(_, time, actor, index))| {
            let value = found.values.get(&name).cloned().unwrap_or(Value::Null);
            (name, Field { value, stamp: Stamp { time: HybridTime(time), actor, index } })
        })
        .collect();
    if fields.is_empty() {
        return Ok(None);
    }
    Ok(Some((found, RowState { vector: kept.vector, fields })))
}

/// Kinds whose rows may go without an erasure: what they said is taken away, field by field.
pub(super) fn can_be_emptied(kind: Kind) -> bool {
    matches!(kind, Kind::Mood | Kind::CoreBlock)
}

pub(super) fn key(kind: &str, id: String) -> Result<RowKey> {
    let kind = Kind::parse(kind).ok_or_else(|| unreadable(0, format!("{kind:?} is not a kind of row")))?;
    Ok(RowKey { kind, id })
}
