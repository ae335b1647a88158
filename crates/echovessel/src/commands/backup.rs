//! `echovessel backup`: one file that holds the whole memory; also the timer of `[backup] every`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use memory::ports::Clock;
use serde_json::json;
use store::BackupReport;

use crate::cli::{Backup, Shared};
use crate::config::Config;
use crate::database::database_path;
use crate::home::{Home, create_private_folder};
use crate::system::SystemClock;

/// Name of a backup up to its time.
const PREFIX: &str = "echovessel-";
const SUFFIX: &str = ".db";

pub(crate) async fn backup(
    shared: &Shared,
    config: &Config,
    home: &Home,
    asked: &Backup,
) -> anyhow::Result<()> {
    let database = database_path(config, home)?;
    if !database.exists() {
        bail!("{} does not exist yet: there is nothing to back up", database.display());
    }
    let (target, report) = match &asked.file {
        Some(file) => {
            if file.exists() {
                bail!("{} exists and was left as it is; name another file", file.display());
            }
            (file.clone(), copied(database, file.clone()).await?)
        }
        None => back_up_to_folder(config, home, &SystemClock).await?,
    };
    if shared.json {
        let BackupReport { bytes, messages, nodes } = report;
        println!("{}", json!({"file": target, "bytes": bytes, "messages": messages, "memories": nodes}));
    } else {
        println!(
            "{}: {} messages and {} memories, {} KiB, checked",
            target.display(),
            report.messages,
            report.nodes,
            report.bytes / 1024
        );
    }
    Ok(())
}

/// Makes a backup whenever `every` has passed, until the task is dropped. A failure is logged, and the next one is tried
/// at its time.
pub(crate) async fn repeat(config: Config, home: Home, every: Duration, clock: Arc<dyn Clock>) {
    loop {
        clock.sleep(every).await;
        match back_up_to_folder(&config, &home, clock.as_ref()).await {
            Ok((target, report)) => {
                tracing::info!(file = %target.display(), bytes = report.bytes, "backup written and checked");
            }
            Err(error) => tracing::error!("no backup was made, the earlier ones stay: {error:#}"),
        }
    }
}

/// Writes a backup named after the time, and removes those beyond the newest `backup.keep`.
async fn back_up_to_folder(
    config: &Config,
    home: &Home,
    clock: &dyn Clock,
) -> anyhow::Result<(PathBuf, BackupReport)> {
    let folder = match config.backup.dir.as_str() {
        "" => home.folder().join("backups"),
        dir => PathBuf::from(dir),
    };
    create_private_folder(&folder)?;
    let target = folder.join(format!("{PREFIX}{}{SUFFIX}", clock.now().strftime("%Y%m%dT%H%M%SZ")));
    let report = copied(database_path(config, home)?, target.clone()).await?;
    remove_oldest(&folder, config.backup.keep as usize)
        .with_context(|| format!("{} was written; older backups could not be removed", target.display()))?;
    Ok((target, report))
}

async fn copied(database: PathBuf, target: PathBuf) -> anyhow::Result<BackupReport> {
    let copy = tokio::task::spawn_blocking(move || store::back_up(&database, &target));
    Ok(copy.await.context("the copy did not end")??)
}

/// Names sort by time. What is not named as a backup is not looked at.
fn remove_oldest(folder: &Path, keep: usize) -> std::io::Result<()> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            names.push(name);
        }
    }
    names.sort();
    for name in &names[..names.len().saturating_sub(keep)] {
        std::fs::remove_file(folder.join(name))?;
    }
    Ok(())
}
