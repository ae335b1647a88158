//! Lists the models of endpoints.

use std::time::Duration;

use futures_util::future::join_all;
use outgoing::mask_key;
use reqwest::{Response, StatusCode, Url};
use serde::Deserialize;
use tokio::time::timeout;

use crate::http::{ErrorBody, client, error_of_status, host_of, transport_error};
use crate::key::check_key;
use crate::settings::{ANTHROPIC_BASE_URL, OPENAI_BASE_URL, is_loopback};
use crate::{LlmError, LocalEndpoint, ProviderKind, ProviderSettings, anthropic, openai};

/// Time limit for a model server on this machine to list its models. One that runs answers within milliseconds, and
/// the page waits for it.
const PROBE_TIME: Duration = Duration::from_millis(500);
/// Time limit for another endpoint to list its models: a person waits for the list.
const LIST_TIME_MAX: Duration = Duration::from_secs(15);
/// Maximum bytes of a list of models. Services with hundreds of models send less.
const MAX_LIST_BYTES: usize = 1024 * 1024;
/// Parts of names of models that can't chat.
const NOT_FOR_CHAT: &[&str] = &[
    "embed",
    "bge-",
    "minilm",
    "rerank",
    "whisper",
    "tts",
    "dall-e",
    "moderation",
    "transcribe",
    "gpt-image",
    "davinci-002",
    "babbage-002",
    "sora",
];

/// A model server found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// The server's configured name and address.
    pub endpoint: LocalEndpoint,
    /// The server's chat models, in its own order. May be empty.
    pub models: Vec<String>,
}

/// Finds the model servers that answer. All are asked at once, for half a second at most.
pub async fn local_servers(endpoints: Vec<LocalEndpoint>) -> Vec<LocalServer> {
    let asked = endpoints.into_iter().map(|endpoint| async move {
        let url = Url::parse(&endpoint.base_url).ok().filter(is_loopback)?;
        let models = timeout(PROBE_TIME, list_models_of_local_server(&url)).await.ok().flatten()?;
        Some(LocalServer { endpoint, models: chat_model_names(models) })
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// The models of an `openai` or `anthropic` endpoint, sorted. Some may be unable to chat, see [`can_chat`].
///
/// # Errors
///
/// [`LlmError::Auth`] for a missing or refused key, [`LlmError::Transient`] if the endpoint does not answer, and
/// [`LlmError::Fatal`] for a wrong address or an endpoint without a list.
pub async fn list_models(settings: &ProviderSettings) -> Result<Vec<String>, LlmError> {
    let base = settings.address()?;
    let host = host_of(&base);
    let (url, headers) = match settings.provider {
        ProviderKind::Anthropic => {
            check_key(settings, &base, ANTHROPIC_BASE_URL)?;
            anthropic::models_request(&base, settings)?
        }
        _ => {
            check_key(settings, &base, OPENAI_BASE_URL)?;
            openai::models_request(&base, settings)?
        }
    };
    let asked = async {
        let sent =
            client(is_loopback(&base), settings.connect_timeout)?.get(url).headers(headers).send().await;
        let mut response = sent.map_err(|error| transport_error(&host, &error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = read(&mut response).await.map_err(|error| transport_error(&host, &error))?;
        match body {
            _ if status == StatusCode::NOT_FOUND => Err(LlmError::fatal_error(format!(
                "{host} has no list of models at this address. Check the address (it usually ends in /v1), \
                    or enter the model's name."
            ))),
            Some(body) if status.is_success() => models_in(&body, &host),
            None if status.is_success() => Err(unreadable_list(&host)),
            body => {
                Err(error_of_status(&host, status, &headers, &ErrorBody::read(&body.unwrap_or_default())))
            }
        }
    };
    let answered = timeout(LIST_TIME_MAX, asked).await.unwrap_or_else(|_| {
        Err(LlmError::transient(format!(
            "{host} did not answer within {LIST_TIME_MAX:?}. Check the address."
        )))
    });
    answered.map_err(|error| error.map_message(|message| mask_key(message, settings.api_key.as_ref())))
}

fn models_in(body: &[u8], host: &str) -> Result<Vec<String>, LlmError> {
    let list: ModelList = serde_json::from_slice(body).map_err(|_| unreadable_list(host))?;
    let mut models: Vec<String> = list.data.into_iter().map(|model| model.id).collect();
    models.sort_unstable();
    models.dedup();
    Ok(models)
}

fn unreadable_list(host: &str) -> LlmError {
    LlmError::fatal_error(format!(
        "The response of {host} is not a list of models. Check the address: it usually ends in /v1."
    ))
}

/// The models of a server on this machine; `None` if it does not answer in time.
pub(crate) async fn list_local_models(base_url: &Url) -> Vec<ListedModel> {
    timeout(PROBE_TIME, list_models_of_local_server(base_url)).await.ok().flatten().unwrap_or_default()
}

/// The first of these models that can chat.
pub(crate) fn first_for_chat(models: &[ListedModel]) -> Option<&String> {
    models.iter().map(|model| &model.id).find(|model| can_chat(model))
}

fn chat_model_names(models: Vec<ListedModel>) -> Vec<String> {
    models.into_iter().map(|model| model.id).filter(|model| can_chat(model)).collect()
}

/// True if a model can chat, as far as its name shows.
pub fn can_chat(model: &str) -> bool {
    let model = model.to_lowercase();
    !NOT_FOR_CHAT.iter().any(|part| model.contains(part))
}

async fn list_models_of_local_server(base_url: &Url) -> Option<Vec<ListedModel>> {
    let url = openai::join_path(base_url, "models");
    let mut response = client(true, PROBE_TIME).ok()?.get(url).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let body = read(&mut response).await.ok()??;
    let list: ModelList = serde_json::from_slice(&body).ok()?;
    Some(list.data)
}

/// Reads the body; `None` if it exceeds the maximum of a list.
async fn read(response: &mut Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_LIST_BYTES {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
pub(crate) struct ListedModel {
    pub(crate) id: String,
    /// Context length, as named by llama.cpp's and other servers.
    #[serde(default)]
    context_length: Option<u32>,
    /// Context length in the answer of vLLM.
    #[serde(default)]
    max_model_len: Option<u32>,
    /// Context length in LM Studio's answer, for a loaded model.
    #[serde(default)]
    loaded_context_length: Option<u32>,
}

impl ListedModel {
    pub(crate) fn context_tokens(&self) -> Option<u32> {
        self.loaded_context_length.or(self.max_model_len).or(self.context_length)
    }
}
