//! `echovessel backup`: writes the whole memory to one file. Also the timer of `[backup] every`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use memory::ports::Clock;
use secrecy::SecretString;
use serde_json::json;
use server::{BackupCreated, BackupError, BackupFile, BackupList, Backups};
use store::{BackupReport, HomeDatabase, SIDE_FILES};

use super::encrypted_backup;
use crate::cli::{BackupOptions, SharedOptions};
use crate::config::Config;
use crate::database::{copy_to_file, home_database};
use crate::home::{Home, create_private_folder, open_private};
use crate::system::SystemClock;

/// Beginning of a backup's file name; its time follows.
const PREFIX: &str = "echovessel-";
const SUFFIX: &str = ".db";
/// Follows the name of an encrypted backup.
const ENCRYPTED_SUFFIX: &str = ".age";
const TIME_FORMAT: &str = "%Y%m%dT%H%M%SZ";

pub(crate) async fn backup(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &BackupOptions,
) -> anyhow::Result<()> {
    let database = home_database(config, home)?;
    if let HomeDatabase::File(path) = &database
        && !path.exists()
    {
        bail!("{database} does not exist yet, so there is nothing to back up");
    }
    let passphrase = asked.passphrase_env.as_deref().map(encrypted_backup::passphrase).transpose()?;
    let (target, report) = match &asked.file {
        Some(file) => {
            if file.exists() {
                bail!("{} already exists and was not changed; choose another file", file.display());
            }
            (file.clone(), back_up(home, database, file, passphrase).await?)
        }
        None => back_up_to_folder(config, home, &SystemClock, passphrase).await?,
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

/// The folder of backups, for the daemon.
pub(crate) struct BackupFolder {
    pub(crate) config: Config,
    pub(crate) home: Home,
    pub(crate) clock: Arc<dyn Clock>,
}

#[async_trait]
impl Backups for BackupFolder {
    async fn list(&self) -> Result<BackupList, BackupError> {
        let folder = backup_folder(&self.config, &self.home);
        let listed = || -> std::io::Result<Vec<BackupFile>> {
            let mut names = backup_names(&folder)?;
            names.reverse();
            names.into_iter().map(|name| describe_file(&folder, name)).collect()
        };
        let backups = listed().map_err(|error| BackupError::NotListed(error.to_string()))?;
        Ok(BackupList { folder: folder.display().to_string(), backups })
    }

    async fn create(&self) -> Result<BackupCreated, BackupError> {
        let failed = |error: anyhow::Error| BackupError::NotMade(format!("{error:#}"));
        let written = back_up_to_folder(&self.config, &self.home, self.clock.as_ref(), None).await;
        let (target, report) = written.map_err(failed)?;
        let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let file = BackupFile { created_at: backup_time(&name), name, bytes: report.bytes };
        Ok(BackupCreated { file, messages: report.messages, memories: report.nodes })
    }
}

fn describe_file(folder: &Path, name: String) -> std::io::Result<BackupFile> {
    let bytes = std::fs::metadata(folder.join(&name))?.len();
    Ok(BackupFile { created_at: backup_time(&name), bytes, name })
}

/// Time at which a backup of this name was made.
fn backup_time(name: &str) -> Option<Timestamp> {
    let name = name.strip_suffix(ENCRYPTED_SUFFIX).unwrap_or(name);
    let time = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    DateTime::strptime(TIME_FORMAT, time).ok()?.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp())
}

/// Makes a backup whenever `every` has passed, until the task is dropped. A failure is logged, and the next one is tried
/// at its time.
pub(crate) async fn repeat_backups(config: Config, home: Home, every: Duration, clock: Arc<dyn Clock>) {
    loop {
        clock.sleep(every).await;
        match back_up_to_folder(&config, &home, clock.as_ref(), None).await {
            Ok((target, report)) => {
                tracing::info!(file = %target.display(), bytes = report.bytes, "backup written and checked");
            }
            Err(error) => tracing::error!("no backup was written; earlier backups are unchanged: {error:#}"),
        }
    }
}

/// Endings of files that a backup leaves in its folder when it is killed. They may hold words that no erasure reaches.
/// Side files of a database may be beside each of them.
const UNFINISHED_ENDINGS: [&str; 3] = [".new", ".copied", ".partial"];
/// Locked by the process that writes into the folder: the timer, somebody at the page and a command may ask at the same moment.
/// Of two in one second the later one stays.
const FOLDER_LOCK: &str = "backups.lock";

/// Writes a backup named after the time, and removes all but the newest `backup.keep`.
async fn back_up_to_folder(
    config: &Config,
    home: &Home,
    clock: &dyn Clock,
    passphrase: Option<SecretString>,
) -> anyhow::Result<(PathBuf, BackupReport)> {
    let folder = backup_folder(config, home);
    create_private_folder(&folder)?;
    let lock = open_private(&home.folder().join(FOLDER_LOCK), false)?;
    let locked = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock));
    let _lock = locked.await.context("timed out waiting for another backup")??;
    remove_unfinished(&folder)?;
    let ending = if passphrase.is_some() { ENCRYPTED_SUFFIX } else { "" };
    let target = folder.join(format!("{PREFIX}{}{SUFFIX}{ending}", clock.now().strftime(TIME_FORMAT)));
    let report = back_up(home, home_database(config, home)?, &target, passphrase).await?;
    remove_oldest(&folder, config.backup.keep as usize)
        .with_context(|| format!("{} was written; older backups could not be removed", target.display()))?;
    Ok((target, report))
}

fn backup_folder(config: &Config, home: &Home) -> PathBuf {
    match config.backup.dir.as_str() {
        "" => home.folder().join("backups"),
        dir => PathBuf::from(dir),
    }
}

async fn back_up(
    home: &Home,
    database: HomeDatabase,
    target: &Path,
    passphrase: Option<SecretString>,
) -> anyhow::Result<BackupReport> {
    match passphrase {
        Some(passphrase) => encrypted_backup::back_up_encrypted(home, database, target, passphrase).await,
        None => copy_to_file(database, target.to_owned()).await,
    }
}

/// Removes what backups that were killed left in the folder, unless one is being made.
pub(super) fn remove_leftover_backups(config: &Config, home: &Home) -> std::io::Result<()> {
    let folder = backup_folder(config, home);
    if !folder.exists() {
        return Ok(());
    }
    let lock = open_private(&home.folder().join(FOLDER_LOCK), false)?;
    match lock.try_lock() {
        Ok(()) => remove_unfinished(&folder),
        Err(_) => Ok(()),
    }
}

fn remove_unfinished(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let database = SIDE_FILES.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
        if name.starts_with(PREFIX) && UNFINISHED_ENDINGS.iter().any(|ending| database.ends_with(ending)) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn remove_oldest(folder: &Path, keep: usize) -> std::io::Result<()> {
    let names = backup_names(folder)?;
    for name in &names[..names.len().saturating_sub(keep)] {
        std::fs::remove_file(folder.join(name))?;
    }
    Ok(())
}

/// Names of the backups, oldest first: they sort by time. Other files are ignored.
fn backup_names(folder: &Path) -> std::io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let plain = name.strip_suffix(ENCRYPTED_SUFFIX).unwrap_or(&name);
        if plain.starts_with(PREFIX) && plain.ends_with(SUFFIX) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
