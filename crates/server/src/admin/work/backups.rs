//! Backups: files that each contain the whole memory.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::auth::Admin;
use crate::extract::run_detached;
use crate::ports::backups::{BackupCreated, BackupError, BackupList};
use crate::problem::Problem;
use crate::respond::Created;
use crate::state::App;

/// Handler of `GET /api/admin/backups`.
pub(crate) async fn list(State(app): State<App>, Admin(_): Admin) -> Result<Json<BackupList>, Problem> {
    Ok(Json(app.parts.backups.list().await?))
}

/// Handler of `POST /api/admin/backups`: makes a backup in the folder `backup.dir` while the program runs.
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
