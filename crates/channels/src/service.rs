//! All channels of this program: their states, their codes, their work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use memory::UserId;
use memory::ports::{ChannelStore, Clock, StoreError};
use runtime::{ChannelStatus, FetchError, LinkCode, OutboundChannels, Runtime, VoiceNote};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channel::{Channel, ChannelState, DeliveryError};
use crate::delivery;
use crate::inbound::ChannelInbox;

/// How long a code links an account.
const CODE_VALID: SignedDuration = SignedDuration::from_mins(10);
/// Letters of a code: none that is taken for another.
const CODE_LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_LENGTH: usize = 10;

/// What a person can set about a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelSettings {
    /// Accounts that may write without a code; each becomes a user of its own.
    pub allowed_user_ids: Vec<String>,
}

/// What channels are made of.
pub struct ChannelsParts {
    /// The persona's life. It knows the channels, and takes what they receive.
    pub runtime: Runtime,
    /// Where positions and the outbox are kept.
    pub store: Arc<dyn ChannelStore>,
    /// The channels with their settings.
    pub channels: Vec<(Arc<dyn Channel>, ChannelSettings)>,
    /// Randomness for codes.
    pub random: Box<dyn Fn() -> [u8; 32] + Send + Sync>,
}

/// All channels of this program.
pub struct Channels {
    shared: Arc<Shared>,
    tasks: TaskTracker,
}

pub(crate) struct Shared {
    store: Arc<dyn ChannelStore>,
    clock: Arc<dyn Clock>,
    random: Box<dyn Fn() -> [u8; 32] + Send + Sync>,
    entries: Vec<Entry>,
    codes: Mutex<HashMap<String, (&'static str, UserId, Timestamp)>>,
    pub(crate) stop: CancellationToken,
}

struct Entry {
    channel: Arc<dyn Channel>,
    settings: ChannelSettings,
    state: ArcSwap<ChannelState>,
    woken: Notify,
}

impl Channels {
    /// Puts the channels together and makes the runtime know them. To be called before the runtime starts.
    pub fn new(parts: ChannelsParts) -> (Self, Runtime) {
        let entry = |(channel, settings)| Entry {
            channel,
            settings,
            state: ArcSwap::default(),
            woken: Notify::new(),
        };
        let shared = Arc::new(Shared {
            store: parts.store,
            clock: parts.runtime.shared_clock(),
            random: parts.random,
            entries: parts.channels.into_iter().map(entry).collect(),
            codes: Mutex::default(),
            stop: CancellationToken::new(),
        });
        parts.runtime.attach_channels(shared.clone());
        (Self { shared, tasks: TaskTracker::new() }, parts.runtime)
    }

    /// Connects all channels: each receives and delivers until [`Channels::stop`].
    pub fn start(&self, runtime: &Runtime) {
        for entry in &self.shared.entries {
            let channel = entry.channel.clone();
            let inbound = ChannelInbox::new(self.shared.clone(), runtime.clone(), channel.clone());
            let receiving = channel.clone();
            self.tasks.spawn(async move {
                let _stopped = receiving.receive(&inbound).await;
            });
            self.tasks.spawn(delivery::run(self.shared.clone(), runtime.clone(), channel));
        }
        self.tasks.close();
    }

    /// Disconnects. What was received is stored; what waits to be delivered is delivered after the next start.
    pub async fn stop(&self) {
        self.shared.stop.cancel();
        self.tasks.wait().await;
    }
}

impl Shared {
    pub(crate) fn store(&self) -> &dyn ChannelStore {
        &*self.store
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    fn entry(&self, channel_id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.channel.id() == channel_id)
    }

    pub(crate) fn set_state(&self, channel_id: &str, state: ChannelState) {
        let Some(entry) = self.entry(channel_id) else { return };
        if **entry.state.load() == state {
            return;
        }
        match &state {
            ChannelState::Failed(reason) => tracing::warn!(channel = channel_id, "{reason}"),
            state => tracing::info!(channel = channel_id, ?state, "channel"),
        }
        entry.state.store(Arc::new(state));
    }

    pub(crate) fn is_allowed(&self, channel_id: &str, account: &str) -> bool {
        self.allowed_accounts(channel_id).iter().any(|one| one == account)
    }

    pub(crate) fn allowed_accounts(&self, channel_id: &str) -> &[String] {
        self.entry(channel_id).map_or(&[], |entry| &entry.settings.allowed_user_ids)
    }

    /// Tells the delivery of a channel that something waits. A permit is kept, so that none is missed.
    pub(crate) fn woken(&self, channel_id: &str) -> &Notify {
        static NOBODY: Notify = Notify::const_new();
        self.entry(channel_id).map_or(&NOBODY, |entry| &entry.woken)
    }

    /// The user whom a code links, if it is one that holds; it is used up.
    pub(crate) fn redeem(&self, channel_id: &str, text: &str) -> Option<UserId> {
        let now = self.clock.now();
        let code = text.trim().to_ascii_uppercase();
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, (_, _, expires_at)| *expires_at > now);
        if codes.get(&code).is_none_or(|(channel, ..)| *channel != channel_id) {
            return None;
        }
        codes.remove(&code).map(|(_, user, _)| user)
    }
}

#[async_trait]
impl OutboundChannels for Shared {
    fn is_outbound(&self, channel_id: &str) -> bool {
        self.entry(channel_id).is_some()
    }

    fn can_deliver(&self, channel_id: &str) -> bool {
        self.entry(channel_id).is_some_and(|entry| **entry.state.load() == ChannelState::Ready)
    }

    fn wake(&self, channel_id: &str) {
        if let Some(entry) = self.entry(channel_id) {
            entry.woken.notify_one();
        }
    }

    async fn conversation_of(&self, channel_id: &str, user: &UserId) -> Result<Option<String>, StoreError> {
        self.store.conversation_of(channel_id, user).await
    }

    async fn statuses(&self) -> Result<Vec<ChannelStatus>, StoreError> {
        let mut statuses = Vec::new();
        for entry in &self.entries {
            let counts = self.store.channel_counts(entry.channel.id()).await?;
            let undelivered =
                counts.last_failure.map(|reason| format!("a message was not delivered: {reason}"));
            let (state, error) = match &**entry.state.load() {
                ChannelState::Connecting => ("connecting", undelivered),
                ChannelState::Ready => ("ready", undelivered),
                ChannelState::Failed(reason) => ("failed", Some(reason.clone())),
            };
            statuses.push(ChannelStatus {
                channel_id: entry.channel.id().to_owned(),
                name: entry.channel.name().to_owned(),
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
        let channel = self.entry(channel_id)?.channel.id();
        let letter = |byte: &u8| char::from(CODE_LETTERS[usize::from(*byte) % CODE_LETTERS.len()]);
        let code: String = (self.random)().iter().take(CODE_LENGTH).map(letter).collect();
        let now = self.clock.now();
        let expires_at = now.checked_add(CODE_VALID).unwrap_or(now);
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        // One code for each user and channel: the newest.
        codes.retain(|_, (other, of, until)| *until > now && (*other != channel || *of != user));
        codes.insert(code.clone(), (channel, user, expires_at));
        Some(LinkCode { code, expires_at })
    }

    async fn check(&self, channel_id: &str) -> Option<Result<String, String>> {
        let channel = self.entry(channel_id)?.channel.clone();
        Some(channel.check().await)
    }

    async fn fetch_recording(&self, note: &VoiceNote) -> Result<Vec<u8>, FetchError> {
        let entry = self.entry(&note.channel_id);
        let channel =
            entry.ok_or_else(|| FetchError::Permanent("its channel is off".to_owned()))?.channel.clone();
        channel.fetch_recording(&note.recording).await.map_err(|error| match error {
            DeliveryError::Permanent(reason) => FetchError::Permanent(reason),
            error => FetchError::Passing(error.to_string()),
        })
    }

    async fn retry(&self, channel_id: &str) -> Result<Option<u64>, StoreError> {
        if self.entry(channel_id).is_none() {
            return Ok(None);
        }
        let again = self.store.retry_undeliverable(channel_id, self.clock.now()).await?;
        self.wake(channel_id);
        Ok(Some(again))
    }
}
