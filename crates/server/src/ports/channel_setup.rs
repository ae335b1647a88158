//! The port for connecting and disconnecting bots on other platforms.

use async_trait::async_trait;

use super::model_setup::ModelKey;

/// Connects and disconnects bots. The server itself connects to no platform.
#[async_trait]
pub trait ChannelSetup: Send + Sync {
    /// The channels that can be set up, with the token of each.
    async fn tokens(&self) -> Result<Vec<(&'static str, ModelKey)>, ChannelSetupError>;
    /// Asks the platform for the bot's name; then stores the token, enables the channel and connects it. Returns the
    /// name. Without a token the stored one is used.
    async fn set_up(&self, channel_id: &str, token: Option<String>) -> Result<String, ChannelSetupError>;
    /// Disconnects the channel, disables it and deletes its stored token.
    async fn switch_off(&self, channel_id: &str) -> Result<(), ChannelSetupError>;
}

/// Why a channel was not changed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ChannelSetupError {
    /// The channel has no bot.
    #[error("this channel has no bot; only discord and telegram have one")]
    Unknown,
    /// The token is missing or refused, or the platform can't be reached.
    #[error("{0}")]
    Token(String),
    /// The files of the home can't be read or written.
    #[error("{0}")]
    Files(String),
}
