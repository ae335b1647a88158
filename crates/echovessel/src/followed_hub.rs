//! The hub that this home follows according to the configuration.

use std::path::PathBuf;
use std::sync::Arc;

use hub_client::{HttpAddress, HubAddress, HubClient, TokenSource};
use runtime::FollowedHub;
use secrecy::SecretString;

use crate::config::{Config, ConfigError};
use crate::home::Home;

/// The client of the hub; `None` for a home that follows no hub.
///
/// # Errors
///
/// If `sync.url` is set and no token is found.
pub(crate) fn followed_hub(config: &Config, home: &Home) -> Result<Option<FollowedHub>, ConfigError> {
    let sync = &config.sync;
    let (address, shown) = if !sync.url.is_empty() {
        let token = token_source(&sync.token_env, home);
        if token().is_none() {
            return Err(ConfigError::BadValue(format!(
                "sync.url is set, but its token is missing: set {} in the environment, or run `echovessel \
                    sync connect {}`",
                sync.token_env, sync.url
            )));
        }
        (HubAddress::Http(http_address(&sync.url, token, &sync.ca_file)), sync.url.clone())
    } else if !sync.command.is_empty() {
        (HubAddress::Process(sync.command.clone()), sync.command.join(" "))
    } else {
        return Ok(None);
    };
    Ok(Some(FollowedHub {
        remote: Arc::new(HubClient::new(address)),
        address: shown,
        push_every: sync.push_every.0,
    }))
}

/// A hub over HTTP.
pub(crate) fn http_address(url: &str, token: TokenSource, ca_file: &str) -> HttpAddress {
    let ca_file = Some(PathBuf::from(ca_file)).filter(|path| !path.as_os_str().is_empty());
    HttpAddress { url: url.to_owned(), token, ca_file }
}

/// The token from the environment variable, else from the home.
fn token_source(variable: &str, home: &Home) -> TokenSource {
    let (variable, file) = (variable.to_owned(), home.hub_token());
    Arc::new(move || {
        let given = std::env::var(&variable).ok().or_else(|| std::fs::read_to_string(&file).ok());
        given.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty()).map(SecretString::from)
    })
}
