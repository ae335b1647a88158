//! Schedules exchanges with the hub that this home follows: at the start, two seconds after a change, every few
//! minutes, and once more at the stop. An exchange never delays a turn, a start or, beyond its limit, a stop.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use hub::ports::{RemoteError, RemoteHub};
use hub::{ExchangeCounts, ExchangeError, Hub, HubError, InstanceId};
use jiff::Timestamp;
use memory::Scope;
use memory::forget::{ForgetMode, Selection};
use memory::ports::StoreError;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::changes::Changes;
use crate::core::RuntimeCore;
use crate::hub_work::shared_self::SharedSelf;
use crate::worker::{NextRun, WakeCause, Worker};

/// Time for which changes are collected before they are sent, because an agent often writes several lines in a row.
const CHANGE_COLLECTION_TIME: Duration = Duration::from_secs(2);
/// First wait after a failed exchange; each further one doubles it, up to the interval between exchanges. A hub that
/// restarts is back within seconds.
const RETRY_PAUSE_MIN: Duration = Duration::from_secs(5);
/// Maximum duration of the last exchange at a stop. Unsent changes are sent at the next start, so that a stop does
/// not wait for an unreachable hub.
pub(crate) const LAST_EXCHANGE_TIME_MAX: Duration = Duration::from_secs(5);

/// The hub that this home follows.
pub struct FollowedHub {
    pub remote: Arc<dyn RemoteHub>,
    /// The hub's address, for people.
    pub address: String,
    /// Longest time between two exchanges.
    pub push_every: Duration,
}

/// State of the connection to the hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HubState {
    #[default]
    Off,
    /// The last exchange was completed, or the first is in progress.
    Ok,
    /// The hub can't be reached; it will be tried again.
    Away,
    /// The hub refuses; a person has to act.
    Refused,
}

/// State of the connection to the hub, with the number of waiting changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubSyncState {
    /// The hub's address; empty if there is none.
    pub address: String,
    pub state: HubState,
    /// Time of the last complete exchange.
    pub last_exchange: Option<Timestamp>,
    /// Number of documents whose present state the hub has not received.
    pub waiting: usize,
    /// Why the last exchange failed, and what to do.
    pub error: Option<String>,
    /// Items that the hub refused in the last exchange, and those that this version could not read.
    pub notes: Vec<String>,
}

/// Exchanges documents with the hub that this home follows.
pub struct Embodiment {
    core: Arc<RuntimeCore>,
    shared_self: Arc<SharedSelf>,
    changes: Arc<Changes>,
    followed: ArcSwapOption<FollowedHub>,
    /// Signals that the followed hub has changed.
    changed: Notify,
    /// Locked during an exchange: two at the same time would send the same documents. Also locked while another hub
    /// is selected, so that an exchange always ends with the hub that it began with.
    exchanging: tokio::sync::Mutex<()>,
    outcome: Mutex<ExchangeOutcome>,
}

/// The result of the last exchange.
#[derive(Clone, Debug, Default)]
struct ExchangeOutcome {
    error: Option<RemoteError>,
    failure: Option<String>,
    notes: Vec<String>,
}

impl Embodiment {
    pub(crate) fn new(
        core: Arc<RuntimeCore>,
        shared_self: Arc<SharedSelf>,
        changes: Arc<Changes>,
    ) -> Arc<Self> {
        Arc::new(Self {
            core,
            shared_self,
            changes,
            followed: ArcSwapOption::empty(),
            changed: Notify::new(),
            exchanging: tokio::sync::Mutex::default(),
            outcome: Mutex::default(),
        })
    }

    pub(crate) fn is_following(&self) -> bool {
        self.followed.load().is_some()
    }

    fn last_outcome(&self) -> ExchangeOutcome {
        self.outcome.lock().clone()
    }

    fn set_outcome(&self, outcome: ExchangeOutcome) {
        *self.outcome.lock() = outcome;
    }

    /// Makes this home follow a hub as this instance, or none.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn follow_hub(
        &self,
        followed: Option<FollowedHub>,
        instance: InstanceId,
    ) -> Result<(), HubError> {
        let Some(hub) = self.shared_self.hub() else { return Ok(()) };
        let address = followed.as_ref().map(|followed| followed.address.clone());
        let _alone = self.exchanging.lock().await;
        hub.follow_hub(address, instance).await?;
        self.followed.store(followed.map(Arc::new));
        self.set_outcome(ExchangeOutcome::default());
        self.changed.notify_one();
        Ok(())
    }

    /// State of the connection to the hub.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn hub_sync_state(&self) -> Result<HubSyncState, HubError> {
        let (Some(followed), Some(hub)) = (self.followed.load_full(), self.shared_self.hub()) else {
            return Ok(HubSyncState::default());
        };
        let outcome = self.last_outcome();
        let mut waiting = 0;
        let scopes = self.scopes(hub).await.map_err(HubError::Store)?;
        for scope in &scopes {
            waiting += hub.waiting_for_exchange(scope).await?;
        }
        let own = &hub.settings().default_scope;
        Ok(HubSyncState {
            address: followed.address.clone(),
            state: match &outcome.error {
                None => HubState::Ok,
                Some(RemoteError::Away(_)) => HubState::Away,
                Some(RemoteError::Refused(_)) => HubState::Refused,
            },
            last_exchange: hub.last_exchange(own).await?,
            waiting,
            error: outcome.error.map(|error| error.to_string()).or(outcome.failure),
            notes: outcome.notes,
        })
    }

    /// Sends changes that the hub has not received, within the time limit. The rest is sent at the next start.
    pub(crate) async fn exchange_at_stop(&self) {
        if !self.is_following() {
            return;
        }
        tokio::select! {
            done = self.exchange() => if let Err(error) = done {
                tracing::info!("documents are sent after the next start: {error}");
            },
            () = self.core.clock().sleep(LAST_EXCHANGE_TIME_MAX) => {
                tracing::info!("the hub did not respond in time; documents are sent after the next start");
            }
        }
    }

    /// Returns some time after a local change of a document.
    async fn wait_for_change(&self) {
        match self.shared_self.hub() {
            Some(hub) => hub.wait_for_change().await,
            None => std::future::pending().await,
        }
        self.core.clock().sleep(CHANGE_COLLECTION_TIME).await;
    }

    /// The time between two exchanges: shorter after failures, and reduced at random by up to a quarter so that many
    /// homes do not reconnect to their hub at once.
    fn exchange_interval(&self, followed: &FollowedHub, failures: u32) -> Duration {
        if failures == 0 {
            return followed.push_every;
        }
        let wait =
            RETRY_PAUSE_MIN.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(followed.push_every);
        let noise = self.core.ids().next(self.core.clock().now()).into_bytes()[15];
        wait - wait / 4 * u32::from(noise) / 255
    }

    /// Exchanges the documents of all users of the persona with the hub, now.
    ///
    /// # Errors
    ///
    /// When the hub is unreachable or refuses, or storage fails.
    pub async fn exchange(&self) -> Result<ExchangeCounts, ExchangeError> {
        let _alone = self.exchanging.lock().await;
        let (Some(followed), Some(hub)) = (self.followed.load_full(), self.shared_self.hub()) else {
            return Ok(ExchangeCounts::default());
        };
        let mut all = ExchangeCounts::default();
        let mut ended = Ok(());
        for scope in self.scopes(hub).await? {
            match self.exchange_scope(hub, &followed, &scope).await {
                Ok(done) => all.add(done),
                Err(error) => {
                    ended = Err(error);
                    break;
                }
            }
        }
        let (error, failure) = match &ended {
            Ok(()) => (None, None),
            Err(ExchangeError::Remote(error)) => (Some(error.clone()), None),
            Err(ExchangeError::Hub(error)) => (None, Some(error.to_string())),
        };
        let was_ok = self.last_outcome().error.is_none();
        match &error {
            Some(error) if was_ok => tracing::warn!("documents are waiting for the hub: {error}"),
            None if !was_ok => tracing::info!("the hub is reachable again"),
            _ => {}
        }
        if let Some(failure) = &failure {
            tracing::error!("documents could not be synced with the hub: {failure}");
        }
        let notes = all.refused.iter().chain(&all.passed_over).cloned().collect();
        self.set_outcome(ExchangeOutcome { error, failure, notes });
        ended.map(|()| all)
    }

    async fn exchange_scope(
        &self,
        hub: &Hub,
        followed: &FollowedHub,
        scope: &Scope,
    ) -> Result<ExchangeCounts, ExchangeError> {
        let ended = hub.exchange(&*followed.remote, scope).await;
        // The documents of one page stay, even if the next page fails.
        self.forget_what_was_erased(hub, scope).await?;
        let done = ended?;
        if done.erased > 0 {
            self.changes.overwrite_freed().await;
        }
        Ok(done)
    }

    /// Erases events of this home whose diary lines were erased at another home, with everything derived from them.
    async fn forget_what_was_erased(&self, hub: &Hub, scope: &Scope) -> Result<(), ExchangeError> {
        let nodes = hub.events_erased_elsewhere(scope).await?;
        if nodes.is_empty() {
            return Ok(());
        }
        let selection = Selection { nodes: nodes.into_iter().collect(), ..Selection::default() };
        self.changes.delete(scope.clone(), selection, ForgetMode::Cascade).await?;
        Ok(())
    }

    async fn scopes(&self, hub: &Hub) -> Result<Vec<Scope>, StoreError> {
        let own = hub.settings().default_scope.clone();
        let scopes = match hub.scopes_with_documents().await {
            Ok(scopes) => scopes,
            Err(HubError::Store(error)) => return Err(error),
            Err(_) => Vec::new(),
        };
        let persona = &self.core.settings().persona;
        let others = scopes.into_iter().filter(|scope| scope.persona == *persona && *scope != own);
        Ok(std::iter::once(own.clone()).chain(others).collect())
    }
}

/// Exchanges documents with the followed hub in the background.
pub(crate) struct EmbodimentWorker {
    embodiment: Arc<Embodiment>,
    failures: u32,
}

impl EmbodimentWorker {
    pub(crate) fn new(embodiment: Arc<Embodiment>) -> Self {
        Self { embodiment, failures: 0 }
    }
}

impl Worker for EmbodimentWorker {
    const NAME: &str = "embodiment";

    async fn run_once(&mut self, cause: WakeCause) -> NextRun {
        let embodiment = &self.embodiment;
        let Some(followed) = embodiment.followed.load_full() else { return NextRun::WhenWoken };
        if cause == WakeCause::Woken {
            self.failures = 0;
        }
        let exchanged = tokio::select! {
            exchanged = embodiment.exchange() => exchanged,
            // Committed pages stay; the last exchange at the stop continues from there.
            () = embodiment.core.stopping.cancelled() => return NextRun::WhenWoken,
        };
        self.failures = if exchanged.is_ok() { 0 } else { self.failures + 1 };
        NextRun::Within(embodiment.exchange_interval(&followed, self.failures))
    }

    async fn wait_for_work(&self) {
        let embodiment = &self.embodiment;
        tokio::select! {
            () = embodiment.changed.notified() => {}
            () = embodiment.wait_for_change(), if self.failures == 0 && embodiment.is_following() => {}
        }
    }
}
