//! Lists the daemons of a home, for people and for the web UI.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::ports::{Clock, StoreError};
use server::{DaemonState, DaemonStatus, Daemons};
use store::HomeStore;

use crate::wiring::Services;

/// The one daemon of a home in a file.
pub(crate) struct SingleDaemon {
    url: String,
    database: Arc<HomeStore>,
    clock: Arc<dyn Clock>,
    started_at: Timestamp,
}

impl SingleDaemon {
    pub(crate) fn new(url: &str, services: &Services) -> Self {
        let clock = services.runtime.shared_clock();
        Self { url: url.to_owned(), database: services.database.clone(), started_at: clock.now(), clock }
    }
}

#[async_trait]
impl Daemons for SingleDaemon {
    async fn list(&self) -> Result<Vec<DaemonStatus>, StoreError> {
        Ok(vec![DaemonStatus {
            address: self.url.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            state: DaemonState::Serving,
            personas: self.database.persona_count().await?,
            turns_per_minute: None,
            started_at: self.started_at,
            seen_at: self.clock.now(),
        }])
    }
}

/// The daemons that share a home on a server.
pub(crate) struct SharingDaemons(pub(crate) Arc<HomeStore>);

#[async_trait]
impl Daemons for SharingDaemons {
    async fn list(&self) -> Result<Vec<DaemonStatus>, StoreError> {
        let (daemons, personas) = (self.0.daemons().await?, self.0.persona_count().await?);
        let status = |entry: store::DaemonEntry| {
            let state = match entry.state {
                store::DaemonState::Serving => DaemonState::Serving,
                store::DaemonState::StandingBy => DaemonState::StandingBy,
                store::DaemonState::Draining => DaemonState::Draining,
                store::DaemonState::Dead => DaemonState::Dead,
            };
            let answers = matches!(state, DaemonState::Serving | DaemonState::Draining);
            DaemonStatus {
                address: entry.address,
                version: entry.version,
                state,
                personas: if answers { personas } else { 0 },
                turns_per_minute: Some(entry.turns_per_minute),
                started_at: entry.started_at,
                seen_at: entry.seen_at,
            }
        };
        Ok(daemons.into_iter().map(status).collect())
    }
}
