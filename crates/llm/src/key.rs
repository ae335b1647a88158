//! Checks the key of an endpoint.

use reqwest::Url;

use crate::http::host_of;
use crate::{LlmError, ProviderSettings};

/// Refuses a missing key for the provider's own endpoint, which always requires one.
pub(crate) fn check_key(settings: &ProviderSettings, url: &Url, own_base_url: &str) -> Result<(), LlmError> {
    let own = Url::parse(own_base_url).is_ok_and(|own| own.host_str() == url.host_str());
    if own && settings.api_key.is_none() {
        let host = host_of(url);
        let way_out = match settings.api_key_env.as_str() {
            "" => "Give one".to_owned(),
            variable => format!("Set the environment variable {variable}, name another with llm.api_key_env"),
        };
        let message = format!("There is no API key for {host}. {way_out}, or choose another llm.provider.");
        return Err(LlmError::Auth { message });
    }
    Ok(())
}
