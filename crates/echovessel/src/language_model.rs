//! The language model of a home: connects the configured provider with its key, and checks that it answers.

use std::sync::Arc;

use llm::{LlmError, ModelTier, OFFLINE, Provider, ProviderKind, ProviderSettings, TierModels, list_models};
use offline::OfflineProvider;
use secrecy::SecretString;
use server::{KeySource, LlmState};

use crate::config::Config;
use crate::home::Home;
use crate::secrets::{MODEL_KEY, Secrets};
use crate::system::SystemRetryTimer;

/// Models to list in an error if the chosen one is not offered. Some services offer hundreds.
const OFFERED_MODELS_NAMED_MAX: usize = 5;

/// The language model that the configuration names.
pub(crate) async fn connect(config: &Config, home: &Home) -> Result<Arc<dyn Provider>, LlmError> {
    connect_with(provider_settings(config, home)?).await
}

/// The language model of these settings.
pub(crate) async fn connect_with(settings: ProviderSettings) -> Result<Arc<dyn Provider>, LlmError> {
    llm::connect(settings, Arc::new(SystemRetryTimer), Arc::new(OfflineProvider)).await
}

/// The environment variable that is documented for a provider's key; `None` for a provider without keys.
pub(crate) fn customary_variable(provider: ProviderKind) -> Option<&'static str> {
    match provider {
        ProviderKind::OpenAi => Some("OPENAI_API_KEY"),
        ProviderKind::Anthropic => Some("ANTHROPIC_API_KEY"),
        ProviderKind::Auto | ProviderKind::Offline => None,
    }
}

/// The environment variable of the configured model's key; empty if no key is needed.
pub(crate) fn api_key_variable(config: &Config) -> &str {
    match config.llm.api_key_env.as_str() {
        "" => customary_variable(config.llm.provider).unwrap_or_default(),
        named => named,
    }
}

/// The value of an environment variable that holds a key.
pub(crate) fn environment_key(variable: &str) -> Option<SecretString> {
    let key = std::env::var(variable).ok().filter(|key| !key.trim().is_empty())?;
    Some(SecretString::from(key))
}

/// The key of an endpoint.
pub(crate) struct EndpointKey {
    pub(crate) key: Option<SecretString>,
    pub(crate) source: KeySource,
    /// The environment variable of the key; empty if the endpoint gets no key.
    pub(crate) variable: String,
}

impl EndpointKey {
    /// Finds the key of the endpoint that `settings` name.
    ///
    /// A variable of the environment comes before a key entered in the web UI. It is sent only to its intended
    /// address: the provider's usual variable to the provider's own address; `llm.api_key_env`, else the usual
    /// variable, to an address written into the configuration (`is_configured`) rather than chosen in the web UI.
    ///
    /// # Errors
    ///
    /// If the file with the entered keys can't be read.
    fn find(
        config: &Config,
        home: &Home,
        settings: &ProviderSettings,
        is_configured: bool,
    ) -> anyhow::Result<Self> {
        let address = customary_variable(config.llm.provider).and(settings.address().ok());
        let secrets = Secrets::load(home)?;
        let entered = address.map(|address| secrets.entered_key(MODEL_KEY, &address)).unwrap_or_default();
        let variable = match (is_configured && !entered.is_chosen, settings.is_own_address()) {
            (true, _) => api_key_variable(config),
            (false, true) => customary_variable(config.llm.provider).unwrap_or_default(),
            (false, false) => "",
        };
        let (key, source) = match (environment_key(variable), entered.key) {
            (Some(key), _) => (Some(key), KeySource::Environment),
            (None, Some(key)) => (Some(key), KeySource::Entered),
            (None, None) => (None, KeySource::None),
        };
        Ok(Self { key, source, variable: variable.to_owned() })
    }
}

/// The settings of the configured model, with its key.
///
/// # Errors
/// If the file with the entered keys can't be read.
pub(crate) fn provider_settings(config: &Config, home: &Home) -> Result<ProviderSettings, LlmError> {
    settings_with_key(config, home, true).map(|(settings, _)| settings)
}

/// Settings with the key of their endpoint. `is_configured` as in [`EndpointKey::find`].
///
/// # Errors
/// If the file with the entered keys can't be read.
pub(crate) fn settings_with_key(
    config: &Config,
    home: &Home,
    is_configured: bool,
) -> Result<(ProviderSettings, EndpointKey), LlmError> {
    let llm = &config.llm;
    let mut settings = ProviderSettings {
        provider: llm.provider,
        base_url: llm.base_url.clone(),
        model: llm.model.clone(),
        models: TierModels {
            small: llm.models.small.clone(),
            medium: llm.models.medium.clone(),
            large: llm.models.large.clone(),
        },
        timeout: llm.timeout.0,
        first_token_timeout: llm.first_token_timeout.0,
        max_retries: llm.max_retries,
        temperature: Some(llm.temperature as f32),
        max_tokens: Some(llm.max_tokens),
        ..ProviderSettings::default()
    };
    let found = EndpointKey::find(config, home, &settings, is_configured);
    let found = found.map_err(|error| LlmError::fatal_error(format!("{error:#}")))?;
    settings.api_key = found.key.clone();
    settings.api_key_env = found.variable.clone();
    Ok((settings, found))
}

/// The language model in use, as shown to people.
#[derive(Clone, Debug)]
pub(crate) struct LlmSummary {
    /// `openai`, `anthropic` or `offline`.
    pub(crate) provider: String,
    /// The model of the conversation.
    pub(crate) model: String,
    /// The host of its endpoint; `None` for the offline provider.
    pub(crate) endpoint: Option<String>,
}

impl LlmSummary {
    /// Summarizes a connected provider.
    pub(crate) fn from_provider(provider: &dyn Provider) -> Self {
        Self {
            provider: provider.name().to_owned(),
            model: provider.model(llm::ModelTier::Large),
            endpoint: provider.endpoint(),
        }
    }

    /// True if replies come from the offline provider, that is, from no language model.
    pub(crate) fn is_offline(&self) -> bool {
        self.provider == OFFLINE
    }

    /// A hint for people who have not connected a model yet.
    pub(crate) fn notice(&self) -> Option<String> {
        self.is_offline().then(|| {
            "No language model is configured: the offline provider replies by simple rules from memory. Choose a \
             model under Settings > Model, or set [llm] provider and base_url in config.toml."
                .to_owned()
        })
    }

    /// Converts the summary to the API's form.
    pub(crate) fn state(self) -> LlmState {
        LlmState {
            offline: self.is_offline(),
            notice: self.notice(),
            provider: self.provider,
            model: Some(self.model).filter(|model| !model.is_empty()),
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModelCheck {
    pub(crate) is_ok: bool,
    /// The result as a sentence for a person.
    pub(crate) said: String,
}

impl From<LlmError> for ModelCheck {
    fn from(error: LlmError) -> Self {
        Self { is_ok: false, said: error.to_string() }
    }
}

/// Asks the endpoint for its models. This tests the address and the key, and costs nothing.
pub(crate) async fn check(config: &Config, home: &Home) -> ModelCheck {
    check_model(config, home).await.unwrap_or_else(ModelCheck::from)
}

async fn check_model(config: &Config, home: &Home) -> Result<ModelCheck, LlmError> {
    let provider = connect(config, home).await?;
    let ok = |said: String| Ok(ModelCheck { is_ok: true, said });
    let Some(endpoint) = provider.endpoint() else {
        return ok("none configured: the offline provider replies by rules".to_owned());
    };
    let named = format!("{} at {endpoint}", provider.model(ModelTier::Large));
    let settings = provider_settings(config, home)?;
    if !matches!(settings.provider, ProviderKind::OpenAi | ProviderKind::Anthropic) {
        // The server's list named it a moment ago.
        return ok(format!("{named} answers"));
    }
    let offered = match list_models(&settings).await {
        Ok(offered) if !offered.is_empty() => offered,
        // An endpoint may have no list.
        Ok(_) | Err(LlmError::Fatal { .. }) => return ok(format!("{endpoint} responds but lists no models")),
        Err(error) => return Err(error),
    };
    let chosen = [ModelTier::Small, ModelTier::Medium, ModelTier::Large].map(|tier| provider.model(tier));
    let Some(missing) = chosen.iter().find(|model| !offers_model(&offered, model)) else {
        return ok(format!("{named} answers"));
    };
    let shown: Vec<&str> = offered
        .iter()
        .filter(|model| llm::can_chat(model))
        .take(OFFERED_MODELS_NAMED_MAX)
        .map(String::as_str)
        .collect();
    let said = format!(
        "{endpoint} does not offer the model {missing}: choose another under Settings > Model or with llm.model. It offers {}",
        shown.join(", ")
    );
    Ok(ModelCheck { is_ok: false, said })
}

/// True if a list of models has this one. Ollama lists `name:latest` for `name`; Anthropic and OpenAI list dated
/// versions of the names that they accept.
fn offers_model(offered: &[String], model: &str) -> bool {
    offered.iter().any(|name| {
        name.strip_prefix(model)
            .is_some_and(|rest| rest.is_empty() || rest == ":latest" || rest.starts_with('-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_without_its_version_is_offered() {
        let offered = ["llama3:latest", "claude-haiku-4-5-20251001", "gpt-4.1"].map(str::to_owned);
        for (model, is_offered) in [
            ("llama3", true),
            ("llama3:latest", true),
            ("llama", false),
            ("claude-haiku-4-5", true),
            ("gpt-4.1", true),
            ("gpt-4", false),
        ] {
            assert_eq!(offers_model(&offered, model), is_offered, "{model}");
        }
    }
}
