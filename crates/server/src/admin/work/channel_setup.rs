//! Connects and disconnects bots on other platforms for the web UI. Tokens are accepted here and never returned.

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

/// Maximum bytes of a bot's token.
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
    /// The bot's token. If absent, the one in the environment is used, else the one entered before.
    token: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChannelOffResponse {
    /// Always false: the channel no longer receives or delivers.
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
            format!("a bot's token is one line of at most {TOKEN_LENGTH_MAX} bytes; nothing was changed");
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

/// Refuses anybody but the owner in a browser, because a channel sends the persona's messages to a platform.
async fn check_author(app: &App, principal: &Principal, id: &str) -> Result<(), Problem> {
    if app.parts.channel_setup.tokens().await?.iter().all(|(known, _)| *known != id) {
        return Err(ChannelSetupError::Unknown.into());
    }
    if ConfigAuthor::from_principal(principal) == ConfigAuthor::Login {
        return Ok(());
    }
    Err(Problem::forbidden(
        "a channel sends messages to another platform, so no token can set it up. Sign in to the web UI, or \
            set [channels] in config.toml. Nothing was changed",
    ))
}
