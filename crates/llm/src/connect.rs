//! Connects a provider from settings.

use std::sync::Arc;

use futures_util::future::join_all;
use reqwest::Url;
use secrecy::ExposeSecret;

use crate::key::check_key;
use crate::models::{ListedModel, first_for_chat, list_local_models};
use crate::sampled::SampledProvider;
use crate::settings::{
    ANTHROPIC_BASE_URL, ANTHROPIC_MODELS, OPENAI_BASE_URL, OPENAI_MODELS, default_models, is_loopback,
};
use crate::{
    LlmError, LocalEndpoint, ModelTier, Provider, ProviderKind, ProviderSettings, RetryTimer, TierModels,
    anthropic, http, openai,
};

/// Connects the provider that the settings select. `offline` is the provider without a language model.
///
/// `"auto"` selects the first of `local_endpoints` on this machine that answers `GET {base_url}/models` with a chat
/// model, else the offline provider. It never sends anything to another machine and never uses `api_key`: a person's
/// texts must not be sent out only because a key is in the environment.
///
/// # Errors
///
/// [`LlmError::Fatal`] for settings that cannot work, [`LlmError::Auth`] for a missing key.
pub async fn connect(
    settings: ProviderSettings,
    pauses: Arc<dyn RetryTimer>,
    offline: Arc<dyn Provider>,
) -> Result<Arc<dyn Provider>, LlmError> {
    let (temperature, max_tokens) = (settings.temperature, settings.max_tokens);
    let (provider, context_tokens) = choose_provider(settings, pauses, offline).await?;
    Ok(match (temperature, max_tokens, context_tokens) {
        (None, None, None) => provider,
        _ => Arc::new(SampledProvider { provider, context_tokens, temperature, max_tokens }),
    })
}

/// A provider, and the context size that its endpoint reports, in tokens.
type ConnectedProvider = (Arc<dyn Provider>, Option<u32>);

async fn choose_provider(
    settings: ProviderSettings,
    pauses: Arc<dyn RetryTimer>,
    offline: Arc<dyn Provider>,
) -> Result<ConnectedProvider, LlmError> {
    let mut settings = settings;
    settings.api_key = settings.api_key.filter(|key| !key.expose_secret().trim().is_empty());
    match settings.provider {
        ProviderKind::Auto => find_local(settings, pauses, offline).await,
        ProviderKind::Offline => Ok((offline, None)),
        ProviderKind::OpenAi => openai_compatible(&settings, pauses).await,
        ProviderKind::Anthropic => {
            let url = settings.address()?;
            check_key(&settings, &url, ANTHROPIC_BASE_URL)?;
            let models = settings.tier_models(&default_models(ANTHROPIC_MODELS));
            Ok((anthropic::provider(&url, models, &settings, pauses)?, None))
        }
    }
}

async fn find_local(
    mut settings: ProviderSettings,
    pauses: Arc<dyn RetryTimer>,
    offline: Arc<dyn Provider>,
) -> Result<ConnectedProvider, LlmError> {
    settings.api_key = None;
    let mut candidates = Vec::new();
    if !settings.base_url.is_empty() {
        let url = settings.checked_url(&settings.base_url)?;
        if !is_loopback(&url) {
            return Err(LlmError::fatal_error(
                "llm.base_url is on another machine, and llm.provider = \"auto\" never leaves this one. Set llm.provider to openai or anthropic to choose it.",
            ));
        }
        candidates
            .push(LocalEndpoint { name: "llm.base_url".to_owned(), base_url: settings.base_url.clone() });
    }
    candidates.append(&mut settings.local_endpoints);
    let local = candidates
        .into_iter()
        .filter_map(|endpoint| Some((endpoint.name, Url::parse(&endpoint.base_url).ok()?)))
        .filter(|(_, url)| is_loopback(url));
    let found =
        join_all(local.map(|(name, url)| async move { (list_local_models(&url).await, name, url) })).await;
    for (models, name, url) in found {
        if let Some(model) = first_for_chat(&models) {
            tracing::info!(endpoint = name, model, "found a language model on this machine");
            let chosen = settings.tier_models(&TierModels::same_for_all(model));
            let context_tokens = smallest_context(&models, &chosen);
            return Ok((openai::provider(url, chosen, &settings, pauses)?, context_tokens));
        }
    }
    tracing::info!("no language model found on this machine; the offline provider is used");
    Ok((offline, None))
}

async fn openai_compatible(
    settings: &ProviderSettings,
    pauses: Arc<dyn RetryTimer>,
) -> Result<ConnectedProvider, LlmError> {
    let own = settings.base_url.trim().is_empty();
    let url = settings.address()?;
    check_key(settings, &url, OPENAI_BASE_URL)?;
    let mut models =
        settings.tier_models(&if own { default_models(OPENAI_MODELS) } else { TierModels::default() });
    // Only a server on this machine without configured models is asked; for others, the settings have the context
    // size.
    let asks = !models.is_complete() && is_loopback(&url);
    let listed = if asks { list_local_models(&url).await } else { Vec::new() };
    if !models.is_complete()
        && let Some(model) = first_for_chat(&listed)
    {
        models = settings.tier_models(&TierModels::same_for_all(model));
    }
    if !models.is_complete() {
        return Err(LlmError::fatal_error(format!(
            "{} offers several models. Choose one with llm.model.",
            http::host_of(&url)
        )));
    }
    let context_tokens = smallest_context(&listed, &models);
    Ok((openai::provider(url, models, settings, pauses)?, context_tokens))
}

/// The smallest context size of the selected models, if the endpoint reports it.
fn smallest_context(listed: &[ListedModel], chosen: &TierModels) -> Option<u32> {
    let taken = |name: &str| listed.iter().find(|model| model.id == name)?.context_tokens();
    [ModelTier::Small, ModelTier::Medium, ModelTier::Large]
        .into_iter()
        .map(|tier| taken(chosen.for_tier(tier)))
        .min()
        .flatten()
}
