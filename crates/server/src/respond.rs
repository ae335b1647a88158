//! Responses of several handlers.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

/// The request succeeded and there is nothing else to return.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OkResponse {
    ok: bool,
}

impl OkResponse {
    pub(crate) fn json() -> Json<Self> {
        Json(Self { ok: true })
    }

    pub(crate) fn not_successful() -> Json<Self> {
        Json(Self { ok: false })
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct DeletedResponse {
    deleted: bool,
}

impl DeletedResponse {
    pub(crate) fn json() -> Json<Self> {
        Json(Self { deleted: true })
    }
}

/// A JSON answer with the status 201.
pub(crate) struct Created<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

/// A JSON answer with the status 202: the work continues afterwards.
pub(crate) struct Accepted<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Accepted<T> {
    fn into_response(self) -> Response {
        (StatusCode::ACCEPTED, Json(self.0)).into_response()
    }
}
