//! An archive of this program: an empty home becomes the one that it was made of.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use memory::ports::ArchiveReport;
use serde_json::json;
use store::{HomeDatabase, ServerAddress};

use super::is_confirmed;
use crate::cli::{Import, Shared};
use crate::commands::restore::{copy_aside, put_aside, replace, run_blocking};
use crate::config::Config;
use crate::database::home_database;
use crate::home::Home;

pub(super) async fn bring_in(
    shared: &Shared,
    config: &Config,
    home: &Home,
    asked: &Import,
    archive: &Path,
    found: ArchiveReport,
) -> anyhow::Result<()> {
    let ArchiveReport { messages, nodes, documents } = found;
    let shown = json!({"format": "archive", "messages": messages, "memories": nodes, "documents": documents});
    match shared.json {
        true if asked.look => println!("{shown}"),
        true => {}
        false => {
            println!("an archive of EchoVessel: {messages} messages, {nodes} memories, {documents} documents")
        }
    }
    if asked.look {
        return Ok(());
    }
    if asked.files.len() > 1 {
        bail!("an archive is imported alone; nothing was imported");
    }
    if !asked.yes && !is_confirmed()? {
        bail!("nothing was imported");
    }
    let _lock = home.lock()?;
    let database = home_database(config, home)?;
    let read = match &database {
        HomeDatabase::File(path) => into_file(archive, path)?,
        HomeDatabase::Server(address) => into_server(home, archive, &database, address).await?,
    };
    match shared.json {
        true => println!("{shown}"),
        false => println!(
            "imported {} messages, {} memories and {} documents; vectors are made when the daemon runs",
            read.messages, read.nodes, read.documents
        ),
    }
    Ok(())
}

fn into_file(archive: &Path, database: &Path) -> anyhow::Result<ArchiveReport> {
    if database.exists() {
        let there = store::examine_backup(database).context("nothing was imported")?;
        refuse_memory(there.messages, there.nodes)?;
    }
    let fresh = database.with_extension("imported");
    let read = store::read_archive(archive, &fresh)?;
    if database.exists() {
        put_aside(database)?;
    }
    fs::rename(&fresh, database)
        .with_context(|| format!("the memory is at {} and could not be put in its place", fresh.display()))?;
    Ok(read)
}

/// Through a file, so that a damaged archive reaches nothing of the database.
async fn into_server(
    home: &Home,
    archive: &Path,
    database: &HomeDatabase,
    address: &ServerAddress,
) -> anyhow::Result<ArchiveReport> {
    let address = address.clone();
    let there = run_blocking(move || store::count_home(&address)).await.context("nothing was imported")?;
    let fresh = home.database().with_extension("imported");
    let read = match there {
        Some(there) => {
            refuse_memory(there.messages, there.nodes)?;
            let read = store::read_archive(archive, &fresh)?;
            copy_aside(home, database).await?;
            read
        }
        None => store::read_archive(archive, &fresh)?,
    };
    let replaced = replace(&fresh, database).await;
    fs::remove_file(&fresh).with_context(|| format!("{} could not be removed", fresh.display()))?;
    replaced.map(|()| read)
}

fn refuse_memory(messages: u64, memories: u64) -> anyhow::Result<()> {
    if messages > 0 || memories > 0 {
        bail!(
            "this home has {messages} messages and {memories} memories; an archive makes a whole home: import it with another \
             --home. Nothing was imported"
        );
    }
    Ok(())
}
