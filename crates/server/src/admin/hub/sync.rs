//! The connection of this home with the hub that it follows.

use axum::Json;
use axum::extract::State;
use hub::api::sync::FollowingInstance;
use runtime::{HubState, HubSyncState};
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::Admin;
use crate::problem::Problem;
use crate::state::App;

/// State of the connection to the hub.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StandingState {
    /// The home has no hub.
    Off,
    /// The last exchange was completed.
    Ok,
    /// The hub can't be reached; it will be tried again.
    Away,
    /// The hub refuses; a person has to act.
    Refused,
}

/// State of the connection to the hub, with the number of waiting changes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HubConnection {
    /// The address of the hub; empty if there is none.
    url: String,
    state: StandingState,
    /// Time at which the last exchange succeeded.
    #[schemars(with = "Option<String>")]
    last_exchange: Option<jiff::Timestamp>,
    /// Number of documents whose present state the hub has not received.
    waiting: usize,
    /// Why the last exchange failed, and what to do.
    error: Option<String>,
    /// Items that the hub refused in the last exchange, and those that this version could not read.
    notes: Vec<String>,
}

impl From<HubSyncState> for HubConnection {
    fn from(standing: HubSyncState) -> Self {
        Self {
            url: standing.address,
            state: match standing.state {
                HubState::Off => StandingState::Off,
                HubState::Ok => StandingState::Ok,
                HubState::Away => StandingState::Away,
                HubState::Refused => StandingState::Refused,
            },
            last_exchange: standing.last_exchange,
            waiting: standing.waiting,
            error: standing.error,
            notes: standing.notes,
        }
    }
}

/// State of the connection to the hub, and the homes that follow this one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SyncOverview {
    #[serde(flatten)]
    standing: HubConnection,
    /// Homes and programs that share the hub of this home.
    instances: Vec<FollowingInstance>,
}

/// Handler of `GET /api/sync`.
pub(crate) async fn sync_overview(
    State(app): State<App>,
    Admin(_): Admin,
) -> Result<Json<SyncOverview>, Problem> {
    let runtime = app.runtime();
    let instances = match runtime.hub() {
        Some(hub) => hub.following_instances(&hub.settings().default_scope).await?,
        None => Vec::new(),
    };
    Ok(Json(SyncOverview { standing: runtime.embodiment().hub_sync_state().await?.into(), instances }))
}

/// Handler of `POST /api/sync/now`. Returns the state afterwards; `error` says why the exchange failed, if it did.
pub(crate) async fn exchange(
    State(app): State<App>,
    Admin(_): Admin,
) -> Result<Json<HubConnection>, Problem> {
    // The result is part of the returned state.
    drop(app.runtime().embodiment().exchange().await);
    Ok(Json(app.runtime().embodiment().hub_sync_state().await?.into()))
}
