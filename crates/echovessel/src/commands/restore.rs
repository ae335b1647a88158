//! `echovessel restore`: replaces the memory by a backup. The former memory is renamed, and erasures since the backup
//! are repeated.

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use memory::forget::{ForgetMode, ForgetRequest};
use memory::ports::{Clock as _, ForgetStore as _, StoreError};
use serde_json::json;
use store::{CopySettings, HomeDatabase, HomeStore, StoreOptions};

use super::encrypted_backup::OpenedBackup;
use crate::cli::{Restore, SharedOptions};
use crate::config::Config;
use crate::database::home_database;
use crate::home::Home;
use crate::system::SystemClock;

pub(crate) async fn restore(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Restore,
) -> anyhow::Result<()> {
    let _lock = home.lock_home()?;
    let opened = OpenedBackup::open(home, &asked.file, asked.passphrase_env.as_deref()).await;
    let opened = opened.context("nothing was changed")?;
    let backup = opened.path();
    let report = store::examine_backup(backup).context("nothing was changed")?;
    let database = home_database(config, home)?;
    if let HomeDatabase::File(path) = &database
        && same_file(&asked.file, path)
    {
        bail!("{} is the memory of this home itself. Nothing was changed", asked.file.display());
    }
    let has_memory = match database.clone() {
        HomeDatabase::File(path) => path.exists(),
        HomeDatabase::Server(address) => {
            run_blocking(move || store::count_home(&address)).await.context("nothing was changed")?.is_some()
        }
    };
    if has_memory && !asked.yes && !is_confirmed(&database)? {
        bail!("nothing was changed");
    }
    let (aside, erased) = match &database {
        HomeDatabase::File(path) => restore_into_file(backup, path, has_memory).await?,
        HomeDatabase::Server(_) => restore_into_server(home, backup, &database, has_memory).await?,
    };
    if shared.json {
        let aside = aside.as_deref().map(Path::to_string_lossy);
        println!(
            "{}",
            json!({"restored": asked.file, "messages": report.messages, "memories": report.nodes,
                   "kept_aside": aside, "receipts_applied": erased.receipts, "erased_again": erased.things})
        );
        return Ok(());
    }
    println!("restored {} messages and {} memories", report.messages, report.nodes);
    if let Some(aside) = aside {
        match has_memory {
            true => println!(
                "the replaced memory is saved as {}; it may contain text that was erased since",
                aside.display()
            ),
            false => {
                println!(
                    "a log without its database is kept as {}-*; it may contain messages",
                    aside.display()
                )
            }
        }
    }
    if erased.receipts > 0 || erased.things > 0 {
        println!(
            "the backup contained text that was erased since: {} receipts applied, {} messages and memories \
                erased again. Documents are not included; erase their text with `echovessel memory forget \
                --text`",
            erased.receipts, erased.things
        );
    }
    Ok(())
}

async fn restore_into_file(
    backup: &Path,
    database: &Path,
    has_memory: bool,
) -> anyhow::Result<(Option<PathBuf>, RepeatedErasures)> {
    let fresh = database.with_extension("restored");
    store::back_up(backup, &fresh).context("nothing was changed")?;
    let aside = rename_database_aside(database)?;
    fs::rename(&fresh, database).with_context(|| {
        format!("the backup was restored to {} and could not be moved to its place", fresh.display())
    })?;
    let erased = match &aside {
        Some(aside) if has_memory => erase_again(database, aside).await?,
        _ => RepeatedErasures::default(),
    };
    Ok((aside, erased))
}

/// Erases in a file what was erased since the backup, then copies the file into the database in one transaction.
async fn restore_into_server(
    home: &Home,
    backup: &Path,
    database: &HomeDatabase,
    has_memory: bool,
) -> anyhow::Result<(Option<PathBuf>, RepeatedErasures)> {
    let fresh = home.database().with_extension("restored");
    store::back_up(backup, &fresh).context("nothing was changed")?;
    let outcome = async {
        let aside = if has_memory { Some(copy_aside(home, database).await?) } else { None };
        let erased = match &aside {
            Some(aside) => erase_again(&fresh, aside).await?,
            // Backups of older versions too: opening one upgrades it.
            None => HomeStore::open(&fresh, StoreOptions::default())?
                .close()
                .await
                .map(|()| RepeatedErasures::default())?,
        };
        replace(&fresh, database).await?;
        Ok((aside, erased))
    };
    let outcome = outcome.await;
    fs::remove_file(&fresh).with_context(|| format!("{} could not be removed", fresh.display()))?;
    outcome
}

/// Replaces the home in a database on a server by that of a file.
pub(super) async fn replace(fresh: &Path, database: &HomeDatabase) -> anyhow::Result<()> {
    let (from, to) = (HomeDatabase::File(fresh.to_owned()), database.clone());
    let settings = CopySettings { replaces: true, ..CopySettings::default() };
    run_blocking(move || store::copy_home(&from, &to, settings, &mut |_| {})).await?;
    Ok(())
}

/// Copies the home in a database on a server to a file. No daemon may use the database.
pub(super) async fn copy_aside(home: &Home, database: &HomeDatabase) -> anyhow::Result<PathBuf> {
    let aside = replaced_database_path(&home.database())?;
    let (from, to) = (database.clone(), HomeDatabase::File(aside.clone()));
    let settings = CopySettings { refuses_used_source: true, ..CopySettings::default() };
    run_blocking(move || store::copy_home(&from, &to, settings, &mut |_| {})).await?;
    Ok(aside)
}

/// Runs blocking code on a thread for it.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> anyhow::Result<T> {
    Ok(tokio::task::spawn_blocking(work).await.context("the work did not end")??)
}

#[derive(Default)]
struct RepeatedErasures {
    receipts: u64,
    things: usize,
}

/// Erases in the restored memory everything that was erased in the memory that it replaces.
async fn erase_again(database: &Path, before: &Path) -> anyhow::Result<RepeatedErasures> {
    let store = HomeStore::open(database, StoreOptions::default())?;
    let missed = match store.missed_erasures(before).await {
        Ok(missed) => missed,
        Err(error) => {
            eprintln!(
                "echovessel: the erasures since the backup are unknown, because the replaced memory can't \
                    be read: {error}"
            );
            store.close().await?;
            return Ok(RepeatedErasures::default());
        }
    };
    let mut erased = RepeatedErasures { receipts: missed.receipts, things: 0 };
    for (scope, selection) in missed.selections {
        let at = SystemClock.now();
        let request = ForgetRequest { scope, selection, thoughts: ForgetMode::Cascade, at };
        let taken = store.preview_forgetting(request.clone()).await?;
        if taken.is_empty() {
            continue;
        }
        let rows = taken.messages.len() + taken.all_nodes().len() + taken.entities.len();
        erased.things += rows + usize::try_from(taken.counts.documents).unwrap_or_default();
        store.forget(request, None, None).await?;
    }
    store.overwrite_freed(SystemClock.now()).await?;
    store.close().await?;
    Ok(erased)
}

/// Renames the database and its side files together; `None` if there are none. Side files without a database are
/// renamed too: SQLite would apply them to the next database of that name.
pub(super) fn rename_database_aside(database: &Path) -> anyhow::Result<Option<PathBuf>> {
    let aside = replaced_database_path(database)?;
    let mut is_there = false;
    for (from, to) in store::database_files(database).zip(store::database_files(&aside)) {
        if from.exists() {
            fs::rename(&from, to).with_context(|| format!("{} could not be moved aside", from.display()))?;
            is_there = true;
        }
    }
    Ok(is_there.then_some(aside))
}

/// A new name beside the database.
fn replaced_database_path(database: &Path) -> anyhow::Result<PathBuf> {
    let time = SystemClock.now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let stem = database.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let aside = database.with_file_name(format!("{stem}.before-restore-{time}.db"));
    if aside.exists() {
        bail!("{} exists; nothing was changed, try again in a second", aside.display());
    }
    Ok(aside)
}

fn same_file(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// Asks at the terminal to confirm; a program must pass `--yes`.
fn is_confirmed(database: &HomeDatabase) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!(
            "{database} already contains a memory, and there is no terminal to ask for confirmation; pass \
                --yes. Nothing was changed"
        );
    }
    print!("Replace {database}? The current memory is kept in another file. Type yes: ");
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}
