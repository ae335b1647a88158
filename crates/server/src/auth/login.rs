//! Login by a one-time link, the list of logins, and ending them.

use axum::extract::{Path, Request, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::{Extension, Json};
use jiff::Timestamp;
use memory::access::{AuditEntry, Login};
use runtime::{AccessCreated, AccessKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admission::{Admin, note_refusal};
use super::client::address_of;
use super::logins::{LOGIN_PATH, browser_of, is_secure};
use super::principal::Principal;
use super::tokens::CodeAuthor;
use crate::admin::program::audit::AuditObject;
use crate::extract::Query;
use crate::problem::Problem;
use crate::state::App;

const USED_LINK: &str = include_str!("../ui/used_link.html");

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Link {
    code: Option<String>,
}

/// Handler of `GET /login?code=…`.
pub(crate) async fn log_in(
    State(app): State<App>,
    Query(link): Query<Link>,
    request: Request,
) -> Result<Response, Problem> {
    let (headers, tokens) = (request.headers(), &app.parts.tokens);
    let address = address_of(&request, app.parts.settings.load().behind_proxy);
    let Some(author) = link.code.and_then(|code| tokens.redeem_code(&code, app.now())) else {
        note_refusal(&app, None, address, StatusCode::UNAUTHORIZED.as_u16());
        return Ok((StatusCode::UNAUTHORIZED, Html(USED_LINK)).into_response());
    };
    let name = author.token.clone();
    let made = tokens.new_login(author, app.now(), address.to_string(), browser_of(headers));
    let cookie = tokens.cookie(&made.login.id, &made.cookie_secret, is_secure(&app, headers));
    let browser = made.login.browser.clone();
    app.parts.access.add_login(made.login).await?;
    let login = AuditEntry {
        at: app.now(),
        token: name,
        act: format!("GET {LOGIN_PATH}"),
        object: address.to_string(),
        status: StatusCode::SEE_OTHER.as_u16(),
    };
    app.parts.access.record_act(login).await?;
    let address = Some(address.to_string());
    app.announce_access(AccessCreated { kind: AccessKind::Login, name: browser, address });
    let cookie = HeaderValue::try_from(cookie).map_err(|error| Problem::internal(&error))?;
    // The part after `#` is never sent: only the page of this origin reads it.
    let to_the_page = HeaderValue::try_from(format!("/#login={}", made.page_key));
    let to_the_page = to_the_page.map_err(|error| Problem::internal(&error))?;
    Ok((StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, to_the_page)]).into_response())
}

/// Handler of `HEAD /login`, which does not use up the link.
pub(crate) async fn check_link() -> StatusCode {
    StatusCode::OK
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct NewLink {
    url: String,
    expires_at: Timestamp,
}

/// Handler of `POST /api/admin/login-code`.
pub(crate) async fn new_code(State(app): State<App>, Admin(principal): Admin) -> Json<NewLink> {
    let code = app.parts.tokens.mint_login_code_of(CodeAuthor::from_principal(&principal), app.now());
    Json(NewLink { url: code.login_url(&app.parts.settings.load().url), expires_at: code.expires_at })
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LoginList {
    logins: Vec<LoginBody>,
}

#[derive(Serialize, JsonSchema)]
struct LoginBody {
    id: String,
    /// Name of the token that created the link.
    token: String,
    address: String,
    /// Browser and system, as `Firefox, Linux`.
    browser: String,
    created_at: Timestamp,
    last_seen_at: Timestamp,
    /// Time at which it expires if it is not used.
    expires_at: Timestamp,
    /// True if this request came from this browser.
    is_current: bool,
}

/// Handler of `GET /api/admin/logins`, the last seen first.
pub(crate) async fn list(
    State(app): State<App>,
    Admin(principal): Admin,
) -> Result<Json<LoginList>, Problem> {
    let now = app.now();
    let logins = app.parts.access.logins().await?;
    let logins = logins.into_iter().filter(|login| now < login.expires_at());
    Ok(Json(LoginList { logins: logins.map(|login| LoginBody::from_login(login, &principal)).collect() }))
}

impl LoginBody {
    fn from_login(login: Login, principal: &Principal) -> Self {
        Self {
            is_current: principal.login.as_ref() == Some(&login.id),
            expires_at: login.expires_at(),
            id: login.id,
            token: login.token,
            address: login.address,
            browser: login.browser,
            created_at: login.created_at,
            last_seen_at: login.last_seen_at,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LoginsEnded {
    ended: u64,
}

/// The name by which a browser refers to its own login.
const CURRENT_LOGIN: &str = "current";

/// Handler of `DELETE /api/admin/logins/{id}`: logs a browser out at once; `current` is the requesting one.
pub(crate) async fn end(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<(Extension<AuditObject>, (HeaderMap, Json<LoginsEnded>)), Problem> {
    let own = principal.login.unwrap_or_default();
    let id = if id == CURRENT_LOGIN { own.clone() } else { id };
    let ended = app.named.end_logins(Some(&id)).await?;
    if ended == 0 {
        return Err(Problem::not_found("login not found"));
    }
    let cookies = if id == own { cookie_removal_header(&app, &headers)? } else { HeaderMap::new() };
    Ok((Extension(AuditObject(format!("login {id}"))), (cookies, Json(LoginsEnded { ended }))))
}

/// Handler of `DELETE /api/admin/logins`: logs every browser out at once, including the requesting one.
pub(crate) async fn end_all_logins(
    State(app): State<App>,
    Admin(_): Admin,
    headers: HeaderMap,
) -> Result<(HeaderMap, Json<LoginsEnded>), Problem> {
    let ended = app.named.end_logins(None).await?;
    Ok((cookie_removal_header(&app, &headers)?, Json(LoginsEnded { ended })))
}

fn cookie_removal_header(app: &App, headers: &HeaderMap) -> Result<HeaderMap, Problem> {
    let cookie = HeaderValue::try_from(app.parts.tokens.removed_cookie(is_secure(app, headers)));
    let cookie = cookie.map_err(|error| Problem::internal(&error))?;
    Ok(HeaderMap::from_iter([(SET_COOKIE, cookie)]))
}
