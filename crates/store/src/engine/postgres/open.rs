//! Opens a database for writing: creates or migrates its schema, and refuses a foreign one before anything is
//! changed.

use std::time::Duration;

use memory::ports::StoreError;

use super::daemons::{self, HomeState, NewDaemon};
use super::holder::{Holder, lock_holder, set_holder};
use super::{Server, ServerAddress};
use crate::engine::failure::Failure;
use crate::engine::migrate::{Migration, migrations};
use crate::engine::sql::{Connection, Error, OptionalExtension as _, Result};

/// The complete schema of a new home, equal to the result of all migrations.
const WHOLE_SCHEMA: &str = include_str!("../../../migrations/postgres/schema.sql");

/// All steps, in order. The first is the schema after thirteen steps of SQLite; later ones have the same numbers.
const MIGRATIONS: &[Migration] = migrations![
    "postgres",
    13 "0013_schema",
    14 "0014_grams",
    15 "0015_sent_tokens",
    16 "0016_long_words",
    17 "0017_access",
    18 "0018_logins",
    19 "0019_reconciliation",
    20 "0020_silenced_words",
    21 "0021_peers_removed",
    22 "0022_embodiment",
    23 "0023_import_proposals",
    24 "0024_others_words",
    25 "0025_titles_and_versions",
    26 "0026_erasure_parts",
    27 "0027_import_documents",
    28 "0028_character_card",
    29 "0029_replaced_messages",
    30 "0030_messages_of_session",
    31 "0031_rows_in_order",
    32 "0032_daemons",
    33 "0033_word_indexes",
    34 "0034_word_places",
];
/// Oldest supported server version. Version 15 is the oldest that the tests run on.
const OLDEST_SERVER: i64 = 150_000;
/// Advisory lock number that no other program is likely to use: `EVsl` and `sche`.
const MIGRATION_LOCK: i64 = 0x4556_736C_7363_6865;
/// Time for which a program waits for another that opens, migrates or copies the home. Opening takes less; a
/// migration may take longer, and the start then reports who holds the home.
const LOCK_LIMIT: Duration = Duration::from_secs(5);
/// Interval of checks for a program that holds the home. It is too short to be noticed at a start.
const HOLDER_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The writing connection, to a database with a current schema that this program has taken. For a daemon `None` if
/// another program holds it. Others wait until it is clear if that one is alive.
pub(crate) fn open_for_writing(
    address: &ServerAddress,
    daemon: Option<&NewDaemon>,
) -> std::result::Result<Option<Server>, StoreError> {
    let failed = |error: Error| Failure::from(error).into_write_error();
    let mut connection = Connection::Postgres(Box::new(first_connection(address)?));
    let mut first_seen = None;
    loop {
        begin(&connection, address)?;
        let found = holder_of(&connection, address)?;
        let taken = match found {
            Holder::None => Some(
                prepare(&connection, address).and_then(|()| set_holder(&connection, daemon).map_err(failed)),
            ),
            Holder::Program { .. } => None,
        };
        let end = if matches!(taken, Some(Ok(_))) { "COMMIT" } else { "ROLLBACK" };
        let ended = connection.execute_batch(end).map_err(failed);
        if let Some(taken) = taken {
            let program = taken?;
            ended?;
            let Connection::Postgres(server) = connection else { return Err(not_a_server()) };
            server.set_program(program);
            return Ok(Some(*server));
        }
        ended?;
        if daemon.is_some() {
            return Ok(None);
        }
        // It existed a moment ago, and may have ended since.
        if *first_seen.get_or_insert(found) != found {
            return Err(address.database_in_use_error());
        }
        std::thread::park_timeout(HOLDER_POLL_INTERVAL);
        connection = reconnect(connection, address)?;
    }
}

/// A connection, after a check that each one has its own session. A pooler that changes sessions with every
/// transaction would mix up prepared statements, time limits and the ids of inserted rows.
fn first_connection(address: &ServerAddress) -> std::result::Result<Server, StoreError> {
    let failed = |error: Error| address.refusal(&error);
    let (first, second) = (address.connect()?, address.connect()?);
    let mark = format!("{}", std::process::id());
    first.execute_script(&format!("SET echovessel.session = '{mark}'")).map_err(failed)?;
    let seen = second.setting("echovessel.session").map_err(failed)?;
    first.execute_script("RESET echovessel.session").map_err(failed)?;
    if seen.as_deref() == Some(mark.as_str()) {
        return Err(StoreError::Unusable(format!(
            "{address}: a pooler in transaction mode mixes up sessions here; use the address of the server \
                itself, or set the pooler to pool_mode = session. Nothing was changed"
        )));
    }
    Ok(first)
}

fn reconnect(connection: Connection, address: &ServerAddress) -> std::result::Result<Connection, StoreError> {
    match connection {
        Connection::Postgres(server) if server.is_lost() => {
            Ok(Connection::Postgres(Box::new(address.connect()?)))
        }
        connection => Ok(connection),
    }
}

fn not_a_server() -> StoreError {
    StoreError::Failed("the connection is to a file".to_owned())
}

/// The program that holds the home; its row is locked until the transaction ends. `None` if the table does not exist
/// yet.
fn holder_of(connection: &Connection, address: &ServerAddress) -> std::result::Result<Holder, StoreError> {
    let has_table = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'writer')";
    let found = match connection.query_row(has_table, [], |row| row.get(0)) {
        Ok(true) => lock_holder(connection),
        Ok(false) => Ok(Holder::None),
        Err(error) => Err(error),
    };
    // Its holder may be in a transaction that takes longer than the wait for the row.
    found.map_err(|error| open_error(error, address))
}

/// The error after waiting for another program, or of the server.
fn open_error(error: Error, address: &ServerAddress) -> StoreError {
    match error.is_lock_timeout() {
        true => address.database_in_use_error(),
        false => Failure::from(error).into_write_error(),
    }
}

/// A connection with an open transaction and a current schema, on a database that no other program holds. Nothing
/// stays unless it is committed.
///
/// # Errors
///
/// [`StoreError::Unusable`] if there is a home already, unless it is to be replaced.
pub(crate) fn begin_home(
    address: &ServerAddress,
    replaces: bool,
) -> std::result::Result<Connection, StoreError> {
    let failed = |error: Error| Failure::from(error).into_write_error();
    let connection = Connection::Postgres(Box::new(first_connection(address)?));
    begin(&connection, address)?;
    if holder_of(&connection, address)? != Holder::None {
        return Err(address.database_in_use_error());
    }
    let found = schema_version(&connection).map_err(failed)?;
    if let (Schema::Version(_), false) = (found, replaces) {
        return Err(StoreError::Unusable(format!(
            "{address}: it already contains a home; choose an empty database. Nothing was changed"
        )));
    }
    prepare(&connection, address)?;
    Ok(connection)
}

/// Begins a transaction during which no other program opens or migrates the home.
fn begin(connection: &Connection, address: &ServerAddress) -> std::result::Result<(), StoreError> {
    let failed = |error: Error| Failure::from(error).into_write_error();
    if check_server(connection, address)? {
        return Err(StoreError::Unwritable(format!(
            "{address}: the server is read-only, like a replica; use the address of the primary server. \
                Nothing was changed"
        )));
    }
    connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    connection
        .execute_batch(&format!("SET LOCAL lock_timeout = {}", LOCK_LIMIT.as_millis()))
        .map_err(failed)?;
    let locked =
        connection.query_row("SELECT pg_advisory_xact_lock(?1) IS NULL", [MIGRATION_LOCK], |_| Ok(()));
    locked.map_err(|error| open_error(error, address))
}

/// True if a live program holds the home.
pub(crate) fn is_held(address: &ServerAddress) -> std::result::Result<bool, StoreError> {
    let connection = Connection::Postgres(Box::new(address.connect()?));
    begin(&connection, address)?;
    let found = holder_of(&connection, address)?;
    Ok(found != Holder::None)
}

/// Reads the state of a home without opening it.
///
/// # Errors
///
/// [`StoreError::Unusable`] if the server can't be reached or is read-only.
pub fn home_state(address: &ServerAddress) -> std::result::Result<HomeState, StoreError> {
    let address = address.clone();
    // The driver blocks, which is not allowed on a thread of the async runtime.
    let looked = std::thread::spawn(move || {
        let connection = Connection::Postgres(Box::new(address.connect()?));
        begin(&connection, &address)?;
        let is_held = holder_of(&connection, &address)? != Holder::None;
        daemons::home_state(&connection, is_held).map_err(|error| Failure::from(error).into_read_error())
    });
    looked.join().map_err(|_| StoreError::Failed("the thread that connects has ended".to_owned()))?
}

/// True if the database has no tables yet.
pub(crate) fn is_empty(address: &ServerAddress) -> std::result::Result<bool, StoreError> {
    let connection = Connection::Postgres(Box::new(address.connect()?));
    let found = schema_version(&connection).map_err(|error| Failure::from(error).into_read_error())?;
    Ok(matches!(found, Schema::None))
}

/// A read-only connection, also to a database that another program holds.
pub(crate) fn open_for_reading(address: &ServerAddress) -> std::result::Result<Server, StoreError> {
    let server = first_connection(address)?;
    let failed = |error: Error| Failure::from(error).into_read_error();
    server.execute_script("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY").map_err(failed)?;
    let connection = Connection::Postgres(Box::new(server));
    check_server(&connection, address)?;
    let unusable =
        |reason: String| Err(StoreError::Unusable(format!("{address}: {reason}. Nothing was changed")));
    match schema_version(&connection).map_err(failed)? {
        Schema::Version(version) if version == newest_version() => {
            check_digests(&connection, address, version)?
        }
        Schema::Version(version) => {
            return unusable(format!(
                "it has schema {version}, but this program uses {}; `echovessel run` upgrades an older one",
                newest_version()
            ));
        }
        Schema::None => return unusable("it contains no home yet; `echovessel run` creates it".to_owned()),
        Schema::Foreign => return unusable(FOREIGN_TABLES_REASON.to_owned()),
    }
    match connection {
        Connection::Postgres(server) => Ok(*server),
        Connection::Sqlite(_) => Err(not_a_server()),
    }
}

const FOREIGN_TABLES_REASON: &str = "it contains tables of another program; choose an empty database";

fn newest_version() -> i32 {
    MIGRATIONS.last().map_or(0, |migration| migration.number)
}

/// Refuses servers that can't hold a home; true if the server is read-only.
fn check_server(connection: &Connection, address: &ServerAddress) -> std::result::Result<bool, StoreError> {
    let failed = |error: Error| Failure::from(error).into_read_error();
    let (version, encoding, reads_only): (i64, String, bool) = connection
        .query_row(
            "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),
                    pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .map_err(failed)?;
    let unusable =
        |reason: String| Err(StoreError::Unusable(format!("{address}: {reason}. Nothing was changed")));
    if version < OLDEST_SERVER {
        return unusable(format!("the server is PostgreSQL {}; 15 or newer is required", version / 10_000));
    }
    if encoding != "UTF8" {
        return unusable(format!("the database is encoded in {encoding}; create it in UTF8"));
    }
    Ok(reads_only)
}

/// Checks that the database is ours or empty, and migrates it.
fn prepare(connection: &Connection, address: &ServerAddress) -> std::result::Result<(), StoreError> {
    let failed = |error: Error| Failure::from(error).into_write_error();
    let found = schema_version(connection).map_err(failed)?;
    let unusable =
        |reason: String| Err(StoreError::Unusable(format!("{address}: {reason}. Nothing was changed")));
    let newest = newest_version();
    match found {
        Schema::Foreign => return unusable(FOREIGN_TABLES_REASON.to_owned()),
        Schema::Version(version) if version > newest => {
            return unusable(format!(
                "it has schema {version}, written by a newer EchoVessel; this one reads up to {newest}. Install the newer \
                 version"
            ));
        }
        Schema::Version(version) => check_digests(connection, address, version)?,
        Schema::None => {}
    }
    if let Schema::None = found {
        return apply(connection, WHOLE_SCHEMA, MIGRATIONS).map_err(|error| {
            StoreError::Unusable(format!(
                "{address}: the schema can't be created: {error}. Nothing was changed"
            ))
        });
    }
    for migration in MIGRATIONS.iter().filter(|migration| migration.number > found.number()) {
        apply(connection, migration.sql, std::slice::from_ref(migration)).map_err(|error| {
            StoreError::Unusable(format!(
                "{address}: migration {:04} ({}) failed: {error}. Nothing was changed",
                migration.number, migration.name
            ))
        })?;
        tracing::info!(number = migration.number, name = migration.name, "database migrated");
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Schema {
    None,
    Foreign,
    Version(i32),
}

impl Schema {
    fn number(self) -> i32 {
        match self {
            Self::Version(number) => number,
            Self::None | Self::Foreign => 0,
        }
    }
}

fn schema_version(connection: &Connection) -> Result<Schema> {
    let tables =
        "SELECT count(*), count(*) FILTER (WHERE tablename IN ('schema_migrations', 'concept_nodes'))
                  FROM pg_tables WHERE schemaname = current_schema()";
    let (all, ours): (i64, i64) = connection.query_row(tables, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match (all, ours) {
        (0, _) => Ok(Schema::None),
        (_, 2) => connection
            .query_row("SELECT coalesce(max(number), 0) FROM schema_migrations", [], |row| row.get(0))
            .map(Schema::Version),
        _ => Ok(Schema::Foreign),
    }
}

fn check_digests(
    connection: &Connection,
    address: &ServerAddress,
    version: i32,
) -> std::result::Result<(), StoreError> {
    for migration in MIGRATIONS.iter().filter(|migration| migration.number <= version) {
        let applied: Option<String> = connection
            .query_row("SELECT sha256 FROM schema_migrations WHERE number = ?1", [migration.number], |row| {
                row.get(0)
            })
            .optional()
            .map_err(|error| Failure::from(error).into_read_error())?;
        if applied.as_deref() != Some(migration.digest().as_str()) {
            return Err(StoreError::Unusable(format!(
                "{address}: it was created by a different build: its migration {:04} ({}) differs from this program's. \
                 Nothing was changed. Use the build that created it",
                migration.number, migration.name
            )));
        }
    }
    Ok(())
}

/// Runs the statements and records the migrations that they implement.
fn apply(connection: &Connection, sql: &str, migrations: &[Migration]) -> Result<()> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS schema_migrations (
             number BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL
         )",
    )?;
    if let Connection::Postgres(server) = connection {
        server.execute_script(sql)?;
    }
    for migration in migrations {
        connection.execute(
            "INSERT INTO schema_migrations (number, name, sha256) VALUES (?1, ?2, ?3)",
            crate::engine::sql::params![migration.number, migration.name, migration.digest()],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use testkit::postgres::{fresh_database, query};

    use super::*;

    /// Query for everything that a schema consists of, one line for each part.
    const PARTS: &str = "
        SELECT 'column ' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' '
            || coalesce(column_default, '') || ' ' || is_identity
        FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
        UNION ALL SELECT replace(pg_get_functiondef(oid), chr(10), ' ') FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'
        UNION ALL SELECT 'aggregate ' || oid::regprocedure FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND prokind = 'a'
        ORDER BY 1";

    #[test]
    #[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
    fn a_new_home_has_the_schema_that_all_migrations_leave() {
        let parts_after = |in_steps: bool| {
            let database = fresh_database().unwrap().unwrap();
            let address = ServerAddress::parse(&database, None).unwrap();
            let connection = Connection::Postgres(Box::new(address.connect().unwrap()));
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            if in_steps {
                for migration in MIGRATIONS {
                    apply(&connection, migration.sql, std::slice::from_ref(migration)).unwrap();
                }
            } else {
                apply(&connection, WHOLE_SCHEMA, MIGRATIONS).unwrap();
            }
            connection.execute_batch("COMMIT").unwrap();
            let counts =
                "SELECT count(*) FROM hub_chunk_numbers UNION ALL SELECT count(*) FROM schema_migrations";
            (query(&database, PARTS).unwrap(), query(&database, counts).unwrap())
        };
        let (whole, steps) = (parts_after(false), parts_after(true));
        assert!(whole.0.len() > 500, "{}", whole.0.len());
        let missing: Vec<_> = steps.0.iter().filter(|part| !whole.0.contains(part)).collect();
        assert!(missing.is_empty(), "{missing:#?}");
        assert_eq!(whole, steps);
    }
}
