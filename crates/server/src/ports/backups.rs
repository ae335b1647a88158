//! The port to backups: files that each hold the whole memory.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Makes and lists backups.
#[async_trait]
pub trait Backups: Send + Sync {
    /// The folder and the backups in it, newest first.
    async fn list(&self) -> Result<BackupList, BackupError>;
    /// Makes one now, checked; the oldest beyond `backup.keep` are deleted.
    async fn create(&self) -> Result<BackupCreated, BackupError>;
}

/// Why a backup was not made or could not be listed. The memory and earlier backups are as they were.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Why none was made.
    #[error("no backup was made, earlier ones are kept: {0}")]
    NotMade(String),
    /// The backups can't be listed, for this reason.
    #[error("the backups can't be listed: {0}")]
    NotListed(String),
}

/// The folder of backups.
#[derive(Serialize, JsonSchema)]
pub struct BackupList {
    /// The folder of the backups.
    pub folder: String,
    /// Backups, the newest first.
    pub backups: Vec<BackupFile>,
}

/// A backup in the folder.
#[derive(Serialize, JsonSchema)]
pub struct BackupFile {
    /// Name of the file.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// Time at which it was made; `null` if its name does not say it.
    pub created_at: Option<Timestamp>,
}

/// A backup that was just made, with what is in it.
#[derive(Serialize, JsonSchema)]
pub struct BackupCreated {
    /// The file that was written.
    #[serde(flatten)]
    pub file: BackupFile,
    /// Number of messages in it.
    pub messages: u64,
    /// Events, thoughts, intentions and expectations in it.
    pub memories: u64,
}
