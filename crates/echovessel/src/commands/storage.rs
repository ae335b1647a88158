//! `echovessel storage`: copies the memory to another database.

use std::io::Write as _;

use serde_json::json;
use store::{CopyProgress, CopyReport, CopySettings, HomeDatabase};

use super::restore::run_blocking;
use crate::cli::{SharedOptions, StorageCommand, StorageCopy};
use crate::config::Config;
use crate::database::named_database;
use crate::home::{Home, HomeLock};

pub(crate) async fn storage(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    command: &StorageCommand,
) -> anyhow::Result<()> {
    match command {
        StorageCommand::Copy(asked) => copy(shared, config, home, asked).await,
    }
}

/// Copies a home. Neither this home's daemon nor that of the source may run: what they stored meanwhile would be
/// missing in one of the two.
async fn copy(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &StorageCopy,
) -> anyhow::Result<()> {
    let from = named_database(&asked.from, config, home)?;
    let to = named_database(&asked.to, config, home)?;
    let _lock = home.lock_home()?;
    let _lock_of_source = lock_of(&from, home)?;
    let settings = CopySettings { refuses_used_source: true, replaces: false };
    let (source, target, is_quiet) = (from.clone(), to.clone(), shared.json);
    let copied = run_blocking(move || {
        store::copy_home(&source, &target, settings, &mut |progress| {
            if !is_quiet {
                print_progress(progress);
            }
        })
    });
    let CopyReport { tables, rows, home: counts } = copied.await?;
    let (messages, memories) = (counts.messages, counts.nodes);
    if shared.json {
        println!(
            "{}",
            json!({"from": asked.from, "to": asked.to, "tables": tables, "rows": rows,
                   "messages": messages, "memories": memories})
        );
        return Ok(());
    }
    println!(
        "copied {messages} messages and {memories} memories: {rows} rows in {tables} tables, all compared \
            with the source"
    );
    println!(
        "{from} is unchanged. To use the copy, set storage.url = {:?}. Do not run both: changes in one do \
            not reach the other",
        asked.to
    );
    Ok(())
}

/// The lock of the home that a database file belongs to; `None` if it is this home.
fn lock_of(from: &HomeDatabase, home: &Home) -> anyhow::Result<Option<HomeLock>> {
    let HomeDatabase::File(path) = from else { return Ok(None) };
    let Some(folder) = path.parent().filter(|folder| folder.join("lock").exists()) else { return Ok(None) };
    let other = Home::locate(Some(folder.to_owned()))?;
    match other.folder() == home.folder() {
        true => Ok(None),
        false => other.lock_home().map(Some),
    }
}

/// Prints a line to standard error for each table that has rows, and repeatedly for a large one.
fn print_progress(progress: CopyProgress<'_>) {
    if progress.rows > 0 {
        let more = if progress.is_complete { "" } else { " so far" };
        // A closed output is not a failure.
        let _ = writeln!(std::io::stderr(), "{}: {} rows{more}", progress.table, progress.rows);
    }
}
