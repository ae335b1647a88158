//! Connects and disconnects bots on other platforms for the web UI.

use async_trait::async_trait;
use secrecy::SecretString;
use serde_json::json;
use server::{ChannelSetup, ChannelSetupError, KeySource, ModelKey};

use crate::config::{Config, overridden_keys};
use crate::live_config::LiveConfig;
use crate::model_setup::shown_key;
use crate::outbound::Bot;
use crate::secrets::{EnteredKey, Secrets};

#[async_trait]
impl ChannelSetup for LiveConfig {
    async fn tokens(&self) -> Result<Vec<(&'static str, ModelKey)>, ChannelSetupError> {
        let config = self.file_config().await;
        let token = |bot: Bot| bot.token(&config, &self.home).map(|token| (bot.id(), shown_key(token)));
        Bot::ALL.into_iter().map(token).collect::<anyhow::Result<_>>().map_err(files_error)
    }

    async fn set_up(&self, channel_id: &str, token: Option<String>) -> Result<String, ChannelSetupError> {
        let _choosing = self.choosing.lock().await;
        let bot = find_bot(channel_id)?;
        let channels = self.channels.as_ref().ok_or_else(no_channels_error)?;
        let config = self.file_config().await;
        let known = bot.token(&config, &self.home).map_err(files_error)?;
        if known.source == KeySource::Environment && token.is_some() {
            return Err(ChannelSetupError::Token(format!(
                "the environment variable {} contains this bot's token and takes precedence: change it \
                    there, or unset it and restart EchoVessel. Nothing was changed",
                known.variable
            )));
        }
        let entered = token.map(SecretString::from);
        let key = entered.clone().or(known.key).ok_or_else(|| {
            ChannelSetupError::Token("enter the bot's token. Nothing was changed".to_owned())
        })?;
        let found = bot.channel(&config, key, self.runtime.shared_clock());
        let found =
            found.map_err(|error| ChannelSetupError::Token(format!("{error}; nothing was changed")))?;
        let account = found.channel.check().await;
        let account =
            account.map_err(|reason| ChannelSetupError::Token(format!("{reason}. Nothing was changed")))?;
        let earlier = Secrets::load(&self.home).map_err(files_error)?;
        if entered.is_some() {
            let mut secrets = earlier.clone();
            let address = bot.address(&config).map_err(files_error)?;
            secrets.set(bot.id(), &address, EnteredKey { key: entered, is_chosen: false });
            secrets.save(&self.home).map_err(files_error)?;
        }
        if let Err(error) = self.enable(bot, true).await {
            earlier.save(&self.home).map_err(files_error)?;
            return Err(error);
        }
        channels.connect(&self.runtime, found.channel, found.settings).await;
        Ok(account)
    }

    async fn switch_off(&self, channel_id: &str) -> Result<(), ChannelSetupError> {
        let _choosing = self.choosing.lock().await;
        let bot = find_bot(channel_id)?;
        let channels = self.channels.as_ref().ok_or_else(no_channels_error)?;
        self.enable(bot, false).await?;
        channels.disconnect(bot.id()).await;
        let mut secrets = Secrets::load(&self.home).map_err(files_error)?;
        secrets.remove(bot.id());
        secrets.save(&self.home).map_err(files_error)
    }
}

impl LiveConfig {
    /// Enables or disables a bot's channel in the file and in the running program. All of its settings take effect with it.
    async fn enable(&self, bot: Bot, is_enabled: bool) -> Result<(), ChannelSetupError> {
        let id = bot.id();
        let section = format!("channels.{id}.");
        let key = format!("{section}enabled");
        if bot.is_enabled(&self.file_config().await) != is_enabled
            && overridden_keys(std::env::vars()).contains(&key)
        {
            return Err(ChannelSetupError::Files(format!(
                "{key} is set in the environment of this program: change it there and restart EchoVessel. \
                    Nothing was changed"
            )));
        }
        let changed = self.apply(json!({"channels": {id: {"enabled": is_enabled}}}), Some(&section)).await;
        changed.map(|_| ()).map_err(|error| ChannelSetupError::Files(error.to_string()))
    }

    /// The configuration in the file.
    async fn file_config(&self) -> Config {
        self.state.lock().await.wanted.clone()
    }
}

fn find_bot(channel_id: &str) -> Result<Bot, ChannelSetupError> {
    Bot::ALL.into_iter().find(|bot| bot.id() == channel_id).ok_or(ChannelSetupError::Unknown)
}

fn no_channels_error() -> ChannelSetupError {
    ChannelSetupError::Files("this program runs a single command and connects no channels".to_owned())
}

fn files_error(error: anyhow::Error) -> ChannelSetupError {
    ChannelSetupError::Files(format!("{error:#}"))
}
