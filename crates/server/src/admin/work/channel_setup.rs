//! Bots on other platforms, connected and disconnected from the page. Their tokens come in here and never go out.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::{Admin, Principal};
use crate::extract::{self, run_detached};
use crate::ports::channel_setup::ChannelSetupError;
use crate::ports::configuration::ConfigAuthor;
use crate::problem::Problem;
use crate::state::App;

/// Longest token, in bytes.
const TOKEN_LENGTH_MAX: usize = 512;

impl From<ChannelSetupError> for Problem {
    fn from(error: ChannelSetupError) -> Self {
        let detail = error.to_string();
        match error {
            ChannelSetupError::Unknown => Self::not_found(detail),
            ChannelSetupError::Token(_) => Self::unprocessable(detail).with_code("channel_token"),
            ChannelSetupError::Files(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail).with_code("channel_files")
            }
        }
    }
}

#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct ChannelSetupRequest {
    /// The bot's token. Without it the one in the environment is used, else the one that was entered before.
    token: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChannelOffResponse {
    /// Always false: nothing is received or delivered there any more.
    enabled: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChannelSetupResponse {
    /// The bot's name on the platform.
    account: String,
}

/// Handler of `PUT /api/admin/channels/{id} {token?}`.
pub(crate) async fn set_up(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(id): Path<String>,
    extract::OptionalJson(asked): extract::OptionalJson<ChannelSetupRequest>,
) -> Result<Json<ChannelSetupResponse>, Problem> {
    check_author(&app, &principal, &id).await?;
    let token = asked.token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
    if token
        .as_ref()
        .is_some_and(|token| token.len() > TOKEN_LENGTH_MAX || token.chars().any(char::is_control))
    {
        let detail =
            format!("a bot's token has at most {TOKEN_LENGTH_MAX} bytes and one line; nothing was changed");
        return Err(Problem::unprocessable(detail).with_code("channel_token"));
    }
    let work = async move { Ok(app.parts.channel_setup.set_up(&id, token).await?) };
    Ok(Json(ChannelSetupResponse { account: run_detached(work).await? }))
}

pub(crate) async fn switch_off(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(id): Path<String>,
) -> Result<Json<ChannelOffResponse>, Problem> {
    check_author(&app, &principal, &id).await?;
    run_detached(async move { Ok(app.parts.channel_setup.switch_off(&id).await?) }).await?;
    Ok(Json(ChannelOffResponse { enabled: false }))
}

/// A channel carries the persona's words to a platform: only the owner in a browser connects one.
async fn check_author(app: &App, principal: &Principal, id: &str) -> Result<(), Problem> {
    if app.parts.channel_setup.tokens().await?.iter().all(|(known, _)| *known != id) {
        return Err(ChannelSetupError::Unknown.into());
    }
    if ConfigAuthor::from_principal(principal) == ConfigAuthor::Login {
        return Ok(());
    }
    Err(Problem::forbidden(
        "a channel carries words to another platform: no token sets it up. Log in on the page, or set [channels] in \
         config.toml. Nothing was changed",
    ))
}
