//! Files that arrive in a form.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;

use crate::problem::Problem;
use crate::state::App;

/// Bytes of a form beside its file.
pub(crate) const FORM_BYTES_MAX: usize = 64 * 1024;
/// How long an upload may take.
const TIME_MAX: Duration = Duration::from_secs(60);

/// The name and the bytes of the form's `file`, which has at least one byte and at most `size_max`.
pub(crate) async fn file_of(
    request: Request,
    app: &App,
    size_max: usize,
) -> Result<(String, Bytes), Problem> {
    let (name, bytes) = tokio::select! {
        file = read(request, app, size_max) => file?,
        () = app.runtime().clock().sleep(TIME_MAX) => {
            let detail = "the file did not arrive in time; nothing was saved";
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail));
        }
    };
    if bytes.is_empty() {
        return Err(Problem::bad_request("file: empty; nothing was saved"));
    }
    if bytes.len() > size_max {
        return Err(too_large(size_max));
    }
    Ok((name, bytes))
}

async fn read(request: Request, app: &App, size_max: usize) -> Result<(String, Bytes), Problem> {
    let no_form = |_| Problem::unprocessable("send multipart/form-data with the file in the field `file`");
    let mut form = Multipart::from_request(request, app).await.map_err(no_form)?;
    loop {
        let field = form.next_field().await.map_err(|error| unreadable(error.status(), size_max))?;
        let Some(field) = field else {
            return Err(Problem::unprocessable("file: missing; nothing was saved"));
        };
        if field.name() == Some("file") {
            let name = field.file_name().unwrap_or_default().to_owned();
            let bytes = field.bytes().await.map_err(|error| unreadable(error.status(), size_max))?;
            return Ok((name, bytes));
        }
    }
}

/// Why a form broke off.
pub(crate) fn unreadable(status: StatusCode, size_max: usize) -> Problem {
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        return too_large(size_max);
    }
    Problem::bad_request("the form could not be read; nothing was saved")
}

fn too_large(size_max: usize) -> Problem {
    let detail = format!("file: at most {size_max} bytes; nothing was saved");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}
