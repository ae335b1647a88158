//! Homes that are copied to a PostgreSQL server and back, compared table by table without the store's own code.
//! `scripts/with-postgres` starts the server.

use std::path::Path;

use memory::ports::{CaptureStore as _, StoreError};
use memory::sessions::SessionPolicy;
use store::{
    CopyReport, CopySettings, HomeDatabase, HomeStore, ServerAddress, StoreOptions, copy_home, count_home,
};
use tempfile::TempDir;
use testkit::postgres::{fresh_database, query};
use testkit::store_suite::{self, Outcome};

use crate::home::Home;

fn address() -> Result<ServerAddress, Box<dyn std::error::Error>> {
    let database = fresh_database()?.ok_or("run this test by scripts/with-postgres")?;
    Ok(ServerAddress::parse(&database, None)?)
}

async fn copy(from: HomeDatabase, to: HomeDatabase) -> Result<CopyReport, StoreError> {
    let copied = tokio::task::spawn_blocking(move || {
        copy_home(&from, &to, CopySettings { refuses_used_source: true, replaces: false }, &mut |_| {})
    });
    copied.await.map_err(|error| StoreError::Failed(error.to_string()))?
}

/// Copies a file to a server and back; returns the counts of the copy.
async fn there_and_back(file: &Path, back: &Path) -> Result<CopyReport, Box<dyn std::error::Error>> {
    let server = HomeDatabase::Server(address()?);
    let report = copy(HomeDatabase::File(file.to_owned()), server.clone()).await?;
    assert_eq!(copy(server, HomeDatabase::File(back.to_owned())).await?, report);
    Ok(report)
}

/// Tables of two files whose rows differ.
fn differing(one: &Path, other: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let both = rusqlite::Connection::open(one)?;
    both.execute("ATTACH ?1 AS other", [other.to_str()])?;
    // Word indexes store their lists in another order; the check of a copy has compared them with the rows.
    let tables: Vec<String> = both
        .prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE '%\\_words%' ESCAPE '\\'")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    assert!(tables.len() > 80, "{tables:?}");
    let mut differing = Vec::new();
    for table in tables {
        let count = |first: &str, second: &str| -> rusqlite::Result<u64> {
            both.query_row(
                &format!("SELECT count(*) FROM (SELECT * FROM {first}.{table} EXCEPT SELECT * FROM {second}.{table})"),
                [],
                |row| row.get(0),
            )
        };
        if count("main", "other")? + count("other", "main")? > 0 {
            differing.push(table);
        }
    }
    Ok(differing)
}

macro_rules! copied_after {
    ($($chapter:ident)+) => {$(
        #[tokio::test]
        #[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
        async fn $chapter() -> Outcome {
            let folder = TempDir::new()?;
            let (file, back) = (folder.path().join("home.db"), folder.path().join("back.db"));
            let store = HomeStore::open(&file, StoreOptions::default())?;
            store_suite::$chapter(&store).await?;
            store.close().await?;
            there_and_back(&file, &back).await?;
            assert_eq!(differing(&file, &back)?, [""; 0]);
            Ok(())
        }
    )+};
}

copied_after! {
    an_extraction_is_written_once a_correction_stores_the_old_text_and_can_be_undone
    a_document_keeps_every_version chunks_follow_their_document a_picture_and_a_voice_are_stored costs_are_stored
    vectors_follow_their_rows forgetting_records_the_places_of_the_text silenced_words_are_known_by_message transcripts_expire_and_counts_stay
    labels_instances_and_snapshots_are_stored a_word_of_any_length_is_found
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn text_that_server_cannot_hold_comes_back() -> Outcome {
    let home = Home::open().await;
    let texts = ["a\0b", "\u{10FFFE}0", "安心 🐈", ""];
    for text in texts {
        home.store.capture(home.line(text), SessionPolicy::default(), None).await?;
    }
    home.store.close().await?;
    let back = home.folder.path().join("back.db");
    let report = there_and_back(&home.path, &back).await?;
    assert_eq!(report.home.messages, 4);
    assert_eq!(differing(&home.path, &back)?, [""; 0]);
    Ok(())
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn copy_that_fails_leaves_target_as_it_was() -> Outcome {
    let home = Home::open().await;
    home.store.capture(home.line("kept"), SessionPolicy::default(), None).await?;
    home.store.close().await?;
    // A row without an owner, which only the last step finds.
    let file = rusqlite::Connection::open(&home.path)?;
    file.execute_batch(
        "PRAGMA foreign_keys = OFF; INSERT INTO proactive_mutes (user_id, muted_until) VALUES ('nobody', 1)",
    )?;
    drop(file);
    let address = address()?;
    let to = HomeDatabase::Server(address.clone());
    let error = copy(HomeDatabase::File(home.path.clone()), to).await.unwrap_err().to_string();
    assert!(error.contains("Nothing was copied"), "{error}");
    let count = tokio::task::spawn_blocking(move || count_home(&address)).await??;
    assert_eq!(count, None, "a part of the copy was left");

    let unwritable = home.folder.path().join("no/such/folder/home.db");
    let error =
        copy(HomeDatabase::File(home.path.clone()), HomeDatabase::File(unwritable)).await.unwrap_err();
    assert!(matches!(error, StoreError::Unwritable(_)), "{error}");
    let partial = std::fs::read_dir(home.folder.path())?.filter(|entry| {
        entry.as_ref().is_ok_and(|entry| entry.path().extension().is_some_and(|end| end == "partial"))
    });
    assert_eq!(partial.count(), 0);
    Ok(())
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn database_of_another_program_is_not_copied_into() -> Outcome {
    let home = Home::open().await;
    home.store.close().await?;
    let database = fresh_database()?.ok_or("run this test by scripts/with-postgres")?;
    query(&database, "CREATE TABLE invoices (number BIGINT)")?;
    let to = HomeDatabase::Server(ServerAddress::parse(&database, None)?);
    let error = copy(HomeDatabase::File(home.path.clone()), to).await.unwrap_err().to_string();
    assert!(error.contains("tables of another program"), "{error}");
    assert_eq!(
        query(&database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")?,
        ["invoices"]
    );
    Ok(())
}
