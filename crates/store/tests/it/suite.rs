//! What every database must do.

use std::path::Path;

use store::{SqliteStore, StoreOptions};
use tempfile::TempDir;

async fn fresh() -> Result<(SqliteStore, TempDir), Box<dyn std::error::Error>> {
    let folder = TempDir::new()?;
    let store = SqliteStore::open(&folder.path().join("home.db"), StoreOptions::default())?;
    Ok((store, folder))
}

testkit::store_suite!(fresh);

/// The check of a database in which every chapter's kind of row was written finds nothing.
#[tokio::test]
async fn a_used_database_is_whole() -> testkit::store_suite::Outcome {
    let (store, folder) = fresh().await?;
    testkit::store_suite::an_extraction_is_written_once(&store).await?;
    let check = store.check().await?;
    assert!(check.is_whole(), "{check:?}");
    store.close().await?;
    let strays = |path: &Path| ["home.db-wal", "home.db-shm"].iter().any(|name| path.join(name).exists());
    assert!(!strays(folder.path()), "a closed database is one file");
    Ok(())
}

/// What no port reads back yet, read from the file: the ledger and the history of the core blocks.
#[tokio::test]
async fn costs_and_edits_stand_in_the_file() -> testkit::store_suite::Outcome {
    let (store, folder) = fresh().await?;
    testkit::store_suite::costs_are_kept(&store).await?;
    testkit::store_suite::core_blocks_belong_to_whom_they_should(&store).await?;
    store.close().await?;
    let file = rusqlite::Connection::open(folder.path().join("home.db"))?;
    let calls: Vec<(String, i64, bool)> = file
        .prepare("SELECT task, input_tokens, turn_id IS NULL FROM llm_calls ORDER BY number")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    assert_eq!(calls, [("reply".to_owned(), i64::MAX, false), ("reply".to_owned(), i64::MAX, true)]);
    let style: Vec<(String, i64, String)> = file
        .prepare("SELECT content, version, edited_by FROM core_block_appends WHERE label = 'style' ORDER BY number")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    assert_eq!(
        style,
        [("short".to_owned(), 1, "owner".to_owned()), ("shorter".to_owned(), 2, "owner".to_owned())]
    );
    Ok(())
}
