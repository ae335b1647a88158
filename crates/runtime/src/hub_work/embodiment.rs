//! When this home exchanges documents with its hub: at the start, two seconds after a change, every few minutes, and once more at
//! the stop. An exchange never delays a turn, a start or, beyond its limit, a stop.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use hub::ports::{RemoteError, RemoteHub};
use hub::{ExchangeError, Exchanged, Hub, HubError, InstanceId};
use jiff::Timestamp;
use memory::Scope;
use memory::forget::{ForgetMode, Selection};
use memory::ports::StoreError;
use tokio::sync::Notify;

use crate::runtime::{Runtime, RuntimeInner};
use crate::worker::{Cause, Next, Worker};

/// Time for which changes are collected before they are sent.
const AFTER_CHANGE: Duration = Duration::from_secs(2);
/// First wait after an exchange that failed; each further one doubles it, up to the time between two exchanges.
const RETRY_MIN: Duration = Duration::from_secs(5);
/// Maximum duration of the last exchange at the stop.
pub(crate) const LAST_EXCHANGE: Duration = Duration::from_secs(5);

/// The hub that this home follows.
pub struct FollowedHub {
    pub remote: Arc<dyn RemoteHub>,
    /// Its address, for people.
    pub address: String,
    /// Longest time between two exchanges.
    pub push_every: Duration,
}

/// State of the connection to the hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HubState {
    #[default]
    Off,
    /// The last exchange came to its end, or the first is under way.
    Ok,
    /// The hub can't be reached; it is tried again.
    Away,
    /// The hub refuses; a person has to change something.
    Refused,
}

/// State of the connection to the hub, with the changes that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubStanding {
    /// Its address; empty where there is none.
    pub address: String,
    pub state: HubState,
    /// Time at which the last exchange came to its end.
    pub last_exchange: Option<Timestamp>,
    /// Documents that the hub has not seen as they are here.
    pub waiting: usize,
    /// Why the last exchange failed, with the remedy.
    pub error: Option<String>,
    /// Items that the hub refused in the last exchange, and those that this version could not read.
    pub notes: Vec<String>,
}

#[derive(Default)]
pub(crate) struct Embodiment {
    followed: ArcSwapOption<FollowedHub>,
    /// Another hub is followed, or none.
    changed: Notify,
    /// One exchange at a time.
    exchanging: tokio::sync::Mutex<()>,
    outcome: Mutex<Outcome>,
}

/// The result of the last exchange.
#[derive(Clone, Debug, Default)]
struct Outcome {
    error: Option<RemoteError>,
    failure: Option<String>,
    notes: Vec<String>,
}

impl Embodiment {
    pub(crate) fn is_following(&self) -> bool {
        self.followed.load().is_some()
    }

    fn outcome(&self) -> Outcome {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, outcome: Outcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
    }
}

/// Exchanges documents with the hub, while one is followed.
#[derive(Default)]
pub(crate) struct EmbodimentWorker {
    failures: u32,
}

impl Worker for EmbodimentWorker {
    const NAME: &str = "embodiment";

    async fn run_once(&mut self, runtime: &Arc<RuntimeInner>, cause: Cause) -> Next {
        let Some(followed) = runtime.embodiment.followed.load_full() else { return Next::WhenWoken };
        if cause == Cause::Woken {
            self.failures = 0;
        }
        let exchanged = tokio::select! {
            exchanged = exchange(runtime) => exchanged,
            // What is committed stays; the last exchange at the stop goes on from there.
            () = runtime.stopping.cancelled() => return Next::WhenWoken,
        };
        self.failures = if exchanged.is_ok() { 0 } else { self.failures + 1 };
        Next::Within(wait(runtime, &followed, self.failures))
    }

    async fn woken(&self, runtime: &RuntimeInner) {
        tokio::select! {
            () = runtime.embodiment.changed.notified() => {}
            () = changed(runtime), if self.failures == 0 && runtime.embodiment.is_following() => {}
        }
    }
}

/// Returns some time after a document was changed here.
async fn changed(runtime: &RuntimeInner) {
    match runtime.attached_hub() {
        Some(hub) => hub.changed_here().await,
        None => std::future::pending().await,
    }
    runtime.clock().sleep(AFTER_CHANGE).await;
}

/// The time between two exchanges; after failures less, with up to a quarter taken off at random so that many homes do not come
/// back to their hub at once.
fn wait(runtime: &RuntimeInner, followed: &FollowedHub, failures: u32) -> Duration {
    if failures == 0 {
        return followed.push_every;
    }
    let wait = RETRY_MIN.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(followed.push_every);
    let noise = runtime.ids().next(runtime.clock().now()).into_bytes()[15];
    wait - wait / 4 * u32::from(noise) / 255
}

/// Exchanges the documents of all users of the persona.
async fn exchange(runtime: &Arc<RuntimeInner>) -> Result<Exchanged, ExchangeError> {
    let embodiment = &runtime.embodiment;
    let _alone = embodiment.exchanging.lock().await;
    let (Some(followed), Some(hub)) = (embodiment.followed.load_full(), runtime.attached_hub()) else {
        return Ok(Exchanged::default());
    };
    let mut all = Exchanged::default();
    let mut ended = Ok(());
    for scope in scopes(runtime, hub).await? {
        match exchange_scope(runtime, hub, &followed, &scope).await {
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
    let was_ok = embodiment.outcome().error.is_none();
    match &error {
        Some(error) if was_ok => tracing::warn!("documents wait for the hub: {error}"),
        None if !was_ok => tracing::info!("the hub is there again"),
        _ => {}
    }
    if let Some(failure) = &failure {
        tracing::error!("documents could not be exchanged with the hub: {failure}");
    }
    let notes = all.refused.iter().chain(&all.passed_over).cloned().collect();
    embodiment.note(Outcome { error, failure, notes });
    ended.map(|()| all)
}

async fn exchange_scope(
    runtime: &Arc<RuntimeInner>,
    hub: &Hub,
    followed: &FollowedHub,
    scope: &Scope,
) -> Result<Exchanged, ExchangeError> {
    let ended = hub.exchange(&*followed.remote, scope).await;
    // What one page has brought stays, also if the next one did not come.
    forget_what_was_erased(runtime, hub, scope).await?;
    let done = ended?;
    if done.erased > 0 {
        runtime.overwrite_freed().await;
    }
    Ok(done)
}

/// Erases events of this home whose diary lines were erased at another home, with all that was derived from them.
async fn forget_what_was_erased(
    runtime: &Arc<RuntimeInner>,
    hub: &Hub,
    scope: &Scope,
) -> Result<(), ExchangeError> {
    let nodes = hub.events_erased_elsewhere(scope).await?;
    if nodes.is_empty() {
        return Ok(());
    }
    let selection = Selection { nodes: nodes.into_iter().collect(), ..Selection::default() };
    let runtime = Runtime { runtime: runtime.clone() };
    runtime.delete(scope.clone(), selection, ForgetMode::Cascade).await?;
    Ok(())
}

async fn scopes(runtime: &RuntimeInner, hub: &Hub) -> Result<Vec<Scope>, StoreError> {
    let own = hub.settings().default_scope.clone();
    let scopes = match hub.scopes().await {
        Ok(scopes) => scopes,
        Err(HubError::Store(error)) => return Err(error),
        Err(_) => Vec::new(),
    };
    let persona = &runtime.settings().persona;
    let others = scopes.into_iter().filter(|scope| scope.persona == *persona && *scope != own);
    Ok(std::iter::once(own.clone()).chain(others).collect())
}

impl Runtime {
    /// Makes this home an embodiment of a hub, or of none, as this instance.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn follow_hub(
        &self,
        followed: Option<FollowedHub>,
        instance: InstanceId,
    ) -> Result<(), HubError> {
        let embodiment = &self.runtime.embodiment;
        let Some(hub) = self.hub() else { return Ok(()) };
        let address = followed.as_ref().map(|followed| followed.address.clone());
        let _alone = embodiment.exchanging.lock().await;
        hub.follow_hub(address, instance).await?;
        embodiment.followed.store(followed.map(Arc::new));
        embodiment.note(Outcome::default());
        embodiment.changed.notify_one();
        Ok(())
    }

    /// Exchanges documents with the hub now.
    ///
    /// # Errors
    /// When the hub is away or refuses, or storage fails.
    pub async fn exchange_now(&self) -> Result<Exchanged, ExchangeError> {
        exchange(&self.runtime).await
    }

    /// State of the connection to the hub.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn hub_standing(&self) -> Result<HubStanding, HubError> {
        let embodiment = &self.runtime.embodiment;
        let (Some(followed), Some(hub)) = (embodiment.followed.load_full(), self.hub()) else {
            return Ok(HubStanding::default());
        };
        let outcome = embodiment.outcome();
        let mut waiting = 0;
        let scopes = scopes(&self.runtime, hub).await.map_err(HubError::Store)?;
        for scope in &scopes {
            waiting += hub.waiting_for_exchange(scope).await?;
        }
        let own = &hub.settings().default_scope;
        Ok(HubStanding {
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
}

impl RuntimeInner {
    /// Sends what the hub has not seen yet, as far as that is possible within the limit. What is left is sent at the next start.
    pub(crate) async fn exchange_at_stop(self: &Arc<Self>) {
        if !self.embodiment.is_following() {
            return;
        }
        tokio::select! {
            done = exchange(self) => if let Err(error) = done {
                tracing::info!("documents wait for the next start: {error}");
            },
            () = self.clock().sleep(LAST_EXCHANGE) => {
                tracing::info!("the hub did not answer in time; documents wait for the next start");
            }
        }
    }
}
