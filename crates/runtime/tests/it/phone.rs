//! An external channel that works for some days and fails for others.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::Timestamp;
use memory::UserId;
use memory::ports::{ChannelStore, ReceivedPosition, StoreError};
use runtime::{
    ChannelReceipt, ChannelStatus, ExternalMessage, FetchError, LinkCode, OutboundChannels, VoiceNote,
};

pub(crate) const PHONE: &str = "phone";

pub(crate) struct Phone {
    store: Arc<dyn ChannelStore>,
    received: AtomicI64,
    /// Times since which it works or fails; the newest last.
    states: Mutex<Vec<(Timestamp, bool)>>,
}

impl Phone {
    pub(crate) fn new(store: Arc<dyn ChannelStore>, at: Timestamp) -> Arc<Self> {
        Arc::new(Self { store, received: AtomicI64::new(0), states: Mutex::new(vec![(at, true)]) })
    }

    pub(crate) fn change(&self, at: Timestamp, works: bool) {
        self.states.lock().unwrap().push((at, works));
    }

    /// Whether it worked at the time of the check; a change at the same time came after it.
    pub(crate) fn worked(&self, at: Timestamp) -> bool {
        self.states.lock().unwrap().iter().rev().find(|(since, _)| *since < at).unwrap().1
    }

    /// The next message of a user, in a conversation of its own.
    pub(crate) fn receipt(&self, user: &str) -> (ExternalMessage, ChannelReceipt) {
        let number = self.received.fetch_add(1, Ordering::Relaxed);
        let external = ExternalMessage { conversation: user.to_owned(), message: number.to_string() };
        let position = ReceivedPosition::Sequence { source: "telegram".to_owned(), number };
        (external, ChannelReceipt { position, is_direct: true, recording: None })
    }

    /// Messages that wait for delivery, which never comes.
    pub(crate) async fn waiting(&self) -> u64 {
        self.store.channel_counts(PHONE).await.unwrap().waiting
    }
}

#[async_trait]
impl OutboundChannels for Phone {
    fn is_outbound(&self, channel_id: &str) -> bool {
        channel_id == PHONE
    }

    fn can_deliver(&self, channel_id: &str) -> bool {
        channel_id == PHONE && self.states.lock().unwrap().last().unwrap().1
    }

    fn wake(&self, _: &str) {}

    async fn conversation_of(&self, channel_id: &str, user: &UserId) -> Result<Option<String>, StoreError> {
        self.store.conversation_of(channel_id, user).await
    }

    async fn statuses(&self) -> Result<Vec<ChannelStatus>, StoreError> {
        Ok(Vec::new())
    }

    fn link_code(&self, _: &str, _: UserId) -> Option<LinkCode> {
        None
    }

    async fn check(&self, _: &str) -> Option<Result<String, String>> {
        None
    }

    async fn fetch_recording(&self, _: &VoiceNote) -> Result<Vec<u8>, FetchError> {
        Err(FetchError::Permanent("it has none".to_owned()))
    }

    async fn retry(&self, _: &str) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }
}
