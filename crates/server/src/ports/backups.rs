//! The port to backups: files that each contain the whole memory.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Makes and lists backups.
#[async_trait]
pub trait Backups: Send + Sync {
    /// The folder and its backups, newest first.
    async fn list(&self) -> Result<BackupList, BackupError>;
    /// Makes and checks a backup; deletes the oldest beyond `backup.keep`.
    async fn create(&self) -> Result<BackupCreated, BackupError>;
}

/// Why a backup failed, or backups could not be listed. The memory and earlier backups are unchanged.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// No backup was made, for this reason.
    #[error("no backup was written; earlier ones are kept: {0}")]
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

/// A new backup, with counts of its content.
#[derive(Serialize, JsonSchema)]
pub struct BackupCreated {
    /// The file that was written.
    #[serde(flatten)]
    pub file: BackupFile,
    /// Number of messages in the backup.
    pub messages: u64,
    /// Number of events, thoughts, intentions and expectations in the backup.
    pub memories: u64,
}
