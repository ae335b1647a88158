//! What a platform has to offer.

use std::time::Duration;

use async_trait::async_trait;
use runtime::ExternalMessage;

use crate::inbound::{Inbound, Stopped};

/// How a channel stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ChannelState {
    /// It is not connected yet.
    #[default]
    Connecting,
    /// It receives and delivers.
    Ready,
    /// It does not work for now: why, in plain words with the way to fix it.
    Failed(String),
}

/// Why a piece was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The platform wants to be left alone for so long.
    #[error("the platform asks to wait {} s", .0.as_secs())]
    Wait(Duration),
    /// It may work later.
    #[error("{0}")]
    Transient(String),
    /// It will not work for this conversation.
    #[error("{0}")]
    Permanent(String),
}

/// A piece that was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered;

/// Something that happened on the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Grows with each update of the channel.
    pub position: i64,
    /// What happened.
    pub kind: UpdateKind,
}

/// What happened on the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// A person wrote in a direct conversation.
    Written {
        /// The account.
        sender: String,
        /// The message.
        external: ExternalMessage,
        /// Its text; attachments are named in it.
        text: String,
    },
    /// A person changed a message.
    Edited {
        /// The account.
        sender: String,
        /// The message.
        external: ExternalMessage,
        /// Its new text.
        text: String,
    },
    /// Nothing for the persona: a bot, a group, a kind of update that is not read.
    Other,
}

/// A platform where people talk with the persona.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    /// Its id, as in messages and in the configuration.
    fn id(&self) -> &'static str;
    /// Its name for people.
    fn name(&self) -> &'static str;
    /// Longest piece that can be delivered, in UTF-16 units.
    fn piece_length_max(&self) -> usize;
    /// Whether the platform recognises a piece that it got already, so that one that may have arrived can be sent again.
    fn recognises_repeats(&self) -> bool;
    /// Receives until the program stops. Failures are reported to `inbound` and waited out.
    async fn receive(&self, inbound: &Inbound) -> Stopped;
    /// Delivers a piece; `piece` names it, the same at each attempt.
    ///
    /// # Errors
    /// [`DeliveryError`]; except for a broken connection nothing was delivered.
    async fn deliver(&self, conversation: &str, text: &str, piece: &str) -> Result<Delivered, DeliveryError>;
    /// Shows that the persona is writing, for some seconds. A failure does not matter.
    async fn show_typing(&self, conversation: &str);
}
