//! Settings of a provider, with their defaults.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{LlmError, ModelTier};

/// The offline provider's name in `llm.provider` and in receipts.
pub const OFFLINE: &str = "offline";

/// A kind of provider, as `llm.provider` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// A model server on this machine, else [`ProviderKind::Offline`].
    Auto,
    /// OpenAI, or any compatible endpoint.
    OpenAi,
    Anthropic,
    /// Replies by rules, without a language model.
    Offline,
}

impl ProviderKind {
    const ALL: [Self; 4] = [Self::Auto, Self::OpenAi, Self::Anthropic, Self::Offline];

    /// The name in `llm.provider`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Offline => OFFLINE,
        }
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for ProviderKind {
    type Err = LlmError;

    fn from_str(name: &str) -> Result<Self, LlmError> {
        let named = Self::ALL.into_iter().find(|kind| kind.as_str() == name.trim());
        named.ok_or_else(|| {
            LlmError::fatal_error(format!(
                "llm.provider is {name:?}; it must be auto, openai, anthropic or offline."
            ))
        })
    }
}

/// Settings of [`connect()`](crate::connect()). `Default` is `provider = "auto"` with the documented limits.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    pub provider: ProviderKind,
    /// Address of the API; empty means the provider's own. For `openai` it usually ends in `/v1`.
    pub base_url: String,
    /// Never used by `auto`: a person chooses a cloud provider by name.
    pub api_key: Option<SecretString>,
    /// The environment variable of the key, for error messages.
    pub api_key_env: String,
    /// One model for all tiers; if empty, see `models`.
    pub model: String,
    /// A model for each tier, which overrides `model`. An empty entry means `model`, then the provider's default.
    pub models: TierModels,
    /// Time limit for opening a connection.
    pub connect_timeout: Duration,
    /// Time limit from the request to the first streamed token.
    pub first_token_timeout: Duration,
    /// Time limit between two streamed tokens.
    pub idle_timeout: Duration,
    /// Time limit of one attempt, from the request to the last byte.
    pub timeout: Duration,
    /// Retries of a call whose error may pass.
    pub max_retries: u32,
    /// Sampling temperature of requests that set none.
    pub temperature: Option<f32>,
    /// Maximum tokens of answers to requests that set none.
    pub max_tokens: Option<u32>,
    /// Maximum concurrent calls; further ones wait.
    pub max_in_flight: usize,
    /// Permits `http://` to an address that is not this machine.
    pub allow_insecure_http: bool,
    /// Model servers on this machine that `auto` looks for, in this order; may be empty.
    pub local_endpoints: Vec<LocalEndpoint>,
}

impl Default for ProviderSettings {
    fn default() -> Self {
        ProviderSettings {
            provider: ProviderKind::Auto,
            base_url: String::new(),
            api_key: None,
            api_key_env: String::new(),
            model: String::new(),
            models: TierModels::default(),
            connect_timeout: Duration::from_secs(10),
            first_token_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(60),
            max_retries: 3,
            temperature: None,
            max_tokens: None,
            max_in_flight: 32,
            allow_insecure_http: false,
            local_endpoints: LocalEndpoint::on_usual_ports(),
        }
    }
}

/// A model name per tier; empty means "not set".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TierModels {
    pub small: String,
    pub medium: String,
    pub large: String,
}

impl TierModels {
    /// The same model for every tier.
    #[must_use]
    pub fn same_for_all(model: &str) -> TierModels {
        TierModels { small: model.to_owned(), medium: model.to_owned(), large: model.to_owned() }
    }

    /// The model of this tier.
    #[must_use]
    pub fn for_tier(&self, tier: ModelTier) -> &str {
        match tier {
            ModelTier::Small => &self.small,
            ModelTier::Medium => &self.medium,
            ModelTier::Large => &self.large,
        }
    }

    fn with_fallback(&self, other: &TierModels) -> TierModels {
        let pick = |first: &String, second: &String| {
            if first.trim().is_empty() { second.clone() } else { first.trim().to_owned() }
        };
        TierModels {
            small: pick(&self.small, &other.small),
            medium: pick(&self.medium, &other.medium),
            large: pick(&self.large, &other.large),
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        ![&self.small, &self.medium, &self.large].iter().any(|model| model.is_empty())
    }
}

/// An OpenAI-compatible model server on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalEndpoint {
    /// The name of the server, for people.
    pub name: String,
    /// The endpoint's base, usually ending in `/v1`. Only loopback addresses are used.
    pub base_url: String,
}

impl LocalEndpoint {
    /// Ollama, LM Studio and llama.cpp on their default ports.
    #[must_use]
    pub fn on_usual_ports() -> Vec<LocalEndpoint> {
        [
            ("Ollama", "http://127.0.0.1:11434/v1"),
            ("LM Studio", "http://127.0.0.1:1234/v1"),
            ("llama.cpp", "http://127.0.0.1:8080/v1"),
        ]
        .map(|(name, base_url)| LocalEndpoint { name: name.to_owned(), base_url: base_url.to_owned() })
        .to_vec()
    }
}

pub(crate) const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
pub(crate) const ANTHROPIC_BASE_URL: &str = "https://api.anthropic.com";

/// Default models of the provider's own endpoint: (small, medium, large). Conversations use the model that starts
/// answering soonest, not the largest one.
pub(crate) const OPENAI_MODELS: [&str; 3] = ["gpt-4.1-mini", "gpt-4.1", "gpt-4.1"];
pub(crate) const ANTHROPIC_MODELS: [&str; 3] = ["claude-haiku-4-5", "claude-sonnet-4-6", "claude-sonnet-4-6"];

impl ProviderSettings {
    /// The models that a person configured, completed from `defaults`.
    pub(crate) fn tier_models(&self, defaults: &TierModels) -> TierModels {
        self.models.with_fallback(&TierModels::same_for_all(&self.model)).with_fallback(defaults)
    }

    /// The address to use: `base_url`, else the provider's own. `auto` has none unless `base_url` is set.
    ///
    /// # Errors
    ///
    /// [`LlmError::Fatal`] if it can't be used.
    pub fn address(&self) -> Result<Url, LlmError> {
        self.checked_url(if self.base_url.trim().is_empty() { self.own_base_url() } else { &self.base_url })
    }

    /// True if requests go to the provider's own servers rather than a compatible endpoint.
    pub fn is_own_address(&self) -> bool {
        let own = Url::parse(self.own_base_url());
        matches!((own, self.address()), (Ok(own), Ok(asked)) if own.origin() == asked.origin())
    }

    fn own_base_url(&self) -> &'static str {
        match self.provider {
            ProviderKind::OpenAi => OPENAI_BASE_URL,
            ProviderKind::Anthropic => ANTHROPIC_BASE_URL,
            ProviderKind::Auto | ProviderKind::Offline => "",
        }
    }

    /// Parses and checks an address: http(s), no user name or password, and no plain HTTP to another machine.
    pub(crate) fn checked_url(&self, base_url: &str) -> Result<Url, LlmError> {
        let url = Url::parse(base_url.trim().trim_end_matches('/')).map_err(|error| {
            LlmError::fatal_error(format!(
                "llm.base_url is not an address ({error}). Write it like https://host/v1."
            ))
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(LlmError::fatal_error(
                "llm.base_url contains a user name or password. Remove it and set the key in its \
                    environment variable.",
            ));
        }
        match url.scheme() {
            "https" => Ok(url),
            "http" if self.allow_insecure_http || is_loopback(&url) => Ok(url),
            "http" => Err(LlmError::fatal_error(
                "llm.base_url is plain http to another machine: messages could be read on the way. Use \
                    https, or allow insecure http for a network you trust.",
            )),
            other => Err(LlmError::fatal_error(format!(
                "llm.base_url has the scheme {other:?}; use https or http."
            ))),
        }
    }
}

/// True if an address is this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some(host) => {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            host.eq_ignore_ascii_case("localhost")
                || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

pub(crate) fn default_models([small, medium, large]: [&str; 3]) -> TierModels {
    TierModels { small: small.to_owned(), medium: medium.to_owned(), large: large.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_uses_its_own_model_then_the_common_one_then_the_default() {
        let defaults = default_models(OPENAI_MODELS);
        let mut settings = ProviderSettings::default();
        assert_eq!(settings.tier_models(&defaults), defaults);
        settings.model = "one".to_owned();
        settings.models.small = "tiny".to_owned();
        let models = settings.tier_models(&defaults);
        assert_eq!((models.for_tier(ModelTier::Small), models.for_tier(ModelTier::Large)), ("tiny", "one"));
    }

    #[test]
    fn plain_http_stays_on_this_machine_unless_allowed() {
        let mut settings = ProviderSettings::default();
        for good in ["http://127.0.0.1:1/v1", "http://localhost/v1", "http://[::1]:9/v1", "https://a.test/v1"]
        {
            assert!(settings.checked_url(good).is_ok(), "{good}");
        }
        for bad in ["http://192.168.1.9/v1", "http://127.0.0.1.evil.test/v1", "ftp://a.test", "nonsense", ""]
        {
            assert_eq!(settings.checked_url(bad).map_err(|e| e.kind()), Err("fatal"), "{bad}");
        }
        settings.allow_insecure_http = true;
        assert!(settings.checked_url("http://192.168.1.9/v1").is_ok());
    }

    #[test]
    fn an_address_with_a_password_is_refused_without_repeating_it() {
        let error = ProviderSettings::default().checked_url("https://me:hunter2@a.test/v1").unwrap_err();
        assert!(!error.to_string().contains("hunter2"));
    }

    #[test]
    fn debug_never_prints_the_key() {
        let settings =
            ProviderSettings { api_key: Some(SecretString::from("sk-secret")), ..Default::default() };
        assert!(!format!("{settings:?}").contains("sk-secret"));
    }
}
