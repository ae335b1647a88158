//! What a server still holds of erased words, as far as this program can reach it.

use std::time::Duration;

use memory::ports::StoreError;

use super::ServerAddress;
use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension as _, Result};

/// Size in bytes up to which an index is rebuilt under a lock, which blocks others for milliseconds. A larger index is rebuilt
/// concurrently, which is slower.
const LOCKED_REBUILD_BYTES_MAX: u64 = 8 << 20;
/// Time for which building at once waits for those who read. While it waits, turns that come later wait behind it.
const LOCK_LIMIT: Duration = Duration::from_secs(1);

/// Indexes over words, of the tables whose words are kept out of statistics: a key stays in an index after its row is gone, as a
/// separator or as an entry without rows.
const WORD_INDEXES: &str = "
    SELECT DISTINCT CAST(i.indexrelid::regclass AS TEXT), i.indisvalid, pg_relation_size(i.indexrelid)
    FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_attribute k ON k.attrelid = i.indexrelid
    WHERE t.relnamespace = CAST(CAST(current_schema() AS TEXT) AS regnamespace)
        AND k.atttypid IN ('text'::regtype, 'tsvector'::regtype)
        AND EXISTS (SELECT 1 FROM pg_attribute c WHERE c.attrelid = t.oid AND c.attstattarget = 0)
    ORDER BY 1";

/// The tables of the home, and of nobody else who uses the database.
const HOME_TABLES: &str = "
    SELECT CAST(oid::regclass AS TEXT) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = CAST(CAST(current_schema() AS TEXT) AS regnamespace) ORDER BY 1";

/// Number of the transaction that last erased something which is not cleared yet.
const LAST_UNCLEARED_ERASURE: &str = "SELECT CAST(CAST(xmin AS TEXT) AS BIGINT) FROM overwriting_due";

/// Erasures whose words are cleared, by the transaction of the last one. None if nothing was due.
#[derive(Clone, Copy)]
pub(crate) struct ClearedErasures(Option<i64>);

/// Notes that these erasures are cleared. One that ended meanwhile stays due.
pub(crate) fn note_cleared(connection: &Connection, ClearedErasures(last): ClearedErasures) -> Result<()> {
    if let Some(last) = last {
        connection
            .prepare_cached("DELETE FROM overwriting_due WHERE CAST(CAST(xmin AS TEXT) AS BIGINT) = ?1")?
            .execute([last])?;
    }
    Ok(())
}

/// Removes deleted rows on a server, and builds indexes over words again, while others read and write. The server's log, replicas,
/// backups and freed blocks are its operator's.
pub(crate) fn clear_erased_words(
    address: &ServerAddress,
) -> std::result::Result<ClearedErasures, StoreError> {
    let connection = Connection::Postgres(Box::new(address.connect()?));
    let cleared = || -> Result<ClearedErasures> {
        let last: Option<i64> =
            connection.prepare_cached(LAST_UNCLEARED_ERASURE)?.query_row([], |row| row.get(0)).optional()?;
        if last.is_none() {
            return Ok(ClearedErasures(None));
        }
        let tables: Vec<String> = connection
            .prepare_cached(HOME_TABLES)?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_>>()?;
        connection.execute_batch(&format!("VACUUM {}", tables.join(", ")))?;
        let indexes: Vec<(String, bool, u64)> = connection
            .prepare_cached(WORD_INDEXES)?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_>>()?;
        for (index, is_valid, bytes) in indexes {
            if !is_valid {
                // It was left by a rebuilding that was cut off.
                connection.execute_batch(&format!("DROP INDEX CONCURRENTLY {index}"))?;
                continue;
            }
            let limit = LOCK_LIMIT.as_millis();
            let at_once = format!("SET lock_timeout = {limit}; REINDEX INDEX {index}");
            if bytes <= LOCKED_REBUILD_BYTES_MAX && connection.execute_batch(&at_once).is_ok() {
                continue;
            }
            connection.execute_batch("SET lock_timeout = 0")?;
            connection.execute_batch(&format!("REINDEX INDEX CONCURRENTLY {index}"))?;
        }
        Ok(ClearedErasures(last))
    };
    cleared().map_err(|error| Failure::from(error).into_write_error())
}
