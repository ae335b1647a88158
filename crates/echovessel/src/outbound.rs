//! The channels to other platforms that the configuration enables.

use std::sync::Arc;

use anyhow::Context as _;
use channels::{
    ChannelSettings, DISCORD_API, Discord, DiscordSettings, TELEGRAM_API, Telegram, TelegramSettings,
};
use memory::ports::Clock;
use reqwest::Url;
use secrecy::SecretString;
use server::KeySource;

use crate::config::{Config, ConfigError};
use crate::home::Home;
use crate::language_model::{EndpointKey, environment_key};
use crate::secrets::Secrets;
use crate::wiring::Services;

/// A platform on which a bot can talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bot {
    Discord,
    Telegram,
}

/// A channel as configured.
pub(crate) struct BotChannel {
    pub(crate) channel: Arc<dyn channels::Channel>,
    pub(crate) settings: ChannelSettings,
    /// Hosts that the channel connects to, as `api.telegram.org for Telegram`.
    hosts: String,
}

impl Bot {
    pub(crate) const ALL: [Self; 2] = [Self::Discord, Self::Telegram];

    /// The channel's id in messages, in the configuration and among the entered keys.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Discord => "discord",
            Self::Telegram => "telegram",
        }
    }

    pub(crate) fn is_enabled(self, config: &Config) -> bool {
        match self {
            Self::Discord => config.channels.discord.enabled,
            Self::Telegram => config.channels.telegram.enabled,
        }
    }

    fn token_variable(self, config: &Config) -> &str {
        match self {
            Self::Discord => &config.channels.discord.token_env,
            Self::Telegram => &config.channels.telegram.token_env,
        }
    }

    /// Address of the platform's API. The bot's token is sent to it.
    pub(crate) fn address(self, config: &Config) -> anyhow::Result<Url> {
        let (base, usual) = match self {
            Self::Discord => (&config.channels.discord.api_base, DISCORD_API),
            Self::Telegram => (&config.channels.telegram.api_base, TELEGRAM_API),
        };
        let base = if base.is_empty() { usual } else { base };
        base.parse().with_context(|| format!("channels.{}.api_base is not an address", self.id()))
    }

    /// Finds the bot's token: in the environment, else the one that was entered for its address.
    ///
    /// # Errors
    ///
    /// If the address is invalid, or the file with the entered keys can't be read.
    pub(crate) fn token(self, config: &Config, home: &Home) -> anyhow::Result<EndpointKey> {
        let variable = self.token_variable(config);
        let (key, source) = match environment_key(variable) {
            Some(key) => (Some(key), KeySource::Environment),
            None => match Secrets::load(home)?.entered_key(self.id(), &self.address(config)?).key {
                Some(key) => (Some(key), KeySource::Entered),
                None => (None, KeySource::None),
            },
        };
        Ok(EndpointKey { key, source, variable: variable.to_owned() })
    }

    /// Creates the configured channel with this token.
    ///
    /// # Errors
    ///
    /// If the token would be sent unencrypted.
    pub(crate) fn channel(
        self,
        config: &Config,
        token: SecretString,
        clock: Arc<dyn Clock>,
    ) -> Result<BotChannel, ConfigError> {
        match self {
            Self::Discord => {
                let discord = &config.channels.discord;
                let settings = DiscordSettings {
                    api_base: discord.api_base.clone(),
                    gateway_url: discord.gateway_url.clone(),
                    token,
                    clock,
                };
                let channel =
                    Discord::new(settings).map_err(|error| ConfigError::BadValue(error.to_string()))?;
                let hosts = format!("{} for Discord", channel.hosts().join(" and "));
                let settings = ChannelSettings { allowed_user_ids: discord.allowed_user_ids.clone() };
                Ok(BotChannel { channel: Arc::new(channel), settings, hosts })
            }
            Self::Telegram => {
                let telegram = &config.channels.telegram;
                let channel = Telegram::new(TelegramSettings { api_base: telegram.api_base.clone(), token })
                    .map_err(|error| ConfigError::BadValue(error.to_string()))?;
                let hosts = format!("{} for Telegram", channel.host());
                let settings = ChannelSettings { allowed_user_ids: telegram.allowed_user_ids.clone() };
                Ok(BotChannel { channel: Arc::new(channel), settings, hosts })
            }
        }
    }
}

/// Adds the enabled channels, and returns the hosts that they connect to, as `api.telegram.org for Telegram`. Call it
/// before the runtime starts.
///
/// # Errors
///
/// When an enabled channel can't work: its token is missing, or would be sent unencrypted.
pub(crate) fn add_channels(config: &Config, home: &Home, services: &Services) -> anyhow::Result<Vec<String>> {
    add_channels_with_tokens(config, services, &|bot| {
        let found = bot.token(config, home)?;
        let (id, variable) = (bot.id(), &found.variable);
        found.key.ok_or_else(|| {
            let reason = format!(
                "channels.{id}.enabled: the bot's token is missing: set the environment variable \
                    {variable}, or set channels.{id}.enabled to false and enter the token under Settings > \
                    Channels"
            );
            ConfigError::BadValue(reason).into()
        })
    })
}

/// Like [`add_channels`], with tokens from elsewhere.
///
/// # Errors
/// As [`add_channels`], and those of `token`.
pub(crate) fn add_channels_with_tokens(
    config: &Config,
    services: &Services,
    token: &dyn Fn(Bot) -> anyhow::Result<SecretString>,
) -> anyhow::Result<Vec<String>> {
    let mut hosts = Vec::new();
    for bot in Bot::ALL.into_iter().filter(|bot| bot.is_enabled(config)) {
        let found = bot.channel(config, token(bot)?, services.runtime.shared_clock())?;
        hosts.push(found.hosts);
        services.channels.add(found.channel, found.settings);
    }
    Ok(hosts)
}
