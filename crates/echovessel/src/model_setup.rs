//! Finds, tries and selects the language model for the web UI.

use std::time::Instant;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use llm::{
    AnswerFormat, LlmError, LocalEndpoint, ModelTier, ProviderKind, ProviderSettings, Request, StreamEvent,
    list_models,
};
use mind::{CALL_OK, CallInFlight, Purpose};
use reqwest::Url;
use secrecy::SecretString;
use serde_json::json;
use server::{
    EnvironmentKey, KeySource, LocalModelServer, ModelCheckResponse, ModelChoice, ModelConfiguration,
    ModelFault, ModelKey, ModelSetup, ModelSetupError, ModelTryEvent,
};

use crate::config::{Config, overridden_keys};
use crate::language_model::{
    EndpointKey, LlmSummary, ModelCheck, check, connect, connect_with, customary_variable, environment_key,
    settings_with_key,
};
use crate::live_config::LiveConfig;
use crate::secrets::{EnteredKey, MODEL_KEY, Secrets, shown_end};

/// Keys of the configuration that choosing a model sets.
const CHOSEN_KEYS: [&str; 6] = [
    "llm.provider",
    "llm.base_url",
    "llm.model",
    "llm.models.small",
    "llm.models.medium",
    "llm.models.large",
];
/// Maximum tokens of a trial reply; models that think first need some of them for that.
const TRY_TOKENS_MAX: u32 = 1_024;

#[async_trait]
impl ModelSetup for LiveConfig {
    async fn show(&self) -> Result<ModelConfiguration, ModelSetupError> {
        let config = self.running_config().await;
        let (_, key) = settings_with_key(&config, &self.home, true).map_err(files_error)?;
        let mut overridden = overridden_keys(std::env::vars());
        overridden.retain(|key| CHOSEN_KEYS.contains(&key.as_str()));
        overridden.sort();
        Ok(ModelConfiguration {
            provider: config.llm.provider.to_string(),
            base_url: config.llm.base_url.clone(),
            model: config.llm.model.clone(),
            key: shown_key(key),
            environment_keys: environment_keys(),
            overridden_by_environment: overridden,
            answering: LlmSummary::from_provider(&*self.model).state(),
        })
    }

    async fn local_servers(&self) -> Vec<LocalModelServer> {
        let found = llm::local_servers(LocalEndpoint::on_usual_ports()).await;
        found
            .into_iter()
            .map(|server| LocalModelServer {
                name: server.endpoint.name,
                base_url: server.endpoint.base_url,
                models: server.models,
            })
            .collect()
    }

    async fn list(&self, choice: ModelChoice) -> Result<Vec<String>, ModelSetupError> {
        let settings = self.settings_of(&choice).await?;
        let mut models =
            list_models(&settings).await.map_err(|error| refused_choice(error, ModelFault::Address))?;
        models.retain(|model| llm::can_chat(model));
        Ok(models)
    }

    async fn test_model(
        &self,
        choice: ModelChoice,
        language: String,
    ) -> Result<BoxStream<'static, ModelTryEvent>, ModelSetupError> {
        // A person is waiting and can try again, so there are no retries.
        let settings = ProviderSettings { max_retries: 0, ..self.settings_of(&choice).await? };
        let asked_at = Instant::now();
        let provider =
            connect_with(settings).await.map_err(|error| refused_choice(error, ModelFault::Model))?;
        let request = trial_question(&language);
        let (ledger, clock) = (self.ledger.clone(), self.runtime.shared_clock());
        let mut call = CallInFlight::begin(ledger, clock, &*provider, &request, Purpose::default());
        let words = provider.stream(request).await.map_err(|error| {
            call.report_end(error.kind());
            refused_choice(error, ModelFault::Model)
        })?;
        let first_words_ms = milliseconds(asked_at.elapsed());
        let events = words.map(move |event| match event {
            Ok(StreamEvent::Delta(text)) => ModelTryEvent::Piece { text },
            Ok(StreamEvent::Finished { usage, model, .. }) => {
                let whole_ms = milliseconds(asked_at.elapsed());
                call.set_reported_usage(usage, &model);
                call.report_end(CALL_OK);
                ModelTryEvent::Done {
                    model,
                    first_words_ms,
                    whole_ms,
                    tokens_per_second: tokens_per_second(usage.output_tokens, whole_ms - first_words_ms),
                }
            }
            Err(error) => {
                call.report_end(error.kind());
                let error = refused_choice(error, ModelFault::Model);
                ModelTryEvent::Failed { detail: error.detail, code: error.fault.error_code() }
            }
        });
        Ok(events.boxed())
    }

    async fn choose(&self, choice: ModelChoice) -> Result<ModelConfiguration, ModelSetupError> {
        let _choosing = self.choosing.lock().await;
        let earlier = Secrets::load(&self.home).map_err(|error| ModelSetupError {
            fault: ModelFault::Files,
            detail: format!("{error:#}; nothing was changed"),
        })?;
        self.save(&self.secrets_with(&choice, &earlier).await?)?;
        let unless_empty = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
        let wanted = json!({"llm": {
            "provider": choice.provider, "base_url": unless_empty(&choice.base_url),
            "model": unless_empty(&choice.model),
            "models": {"small": null, "medium": null, "large": null},
        }});
        if let Err(error) = self.apply(wanted, None).await {
            self.save(&earlier)?;
            return Err(ModelSetupError { fault: ModelFault::Model, detail: error.to_string() });
        }
        // A key alone changes no setting, so the model is reconnected here.
        let connected = match connect(&self.running_config().await, &self.home).await {
            // Without its key the provider could not even be created.
            Err(LlmError::Auth { .. }) if matches!(entered_key(&choice), Some(None)) => {
                let usual = json!({"llm": {"provider": null, "base_url": null, "model": null}});
                self.apply(usual, None).await.map_err(|error| ModelSetupError {
                    fault: ModelFault::Files,
                    detail: error.to_string(),
                })?;
                connect(&self.running_config().await, &self.home).await
            }
            connected => connected,
        };
        self.model.replace(connected.map_err(|error| refused_choice(error, ModelFault::Key))?);
        self.show().await
    }

    async fn check(&self) -> ModelCheckResponse {
        let config = self.running_config().await;
        let mut found = check(&config, &self.home).await;
        let current = LlmSummary::from_provider(&*self.model);
        if found.is_ok
            && let Ok(model) = connect(&config, &self.home).await
        {
            match (current.endpoint, model.endpoint()) {
                // `auto` finds no server any more; replies still use the one that it found before.
                (Some(gone), None) => {
                    let said = format!(
                        "{gone} no longer responds: start it again, or choose another model under Settings \
                            > Model"
                    );
                    found = ModelCheck { is_ok: false, said };
                }
                // A server was started since then: the next reply uses it.
                (now, next) if now != next => self.model.replace(model),
                _ => {}
            }
        }
        ModelCheckResponse {
            ok: found.is_ok,
            detail: found.said,
            llm: LlmSummary::from_provider(&*self.model).state(),
        }
    }
}

impl LiveConfig {
    /// Settings for asking the chosen endpoint. The key of the choice is preferred to a stored one.
    async fn settings_of(&self, choice: &ModelChoice) -> Result<ProviderSettings, ModelSetupError> {
        let running = self.running_config().await;
        let config = apply_choice(&running, choice)?;
        let (mut settings, found) =
            settings_with_key(&config, &self.home, is_same_endpoint(&config, &running))
                .map_err(files_error)?;
        if found.source != KeySource::Environment
            && let Some(Some(key)) = entered_key(choice)
        {
            settings.api_key = Some(key);
        }
        Ok(settings)
    }

    /// The stored keys after this choice.
    async fn secrets_with(
        &self,
        choice: &ModelChoice,
        earlier: &Secrets,
    ) -> Result<Secrets, ModelSetupError> {
        let running = self.running_config().await;
        let config = apply_choice(&running, choice)?;
        let mut secrets = earlier.clone();
        if customary_variable(config.llm.provider).is_none() {
            return Ok(secrets);
        }
        let address = endpoint_address(&config)?;
        let known = secrets.entered_key(MODEL_KEY, &address);
        let is_chosen = known.is_chosen || !is_same_endpoint(&config, &running);
        let key = entered_key(choice).unwrap_or(known.key);
        if key.is_some() || is_chosen || entered_key(choice).is_some() {
            secrets.set(MODEL_KEY, &address, EnteredKey { key, is_chosen });
        }
        Ok(secrets)
    }

    fn save(&self, secrets: &Secrets) -> Result<(), ModelSetupError> {
        secrets.save(&self.home).map_err(|error| ModelSetupError {
            fault: ModelFault::Files,
            detail: format!("{error:#}; the model was not changed"),
        })
    }
}

/// The key of a choice: `None` if it names none, `Some(None)` if the stored key is to be deleted.
fn entered_key(choice: &ModelChoice) -> Option<Option<SecretString>> {
    let key = choice.key.as_ref()?.trim();
    Some((!key.is_empty()).then(|| SecretString::from(key)))
}

/// The configuration with this choice.
fn apply_choice(running: &Config, choice: &ModelChoice) -> Result<Config, ModelSetupError> {
    let mut config = running.clone();
    let provider = choice.provider.parse();
    config.llm.provider = provider.map_err(|error| refused_choice(error, ModelFault::Model))?;
    config.llm.base_url = choice.base_url.trim().to_owned();
    config.llm.model = choice.model.trim().to_owned();
    config.llm.models = Default::default();
    Ok(config)
}

/// True if both have the same provider and the same scheme, host and port.
fn is_same_endpoint(one: &Config, other: &Config) -> bool {
    let origin = |config: &Config| endpoint_address(config).ok().map(|address| address.origin());
    one.llm.provider == other.llm.provider && origin(one) == origin(other)
}

fn endpoint_address(config: &Config) -> Result<Url, ModelSetupError> {
    let settings = ProviderSettings {
        provider: config.llm.provider,
        base_url: config.llm.base_url.clone(),
        ..ProviderSettings::default()
    };
    settings.address().map_err(|error| refused_choice(error, ModelFault::Address))
}

pub(crate) fn shown_key(found: EndpointKey) -> ModelKey {
    let end = match (found.source, &found.key) {
        (KeySource::Entered, Some(key)) => shown_end(key),
        _ => String::new(),
    };
    ModelKey { source: found.source, variable: found.variable, end }
}

fn environment_keys() -> Vec<EnvironmentKey> {
    let set = |provider: ProviderKind| {
        let variable = customary_variable(provider)?;
        environment_key(variable)?;
        Some(EnvironmentKey { provider: provider.to_string(), variable: variable.to_owned() })
    };
    [ProviderKind::OpenAi, ProviderKind::Anthropic].into_iter().filter_map(set).collect()
}

/// Refuses a choice that can't work. `otherwise` says what to try instead.
fn refused_choice(error: LlmError, otherwise: ModelFault) -> ModelSetupError {
    let fault = match error {
        LlmError::Auth { .. } => ModelFault::Key,
        LlmError::Transient { .. } | LlmError::RateLimited { .. } => ModelFault::Address,
        LlmError::Fatal { ref message } if message.starts_with("llm.base_url") => ModelFault::Address,
        LlmError::Fatal { .. } | LlmError::TooLong { .. } | LlmError::Refused { .. } => otherwise,
    };
    ModelSetupError { fault, detail: error.to_string() }
}

fn files_error(error: LlmError) -> ModelSetupError {
    ModelSetupError { fault: ModelFault::Files, detail: error.to_string() }
}

fn trial_question(language: &str) -> Request {
    let user = match language {
        "zh" => "用一句话跟我打个招呼。",
        _ => "Say hello to me in one sentence.",
    };
    Request {
        task: "try".to_owned(),
        tier: ModelTier::Large,
        system: String::new(),
        user: user.to_owned(),
        answer: AnswerFormat::Text,
        temperature: None,
        max_tokens: Some(TRY_TOKENS_MAX),
        inputs: json!({}),
    }
}

fn tokens_per_second(tokens: u64, milliseconds: u64) -> Option<f64> {
    (milliseconds > 0).then(|| (tokens as f64 * 10_000.0 / milliseconds as f64).round() / 10.0)
}

fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
