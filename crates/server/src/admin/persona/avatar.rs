//! The persona's avatar.

use std::path::Path;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use memory::ports::{AVATAR_SIZE_MAX, Avatar};
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::Admin;
use crate::extract::{ScopeParam, run_detached};
use crate::problem::Problem;
use crate::respond::DeletedResponse;
use crate::state::App;
use crate::upload;

/// The path of the upload, which allows a larger body.
pub(crate) const PATH: &str = "/api/admin/persona/avatar";
/// Maximum size of an upload: the picture and the form around it.
pub(crate) const UPLOAD_SIZE_MAX: usize = AVATAR_SIZE_MAX + upload::FORM_BYTES_MAX;
/// Header that makes a browser ask each time, because the address stays the same when the picture changes.
const NO_CACHE_HEADER: &str = "no-cache, no-store, must-revalidate";

#[derive(Serialize, JsonSchema)]
pub(crate) struct AvatarUploaded {
    ok: bool,
    size_bytes: usize,
    ext: String,
}

/// Handler of `POST /api/admin/persona/avatar`: a form with the picture as `file`.
pub(crate) async fn upload(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    request: Request,
) -> Result<Json<AvatarUploaded>, Problem> {
    let (name, image) = upload::file_of(request, &app, AVATAR_SIZE_MAX).await?;
    let extension = extension_of(&name)
        .filter(|extension| has_signature_of(&image, extension))
        .ok_or_else(|| Problem::bad_request("file: must be a png, jpg, webp or gif; nothing was saved"))?;
    let taken = AvatarUploaded { ok: true, size_bytes: image.len(), ext: extension.to_owned() };
    let avatar = Avatar { extension: extension.to_owned(), image: image.to_vec() };
    run_detached(async move { Ok(app.runtime().personas().put_avatar(&scope, avatar).await?) }).await?;
    Ok(Json(taken))
}

fn extension_of(name: &str) -> Option<&'static str> {
    match Path::new(name).extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "png" => Some("png"),
        "jpg" | "jpeg" => Some("jpg"),
        "webp" => Some("webp"),
        "gif" => Some("gif"),
        _ => None,
    }
}

/// True if the bytes match the file extension: nothing else is served as a picture.
fn has_signature_of(image: &[u8], extension: &str) -> bool {
    match extension {
        "png" => image.starts_with(b"\x89PNG\r\n\x1a\n"),
        "jpg" => image.starts_with(b"\xff\xd8\xff"),
        "gif" => image.starts_with(b"GIF8"),
        _ => image.starts_with(b"RIFF") && image.get(8..12) == Some(b"WEBP"),
    }
}

pub(crate) async fn show(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
) -> Result<Response, Problem> {
    let avatar = app.runtime().store().avatar(&scope.persona).await?.ok_or_else(no_avatar)?;
    let kind = match avatar.extension.as_str() {
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => "image/jpeg",
    };
    Ok(([(CONTENT_TYPE, kind), (CACHE_CONTROL, NO_CACHE_HEADER)], avatar.image).into_response())
}

pub(crate) async fn remove(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
) -> Result<Json<DeletedResponse>, Problem> {
    let gone = run_detached(async move { Ok(app.runtime().personas().remove_avatar(&scope).await?) }).await?;
    if gone { Ok(DeletedResponse::json()) } else { Err(no_avatar()) }
}

fn no_avatar() -> Problem {
    Problem::not_found("this persona has no avatar")
}
