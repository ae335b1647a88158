//! Erased text in freed pages and in the log, and copies that can't be reached from here.
//!
//! `secure_delete` overwrites deleted data in the pages themselves; the log has older pages until it is emptied.
//! After an erasure, and when much of the file is free, the whole file is also rewritten, so that nothing depends on
//! the former positions of rows.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::ports::StoreError;

use crate::engine::connection::{MAGIC, empty_log, overwrite_words, overwrite_words_later};
use crate::engine::database_files;
use crate::engine::sql::{Connection, Result, params};
use crate::rows::microseconds;

/// Magic bytes of SQLite's side files: write-ahead logs in either byte order, and rollback journals. Their pages
/// contain text, like those of the database.
const SIDE_FILE_MAGICS: [&[u8]; 3] =
    [b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"];
/// Maximum size of a file to rewrite, in bytes: it is held in memory meanwhile. In a larger file only the deleted
/// rows are overwritten.
const REWRITTEN_MAX: u64 = 1 << 30;
/// Divisor of the share of free pages from which the file is also rewritten without an erasure: below a quarter the
/// space is reused soon.
const FREE_PAGE_SHARE: u64 = 4;

/// Minimum number of rows whose words are overwritten together in the indexes. The groups of a large erasure are
/// larger.
const ROWS_OVERWRITTEN_TOGETHER_MIN: usize = 200;

/// Notes that something was forgotten since pages were last overwritten.
pub(crate) fn mark_overwriting_due(connection: &Connection) -> Result<()> {
    connection
        .prepare_cached(
            // Written again even if it is due already, so that a server notices that its last clearing began too
            // early.
            "INSERT INTO overwriting_due (number) VALUES (1) ON CONFLICT (number) DO UPDATE SET number = 1",
        )?
        .execute([])?;
    Ok(())
}

/// Prepares for the removal of this many rows, and makes overwriting due.
pub(super) fn make_overwriting_due(connection: &Connection, count: usize) -> Result<()> {
    match connection.sqlite() {
        Some(file) if count >= ROWS_OVERWRITTEN_TOGETHER_MIN => Ok(overwrite_words_later(file)?),
        _ => Ok(()),
    }
}

pub(super) fn is_due(connection: &Connection) -> Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM overwriting_due)")?
        .query_row([], |row| row.get(0))
}

/// Empties the log, and rewrites the file if needed. True if everything succeeded; otherwise it stays due. For a file
/// too large to rewrite, emptying the log is enough, but its receipts stay open.
pub(super) fn overwrite(connection: &Connection, at: Timestamp) -> Result<bool> {
    if !is_due(connection)? {
        return Ok(true);
    }
    let Some(file) = connection.sqlite() else { return Ok(false) };
    overwrite_words(file)?;
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<u64>(0));
    let (pages, free) = (number("PRAGMA page_count")?, number("PRAGMA freelist_count")?);
    let fits = pages.saturating_mul(number("PRAGMA page_size")?) <= REWRITTEN_MAX;
    let erased = number("SELECT EXISTS (SELECT 1 FROM erasure_receipts WHERE overwritten_at IS NULL)")? > 0;
    let rewrites = fits && (erased || free * FREE_PAGE_SHARE >= pages);
    if rewrites {
        connection.execute_batch("VACUUM")?;
    }
    if !empty_log(file)? {
        return Ok(false);
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let noted = note(connection, rewrites, at);
    connection.execute_batch(if noted.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    noted.map(|()| rewrites || !erased)
}

fn note(connection: &Connection, whole: bool, at: Timestamp) -> Result<()> {
    connection.execute("DELETE FROM overwriting_due", [])?;
    if whole {
        connection.execute(
            "UPDATE erasure_receipts SET overwritten_at = ?1 WHERE overwritten_at IS NULL",
            params![microseconds(at)],
        )?;
    }
    Ok(())
}

/// Other databases and logs beside this one, and in adjacent folders with backups: recognised by their content, not
/// by their names.
pub(super) fn list_copies(path: &Path) -> std::result::Result<Vec<String>, StoreError> {
    let Some(folder) = path.parent() else { return Ok(Vec::new()) };
    let unreadable =
        |error| StoreError::Failed(format!("the folder of the database can't be listed: {error}"));
    let own: Vec<PathBuf> = database_files(path).collect();
    let mut names = Vec::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() && prefix.is_empty() {
                folders.push((entry.path(), format!("{name}/")));
            } else if kind.is_file() && !own.contains(&entry.path()) && is_copy(&entry.path()) {
                names.push(name);
            }
        }
    }
    names.sort();
    Ok(names)
}

/// True if the file may contain memory: a database, its log, its journal, or an archive with a backup.
fn is_copy(path: &Path) -> bool {
    let mut head = [0_u8; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    let is_database =
        read.is_ok() && (head == *MAGIC || SIDE_FILE_MAGICS.iter().any(|magic| head.starts_with(magic)));
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    is_database
        || extension.is_some_and(|extension| ["zip", "bak", "backup", "age"].contains(&extension.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_that_outlived_their_database_are_copies_and_the_homes_own_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let log = [SIDE_FILE_MAGICS[0], &[0; 32]].concat();
        let journal = [SIDE_FILE_MAGICS[2], &[0; 32]].concat();
        for (name, content) in [
            ("home.db", &MAGIC[..]),
            ("home.db-wal", &log),
            ("home.db-journal", &journal),
            ("home.before-restore-1.db-wal", &log),
            ("other.db-journal", &journal),
            ("notes.txt", b"7 lines of no interest"),
        ] {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let copies = list_copies(&folder.path().join("home.db")).unwrap();
        assert_eq!(copies, ["home.before-restore-1.db-wal", "other.db-journal"]);
    }
}
