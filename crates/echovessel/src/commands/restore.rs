//! `echovessel restore`: a backup takes the place of the memory, which is kept aside; erasures since then are repeated.

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use memory::forget::{ForgetMode, ForgetRequest};
use memory::ports::{Clock as _, ForgetStore as _};
use serde_json::json;
use store::{SqliteStore, StoreOptions};

use crate::cli::{Restore, Shared};
use crate::config::Config;
use crate::database::database_path;
use crate::home::Home;
use crate::system::SystemClock;

/// Endings of the files that SQLite keeps beside a database.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

pub(crate) async fn restore(
    shared: &Shared,
    config: &Config,
    home: &Home,
    asked: &Restore,
) -> anyhow::Result<()> {
    let _lock = home.lock()?;
    let report = store::examine_backup(&asked.file).context("nothing was changed")?;
    let database = database_path(config, home)?;
    if same_file(&asked.file, &database) {
        bail!("{} is this home's own memory; nothing was changed", asked.file.display());
    }
    let has_memory = database.exists();
    if has_memory && !asked.yes && !is_confirmed(&database)? {
        bail!("nothing was changed");
    }
    let fresh = database.with_extension("restored");
    store::back_up(&asked.file, &fresh).context("nothing was changed")?;
    let aside = if has_memory { Some(put_aside(&database)?) } else { None };
    fs::rename(&fresh, &database)
        .with_context(|| format!("the backup is at {} and could not be put in its place", fresh.display()))?;
    let erased = match &aside {
        Some(aside) => erase_again(&database, aside).await?,
        None => Erased::default(),
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
        println!("the memory of before is kept at {}; it may hold what was erased here", aside.display());
    }
    if erased.receipts > 0 || erased.things > 0 {
        println!(
            "the backup held words that were erased since: {} receipts, {} messages and memories erased again. Documents are \
             not reached; erase their text with `echovessel memory forget --text`",
            erased.receipts, erased.things
        );
    }
    Ok(())
}

#[derive(Default)]
struct Erased {
    receipts: u64,
    things: usize,
}

/// Forgets in the restored memory what the one of before had erased.
async fn erase_again(database: &Path, before: &Path) -> anyhow::Result<Erased> {
    let store = SqliteStore::open(database, StoreOptions::default())?;
    let missed = match store.missed_erasures(before).await {
        Ok(missed) => missed,
        Err(error) => {
            eprintln!(
                "echovessel: erasures since the backup are not known, as the memory of before can't be read: {error}"
            );
            store.close().await?;
            return Ok(Erased::default());
        }
    };
    let mut erased = Erased { receipts: missed.receipts, things: 0 };
    for (scope, selection) in missed.selections {
        let at = SystemClock.now();
        let request = ForgetRequest { scope, selection, thoughts: ForgetMode::Cascade, at };
        let taken = store.preview_forgetting(request.clone()).await?;
        if taken.is_empty() {
            continue;
        }
        erased.things += taken.messages.len() + taken.nodes().len() + taken.entities.len();
        store.forget(request, None, None).await?;
    }
    store.overwrite_freed(SystemClock.now()).await?;
    store.close().await?;
    Ok(erased)
}

/// Renames the database with its log, so that both stay together.
pub(super) fn put_aside(database: &Path) -> anyhow::Result<PathBuf> {
    let time = SystemClock.now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let stem = database.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let aside = database.with_file_name(format!("{stem}.before-restore-{time}.db"));
    if aside.exists() {
        bail!("{} exists; nothing was changed, try again in a second", aside.display());
    }
    for ending in BESIDE {
        let from = with_ending(database, ending);
        if from.exists() {
            fs::rename(&from, with_ending(&aside, ending))
                .with_context(|| format!("{} could not be put aside", from.display()))?;
        }
    }
    fs::rename(database, &aside).with_context(|| format!("{} could not be put aside", database.display()))?;
    Ok(aside)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn same_file(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// Asks at the terminal; a program has to say `--yes`.
fn is_confirmed(database: &Path) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!(
            "{} has a memory, and there is no terminal to ask for confirmation; pass --yes. Nothing was changed",
            database.display()
        );
    }
    print!("Replace {}? It is kept aside. Type yes: ", database.display());
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}
