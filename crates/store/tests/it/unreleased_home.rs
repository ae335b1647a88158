//! A home that was written before the migrations were merged into one.

use std::path::Path;

use hub::DocumentName;
use hub::ports::{DocumentFilter, HubStore as _};
use memory::ports::ForgetStore as _;
use memory::{PersonaId, Scope, UserId};
use rusqlite::Connection;
use store::{HomeStore, StoreOptions};
use tempfile::TempDir;

use crate::home::Home;

/// Messages, nodes, entities, documents with a conflict, a graph and an erasure, as the program wrote them.
const HOME: &str = include_str!("fixtures/home_of_schema_17.sql");

fn restore(path: &Path) {
    Connection::open(path).unwrap().execute_batch(HOME).unwrap();
}

/// Every table, index and trigger, without white space, comments and quotation marks, sorted by name.
fn schema(path: &Path) -> Vec<(String, String)> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection
        .prepare("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
        .unwrap();
    let folded = |sql: String| {
        let code = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
        code.flat_map(str::chars).filter(|c| !c.is_whitespace() && *c != '"').collect::<String>()
    };
    let rows = statement.query_map([], |row| Ok((row.get(0)?, folded(row.get(1)?)))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[tokio::test]
async fn home_of_schema_17_opens_with_all_that_it_holds() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("home.db");
    restore(&path);
    for _ in 0..2 {
        let store = HomeStore::open(&path, StoreOptions::default()).unwrap();
        assert!(store.check().await.unwrap().is_intact());
        let scope = Scope::new(PersonaId::new("default").unwrap(), UserId::new("self").unwrap());
        let documents = store.documents(&scope, DocumentFilter::all_documents()).await.unwrap();
        assert_eq!(documents.len(), 8);
        assert_eq!(store.conflicts(&scope, true).await.unwrap().len(), 1);
        let erased: DocumentName = DocumentName::parse("significant", "2026-11-19_pomegranate").unwrap();
        let erased = store.document(&scope, &erased).await.unwrap().unwrap();
        assert_eq!(erased.content(), None, "what was erased by its name stays erased");
        assert_eq!(store.erasure_receipts(&scope, None, 10).await.unwrap().len(), 1);
        store.close().await.unwrap();
    }
    assert!(folder.path().join("home.before-0002.db").exists(), "a copy from before the first change");
}

#[tokio::test]
async fn home_of_schema_17_has_the_schema_of_a_new_home() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("home.db");
    restore(&path);
    HomeStore::open(&path, StoreOptions::default()).unwrap().close().await.unwrap();
    assert_eq!(schema(&path), schema(&Home::open().await.path));
}

#[test]
fn unreleased_home_of_another_schema_is_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("home.db");
    restore(&path);
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("DELETE FROM schema_migrations WHERE number = 17; PRAGMA user_version = 16")
        .unwrap();
    drop(connection);
    let error = HomeStore::open(&path, StoreOptions::default()).err().unwrap().to_string();
    assert!(error.contains("created by a different build"), "{error}");
}
