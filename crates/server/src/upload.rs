//! Files that arrive in a form.

use axum::body::Bytes;
use axum::extract::multipart::MultipartError;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;

use crate::problem::Problem;
use crate::state::App;

/// Maximum bytes of a form besides its file: names and options are short.
pub(crate) const FORM_BYTES_MAX: usize = 64 * 1024;

/// The name and content of the form's `file`, which must have at least one byte and at most `size_max`.
pub(crate) async fn file_of(
    request: Request,
    app: &App,
    size_max: usize,
) -> Result<(String, Bytes), Problem> {
    let (file, _) = multipart_form(request, app, size_max, None).await?;
    file.ok_or_else(|| Problem::unprocessable("file: missing; nothing was saved"))
}

/// The form's `file`, if it has one, with its name, and the text of another field.
pub(crate) async fn multipart_form(
    request: Request,
    app: &App,
    size_max: usize,
    text_field: Option<&str>,
) -> Result<(Option<(String, Bytes)>, Option<String>), Problem> {
    let (file, text) = read(request, app, size_max, text_field).await?;
    match file.as_ref().map(|(_, bytes)| bytes.len()) {
        Some(0) => Err(Problem::bad_request("file: empty; nothing was saved")),
        Some(size) if size > size_max => Err(too_large(size_max)),
        _ => Ok((file, text)),
    }
}

async fn read(
    request: Request,
    app: &App,
    size_max: usize,
    text_field: Option<&str>,
) -> Result<(Option<(String, Bytes)>, Option<String>), Problem> {
    let no_form = |_| Problem::unprocessable("send multipart/form-data with the file in the field `file`");
    let mut form = Multipart::from_request(request, app).await.map_err(no_form)?;
    let (mut file, mut text) = (None, None);
    while let Some(field) =
        form.next_field().await.map_err(|error| unreadable_form(error.status(), size_max))?
    {
        let broken = |error: MultipartError| unreadable_form(error.status(), size_max);
        match field.name() {
            Some("file") if file.is_none() => {
                let name = field.file_name().unwrap_or_default().to_owned();
                file = Some((name, field.bytes().await.map_err(broken)?));
            }
            name if name.is_some() && name == text_field => {
                text = Some(field.text().await.map_err(broken)?);
            }
            _ => {}
        }
    }
    Ok((file, text))
}

/// Why a form could not be read.
pub(crate) fn unreadable_form(status: StatusCode, size_max: usize) -> Problem {
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        return too_large(size_max);
    }
    Problem::bad_request("the form could not be read; nothing was saved")
}

pub(crate) fn too_large(size_max: usize) -> Problem {
    let detail = format!("file: at most {size_max} bytes; nothing was saved");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}
