//! The port to the list of daemons: one for a home in a file, several for a database on a server.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::ports::StoreError;
use schemars::JsonSchema;
use serde::Serialize;

/// Lists the daemons of a home.
#[async_trait]
pub trait Daemons: Send + Sync {
    /// The daemons, in the order in which they started.
    async fn list(&self) -> Result<Vec<DaemonStatus>, StoreError>;
}

/// A daemon of the home.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DaemonStatus {
    /// URL at which the other daemons reach it.
    pub address: String,
    pub version: String,
    pub state: DaemonState,
    /// Personas that it serves.
    pub personas: u64,
    /// Replies in the last minute; null for a home in a file.
    pub turns_per_minute: Option<u64>,
    pub started_at: Timestamp,
    /// Time of the daemon's last heartbeat.
    pub seen_at: Timestamp,
}

/// State of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DaemonState {
    /// The daemon answers all requests.
    Serving,
    /// The daemon forwards requests, and takes over if the serving one fails.
    StandingBy,
    /// The daemon is stopping: running replies end, and another one takes over.
    Draining,
    /// The daemon stopped sending heartbeats. It is listed for a day.
    Dead,
}

impl DaemonState {
    pub(crate) const ALL: [Self; 4] = [Self::Serving, Self::StandingBy, Self::Draining, Self::Dead];

    /// The name of the daemon's state as a number, in the metrics.
    pub(crate) fn metric_label(self) -> &'static str {
        match self {
            Self::Serving => "daemons_serving",
            Self::StandingBy => "daemons_standing_by",
            Self::Draining => "daemons_draining",
            Self::Dead => "daemons_dead",
        }
    }
}
