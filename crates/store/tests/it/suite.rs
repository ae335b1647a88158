//! Requirements for every database.

use std::path::Path;

use store::{HomeStore, ServerAddress, StoreOptions};
use tempfile::TempDir;
use testkit::postgres;

async fn fresh() -> Result<(HomeStore, TempDir), Box<dyn std::error::Error>> {
    if let Some(database) = postgres::fresh_home()? {
        let store =
            HomeStore::open_on_server(&ServerAddress::parse(&database, None)?, StoreOptions::default())?;
        let folder = TempDir::new()?;
        std::fs::write(folder.path().join("address"), database)?;
        return Ok((store, folder));
    }
    let folder = TempDir::new()?;
    let store = HomeStore::open(&folder.path().join("home.db"), StoreOptions::default())?;
    Ok((store, folder))
}

testkit::store_suite!(fresh);

/// The check of a database with rows of every kind finds nothing.
#[tokio::test]
async fn a_used_database_is_whole() -> testkit::store_suite::Outcome {
    let (store, folder) = fresh().await?;
    testkit::store_suite::an_extraction_is_written_once(&store).await?;
    let check = store.check().await?;
    assert!(check.is_intact(), "{check:?}");
    store.close().await?;
    let strays = |path: &Path| ["home.db-wal", "home.db-shm"].iter().any(|name| path.join(name).exists());
    assert!(!strays(folder.path()), "a closed database is one file");
    Ok(())
}

/// Read from the file, since no port returns them yet: the ledger and the history of the core blocks.
#[tokio::test]
async fn costs_and_edits_are_in_the_file() -> testkit::store_suite::Outcome {
    let (store, folder) = fresh().await?;
    testkit::store_suite::costs_are_stored(&store).await?;
    testkit::store_suite::core_blocks_belong_to_the_right_users(&store).await?;
    store.close().await?;
    let calls = "SELECT task, input_tokens, CASE WHEN turn_id IS NULL THEN 1 ELSE 0 END FROM llm_calls ORDER BY number";
    let max = i64::MAX;
    assert_eq!(rows_of(&folder, calls)?, [format!("reply|{max}|0"), format!("reply|{max}|1")]);
    let style =
        "SELECT content, version, edited_by FROM core_block_appends WHERE label = 'style' ORDER BY number";
    assert_eq!(rows_of(&folder, style)?, ["short|1|owner", "shorter|2|owner"]);
    Ok(())
}

/// Rows of a query of text, a number and a text or number, read without the store.
fn rows_of(folder: &TempDir, query: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let address = folder.path().join("address");
    if address.exists() {
        let address = std::fs::read_to_string(address)?;
        return Ok(postgres::query(&address, query)?);
    }
    let file = rusqlite::Connection::open(folder.path().join("home.db"))?;
    let mut statement = file.prepare(query)?;
    let rows = statement.query_map([], |row| {
        let third = match row.get_ref(2)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            text => text.as_str()?.to_owned(),
        };
        Ok(format!("{}|{}|{third}", row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
