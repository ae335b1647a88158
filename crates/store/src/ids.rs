//! Ids of rows that come from an archive, which another persona or user of this database may have taken from it too.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::engine::sql::{Connection, Result, params};

/// The id under which a row can be put in: its own or, where that belongs to a row elsewhere, one that always follows from
/// both, so that the same archive finds its rows again.
///
/// `is_elsewhere` asks whether id `?1` belongs to a row outside of the scope or document `?2`. The time in an id is kept.
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
    // The two bits that say which layout it is.
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Uuid::from_bytes(bytes))
}
