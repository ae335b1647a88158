//! The connections to platforms: their states and settings, the codes that link accounts, and the port of the runtime.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use memory::UserId;
use memory::ports::{ChannelStore, Clock, StoreError};
use parking_lot::Mutex;
use runtime::{ChannelStatus, FetchError, LinkCode, OutboundChannels, VoiceNote};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channel::{Channel, ChannelState};
use crate::delivery_error::DeliveryError;

/// Lifetime of a code that links an account: time to find the phone and type it, and too short for a code that somebody overheard.
const CODE_VALID: SignedDuration = SignedDuration::from_mins(10);
/// Letters of a link code; none of them is easily taken for another.
const CODE_LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Letters of a code: 50 bits, which nobody guesses in ten minutes through a chat service.
const CODE_LENGTH: usize = 10;

/// Settings of a channel that a person can change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelSettings {
    /// Accounts that may write without a code; each becomes a user of its own.
    pub allowed_user_ids: Vec<String>,
}

pub(crate) struct SharedState {
    store: Arc<dyn ChannelStore>,
    clock: Arc<dyn Clock>,
    random: Box<dyn Fn() -> [u8; 32] + Send + Sync>,
    /// Replaced as a whole when a channel is added or removed.
    pub(crate) connections: ArcSwap<Vec<Arc<Connection>>>,
    /// Locked while a channel is added or removed: one at a time.
    pub(crate) changing: tokio::sync::Mutex<()>,
    /// Codes that link an account, with their channel, user and time of expiry. They are not stored: a restart makes them void.
    codes: Mutex<HashMap<String, (&'static str, UserId, Timestamp)>>,
    pub(crate) stop: CancellationToken,
}

/// A channel at work.
pub(crate) struct Connection {
    pub(crate) channel: Arc<dyn Channel>,
    settings: ChannelSettings,
    state: ArcSwap<ChannelState>,
    /// Tells the delivery that something waits. A permit is kept, so that none is missed.
    pub(crate) woken: Notify,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl Connection {
    pub(crate) fn new(
        channel: Arc<dyn Channel>,
        settings: ChannelSettings,
        stop: &CancellationToken,
    ) -> Self {
        Self {
            channel,
            settings,
            state: ArcSwap::default(),
            woken: Notify::new(),
            stop: stop.child_token(),
            tasks: TaskTracker::new(),
        }
    }

    pub(crate) fn set_state(&self, state: ChannelState) {
        if **self.state.load() == state {
            return;
        }
        match &state {
            ChannelState::Failed(reason) => tracing::warn!(channel = self.channel.id(), "{reason}"),
            state => tracing::info!(channel = self.channel.id(), ?state, "channel"),
        }
        self.state.store(Arc::new(state));
    }

    pub(crate) fn allowed_accounts(&self) -> &[String] {
        &self.settings.allowed_user_ids
    }

    pub(crate) async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl SharedState {
    pub(crate) fn new(
        store: Arc<dyn ChannelStore>,
        clock: Arc<dyn Clock>,
        random: Box<dyn Fn() -> [u8; 32] + Send + Sync>,
    ) -> Self {
        Self {
            store,
            clock,
            random,
            connections: ArcSwap::default(),
            changing: tokio::sync::Mutex::default(),
            codes: Mutex::default(),
            stop: CancellationToken::new(),
        }
    }

    pub(crate) fn store(&self) -> &dyn ChannelStore {
        &*self.store
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn connection(&self, channel_id: &str) -> Option<Arc<Connection>> {
        self.connections.load().iter().find(|one| one.channel.id() == channel_id).cloned()
    }

    /// Uses up a link code and returns its user; `None` if the code is unknown or has expired.
    pub(crate) fn redeem(&self, channel_id: &str, text: &str) -> Option<UserId> {
        let now = self.clock.now();
        let code = text.trim().to_ascii_uppercase();
        let mut codes = self.codes.lock();
        codes.retain(|_, (_, _, expires_at)| *expires_at > now);
        if codes.get(&code).is_none_or(|(channel, ..)| *channel != channel_id) {
            return None;
        }
        codes.remove(&code).map(|(_, user, _)| user)
    }
}

#[async_trait]
impl OutboundChannels for SharedState {
    fn is_outbound(&self, channel_id: &str) -> bool {
        self.connection(channel_id).is_some()
    }

    fn can_deliver(&self, channel_id: &str) -> bool {
        self.connection(channel_id).is_some_and(|one| **one.state.load() == ChannelState::Ready)
    }

    fn wake(&self, channel_id: &str) {
        if let Some(connection) = self.connection(channel_id) {
            connection.woken.notify_one();
        }
    }

    async fn conversation_of(&self, channel_id: &str, user: &UserId) -> Result<Option<String>, StoreError> {
        self.store.conversation_of(channel_id, user).await
    }

    async fn statuses(&self) -> Result<Vec<ChannelStatus>, StoreError> {
        let mut statuses = Vec::new();
        for connection in &**self.connections.load_full() {
            let counts = self.store.channel_counts(connection.channel.id()).await?;
            let undelivered =
                counts.last_failure.map(|reason| format!("a message was not delivered: {reason}"));
            let (state, error) = match &**connection.state.load() {
                ChannelState::Connecting => ("connecting", undelivered),
                ChannelState::Ready => ("ready", undelivered),
                ChannelState::Failed(reason) => ("failed", Some(reason.clone())),
            };
            statuses.push(ChannelStatus {
                channel_id: connection.channel.id().to_owned(),
                name: connection.channel.name().to_owned(),
                state,
                error,
                linked: counts.linked,
                waiting: counts.waiting,
                undeliverable: counts.undeliverable,
            });
        }
        Ok(statuses)
    }

    fn link_code(&self, channel_id: &str, user: UserId) -> Option<LinkCode> {
        let channel = self.connection(channel_id)?.channel.id();
        let letter = |byte: &u8| char::from(CODE_LETTERS[usize::from(*byte) % CODE_LETTERS.len()]);
        let code: String = (self.random)().iter().take(CODE_LENGTH).map(letter).collect();
        let now = self.clock.now();
        let expires_at = now.checked_add(CODE_VALID).unwrap_or(now);
        let mut codes = self.codes.lock();
        // Only the newest code of each user and channel is valid.
        codes.retain(|_, (other, of, until)| *until > now && (*other != channel || *of != user));
        codes.insert(code.clone(), (channel, user, expires_at));
        Some(LinkCode { code, expires_at })
    }

    async fn check(&self, channel_id: &str) -> Option<Result<String, String>> {
        let channel = self.connection(channel_id)?.channel.clone();
        Some(channel.check().await)
    }

    async fn fetch_recording(&self, note: &VoiceNote) -> Result<Vec<u8>, FetchError> {
        let connection = self.connection(&note.channel_id);
        let channel =
            connection.ok_or_else(|| FetchError::Permanent("its channel is off".to_owned()))?.channel.clone();
        channel.fetch_recording(&note.recording).await.map_err(|error| match error {
            DeliveryError::Permanent(reason) => FetchError::Permanent(reason),
            error => FetchError::Passing(error.to_string()),
        })
    }

    async fn retry(&self, channel_id: &str) -> Result<Option<u64>, StoreError> {
        if self.connection(channel_id).is_none() {
            return Ok(None);
        }
        let again = self.store.retry_undeliverable(channel_id, self.clock.now()).await?;
        self.wake(channel_id);
        Ok(Some(again))
    }
}
