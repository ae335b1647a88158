//! Files of the folder: their permissions, and those that are never changed.

use std::fs;

use memory::ports::{CaptureStore, StoreError};
use memory::sessions::SessionPolicy;
use store::{HomeStore, StoreOptions};
use tempfile::TempDir;

use crate::home::Home;

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;

    let home = Home::open().await;
    home.store.capture(home.line("secret"), SessionPolicy::default(), None).await.unwrap();
    let mut names = Vec::new();
    for entry in fs::read_dir(home.folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.file_name());
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["home.db", "home.db-shm", "home.db-wal"]);
}

#[tokio::test]
async fn a_checkpoint_empties_the_log() {
    let home = Home::open().await;
    home.store.capture(home.line("hello"), SessionPolicy::default(), None).await.unwrap();
    let log = home.folder.path().join("home.db-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0);
    home.store.checkpoint().await.unwrap();
    assert_eq!(fs::metadata(&log).unwrap().len(), 0);
}

fn refused(path: &std::path::Path) -> String {
    match HomeStore::open(path, StoreOptions::default()) {
        Err(StoreError::Unusable(reason)) => reason,
        Err(error) => panic!("refused for another reason: {error}"),
        Ok(_) => panic!("it was taken for ours"),
    }
}

/// Names and content of all files of a folder.
fn state(folder: &TempDir) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> =
        entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn a_foreign_database_is_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("home.db");
    let foreign = rusqlite::Connection::open(&path).unwrap();
    foreign
        .execute_batch(
            "PRAGMA journal_mode = WAL; CREATE TABLE memories (text); INSERT INTO memories VALUES (1)",
        )
        .unwrap();
    let before = state(&folder);
    assert!(refused(&path).contains("not an EchoVessel database"));
    assert_eq!(state(&folder), before);
    drop(foreign);

    fs::write(&path, "dear diary").unwrap();
    refused(&path);
    assert_eq!(fs::read(&path).unwrap(), b"dear diary");
}

#[tokio::test]
async fn a_newer_schema_is_left_as_it_is() {
    let home = Home::open().await;
    home.store.close().await.unwrap();
    let later = rusqlite::Connection::open(&home.path).unwrap();
    later.pragma_update(None, "user_version", 999).unwrap();
    // The newer version is only in the log, as after a crash, and then in the file.
    let copy = TempDir::new().unwrap();
    let path = copy.path().join("home.db");
    for name in ["home.db", "home.db-wal"] {
        fs::copy(home.folder.path().join(name), copy.path().join(name)).unwrap();
    }
    let before = state(&copy);
    assert!(refused(&path).contains("schema 999"));
    let after: Vec<_> = state(&copy).into_iter().filter(|(name, _)| name != "home.db-shm").collect();
    assert_eq!(after, before, "database and log");
    drop(later);
    let before = state(&home.folder);
    assert!(refused(&home.path).contains("home.before-"));
    assert_eq!(state(&home.folder), before);
}

#[tokio::test]
async fn another_builds_schema_is_left_as_it_is() {
    let home = Home::open().await;
    home.store.close().await.unwrap();
    let other = rusqlite::Connection::open(&home.path).unwrap();
    other
        .execute_batch("UPDATE schema_migrations SET sha256 = 'another'; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    drop(other);
    let before = fs::read(&home.path).unwrap();
    assert!(refused(&home.path).contains("different build"));
    assert_eq!(fs::read(&home.path).unwrap(), before);
}

#[tokio::test]
async fn a_crash_while_the_file_is_made_leaves_nothing_to_repair() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("home.db");
    fs::write(&path, "").unwrap();
    let store = HomeStore::open(&path, StoreOptions::default()).unwrap();
    assert!(store.check().await.unwrap().is_intact());
}

#[test]
fn a_missing_folder_is_named() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("nowhere").join("home.db");
    let error = HomeStore::open(&path, StoreOptions::default()).err().unwrap();
    assert!(matches!(&error, StoreError::Unwritable(reason) if reason.contains("nowhere")), "{error}");
}

/// The full-text tables use secure deletion: an erased word is in no byte of the file.
#[tokio::test]
async fn erased_words_leave_the_file() {
    let home = Home::open().await;
    for content in ["zanzibar is far", "near is better"] {
        home.store.capture(home.line(content), SessionPolicy::default(), None).await.unwrap();
    }
    home.store.close().await.unwrap();
    let copies = |word: &str| {
        let bytes = fs::read(&home.path).unwrap();
        bytes.windows(word.len()).filter(|window| *window == word.as_bytes()).count()
    };
    assert_eq!(copies("zanzibar"), 3, "in the row's text, in its terms, in the index");
    let eraser = rusqlite::Connection::open(&home.path).unwrap();
    eraser
        .execute_batch(
            "PRAGMA secure_delete = ON;
             INSERT INTO message_words (message_words, rowid, terms) VALUES ('delete', 1, '1xzanzibar 1xis 1xfar');
             PRAGMA wal_checkpoint(TRUNCATE);",
        )
        .unwrap();
    assert_eq!((copies("zanzibar"), copies("better")), (2, 3));
}
