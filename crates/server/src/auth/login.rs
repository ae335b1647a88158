//! A one-time link turns into a cookie.

use axum::extract::{Request, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use memory::access::{AuditEntry, OWNER};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Admin;
use super::client::{address_of, is_encrypted};
use super::refusals;
use crate::extract::Query;
use crate::problem::Problem;
use crate::state::App;

/// Where a link leads.
pub(crate) const PATH: &str = "/login";
const USED_LINK: &str = include_str!("../ui/used_link.html");

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Link {
    code: Option<String>,
}

/// `GET /login?code=…`
pub(crate) async fn log_in(
    State(app): State<App>,
    Query(link): Query<Link>,
    request: Request,
) -> Result<Response, Problem> {
    let (headers, tokens) = (request.headers(), &app.parts.tokens);
    let address = address_of(&request, app.parts.settings.load().behind_proxy);
    if !link.code.is_some_and(|code| tokens.redeem(&code, app.now())) {
        refusals::note(&app, None, address, StatusCode::UNAUTHORIZED.as_u16());
        return Ok((StatusCode::UNAUTHORIZED, Html(USED_LINK)).into_response());
    }
    let settings = app.parts.settings.load();
    let secure = settings.secure_cookie || is_encrypted(headers, settings.behind_proxy);
    let cookie = tokens.cookie(app.now(), secure);
    let cookie = HeaderValue::try_from(cookie).map_err(|error| Problem::internal(&error))?;
    let login = AuditEntry {
        at: app.now(),
        token: OWNER.to_owned(),
        act: format!("GET {PATH}"),
        object: address.to_string(),
        status: StatusCode::SEE_OTHER.as_u16(),
    };
    app.parts.access.record_act(login).await?;
    let to_the_page = HeaderValue::from_static("/");
    Ok((StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, to_the_page)]).into_response())
}

/// `HEAD /login`: a look does not use the link up.
pub(crate) async fn look() -> StatusCode {
    StatusCode::OK
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct NewLink {
    url: String,
    expires_at: jiff::Timestamp,
}

/// `POST /api/admin/login-code`
pub(crate) async fn new_code(State(app): State<App>, Admin(_): Admin) -> axum::Json<NewLink> {
    let code = app.parts.tokens.mint_login_code(app.now());
    axum::Json(NewLink { url: code.link(&app.parts.settings.load().url), expires_at: code.expires_at })
}
