//! Removes erased words from a server, as far as this program can reach them.

use std::time::Duration;

use memory::ports::StoreError;

use super::ServerAddress;
use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension as _, Result};

/// Maximum size of an index, in bytes, that is rebuilt under a lock, which blocks others for milliseconds. A larger
/// one is rebuilt concurrently, which is slower.
const LOCKED_REBUILD_BYTES_MAX: u64 = 8 << 20;
/// Time for which such a rebuild waits for readers. Meanwhile later turns wait behind it.
const LOCK_LIMIT: Duration = Duration::from_secs(1);

/// Indexes over words, of the tables whose words are excluded from statistics: a key stays in an index after its row
/// was deleted, as a separator or as an empty entry.
const WORD_INDEXES: &str = "
    SELECT DISTINCT CAST(i.indexrelid::regclass AS TEXT), i.indisvalid, pg_relation_size(i.indexrelid)
    FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_attribute k ON k.attrelid = i.indexrelid
    WHERE t.relnamespace = CAST(CAST(current_schema() AS TEXT) AS regnamespace)
        AND k.atttypid IN ('text'::regtype, 'tsvector'::regtype)
        AND EXISTS (SELECT 1 FROM pg_attribute c WHERE c.attrelid = t.oid AND c.attstattarget = 0)
    ORDER BY 1";

/// Tables of the home; the database may contain others.
const HOME_TABLES: &str = "
    SELECT CAST(oid::regclass AS TEXT) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = CAST(CAST(current_schema() AS TEXT) AS regnamespace) ORDER BY 1";

/// Id of the last transaction that erased something and is not cleared yet.
const LAST_UNCLEARED_ERASURE: &str = "SELECT CAST(CAST(xmin AS TEXT) AS BIGINT) FROM overwriting_due";

/// Erasures whose words are cleared, by the transaction of the last one. `None` if there was nothing to do.
#[derive(Clone, Copy)]
pub(crate) struct ClearedErasures(Option<i64>);

/// Notes that these erasures are cleared. Later ones stay due.
pub(crate) fn note_cleared(connection: &Connection, ClearedErasures(last): ClearedErasures) -> Result<()> {
    if let Some(last) = last {
        connection
            .prepare_cached("DELETE FROM overwriting_due WHERE CAST(CAST(xmin AS TEXT) AS BIGINT) = ?1")?
            .execute([last])?;
    }
    Ok(())
}

/// Removes deleted rows on a server, and rebuilds indexes over words, while others read and write. The server's log,
/// replicas, backups and freed blocks are its operator's responsibility.
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
                // An interrupted rebuild left it behind.
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
