//! Forward-only migrations. What is released is never edited: each is recorded with its digest.

use std::fs;
use std::path::{Path, PathBuf};

use memory::ports::StoreError;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use crate::engine::connection::create;
use crate::engine::failure::Failure;

/// One step of the schema.
pub(crate) struct Migration {
    pub(crate) number: i32,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// All steps, in order; their numbers count from 1.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, name: "memory", sql: include_str!("../../migrations/sqlite/0001_memory.sql") },
    Migration {
        number: 2,
        name: "forgetting",
        sql: include_str!("../../migrations/sqlite/0002_forgetting.sql"),
    },
    Migration {
        number: 3,
        name: "two_models",
        sql: include_str!("../../migrations/sqlite/0003_two_models.sql"),
    },
    Migration {
        number: 4,
        name: "corrections",
        sql: include_str!("../../migrations/sqlite/0004_corrections.sql"),
    },
    Migration {
        number: 5,
        name: "entity_identity",
        sql: include_str!("../../migrations/sqlite/0005_entity_identity.sql"),
    },
    Migration { number: 6, name: "access", sql: include_str!("../../migrations/sqlite/0006_access.sql") },
    Migration {
        number: 7,
        name: "readability_by_number",
        sql: include_str!("../../migrations/sqlite/0007_readability_by_number.sql"),
    },
    Migration {
        number: 8,
        name: "slow_cycle_and_traces",
        sql: include_str!("../../migrations/sqlite/0008_slow_cycle_and_traces.sql"),
    },
    Migration { number: 9, name: "people", sql: include_str!("../../migrations/sqlite/0009_people.sql") },
    Migration { number: 10, name: "hub", sql: include_str!("../../migrations/sqlite/0010_hub.sql") },
    Migration { number: 11, name: "graph", sql: include_str!("../../migrations/sqlite/0011_graph.sql") },
    Migration {
        number: 12,
        name: "forgotten_spans",
        sql: include_str!("../../migrations/sqlite/0012_forgotten_spans.sql"),
    },
    Migration {
        number: 13,
        name: "hub_pieces",
        sql: include_str!("../../migrations/sqlite/0013_hub_pieces.sql"),
    },
    Migration {
        number: 14,
        name: "graph_facts",
        sql: include_str!("../../migrations/sqlite/0014_graph_facts.sql"),
    },
    Migration {
        number: 15,
        name: "external_refs",
        sql: include_str!("../../migrations/sqlite/0015_external_refs.sql"),
    },
    Migration {
        number: 16,
        name: "identity_and_trace_indexes",
        sql: include_str!("../../migrations/sqlite/0016_identity_and_trace_indexes.sql"),
    },
    Migration {
        number: 17,
        name: "untold_events",
        sql: include_str!("../../migrations/sqlite/0017_untold_events.sql"),
    },
];

impl Migration {
    pub(crate) fn digest(&self) -> String {
        Sha256::digest(self.sql.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Refuses a schema that is newer than this program.
pub(crate) fn check_version(version: i32, path: &Path, migrations: &[Migration]) -> Result<(), StoreError> {
    let newest = migrations.last().map_or(0, |migration| migration.number);
    if (0..=newest).contains(&version) {
        return Ok(());
    }
    Err(StoreError::Unusable(format!(
        "{} has schema {version}, this program knows {newest}; it was left as it is. Install a newer EchoVessel, or \
         use the copy that was made before the upgrade ({})",
        path.display(),
        backup_path(path, newest + 1).display()
    )))
}

/// Refuses a schema that is newer, or whose steps were others than ours. Writes nothing.
pub(crate) fn check(
    connection: &Connection,
    path: &Path,
    migrations: &[Migration],
) -> Result<(), StoreError> {
    let read = |failure: rusqlite::Error| Failure::from(failure).of_read();
    let version = version(connection).map_err(read)?;
    check_version(version, path, migrations)?;
    for migration in migrations.iter().take_while(|migration| migration.number <= version) {
        let applied: Option<String> = connection
            .query_row("SELECT sha256 FROM schema_migrations WHERE number = ?1", [migration.number], |row| {
                row.get(0)
            })
            .optional()
            .map_err(read)?;
        if applied.as_deref() != Some(migration.digest().as_str()) {
            return Err(StoreError::Unusable(format!(
                "{} was made by a different build: its migration {:04} ({}) is not this program's. It was left as it \
                 is. Use the build that made it, or restore a backup",
                path.display(),
                migration.number,
                migration.name
            )));
        }
    }
    Ok(())
}

/// Brings the schema up to date, each step in a transaction of its own. An existing database is copied first.
pub(crate) fn migrate(
    connection: &Connection,
    path: &Path,
    migrations: &[Migration],
) -> Result<(), StoreError> {
    let written = |failure: rusqlite::Error| Failure::from(failure).of_write();
    let found = version(connection).map_err(written)?;
    for migration in migrations.iter().filter(|migration| migration.number > found) {
        // A new database holds nothing to keep.
        if found > 0 {
            back_up(connection, &backup_path(path, migration.number))?;
        }
        apply(connection, migration).map_err(|error| match Failure::from(error).of_write() {
            StoreError::Failed(reason) => StoreError::Unusable(format!(
                "migration {:04} ({}) failed: {reason}. Nothing was changed; the state before is also in {}",
                migration.number,
                migration.name,
                backup_path(path, migration.number).display()
            )),
            error => error,
        })?;
        tracing::info!(number = migration.number, name = migration.name, "the database was migrated");
    }
    Ok(())
}

fn apply(connection: &Connection, migration: &Migration) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS schema_migrations (
             number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL
         ) STRICT",
    )?;
    transaction.execute_batch(migration.sql)?;
    transaction.execute(
        "INSERT INTO schema_migrations (number, name, sha256) VALUES (?1, ?2, ?3)",
        params![migration.number, migration.name, migration.digest()],
    )?;
    transaction.pragma_update(None, "user_version", migration.number)?;
    transaction.commit()
}

fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// `home.db` before its second migration is `home.before-0002.db`.
fn backup_path(path: &Path, number: i32) -> PathBuf {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}.before-{number:04}.db"))
}

/// Copies the database. The copy gets its name when it is whole; an older one of that name is of the same schema, from
/// an upgrade that was undone or did not end, and gives way.
fn back_up(connection: &Connection, target: &Path) -> Result<(), StoreError> {
    let unwritable = |error: &dyn std::fmt::Display| {
        StoreError::Unwritable(format!("no backup at {}: {error}", target.display()))
    };
    let partial = target.with_extension("partial");
    if partial.exists() {
        fs::remove_file(&partial).map_err(|error| unwritable(&error))?;
    }
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
    // The copy stands alone, without a log beside it.
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    copy.close().map_err(|(_, error)| error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Migration = Migration { number: 1, name: "first", sql: "CREATE TABLE one (text TEXT);" };
    const SECOND: Migration =
        Migration { number: 2, name: "second", sql: "ALTER TABLE one ADD COLUMN more TEXT;" };

    /// A released migration is never edited. When this fails, write a new one instead.
    #[test]
    fn released_migrations_are_as_they_were() {
        let digests: Vec<_> = MIGRATIONS
            .iter()
            .map(|migration| (migration.number, migration.name, migration.digest()))
            .collect();
        let released =
            [(1, "memory", "81c6cd33e1b34a15013044bbe5e8e2cc005de91822925ef7bcd08a323406f8a3".to_owned())];
        assert_eq!(digests[..released.len()], released);
    }

    #[test]
    fn an_upgrade_keeps_a_copy_of_what_was() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("home.db");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        migrate(&connection, &path, &[FIRST]).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "a new database has nothing to keep");
        let new = folder.path().join("new.db");
        migrate(&Connection::open(&new).unwrap(), &new, &[FIRST, SECOND]).unwrap();
        assert!(!backup_path(&new, 2).exists(), "nor has one that is made in two steps");
        connection.execute_batch("INSERT INTO one VALUES ('kept')").unwrap();

        check(&connection, &path, &[FIRST, SECOND]).unwrap();
        migrate(&connection, &path, &[FIRST, SECOND]).unwrap();
        migrate(&connection, &path, &[FIRST, SECOND]).unwrap();
        assert_eq!(version(&connection).unwrap(), 2);
        connection.execute_batch("INSERT INTO one VALUES ('later', 'more')").unwrap();

        let copy = folder.path().join("home.before-0002.db");
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&copy).unwrap().permissions()) & 0o777,
            0o600
        );
        let copy = Connection::open(copy).unwrap();
        assert_eq!(version(&copy).unwrap(), 1);
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

    /// 0003: vectors keep their numbers, and the next one gets a greater number than any before.
    #[test]
    fn vectors_survive_the_room_for_a_second_model() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("home.db");
        let connection = Connection::open(&path).unwrap();
        migrate(&connection, &path, &MIGRATIONS[..2]).unwrap();
        connection
            .execute_batch(
                "PRAGMA foreign_keys = OFF;
                 INSERT INTO scopes (number, persona_id, user_id, message_count) VALUES (1, 'p', 'u', 1);
                 INSERT INTO embedding_models (number, fingerprint) VALUES (1, 'old');
                 INSERT INTO recall_messages (seq, id, scope, session_id, channel_id, role, token_count, day,
                     created_at, incomplete, embedding_model, content, terms)
                 VALUES (3, zeroblob(16), 1, zeroblob(16), 'web', 'user', 1, '2024-01-01', 0, 0, 1, 'one', 'one');
                 INSERT INTO message_vectors (revision, seq, scope, embedding_model, readability, vector)
                 VALUES (7, 3, 1, 1, 0.75, x'0000803f');
                 PRAGMA foreign_keys = ON;",
            )
            .unwrap();
        migrate(&connection, &path, &MIGRATIONS[..3]).unwrap();
        connection
            .execute_batch(
                "INSERT INTO embedding_models (number, fingerprint, source) VALUES (2, 'new', '{}');
                 INSERT INTO message_vectors (seq, scope, embedding_model, readability, vector)
                 VALUES (3, 1, 2, 1.0, x'0000803f');",
            )
            .unwrap();
        let kept: Vec<(i64, i64, f64)> = connection
            .prepare("SELECT revision, embedding_model, readability FROM message_vectors ORDER BY revision")
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(kept, [(7, 1, 0.75), (8, 2, 1.0)]);
        let twice = "INSERT INTO message_vectors (seq, scope, embedding_model, readability, vector)
                     VALUES (3, 1, 2, 1.0, x'0000803f')";
        assert!(connection.execute_batch(twice).is_err(), "one vector of a model");
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("home.db");
        let connection = Connection::open(&path).unwrap();
        migrate(&connection, &path, &[FIRST]).unwrap();
        let broken =
            Migration { number: 2, name: "broken", sql: "CREATE TABLE two (text TEXT); SELECT nonsense;" };
        let error = migrate(&connection, &path, &[FIRST, broken]).unwrap_err();
        assert!(matches!(error, StoreError::Unusable(_)), "{error}");
        assert_eq!(version(&connection).unwrap(), 1);
        assert!(connection.prepare("SELECT * FROM two").is_err());
        check(&connection, &path, &[FIRST]).unwrap();
    }
}
