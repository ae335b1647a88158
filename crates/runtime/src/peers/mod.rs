//! Peers: other EchoVessels that are the same persona. This side receives before it sends; what another machine asks is
//! answered by [`Runtime::answer_peer`]. Rows that an erasure names are forgotten by the ordinary rule before a peer learns
//! that it has arrived.

mod identity;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::sync::{
    Actor, ExchangeRequest, ExchangeResponse, Head, Kind, LocalErasure, Page, PeerRecord, PeerReport,
    SyncError, SyncStore, VersionVector, disputed_actors,
};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use memory::forget::{ForgetMode, Selection};
use memory::identifiers::{EntityId, MessageId, NodeId};
use memory::ports::StoreError;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::{Mutex, Notify};

use crate::runtime::{Runtime, RuntimeInner};

/// How often is looked whether something changed.
const TICK: Duration = Duration::from_secs(1);
/// Changes that are numbered in one transaction.
const NUMBERED_AT_ONCE: u32 = 500;
/// Changes that one request numbers before it answers; the rest follows with the next request.
const NUMBERED_PER_REQUEST: u64 = 5_000;
/// How long the last exchange may take when the program stops.
const LAST_EXCHANGE: Duration = Duration::from_secs(10);
/// Requests of one exchange, against a peer that never comes to an end.
const REQUESTS_MAX: usize = 100_000;

/// Carries requests to peers and keeps their tokens.
#[async_trait]
pub trait PeerTransport: Send + Sync {
    /// Asks the peer.
    ///
    /// # Errors
    /// A sentence for people: what happened, and what to do.
    async fn exchange(
        &self,
        peer: &PeerRecord,
        request: &ExchangeRequest,
    ) -> Result<ExchangeResponse, String>;

    /// Checks an address before it is kept: HTTPS, or HTTP on loopback.
    fn check_url(&self, url: &str) -> Result<(), String>;

    /// Keeps the token for a peer in a file of its owner only; `None` removes it.
    fn keep_token(&self, name: &str, token: Option<&str>) -> Result<(), String>;
}

/// What an exchange with peers needs.
pub struct SyncParts {
    /// The log.
    pub store: Arc<dyn SyncStore>,
    /// The way to peers.
    pub transport: Arc<dyn PeerTransport>,
    /// The instance's name, the first part of its actor.
    pub name: String,
    /// How often is exchanged where nothing changes here.
    pub push_every: Duration,
}

/// The exchange of one home.
pub(crate) struct Peers {
    parts: SyncParts,
    /// One exchange at a time that this side began.
    exchanging: Mutex<()>,
    /// One answer at a time. Not the same lock: two homes that ask one another at once must not wait for each other.
    answering: Mutex<()>,
    /// Something is to be sent.
    pending: AtomicBool,
    /// The log has begun.
    log_began: Notify,
    /// When this home took a new identity last.
    renewed_at: std::sync::Mutex<Option<Timestamp>>,
}

/// How an exchange with a peer ended, or how the peer stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PeerOutcome {
    /// The peer.
    pub name: String,
    /// Changes that were received.
    pub received: u64,
    /// Changes that were sent.
    pub sent: u64,
    /// Conflicts that were opened.
    pub conflicts: u64,
    /// Erasures that the peer has not received yet.
    pub waiting_erasures: u64,
    /// What went wrong; `null` if nothing did.
    pub error: Option<String>,
}

impl Runtime {
    /// Exchanges changes with peers. To be called before [`Runtime::start`].
    pub fn attach_sync(&self, parts: SyncParts) {
        let peers = Peers {
            parts,
            exchanging: Mutex::default(),
            answering: Mutex::default(),
            pending: AtomicBool::new(false),
            log_began: Notify::new(),
            renewed_at: std::sync::Mutex::default(),
        };
        let _ = self.runtime.peers.set(peers);
    }

    /// The log of changes, where there is one.
    pub fn sync_store(&self) -> Option<&dyn SyncStore> {
        self.runtime.peers.get().map(|peers| &*peers.parts.store)
    }

    /// How peers stand.
    pub async fn peer_reports(&self) -> Result<Vec<PeerReport>, StoreError> {
        match self.sync_store() {
            Some(store) => store.peers().await,
            None => Ok(Vec::new()),
        }
    }

    /// Adds a peer that is asked at `url`, and begins to keep the log.
    ///
    /// # Errors
    /// A sentence for people if the address or the token can't be used.
    pub async fn add_peer(
        &self,
        name: &str,
        url: &str,
        token: Option<&str>,
        token_env: Option<&str>,
    ) -> Result<(), String> {
        let peers = self.runtime.peers.get().ok_or("this process exchanges with no peers")?;
        peers.parts.transport.check_url(url)?;
        if let Some(token) = token {
            peers.parts.transport.keep_token(name, Some(token))?;
        }
        let kept = async {
            peers.parts.store.put_peer(name, Some(url), token_env).await?;
            self.runtime.begin_log(peers).await
        };
        kept.await.map_err(|error| error.to_string())?;
        peers.pending.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Removes a peer and the token for it. Returns whether there was one.
    pub async fn remove_peer(&self, name: &str) -> Result<bool, StoreError> {
        let Some(peers) = self.runtime.peers.get() else { return Ok(false) };
        if let Err(error) = peers.parts.transport.keep_token(name, None) {
            tracing::warn!("the token for the peer {name} could not be removed: {error}");
        }
        peers.parts.store.remove_peer(name).await
    }

    /// Exchanges with every peer that has an address, now.
    pub async fn sync_now(&self) -> Result<Vec<PeerOutcome>, StoreError> {
        match self.runtime.peers.get() {
            Some(peers) => self.exchange_with_all(peers).await,
            None => Ok(Vec::new()),
        }
    }

    /// Resolves a conflict of rows on every machine: what is shown stays, or the kept text takes its place. Returns whether
    /// it was open.
    pub async fn settle_conflict(&self, id: i64, takes_kept: bool) -> Result<bool, StoreError> {
        let Some(peers) = self.runtime.peers.get() else { return Ok(false) };
        let settled = peers.parts.store.settle_conflict(id, takes_kept, self.clock().now()).await?;
        peers.pending.store(true, Ordering::Relaxed);
        self.runtime.written.notify_one();
        Ok(settled.is_some())
    }

    /// Answers a peer: takes its page, forgets what it erased, and gives the changes that it lacks.
    ///
    /// # Errors
    /// [`SyncError::Page`] if the page can't be one of a peer; nothing of it was kept.
    pub async fn answer_peer(
        &self,
        name: &str,
        request: ExchangeRequest,
    ) -> Result<ExchangeResponse, SyncError> {
        let missing = || StoreError::Failed("this process exchanges with no peers".to_owned());
        let peers = self.runtime.peers.get().ok_or_else(missing)?;
        let store = &*peers.parts.store;
        let _alone = peers.answering.lock().await;
        store.put_peer(name, None, None).await?;
        let own = self.runtime.begin_log(peers).await?;
        let is_numbered = self.runtime.number(peers, NUMBERED_PER_REQUEST).await?;
        if request.actor == own || !is_numbered {
            // The other side is a copy of this home and renews itself; or this side is not ready yet.
            let page = Page { more: !is_numbered, ..Page::default() };
            return self.response(peers, own, page).await;
        }
        let own = self.runtime.renew_if_copied(peers, own, &request.heads).await?;
        let sent_before = request.page.entries.len() as u64;
        let received = store.receive(request.page, self.clock().now()).await?;
        self.after_receipt(peers, &received.scopes).await?;
        if received.received > 0 {
            peers.pending.store(true, Ordering::Relaxed);
        }
        let disputed = self.disputed(peers, &request.heads).await?;
        let has = vector_of(&request.heads, &disputed);
        let page = store.page_after(&has).await?;
        let mut peer = PeerRecord { name: name.to_owned(), ..empty_peer() };
        peer.actor = Some(request.actor);
        peer.received = sent_before.min(received.received);
        peer.sent = page.entries.len() as u64;
        peer.has = has;
        peer.seen_at = Some(self.clock().now());
        store.note_exchange(&peer).await?;
        self.response(peers, own, page).await
    }

    async fn response(&self, peers: &Peers, actor: Actor, page: Page) -> Result<ExchangeResponse, SyncError> {
        let store = &*peers.parts.store;
        let waiting = store.local_erasures().await?.iter().map(|erasure| erasure.rows.len() as u64).sum();
        Ok(ExchangeResponse { actor, heads: store.heads().await?, waiting_erasures: waiting, page })
    }

    async fn exchange_with_all(&self, peers: &Peers) -> Result<Vec<PeerOutcome>, StoreError> {
        let mut outcomes = Vec::new();
        for report in peers.parts.store.peers().await? {
            if report.peer.url.is_none() {
                continue;
            }
            let mut record = report.peer.clone();
            (record.received, record.sent) = (0, 0);
            let mut outcome = PeerOutcome { name: record.name.clone(), ..PeerOutcome::default() };
            let done = self.exchange_with(peers, &mut record, &mut outcome).await;
            record.error = done.err();
            outcome.error.clone_from(&record.error);
            if let Some(error) = &outcome.error {
                tracing::info!(peer = record.name, "no exchange: {error}");
            } else {
                record.seen_at = Some(self.clock().now());
            }
            (record.received, record.sent) = (outcome.received, outcome.sent);
            peers.parts.store.note_exchange(&record).await?;
            let reports = peers.parts.store.peers().await?;
            let after = reports.into_iter().find(|report| report.peer.name == record.name);
            outcome.waiting_erasures = after.map_or(0, |report| report.waiting_erasures);
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    /// Receives all that the peer has, then sends what it lacks.
    async fn exchange_with(
        &self,
        peers: &Peers,
        record: &mut PeerRecord,
        outcome: &mut PeerOutcome,
    ) -> Result<(), String> {
        let _alone = peers.exchanging.lock().await;
        let said = |error: StoreError| error.to_string();
        let store = &*peers.parts.store;
        let mut own = self.runtime.begin_log(peers).await.map_err(said)?;
        while !self.runtime.number(peers, u64::MAX).await.map_err(said)? {}
        let (mut page, mut last_received) = (Page::default(), Vec::new());
        for _ in 0..REQUESTS_MAX {
            let heads = store.heads().await.map_err(said)?;
            let request = ExchangeRequest { actor: own.clone(), heads, page: std::mem::take(&mut page) };
            let response = peers.parts.transport.exchange(record, &request).await?;
            if response.actor == own {
                own = self.runtime.renew(peers, &own).await.map_err(|error| error.to_string())?;
                continue;
            }
            own = self
                .runtime
                .renew_if_copied(peers, own, &response.heads)
                .await
                .map_err(|error| error.to_string())?;
            outcome.sent += request.page.entries.len() as u64;
            let received = store
                .receive(response.page.clone(), self.clock().now())
                .await
                .map_err(|error| error.to_string())?;
            outcome.received += received.received;
            outcome.conflicts += received.conflicts;
            self.after_receipt(peers, &received.scopes).await.map_err(said)?;
            let disputed = self.disputed(peers, &response.heads).await.map_err(said)?;
            record.actor = Some(response.actor);
            record.has = vector_of(&response.heads, &BTreeSet::new());
            // A page that comes twice is about an actor whose numbers are disputed.
            if response.page.more
                && (response.page.entries.is_empty() || response.page.entries != last_received)
            {
                last_received = response.page.entries;
                continue;
            }
            let has = vector_of(&response.heads, &disputed);
            page = store.page_after(&has).await.map_err(said)?;
            let is_the_same = page.entries == request.page.entries;
            if page.entries.is_empty() || is_the_same {
                return Ok(());
            }
        }
        Err("the peer did not come to an end; it is asked again later".to_owned())
    }

    /// Actors of which the peer holds other changes under the same numbers.
    async fn disputed(
        &self,
        peers: &Peers,
        theirs: &BTreeMap<Actor, Head>,
    ) -> Result<BTreeSet<Actor>, StoreError> {
        let mut ours = BTreeMap::new();
        for (actor, head) in theirs {
            if let Some(digest) = peers.parts.store.digest_at(actor, head.index).await? {
                ours.insert((actor.clone(), head.index), digest);
            }
        }
        let disputed = disputed_actors(theirs, |actor, index| ours.get(&(actor.clone(), index)).cloned());
        for actor in &disputed {
            tracing::warn!(%actor, "two homes have written under one identity; all its changes are exchanged again");
        }
        Ok(disputed)
    }

    /// Forgets what others erased, and lets go of vectors and lists that are no longer true.
    async fn after_receipt(&self, peers: &Peers, scopes: &[memory::Scope]) -> Result<(), StoreError> {
        for scope in scopes {
            self.runtime.index().forget_persona(&scope.persona);
        }
        if !scopes.is_empty() {
            self.runtime.written.notify_one();
        }
        let erasures = peers.parts.store.local_erasures().await?;
        for erasure in &erasures {
            self.delete(erasure.scope.clone(), selection(erasure), ForgetMode::Orphan).await?;
        }
        if !erasures.is_empty() {
            self.runtime.overwrite_freed().await;
            self.runtime.number(peers, u64::MAX).await?;
        }
        Ok(())
    }
}

impl RuntimeInner {
    /// Numbers changes, at most about `limit`. Returns whether none is left.
    async fn number(&self, peers: &Peers, limit: u64) -> Result<bool, StoreError> {
        let mut numbered = 0;
        while numbered < limit {
            let more = peers.parts.store.number_changes(self.clock().now(), NUMBERED_AT_ONCE).await?;
            if more == 0 {
                return Ok(true);
            }
            numbered += more;
        }
        Ok(false)
    }
}

fn selection(erasure: &LocalErasure) -> Selection {
    let mut selection = Selection::default();
    for (kind, id) in &erasure.rows {
        let Ok(id) = id.parse() else { continue };
        match kind {
            Kind::Message => _ = selection.messages.insert(MessageId(id)),
            Kind::Node => _ = selection.nodes.insert(NodeId(id)),
            Kind::Entity => _ = selection.entities.insert(EntityId(id)),
            _ => {}
        }
    }
    selection
}

fn vector_of(heads: &BTreeMap<Actor, Head>, disputed: &BTreeSet<Actor>) -> VersionVector {
    let agreed = heads.iter().filter(|(actor, _)| !disputed.contains(actor));
    agreed.map(|(actor, head)| (actor.clone(), head.index)).collect()
}

fn empty_peer() -> PeerRecord {
    PeerRecord {
        name: String::new(),
        url: None,
        token_env: None,
        actor: None,
        has: VersionVector::default(),
        seen_at: None,
        received: 0,
        sent: 0,
        error: None,
    }
}

/// Exchanges at the start, soon after changes, at every interval, and once more at the stop.
pub(crate) async fn run(runtime: Arc<RuntimeInner>) {
    let Some(peers) = runtime.peers.get() else { return };
    let outside = Runtime { runtime: runtime.clone() };
    // Without peers nothing is noted, and nobody looks for it.
    if !outside.keeps_log().await {
        tokio::select! {
            () = peers.log_began.notified() => {}
            () = runtime.stopping.cancelled() => return,
        }
    }
    let mut last = None;
    while !runtime.stopping.is_cancelled() {
        if let Err(error) = outside.look_at_peers(&mut last).await {
            tracing::warn!("peers could not be looked at: {error}");
        }
        tokio::select! {
            () = runtime.clock().sleep(TICK) => {}
            () = runtime.stopping.cancelled() => {}
        }
    }
    // Replies that are still written are part of the last exchange.
    let last_exchange = async {
        while runtime.turns_running.load(Ordering::Relaxed) > 0 {
            runtime.clock().sleep(Duration::from_millis(100)).await;
        }
        last = None;
        if let Err(error) = outside.look_at_peers(&mut last).await {
            tracing::warn!("peers could not be looked at: {error}");
        }
    };
    tokio::select! {
        () = last_exchange => {}
        () = runtime.clock().sleep(LAST_EXCHANGE) => {}
    }
}

impl Runtime {
    async fn keeps_log(&self) -> bool {
        match self.sync_store() {
            Some(store) => !matches!(store.own_actor().await, Ok(None)),
            None => false,
        }
    }

    async fn look_at_peers(&self, last: &mut Option<Timestamp>) -> Result<(), StoreError> {
        let Some(peers) = self.runtime.peers.get() else { return Ok(()) };
        if peers.parts.store.number_changes(self.clock().now(), NUMBERED_AT_ONCE).await? > 0 {
            peers.pending.store(true, Ordering::Relaxed);
        }
        let now = self.clock().now();
        let every = SignedDuration::try_from(peers.parts.push_every).unwrap_or(SignedDuration::MAX);
        let is_due = last.is_none_or(|last| now.duration_since(last) >= every);
        if is_due || peers.pending.swap(false, Ordering::Relaxed) {
            *last = Some(now);
            self.exchange_with_all(peers).await?;
        }
        Ok(())
    }
}
