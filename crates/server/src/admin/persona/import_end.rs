//! Waits for the end of an import from which a persona is drafted.

use std::time::Duration;

use axum::http::StatusCode;
use import::Mapping;
use memory::Scope;
use memory::identifiers::ImportId;
use runtime::{ImportError, PipelineStatus, PipelineStep, PipelineWatch};

use crate::extract::run_detached;
use crate::problem::Problem;
use crate::state::App;

/// Time for which a request waits for an import. The import continues without it.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// Subscribes to an import; 404 if it was not started.
pub(crate) async fn watch(app: &App, id: ImportId) -> Result<PipelineWatch, Problem> {
    app.runtime().imports().watch_pipeline(id).await.map_err(|error| match error {
        ImportError::NotStarted => Problem::not_found(error.to_string()),
        error => error.into(),
    })
}

/// Waits for the end of an import that onboarding reads from, and starts it if needed. Returns its id, and its
/// status: `success` or `partial_success`.
pub(super) async fn await_end(
    app: &App,
    scope: &Scope,
    upload_id: Option<&str>,
    pipeline_id: Option<&str>,
) -> Result<(ImportId, PipelineStatus), Problem> {
    let id = match (pipeline_id, upload_id) {
        (Some(id), _) => known_import_id("pipeline_id", id)?,
        (None, Some(id)) => {
            let id = known_import_id("upload_id", id)?;
            let (app, scope) = (app.clone(), scope.clone());
            run_detached(async move {
                Ok(app.runtime().imports().start_pipeline(id, scope, Mapping::default()).await?)
            })
            .await?;
            id
        }
        (None, None) => return Err(Problem::bad_request("upload_id, pipeline_id: send one of them")),
    };
    let mut watch = watch(app, id).await?;
    let timeout = app.runtime().clock().sleep(WAIT_MAX);
    tokio::pin!(timeout);
    loop {
        let event = tokio::select! {
            event = watch.next() => event,
            () = &mut timeout => {
                let detail = "the import is still running; send the request again later with its \
                    pipeline_id. Nothing was written";
                return Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, detail));
            }
            () = app.shutdown.cancelled() => None,
        };
        match event.map(|event| event.step) {
            Some(PipelineStep::Done(outcome)) => {
                return match outcome.status {
                    status @ (PipelineStatus::Success | PipelineStatus::PartialSuccess) => Ok((id, status)),
                    PipelineStatus::Failed => Err(Problem::bad_request(format!(
                        "the import failed: {}. Nothing was written",
                        outcome.error
                    ))),
                    PipelineStatus::Cancelled => {
                        Err(Problem::bad_request("the import was cancelled; nothing was written"))
                    }
                };
            }
            Some(_) => {}
            None => return Err(Problem::bad_request("the import has not ended; nothing was written")),
        }
    }
}

/// Parses the id of an import: 422 for a wrong length, 404 for one that no import can have.
pub(crate) fn known_import_id(field: &str, id: &str) -> Result<ImportId, Problem> {
    parsed_id(field, id)?.ok_or_else(|| Problem::not_found(format!("{field}: import not found")))
}

pub(crate) fn parsed_id(field: &str, id: &str) -> Result<Option<ImportId>, Problem> {
    if !(1..=64).contains(&id.chars().count()) {
        return Err(Problem::unprocessable(format!("{field}: must have 1 to 64 characters")));
    }
    Ok(id.parse().ok())
}
