//! What every database must do.

use std::path::Path;

use store::{SqliteStore, StoreOptions};
use tempfile::TempDir;

async fn fresh() -> Result<(SqliteStore, TempDir), Box<dyn std::error::Error>> {
    let folder = TempDir::new()?;
    let store = SqliteStore::open(&folder.path().join("home.db"), StoreOptions::default())?;
    Ok((store, folder))
}

testkit::store_story!(fresh);

/// The check of a database in which every chapter's kind of row was written finds nothing.
#[tokio::test]
async fn a_used_database_is_whole() -> testkit::store_story::Outcome {
    let (store, folder) = fresh().await?;
    testkit::store_story::an_extraction_is_written_once(&store).await?;
    let check = store.check().await?;
    assert!(check.is_whole(), "{check:?}");
    store.close().await?;
    let strays = |path: &Path| ["home.db-wal", "home.db-shm"].iter().any(|name| path.join(name).exists());
    assert!(!strays(folder.path()), "a closed database is one file");
    Ok(())
}
