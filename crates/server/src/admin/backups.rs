//! Backups: files that each hold the whole memory.

use async_trait::async_trait;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::Admin;
use crate::extract::run_detached;
use crate::problem::Problem;
use crate::respond::Created;
use crate::state::App;

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
    /// Why those that are there can't be listed.
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

/// Handler of `GET /api/admin/backups`.
pub(crate) async fn list(State(app): State<App>, Admin(_): Admin) -> Result<Json<BackupList>, Problem> {
    Ok(Json(app.parts.backups.list().await?))
}

/// `POST /api/admin/backups`: in the folder that `backup.dir` names, while the program runs.
pub(crate) async fn create(
    State(app): State<App>,
    Admin(_): Admin,
) -> Result<Created<BackupCreated>, Problem> {
    run_detached(async move { Ok(Created(app.parts.backups.create().await?)) }).await
}

impl From<BackupError> for Problem {
    fn from(error: BackupError) -> Self {
        tracing::error!("{error}");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}
