//! Ids of rows from an archive, which another persona or user of this database may have restored too.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::engine::sql::{Connection, Result, params};

/// The id for inserting a row: its own, or if that belongs to a row elsewhere, one derived from both, so that the
/// same archive finds its rows again.
///
/// `is_elsewhere` returns true if id `?1` belongs to a row outside of the scope or document `?2`. The time in an id
/// is preserved.
pub(crate) fn id_within(
    connection: &Connection,
    is_elsewhere: &'static str,
    id: Uuid,
    within: i64,
) -> Result<Uuid> {
    let mut bytes = id.into_bytes();
    if !connection.prepare_cached(is_elsewhere)?.query_row(params![bytes, within], |row| row.get(0))? {
        return Ok(id);
    }
    let digest = Sha256::new().chain_update(bytes).chain_update(within.to_be_bytes()).finalize();
    for (byte, other) in bytes.iter_mut().zip(digest).skip(8) {
        *byte = other;
    }
    // The two bits for the layout of the UUID.
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Uuid::from_bytes(bytes))
}
