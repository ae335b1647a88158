//! An archive of this program: an empty home becomes the one that it was made of.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use memory::ports::ArchiveReport;
use serde_json::json;

use super::is_confirmed;
use crate::cli::{Import, Shared};
use crate::commands::restore::put_aside;
use crate::config::Config;
use crate::database::database_path;
use crate::home::Home;

pub(super) fn bring_in(
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
    let database = database_path(config, home)?;
    if database.exists() {
        let there = store::examine_backup(&database).context("nothing was imported")?;
        if there.messages > 0 || there.nodes > 0 {
            bail!(
                "this home has {} messages and {} memories; an archive makes a whole home: import it with another --home. \
                 Nothing was imported",
                there.messages,
                there.nodes
            );
        }
    }
    let fresh = database.with_extension("imported");
    let read = store::read_archive(archive, &fresh)?;
    if database.exists() {
        put_aside(&database)?;
    }
    fs::rename(&fresh, &database)
        .with_context(|| format!("the memory is at {} and could not be put in its place", fresh.display()))?;
    match shared.json {
        true => println!("{shown}"),
        false => println!(
            "imported {} messages, {} memories and {} documents; vectors are made when the daemon runs",
            read.messages, read.nodes, read.documents
        ),
    }
    Ok(())
}
