//! The audit log: who did what with the right to administer, when, and to what. It contains no text of users.

use axum::Json;
use axum::extract::{FromRequestParts as _, MatchedPath, RawPathParams, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use jiff::Timestamp;
use memory::access::{AuditEntry, TOKEN_NAME_LENGTH_MAX, is_plain_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::imports::export;
use crate::auth::{Admin, Principal};
use crate::cursor::page_of;
use crate::extract::{Query, page_size};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 50;
/// Paths of POST requests that change nothing.
const READ_ONLY_POST_PATHS: [&str; 3] =
    ["/api/admin/memory/recall", "/api/admin/memory/preview-delete", "/api/admin/import/estimate"];
/// Maximum length of a recorded object, in characters. Objects are names and ids; a longer one is an attempt at
/// abuse.
const OBJECT_LENGTH_MAX: usize = 500;

/// The object of an action, if the path does not name it. Ids and names of keys only.
#[derive(Clone, Debug)]
pub(crate) struct AuditObject(pub(crate) String);

/// Marks the response to a request that only previewed a change, which is not recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreviewOnly;

/// Records every action that reached its handler, whatever its result, before its response is sent.
pub(crate) async fn record(
    State(app): State<App>,
    matched: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let act = matched.and_then(|path| action_name(request.method(), path.as_str()));
    let principal = request.extensions().get::<Principal>().cloned();
    let (Some(act), Some(principal)) = (act, principal) else { return next.run(request).await };
    let (mut parts, body) = request.into_parts();
    let ids: Vec<String> = match RawPathParams::from_request_parts(&mut parts, &()).await {
        Ok(ids) => ids.iter().map(|(_, value)| id_or_blank(value)).collect(),
        Err(_) => Vec::new(),
    };
    let response = next.run(Request::from_parts(parts, body)).await;
    if response.extensions().get::<PreviewOnly>().is_some() {
        return response;
    }
    let said = response.extensions().get::<AuditObject>().map(|object| object.0.clone());
    let object = said.unwrap_or_else(|| ids.join(" "));
    let object: String = object.chars().take(OBJECT_LENGTH_MAX).collect();
    let status = response.status().as_u16();
    tracing::info!(token = principal.name, act, object, status, "admin request");
    let act = AuditEntry { at: app.now(), token: principal.name, act, object, status };
    if let Err(error) = app.parts.access.record_act(act).await {
        tracing::error!("an admin request was not written to the audit log: {error}");
    }
    response
}

/// The name under which a request is recorded: every change below /api/admin and /api/hub, and every export.
fn action_name(method: &Method, path: &str) -> Option<String> {
    let changes = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let administers = path.starts_with("/api/admin/") || path.starts_with("/api/hub/");
    let is_act = changes && administers && !READ_ONLY_POST_PATHS.contains(&path) || path == export::PATH;
    is_act.then(|| format!("{method} {path}"))
}

/// A path segment if it can be an id or a name; anything else may be a person's text and is left blank.
fn id_or_blank(part: &str) -> String {
    if is_plain_name(part, TOKEN_NAME_LENGTH_MAX) { part.to_owned() } else { "(no id)".to_owned() }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AuditQuery {
    limit: Option<u32>,
    cursor: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AuditList {
    items: Vec<AuditEntryBody>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct AuditEntryBody {
    id: String,
    at: Timestamp,
    /// Name of the token that made the request.
    token: String,
    /// Method and path of the request.
    act: String,
    /// The object of the action: ids and names of keys.
    object: String,
    status: u16,
}

/// Handler of `GET /api/admin/audit`, newest first.
pub(crate) async fn list(
    State(app): State<App>,
    Admin(_): Admin,
    Query(page): Query<AuditQuery>,
) -> Result<Json<AuditList>, Problem> {
    let limit = page_size(page.limit, PAGE_DEFAULT)?;
    let acts = app.parts.access.audit_entries(page.cursor, limit + 1).await?;
    let (acts, next_cursor) = page_of(acts, limit, |(number, _)| number.to_string());
    let body = |(number, entry): (i64, AuditEntry)| AuditEntryBody {
        id: number.to_string(),
        at: entry.at,
        token: entry.token,
        act: entry.act,
        object: entry.object,
        status: entry.status,
    };
    Ok(Json(AuditList { items: acts.into_iter().map(body).collect(), next_cursor }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_audited_and_reads_are_not() {
        let act = |method: Method, path| action_name(&method, path);
        let stop = act(Method::POST, "/api/admin/stop");
        assert_eq!(stop.as_deref(), Some("POST /api/admin/stop"));
        assert!(act(Method::DELETE, "/api/admin/memory/events/{id}").is_some());
        assert!(act(Method::GET, "/api/admin/export").is_some(), "all words leave at once");
        assert!(act(Method::GET, "/api/admin/tokens").is_none());
        assert!(act(Method::POST, "/api/admin/memory/recall").is_none());
        assert!(act(Method::POST, "/api/chat/send").is_none());
    }

    #[test]
    fn words_in_a_path_are_not_stored() {
        assert_eq!(
            id_or_blank("019c0000-0000-7000-8000-000000000000"),
            "019c0000-0000-7000-8000-000000000000"
        );
        for words in ["my cat died", "我的猫", "", &"x".repeat(65)] {
            assert_eq!(id_or_blank(words), "(no id)");
        }
    }
}
