//! The database file, its modes, and the settings of connections.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use memory::ports::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::engine::database_file::create;
use crate::engine::failure::Failure;
use crate::engine::{StoreOptions, migrate};

/// `EVsl` in the file's header identifies our databases, so that another program's file is never taken for one.
const APPLICATION_ID: i32 = 0x4556_736C;
pub(crate) const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Maximum prepared statements of a connection: more than this crate has.
const STATEMENTS_MAX: usize = 256;
/// Size from which the log is merged into the file, in pages of 4 KiB. It is twice SQLite's default: fewer merges
/// while many messages arrive, and 8 MB are read quickly at a start.
const LOG_PAGES: u32 = 2_000;
/// Size to which the log shrinks when it is emptied, in bytes. Otherwise a log would keep its size, and the text in
/// it, for as long as the home is open.
const LOG_SIZE_LIMIT: u32 = 16 * 1024 * 1024;

/// Opens the database for writing: creates or migrates it if needed, and refuses a foreign one.
pub(crate) fn open_for_writing(path: &Path, options: &StoreOptions) -> Result<Connection, StoreError> {
    let is_new = create_or_inspect(path)?;
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, options)?;
    let prepared = prepare_for_writing(&connection, path, is_new);
    prepared.map(|()| connection)
}

/// Opens like [`open_for_writing`], for copying rows unchanged: triggers and references are turned off.
pub(crate) fn open_for_copying(
    path: &Path,
    options: &StoreOptions,
) -> Result<crate::engine::sql::Connection, StoreError> {
    let written = |error: rusqlite::Error| Failure::from(error).into_write_error();
    let connection = open_for_writing(path, options)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).map_err(written)?;
    connection.execute_batch("PRAGMA foreign_keys = OFF").map_err(written)?;
    Ok(connection.into())
}

fn prepare_for_writing(connection: &Connection, path: &Path, is_new: bool) -> Result<(), StoreError> {
    let written = |error: rusqlite::Error| Failure::from(error).into_write_error();
    // Until the schema is known to be ours, closing must not even merge the log into the file.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(written)?;
    migrate::check(connection, path, migrate::MIGRATIONS)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(written)?;
    if is_new {
        // Before the log exists, so that the mark is in the file itself.
        connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(written)?;
    }
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
             PRAGMA wal_autocheckpoint = {LOG_PAGES}; PRAGMA journal_size_limit = {LOG_SIZE_LIMIT};"
        ))
        .map_err(written)?;
    migrate::migrate(connection, path, migrate::WHOLE_SCHEMA, migrate::MIGRATIONS)
}

/// Opens an additional connection for maintenance.
pub(crate) fn open_for_maintenance(path: &Path, options: &StoreOptions) -> Result<Connection, StoreError> {
    open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, options)
}

/// Opens a read-only connection.
pub(crate) fn open_for_reading(path: &Path, options: &StoreOptions) -> Result<Connection, StoreError> {
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY, options)
}

fn open(path: &Path, access: OpenFlags, options: &StoreOptions) -> Result<Connection, StoreError> {
    let configure = || {
        let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(options.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        // Plans ignore bound values: otherwise SQLite prepares many a statement again at each call.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // The file is not mapped into memory: with a mapping, a failing device would end the process by a signal.
        connection.execute_batch(&format!(
            "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;
             PRAGMA mmap_size = 0; PRAGMA cache_size = -{};",
            options.cache_kib
        ))?;
        Ok(connection)
    };
    configure().map_err(|error: rusqlite::Error| Failure::from(error).into_write_error())
}

/// Merges the log into the file and empties it; false if another connection prevented it.
pub(crate) fn empty_log(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .map(|blocked: bool| !blocked)
}

/// The word indexes of messages and memories.
const WORD_INDEXES: [&str; 2] = ["message_words", "node_words"];

/// Lets words that are removed from the indexes only be marked, until [`overwrite_words`]. Overwriting each at once
/// gets slower the more were overwritten before.
pub(crate) fn overwrite_words_later(connection: &Connection) -> rusqlite::Result<()> {
    for index in WORD_INDEXES {
        if is_secure_delete_index(connection, index)? {
            set_overwriting(connection, index, true)?;
        }
    }
    Ok(())
}

/// Rewrites the indexes that have marked words. There must be no open transaction.
pub(crate) fn overwrite_words(connection: &Connection) -> rusqlite::Result<()> {
    for index in WORD_INDEXES {
        if is_secure_delete_index(connection, index)? {
            continue;
        }
        connection.execute_batch(&format!("INSERT INTO {index} ({index}) VALUES ('optimize')"))?;
        set_overwriting(connection, index, false)?;
    }
    Ok(())
}

fn is_secure_delete_index(connection: &Connection, index: &str) -> rusqlite::Result<bool> {
    let setting = format!("SELECT v FROM {index}_config WHERE k = 'secure-delete'");
    // Rows are only indexed while they exist.
    Ok(connection.prepare_cached(&setting)?.query_row([], |row| row.get(0)).optional()?.unwrap_or(false))
}

fn set_overwriting(connection: &Connection, index: &str, is_later: bool) -> rusqlite::Result<()> {
    let setting =
        format!("INSERT INTO {index} ({index}, rank) VALUES ('secure-delete', {})", !is_later as u8);
    connection.execute_batch(&setting)
}

/// Inspects the file before SQLite opens it, so that foreign files are never changed. A missing file is created,
/// readable by its owner only (SQLite gives its log and index the same mode). True if the database is new.
fn create_or_inspect(path: &Path) -> Result<bool, StoreError> {
    match create(path) {
        Ok(_) => return Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => {
            return Err(StoreError::Unwritable(format!("{} can't be created: {error}", path.display())));
        }
    }
    inspect_existing(path)
}

/// Inspects an existing file as [`create_or_inspect`] does, without writing. Returns true if it is empty.
pub(crate) fn inspect_existing(path: &Path) -> Result<bool, StoreError> {
    let unreadable = |error| StoreError::Unusable(format!("{} can't be read: {error}", path.display()));
    let mut header = Vec::with_capacity(100);
    File::open(path).and_then(|file| file.take(100).read_to_end(&mut header)).map_err(unreadable)?;
    if header.is_empty() {
        return Ok(true);
    }
    let number_at = |offset: usize| {
        header.get(offset..offset + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_be_bytes)
    };
    if !header.starts_with(MAGIC) || number_at(68) != APPLICATION_ID {
        return Err(StoreError::Unusable(format!(
            "{} is not an EchoVessel database and was not changed. Choose another path, or move that file away",
            path.display()
        )));
    }
    migrate::check_version(number_at(60), path, migrate::MIGRATIONS)?;
    Ok(false)
}
