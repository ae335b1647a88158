//! Receipts of erasures.

use memory::Scope;
use memory::forget::{ErasureReceipt, ForgetSummary, InstanceWithCopy};
use memory::identifiers::ErasureId;

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows::{self, microseconds, to_json};

/// Inserts a receipt, or adds the result of another group of the same erasure to it, with the instances to be
/// reached. These have to pull beyond the hub's last change in the scope, which is part of the erasure.
pub(super) fn insert_receipt(
    connection: &Connection,
    receipt: &ErasureReceipt,
    instances: &[InstanceWithCopy],
) -> Result<()> {
    let inserted = connection
        .prepare_cached(
            "INSERT INTO erasure_receipts (id, persona_id, user_id, created_at, receipt) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            receipt.id.0.into_bytes(),
            receipt.scope.persona.as_str(),
            receipt.scope.user.as_str(),
            microseconds(receipt.created_at),
            to_json(receipt)?,
        ])?;
    if inserted == 0 {
        insert_part(connection, receipt)?;
    }
    for instance in instances {
        connection
            .prepare_cached(
                "INSERT INTO erasure_instances (receipt_id, instance_id, author, counter)
                 SELECT ?1, ?2, own.author, coalesce((SELECT max(counter) FROM hub_seen WHERE persona_id = ?3
                     AND author = CASE own.author WHEN '' THEN own.id ELSE own.author END), 0)
                 FROM hub_own_instance own WHERE true
                 ON CONFLICT (receipt_id, instance_id) DO UPDATE
                     SET author = excluded.author, counter = excluded.counter, reached_at = NULL",
            )?
            .execute(params![receipt.id.0.into_bytes(), instance.id, receipt.scope.persona.as_str()])?;
    }
    Ok(())
}

/// Adds a part to a receipt, whose freed pages have to be overwritten again.
fn insert_part(connection: &Connection, receipt: &ErasureReceipt) -> Result<()> {
    let id = receipt.id.0.into_bytes();
    connection
        .prepare_cached(
            "INSERT INTO erasure_parts (receipt_id, number, taken)
             SELECT ?1, coalesce(max(number), 0) + 1, ?2 FROM erasure_parts WHERE receipt_id = ?1",
        )?
        .execute(params![id, to_json(&receipt.taken)?])?;
    connection
        .prepare_cached("UPDATE erasure_receipts SET overwritten_at = NULL WHERE id = ?1")?
        .execute([id])?;
    Ok(())
}

/// Adds the results of later groups of its erasure.
fn add_parts(connection: &Connection, receipt: &mut ErasureReceipt) -> Result<()> {
    let mut parts =
        connection.prepare_cached("SELECT taken FROM erasure_parts WHERE receipt_id = ?1 ORDER BY number")?;
    for part in
        parts.query_map([receipt.id.0.into_bytes()], |row| rows::read_json::<ForgetSummary>(row, 0))?
    {
        receipt.taken.merge(part?);
    }
    Ok(())
}

fn instances_of(connection: &Connection, receipt: ErasureId) -> Result<Vec<InstanceWithCopy>> {
    connection
        .prepare_cached(
            "SELECT instance_id, reached_at FROM erasure_instances WHERE receipt_id = ?1 ORDER BY instance_id",
        )?
        .query_map([receipt.0.into_bytes()], |row| {
            Ok(InstanceWithCopy { id: row.get(0)?, reached_at: rows::optional_time(row, 1)? })
        })?
        .collect()
}

pub(super) fn list(
    connection: &Connection,
    scope: &Scope,
    before: Option<ErasureId>,
    limit: u32,
) -> Result<Vec<ErasureReceipt>> {
    let before = match before {
        None => (i64::MAX, [u8::MAX; 16]),
        Some(id) => match by_id(connection, id)? {
            Some(receipt) => (microseconds(receipt.created_at), id.0.into_bytes()),
            None => return Ok(Vec::new()),
        },
    };
    connection
        .prepare_cached(
            "SELECT receipt, overwritten_at FROM erasure_receipts
             WHERE persona_id = ?1 AND user_id = ?2 AND (created_at, id) < (?3, ?4)
             ORDER BY created_at DESC, id DESC LIMIT ?5",
        )?
        .query_map(params![scope.persona.as_str(), scope.user.as_str(), before.0, before.1, limit], |row| {
            read_receipt(connection, row)
        })?
        .collect()
}

pub(super) fn by_id(connection: &Connection, id: ErasureId) -> Result<Option<ErasureReceipt>> {
    connection
        .prepare_cached("SELECT receipt, overwritten_at FROM erasure_receipts WHERE id = ?1")?
        .query_row([id.0.into_bytes()], |row| read_receipt(connection, row))
        .optional()
}

fn read_receipt(connection: &Connection, row: &Row<'_>) -> Result<ErasureReceipt> {
    let mut kept: ErasureReceipt = rows::read_json(row, 0)?;
    add_parts(connection, &mut kept)?;
    let instances = instances_of(connection, kept.id)?;
    Ok(ErasureReceipt { overwritten_at: rows::optional_time(row, 1)?, instances, ..kept })
}
