//! The channels beyond this program that the configuration enables.

use std::sync::Arc;

use channels::{
    ChannelSettings, Channels, ChannelsParts, Discord, DiscordSettings, Telegram, TelegramSettings,
};
use secrecy::SecretString;

use crate::config::{Config, ConfigError};
use crate::system::random_bytes;
use crate::wiring::Services;

/// The channels, and the hosts that they speak with.
pub(crate) struct Outbound {
    /// The channels; none is started yet.
    pub(crate) channels: Channels,
    /// For the start line: `api.telegram.org for Telegram`.
    pub(crate) hosts: Vec<String>,
}

/// Sets up what is enabled and makes the runtime know it. To be called before the runtime starts.
///
/// # Errors
/// When an enabled channel can't work: its token is missing, or its address would send the token in the open.
pub(crate) fn open(config: &Config, services: &Services) -> anyhow::Result<Outbound> {
    open_with_tokens(config, services, &token)
}

/// Like [`open`], with tokens from elsewhere than the environment: `token` gets a section and the variable that it names.
///
/// # Errors
/// As [`open`], and those of `token`.
pub(crate) fn open_with_tokens(
    config: &Config,
    services: &Services,
    token: &dyn Fn(&str, &str) -> Result<SecretString, ConfigError>,
) -> anyhow::Result<Outbound> {
    let mut enabled: Vec<(Arc<dyn channels::Channel>, ChannelSettings)> = Vec::new();
    let mut hosts = Vec::new();
    let discord = &config.channels.discord;
    if discord.enabled {
        let settings = DiscordSettings {
            api_base: discord.api_base.clone(),
            gateway_url: discord.gateway_url.clone(),
            token: token("channels.discord", &discord.token_env)?,
            clock: services.runtime.shared_clock(),
        };
        let channel = Discord::new(settings).map_err(|error| ConfigError::BadValue(error.to_string()))?;
        hosts.push(format!("{} for Discord", channel.hosts().join(" and ")));
        let allowed_user_ids = discord.allowed_user_ids.clone();
        enabled.push((Arc::new(channel), ChannelSettings { allowed_user_ids }));
    }
    let telegram = &config.channels.telegram;
    if telegram.enabled {
        let token = token("channels.telegram", &telegram.token_env)?;
        let channel = Telegram::new(TelegramSettings { api_base: telegram.api_base.clone(), token })
            .map_err(|error| ConfigError::BadValue(error.to_string()))?;
        hosts.push(format!("{} for Telegram", channel.host()));
        let allowed_user_ids = telegram.allowed_user_ids.clone();
        enabled.push((Arc::new(channel), ChannelSettings { allowed_user_ids }));
    }
    let (channels, _) = Channels::new(ChannelsParts {
        runtime: services.runtime.clone(),
        store: services.database.clone(),
        channels: enabled,
        random: Box::new(random_bytes),
    });
    Ok(Outbound { channels, hosts })
}

fn token(section: &str, variable: &str) -> Result<SecretString, ConfigError> {
    match std::env::var(variable) {
        Ok(token) if !token.trim().is_empty() => Ok(SecretString::from(token.trim().to_owned())),
        _ => Err(ConfigError::BadValue(format!(
            "{section}.enabled: the environment variable {variable} does not hold the bot's token; set it, or set \
             {section}.enabled to false"
        ))),
    }
}
