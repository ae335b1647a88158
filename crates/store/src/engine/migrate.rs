//! The schema. A new home gets it at once, an older one by forward-only migrations. Released migrations are never
//! edited: each is recorded with its digest. A test compares both ways.

use std::fs;
use std::path::{Path, PathBuf};

use memory::ports::StoreError;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use crate::engine::database_file::{create, remove_database_file};
use crate::engine::failure::Failure;

/// One step of the schema.
pub(crate) struct Migration {
    pub(crate) number: i32,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// The steps of an engine, from the files `NUMBER_NAME.sql` of its folder.
macro_rules! migrations {
    [$engine:literal, $($number:literal $file:literal,)*] => {
        &[$(Migration {
            number: $number,
            name: $file.split_at("0000_".len()).1,
            sql: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/", $engine, "/", $file, ".sql")),
        }),*]
    };
}
pub(crate) use migrations;

/// The complete schema of a new home, equal to the result of all migrations.
pub(crate) const WHOLE_SCHEMA: &str = include_str!("../../migrations/sqlite/schema.sql");

/// All steps, in order; their numbers count from 1.
pub(crate) const MIGRATIONS: &[Migration] = migrations![
    "sqlite",
    1 "0001_schema",
    2 "0002_erased_lines",
    3 "0003_messages_by_time",
    4 "0004_mood_history",
    5 "0005_proactive",
    6 "0006_untold_erasures",
    7 "0007_imports",
    8 "0008_channels",
    9 "0009_replaced_values",
    10 "0010_erasures_by_revision",
    11 "0011_document_facts",
    12 "0012_sync",
    13 "0013_received_messages",
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

/// Before the first release, the schema of the first migration was built in 17 steps. Homes of that time have this
/// version, and the digests of their steps, concatenated, have this SHA-256.
const UNRELEASED_SCHEMA: (i32, &str) =
    (17, "6d3ad846fb12c98b90651c9a73b5ba4b893cea0d3484a2d4b06099ca1f1f9a97");

impl Migration {
    pub(crate) fn digest(&self) -> String {
        digest(self.sql)
    }
}

fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

/// Refuses a version in the file's header that no program has written.
pub(crate) fn check_version(version: i32, path: &Path, migrations: &[Migration]) -> Result<(), StoreError> {
    let newest = newest_version(migrations).max(UNRELEASED_SCHEMA.0);
    if (0..=newest).contains(&version) { Ok(()) } else { Err(newer_version_error(version, path, migrations)) }
}

fn newest_version(migrations: &[Migration]) -> i32 {
    migrations.last().map_or(0, |migration| migration.number)
}

fn newer_version_error(version: i32, path: &Path, migrations: &[Migration]) -> StoreError {
    let newest = newest_version(migrations);
    StoreError::Unusable(format!(
        "{} has schema {version}, written by a newer EchoVessel; this one reads up to {newest}. Nothing was \
            changed. Install the newer version, or use the copy from before the upgrade ({})",
        path.display(),
        backup_path(path, newest + 1).display()
    ))
}

/// Refuses a schema that is newer, or of another build. Writes nothing.
pub(crate) fn check(
    connection: &Connection,
    path: &Path,
    migrations: &[Migration],
) -> Result<(), StoreError> {
    let read = |failure: rusqlite::Error| Failure::from(failure).into_read_error();
    let version = last_migration(connection).map_err(read)?;
    check_version(version, path, migrations)?;
    if is_unreleased(connection, version).map_err(read)? {
        return Ok(());
    }
    for migration in migrations.iter().take_while(|migration| migration.number <= version) {
        let applied: Option<String> = connection
            .query_row("SELECT sha256 FROM schema_migrations WHERE number = ?1", [migration.number], |row| {
                row.get(0)
            })
            .optional()
            .map_err(read)?;
        if applied.as_deref() != Some(migration.digest().as_str()) {
            return Err(StoreError::Unusable(format!(
                "{} was created by a different build: its migration {:04} ({}) differs from this program's. Nothing \
                 was changed. Use the build that created it, or restore a backup",
                path.display(),
                migration.number,
                migration.name
            )));
        }
    }
    if version > newest_version(migrations) {
        Err(newer_version_error(version, path, migrations))
    } else {
        Ok(())
    }
}

/// True if the home is one of [`UNRELEASED_SCHEMA`].
fn is_unreleased(connection: &Connection, version: i32) -> rusqlite::Result<bool> {
    if version != UNRELEASED_SCHEMA.0 {
        return Ok(false);
    }
    let mut statement = connection.prepare("SELECT sha256 FROM schema_migrations ORDER BY number")?;
    let steps = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<String, _>>()?;
    Ok(digest(&steps) == UNRELEASED_SCHEMA.1)
}

/// Migrates the schema, each step in a transaction of its own. An existing database is copied first; a new one gets
/// `whole`, the result of all steps.
pub(crate) fn migrate(
    connection: &Connection,
    path: &Path,
    whole: &str,
    migrations: &[Migration],
) -> Result<(), StoreError> {
    let written = |failure: rusqlite::Error| Failure::from(failure).into_write_error();
    let mut found = last_migration(connection).map_err(written)?;
    if found == 0 {
        apply(connection, whole, migrations).map_err(written)?;
        tracing::debug!(schema = newest_version(migrations), "database created");
        return Ok(());
    }
    if let Some(first) = migrations.first()
        && is_unreleased(connection, found).map_err(written)?
    {
        found = adopt_unreleased(connection, first).map_err(written)?;
    }
    for migration in migrations.iter().filter(|migration| migration.number > found) {
        back_up(connection, &backup_path(path, migration.number))?;
        let one = std::slice::from_ref(migration);
        apply(connection, migration.sql, one).map_err(|error| {
            match Failure::from(error).into_write_error() {
                StoreError::Failed(reason) => StoreError::Unusable(format!(
                    "migration {:04} ({}) failed: {reason}. Nothing was changed; {} holds the same state",
                    migration.number,
                    migration.name,
                    backup_path(path, migration.number).display()
                )),
                error => error,
            }
        })?;
        tracing::info!(number = migration.number, name = migration.name, "database migrated");
    }
    Ok(())
}

/// Records that a home of [`UNRELEASED_SCHEMA`] has the schema of the first migration, which is equal; returns its
/// number.
fn adopt_unreleased(connection: &Connection, first: &Migration) -> rusqlite::Result<i32> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute("DELETE FROM schema_migrations", [])?;
    record(&transaction, first)?;
    transaction.commit()?;
    Ok(first.number)
}

/// Runs the statements and records the migrations that they implement, in one transaction.
fn apply(connection: &Connection, sql: &str, migrations: &[Migration]) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS schema_migrations (
             number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL
         ) STRICT",
    )?;
    transaction.execute_batch(sql)?;
    for migration in migrations {
        record(&transaction, migration)?;
    }
    transaction.commit()
}

fn record(connection: &Connection, migration: &Migration) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO schema_migrations (number, name, sha256) VALUES (?1, ?2, ?3)",
        params![migration.number, migration.name, migration.digest()],
    )?;
    connection.pragma_update(None, "user_version", migration.number)
}

/// Number of the last migration.
pub(crate) fn last_migration(connection: &Connection) -> rusqlite::Result<i32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Number of the last migration that the database has recorded, on either engine.
pub(crate) fn recorded_version(
    connection: &crate::engine::sql::Connection,
) -> crate::engine::sql::Result<i32> {
    connection.query_row("SELECT max(number) FROM schema_migrations", [], |row| row.get(0))
}

/// The path of the copy before a migration: `home.db` before its second migration is `home.before-0002.db`.
fn backup_path(path: &Path, number: i32) -> PathBuf {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}.before-{number:04}.db"))
}

/// Copies the database. The copy gets its name once it is complete. It replaces an older one of that name, which has
/// the same schema, from an upgrade that was undone or interrupted.
pub(crate) fn back_up(connection: &Connection, target: &Path) -> Result<(), StoreError> {
    let unwritable = |error: &dyn std::fmt::Display| {
        StoreError::Unwritable(format!("no backup at {}: {error}", target.display()))
    };
    let partial = target.with_extension("partial");
    remove_database_file(&partial).map_err(|error| unwritable(&error))?;
    create(&partial).map_err(|error| unwritable(&error))?;
    copy(connection, &partial).map_err(|error| unwritable(&error))?;
    fs::rename(&partial, target).map_err(|error| unwritable(&error))
}

fn copy(connection: &Connection, target: &Path) -> rusqlite::Result<()> {
    let mut copy = Connection::open(target)?;
    rusqlite::backup::Backup::new(connection, &mut copy)?.run_to_completion(
        1_000,
        std::time::Duration::ZERO,
        None,
    )?;
    // The copy is complete without a write-ahead log.
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    copy.close().map_err(|(_, error)| error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normalised statements of all tables, indexes and triggers, by name.
    fn schema_objects(connection: &Connection) -> std::collections::BTreeMap<String, String> {
        let plain = |sql: &str| -> String {
            let lines = sql.lines().map(|line| line.split_once("--").map_or(line, |(code, _)| code));
            lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect()
        };
        let mut statement =
            connection.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").unwrap();
        let rows =
            statement.query_map([], |row| Ok((row.get(0)?, plain(row.get_ref(1)?.as_str()?)))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn a_new_home_has_the_schema_that_all_migrations_leave() {
        let new = Connection::open_in_memory().unwrap();
        migrate(&new, Path::new("new.db"), WHOLE_SCHEMA, MIGRATIONS).unwrap();
        let old = Connection::open_in_memory().unwrap();
        for migration in MIGRATIONS {
            apply(&old, migration.sql, std::slice::from_ref(migration)).unwrap();
        }
        let (new_objects, old_objects) = (schema_objects(&new), schema_objects(&old));
        assert!(new_objects.len() > 100, "{}", new_objects.len());
        for (name, sql) in &old_objects {
            assert_eq!(new_objects.get(name), Some(sql), "{name}");
        }
        assert_eq!(new_objects.len(), old_objects.len());
        assert_eq!(last_migration(&new).unwrap(), last_migration(&old).unwrap());
        check(&new, Path::new("new.db"), MIGRATIONS).unwrap();
        // Rows that a migration writes into an empty home.
        for table in [
            "hub_chunk_numbers",
            "message_words_config",
            "node_words_config",
            "hub_words_config",
            "hub_gram_words_config",
        ] {
            let count = |home: &Connection| -> i64 {
                home.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
            };
            assert_eq!(count(&new), count(&old), "{table}");
        }
    }

    const FIRST: Migration = Migration { number: 1, name: "first", sql: "CREATE TABLE one (text TEXT);" };
    const SECOND: Migration =
        Migration { number: 2, name: "second", sql: "ALTER TABLE one ADD COLUMN more TEXT;" };

    #[test]
    fn an_upgrade_keeps_a_copy_of_what_was() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("home.db");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        migrate(&connection, &path, FIRST.sql, &[FIRST]).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "a new database has nothing to keep");
        let new = folder.path().join("new.db");
        let both = [FIRST.sql, SECOND.sql].concat();
        migrate(&Connection::open(&new).unwrap(), &new, &both, &[FIRST, SECOND]).unwrap();
        assert!(!backup_path(&new, 2).exists(), "nor has one that has two steps");
        connection.execute_batch("INSERT INTO one VALUES ('kept')").unwrap();

        check(&connection, &path, &[FIRST, SECOND]).unwrap();
        migrate(&connection, &path, &both, &[FIRST, SECOND]).unwrap();
        migrate(&connection, &path, &both, &[FIRST, SECOND]).unwrap();
        assert_eq!(last_migration(&connection).unwrap(), 2);
        connection.execute_batch("INSERT INTO one VALUES ('later', 'more')").unwrap();

        let copy = folder.path().join("home.before-0002.db");
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&copy).unwrap().permissions()) & 0o777,
            0o600
        );
        let copy = Connection::open(copy).unwrap();
        assert_eq!(last_migration(&copy).unwrap(), 1);
        let texts: Vec<String> = copy
            .prepare("SELECT * FROM one")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(texts, ["kept"]);
        assert!(!folder.path().join("home.before-0002.partial").exists());
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("home.db");
        let connection = Connection::open(&path).unwrap();
        migrate(&connection, &path, FIRST.sql, &[FIRST]).unwrap();
        let broken =
            Migration { number: 2, name: "broken", sql: "CREATE TABLE two (text TEXT); SELECT nonsense;" };
        let error = migrate(&connection, &path, "", &[FIRST, broken]).unwrap_err();
        assert!(matches!(error, StoreError::Unusable(_)), "{error}");
        assert_eq!(last_migration(&connection).unwrap(), 1);
        assert!(connection.prepare("SELECT * FROM two").is_err());
        check(&connection, &path, &[FIRST]).unwrap();
    }
}
