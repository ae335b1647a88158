//! A home that exchanged rows with peers opens with all its content.

use memory::ports::{AccessStore as _, CaptureStore as _, MessageStore as _};
use memory::sessions::SessionPolicy;
use rusqlite::{Connection, params};
use store::{HomeStore, StoreOptions};

use crate::home::Home;

const TABLES_OF_PEERS: &str = include_str!("../../migrations/sqlite/0012_sync.sql");

#[tokio::test]
async fn home_with_peers_keeps_its_rows_and_names_its_peers_once() {
    let home = Home::open().await;
    let said = home
        .store
        .capture(home.line("the word is zebra"), SessionPolicy::default(), None)
        .await
        .unwrap()
        .message;
    home.store.close().await.unwrap();
    let connection = Connection::open(&home.path).unwrap();
    connection
        .execute_batch(
            "DROP TABLE former_peers; DROP TABLE hub_exchanges; DROP TABLE erasure_parts;
             DROP TABLE replaced_messages; DROP TABLE import_documents;
             DROP INDEX message_versions_of_import;
             ALTER TABLE message_versions DROP COLUMN import_run; ALTER TABLE message_versions DROP COLUMN taken_from;
             ALTER TABLE message_versions DROP COLUMN follows;
             ALTER TABLE personas DROP COLUMN character_card;
             ALTER TABLE hub_own_instance DROP COLUMN author; ALTER TABLE erasure_instances DROP COLUMN author;
             ALTER TABLE import_runs DROP COLUMN proposed; ALTER TABLE import_runs DROP COLUMN undated;
             DROP INDEX recall_messages_of_others; ALTER TABLE recall_messages DROP COLUMN speaker;
             ALTER TABLE recall_messages DROP COLUMN model; ALTER TABLE sessions DROP COLUMN title;
             ALTER TABLE message_versions DROP COLUMN role; ALTER TABLE message_versions DROP COLUMN speaker;
             ALTER TABLE message_versions DROP COLUMN model; ALTER TABLE message_versions DROP COLUMN said_at;
             DELETE FROM schema_migrations WHERE number > 20;",
        )
        .unwrap();
    connection.execute_batch(TABLES_OF_PEERS).unwrap();
    connection.pragma_update(None, "user_version", 20).unwrap();
    for name in ["laptop", "kitchen"] {
        connection
            .execute("INSERT INTO sync_peers (name, url) VALUES (?1, 'https://home.example')", [name])
            .unwrap();
    }
    let lost = r#"{"value": "the word is horse", "stamp": {}}"#;
    connection
        .execute(
            "INSERT INTO sync_conflicts (kind, id, field, other, opened_at) VALUES ('message', ?1, 'content', ?2, 7)",
            params![said.id.0.simple().to_string(), lost],
        )
        .unwrap();
    for (name, scopes) in [("pi", r#"["peer:pi"]"#), ("phone", r#"["chat"]"#)] {
        connection
            .execute(
                "INSERT INTO access_tokens (name, prefix, hash, scopes, created_at) VALUES (?1, ?1, '', ?2, 0)",
                [name, scopes],
            )
            .unwrap();
    }
    drop(connection);

    let store = HomeStore::open(&home.path, StoreOptions::default()).unwrap();
    assert!(store.check().await.unwrap().is_intact());
    assert_eq!(store.message(said.id).await.unwrap().unwrap().content, "the word is zebra");
    let connection = Connection::open(&home.path).unwrap();
    let kept: String =
        connection.query_row("SELECT content FROM message_versions", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, "the word is horse", "a text that waited for a decision is an earlier version");
    let names: Vec<String> = store.tokens().await.unwrap().into_iter().map(|token| token.name).collect();
    assert_eq!(names, ["phone"], "tokens that opened nothing but the exchange are gone");
    assert_eq!(store.remove_former_peers().await.unwrap(), ["kitchen", "laptop"]);
    assert_eq!(store.remove_former_peers().await.unwrap(), [""; 0]);
    let left: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_master WHERE name LIKE 'sync%'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
    store.close().await.unwrap();
}
