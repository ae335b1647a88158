//! Users, and their accounts on other channels.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::UserId;
use memory::facts::known_zone;
use memory::ports::{BindOutcome, ExternalIdentity, KnownUser};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::auth::{Admin, Principal};
use crate::cursor::page_of;
use crate::extract::{self, Id, LIST_LIMIT_MAX, Query, page_size, run_detached};
use crate::problem::Problem;
use crate::respond::{Created, DeletedResponse};
use crate::state::App;

const NAME_LENGTH_MAX: usize = 256;
/// Maximum length of a channel id or of an account on it, in characters.
const EXTERNAL_LENGTH_MAX: usize = 256;

#[derive(Serialize, JsonSchema)]
pub(crate) struct UserBody {
    id: UserId,
    display_name: Option<String>,
    timezone: Option<String>,
    created_at: Timestamp,
    identities: Vec<Identity>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Identity {
    channel_id: String,
    /// Always text: a number of this length loses its last digits in a browser.
    external_id: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct UserQuery {
    limit: Option<u32>,
    cursor: Option<UserId>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct UserList {
    users: Vec<UserBody>,
    next_cursor: Option<UserId>,
}

/// Handler of `GET /api/admin/users`, by id.
pub(crate) async fn list(
    State(app): State<App>,
    Admin(principal): Admin,
    Query(page): Query<UserQuery>,
) -> Result<Json<UserList>, Problem> {
    let limit = page_size(page.limit, LIST_LIMIT_MAX)?;
    let store = app.runtime().store();
    let users = match &principal.user {
        Some(own) => store.user(own).await?.into_iter().collect(),
        None => store.users(page.cursor.as_ref(), limit + 1).await?,
    };
    let (users, next_cursor) = page_of(users, limit, |last| last.id.clone());
    Ok(Json(UserList { users: users.into_iter().map(UserBody::from).collect(), next_cursor }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewUserRequest {
    #[serde(alias = "user_id")]
    id: UserId,
    display_name: Option<String>,
    timezone: Option<String>,
}

/// Handler of `POST /api/admin/users`: 201 with the user; 409 if the id exists.
pub(crate) async fn create(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(new): extract::Json<NewUserRequest>,
) -> Result<Created<UserBody>, Problem> {
    check_may_speak_for(&principal, &new.id)?;
    let user = KnownUser {
        display_name: new.display_name.map(|name| checked_name(&name)).transpose()?.flatten(),
        timezone: new.timezone.map(|zone| checked_zone(&zone)).transpose()?.flatten(),
        id: new.id,
        created_at: app.now(),
        identities: Vec::new(),
    };
    let id = user.id.clone();
    let store_app = app.clone();
    let made = run_detached(async move { Ok(store_app.runtime().store().create_user(user).await?) }).await?;
    if !made {
        return Err(Problem::conflict("id: a user with this id already exists").with_code("user_exists"));
    }
    Ok(Created(user_body(&app, &id).await?))
}

pub(crate) async fn show(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<PathUser>,
) -> Result<Json<UserBody>, Problem> {
    check_visible(&principal, &id.0)?;
    Ok(Json(user_body(&app, &id.0).await?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserEdit {
    /// The name of the user; blank or null removes it.
    #[serde(default, deserialize_with = "deserialize_present")]
    display_name: Option<Option<String>>,
    /// IANA name; blank or null removes the zone.
    #[serde(default, deserialize_with = "deserialize_present")]
    timezone: Option<Option<String>>,
}

/// Deserializes a field that is present, even as null; an absent field is `None`.
fn deserialize_present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Handler of `PATCH /api/admin/users/{id} {display_name?, timezone?}`: absent fields do not change.
pub(crate) async fn edit(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<PathUser>,
    extract::Json(edit): extract::Json<UserEdit>,
) -> Result<Json<UserBody>, Problem> {
    check_visible(&principal, &id.0)?;
    let name = edit.display_name.map(|name| checked_name(&name.unwrap_or_default())).transpose()?;
    let zone = edit.timezone.map(|zone| checked_zone(&zone.unwrap_or_default())).transpose()?;
    user_body(&app, &id.0).await?;
    let (store_app, user) = (app.clone(), id.0.clone());
    run_detached(async move {
        let store = store_app.runtime().store();
        if let Some(name) = name {
            store.name_user(&user, name).await?;
        }
        if let Some(zone) = zone {
            store.set_user_timezone(&user, zone).await?;
        }
        Ok(())
    })
    .await?;
    Ok(Json(user_body(&app, &id.0).await?))
}

pub(crate) async fn identities(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<PathUser>,
) -> Result<Json<IdentityList>, Problem> {
    check_visible(&principal, &id.0)?;
    let user = user_body(&app, &id.0).await?;
    Ok(Json(IdentityList { user_id: user.id, identities: user.identities }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct IdentityList {
    user_id: UserId,
    identities: Vec<Identity>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ExternalIdentityBody {
    channel_id: String,
    /// Always text, even if the channel uses numbers.
    external_id: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct IdentityBound {
    ok: bool,
    user_id: UserId,
    channel_id: String,
    external_id: String,
    /// False if the account was linked to this user already.
    written: bool,
}

/// Handler of `POST /api/admin/users/{id}/identities {channel_id, external_id}`: links an account to the user. 409 if
/// it belongs to another.
pub(crate) async fn bind(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<PathUser>,
    extract::Json(named): extract::Json<ExternalIdentityBody>,
) -> Result<Json<IdentityBound>, Problem> {
    check_visible(&principal, &id.0)?;
    let identity = identity(named)?;
    user_body(&app, &id.0).await?;
    let bound = run_detached({
        let (user, identity) = (id.0.clone(), identity.clone());
        async move { Ok(app.runtime().store().bind_identity(&user, identity, app.now()).await?) }
    })
    .await?;
    let written = match bound {
        BindOutcome::Now => true,
        BindOutcome::Before => false,
        BindOutcome::NoUser => return Err(no_user()),
        BindOutcome::ToAnother(_) => {
            let detail = "this identity belongs to another user; remove it there first. Nothing was written";
            return Err(Problem::conflict(detail).with_code("identity_taken"));
        }
    };
    let ExternalIdentity { channel_id, external_id } = identity;
    Ok(Json(IdentityBound { ok: true, user_id: id.0, channel_id, external_id, written }))
}

pub(crate) async fn unbind(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<PathUser>,
    Query(named): Query<ExternalIdentityBody>,
) -> Result<Json<DeletedResponse>, Problem> {
    check_visible(&principal, &id.0)?;
    let identity = identity(named)?;
    let gone =
        run_detached(async move { Ok(app.runtime().store().unbind_identity(&id.0, &identity).await?) })
            .await?;
    if gone { Ok(DeletedResponse::json()) } else { Err(Problem::not_found("identity not found")) }
}

/// A user's id in a path.
pub(crate) struct PathUser(UserId);

impl std::str::FromStr for PathUser {
    type Err = memory::scope::InvalidId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        UserId::new(text).map(Self)
    }
}

async fn user_body(app: &App, id: &UserId) -> Result<UserBody, Problem> {
    app.runtime().store().user(id).await?.map(UserBody::from).ok_or_else(no_user)
}

fn no_user() -> Problem {
    Problem::not_found("user not found")
}

fn check_visible(principal: &Principal, id: &UserId) -> Result<(), Problem> {
    if principal.user.as_ref().is_none_or(|own| own == id) { Ok(()) } else { Err(no_user()) }
}

fn check_may_speak_for(principal: &Principal, id: &UserId) -> Result<(), Problem> {
    check_visible(principal, id).map_err(|_| Problem::forbidden("this token is bound to another user"))
}

fn checked_name(name: &str) -> Result<Option<String>, Problem> {
    let name = name.trim();
    if name.chars().count() > NAME_LENGTH_MAX || name.chars().any(char::is_control) {
        let detail = format!("display_name: at most {NAME_LENGTH_MAX} characters on one line");
        return Err(Problem::unprocessable(detail));
    }
    Ok(Some(name).filter(|name| !name.is_empty()).map(str::to_owned))
}

/// Checks a time zone; `None` for a blank one.
fn checked_zone(name: &str) -> Result<Option<String>, Problem> {
    if name.trim().is_empty() {
        return Ok(None);
    }
    let unknown = "timezone: unknown zone; use a name like Europe/Lisbon";
    known_zone(name).map(Some).ok_or_else(|| Problem::unprocessable(unknown))
}

fn identity(named: ExternalIdentityBody) -> Result<ExternalIdentity, Problem> {
    let checked = |field: &str, text: String| {
        let text = text.trim();
        let fits = (1..=EXTERNAL_LENGTH_MAX).contains(&text.chars().count());
        if fits && !text.chars().any(char::is_control) {
            return Ok(text.to_owned());
        }
        Err(Problem::unprocessable(format!("{field}: must have 1 to {EXTERNAL_LENGTH_MAX} characters")))
    };
    Ok(ExternalIdentity {
        channel_id: checked("channel_id", named.channel_id)?,
        external_id: checked("external_id", named.external_id)?,
    })
}

impl From<KnownUser> for UserBody {
    fn from(user: KnownUser) -> Self {
        let identity = |identity: ExternalIdentity| Identity {
            channel_id: identity.channel_id,
            external_id: identity.external_id,
        };
        Self {
            id: user.id,
            display_name: user.display_name,
            timezone: user.timezone,
            created_at: user.created_at,
            identities: user.identities.into_iter().map(identity).collect(),
        }
    }
}
