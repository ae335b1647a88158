//! The port to bots on other platforms, connected and disconnected by a person.

use async_trait::async_trait;

use super::model_setup::ModelKey;

/// Connects and disconnects bots. The server itself speaks with no platform.
#[async_trait]
pub trait ChannelSetup: Send + Sync {
    /// The channels that can be set up, with the token of each.
    async fn tokens(&self) -> Result<Vec<(&'static str, ModelKey)>, ChannelSetupError>;
    /// Asks the platform who the bot is; then stores the token, enables the channel and connects it. Returns the bot's name.
    /// Without a token the one that is known is used.
    async fn set_up(&self, channel_id: &str, token: Option<String>) -> Result<String, ChannelSetupError>;
    /// Disconnects the channel, disables it and deletes the token that was entered.
    async fn switch_off(&self, channel_id: &str) -> Result<(), ChannelSetupError>;
}

/// Why a channel was not changed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ChannelSetupError {
    /// No bot talks there.
    #[error("no bot can be set up on this channel; discord and telegram have one")]
    Unknown,
    /// The token is missing or refused, or the platform can't be reached.
    #[error("{0}")]
    Token(String),
    /// The files of the home can't be read or written.
    #[error("{0}")]
    Files(String),
}
