//! Anthropic's protocol: `POST {root}/v1/messages`. JSON is requested by instructions only.

use std::sync::Arc;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::{
    self, Capabilities, ErrorBody, HttpProvider, JsonMode, LimitField, ParsedAnswer, Progress, Protocol,
    SseEvent, StreamItem,
};
use crate::openai::join_path;
use crate::{AnswerFormat, LlmError, Provider, ProviderSettings, Request, RetryTimer, TierModels, Usage};

const VERSION: &str = "2023-06-01";

/// Maximum tokens of an answer if a request sets none: the protocol requires a limit.
const DEFAULT_MAX_TOKENS: u32 = 4096;

/// Creates a provider for the endpoint at `base_url`, with or without `/v1`.
pub(crate) fn provider(
    base_url: &Url,
    models: TierModels,
    settings: &ProviderSettings,
    pauses: Arc<dyn RetryTimer>,
) -> Result<Arc<dyn Provider>, LlmError> {
    let root = api_root(base_url);
    let key = settings.api_key.as_ref().map(key_header).transpose()?;
    let protocol = Messages { url: join_path(&root, "v1/messages"), host: http::host_of(base_url), key };
    Ok(Arc::new(HttpProvider::new(protocol, models, settings, pauses)?))
}

/// The address and the headers of a request for the list of models.
pub(crate) fn models_request(base: &Url, settings: &ProviderSettings) -> Result<(Url, HeaderMap), LlmError> {
    let mut url = join_path(&api_root(base), "v1/models");
    url.set_query(Some("limit=1000"));
    Ok((url, request_headers(settings.api_key.as_ref().map(key_header).transpose()?)))
}

fn api_root(base_url: &Url) -> Url {
    let mut root = base_url.clone();
    root.set_path(base_url.path().trim_end_matches('/').trim_end_matches("/v1"));
    root
}

fn request_headers(key: Option<HeaderValue>) -> HeaderMap {
    let version = HeaderValue::from_static(VERSION);
    let key = key.map(|key| (HeaderName::from_static("x-api-key"), key));
    key.into_iter().chain([(HeaderName::from_static("anthropic-version"), version)]).collect()
}

fn key_header(key: &SecretString) -> Result<HeaderValue, LlmError> {
    let mut value = HeaderValue::from_str(key.expose_secret().trim()).map_err(|_| LlmError::Auth {
        message: "The API key contains invalid characters. Copy it again.".to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

struct Messages {
    url: Url,
    host: String,
    key: Option<HeaderValue>,
}

impl Protocol for Messages {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn url(&self) -> &Url {
        &self.url
    }

    fn host(&self) -> &str {
        &self.host
    }

    fn headers(&self) -> HeaderMap {
        request_headers(self.key.clone())
    }

    fn assumed_capabilities(&self) -> Capabilities {
        Capabilities {
            json: JsonMode::Instructions,
            limit: LimitField::Required,
            stream_usage: true,
            temperature: true,
        }
    }

    fn request_body(
        &self,
        request: &Request,
        model: &str,
        accepts: Capabilities,
        streaming: bool,
    ) -> Result<Vec<u8>, LlmError> {
        let mut system = request.system.clone();
        if let AnswerFormat::Json { schema, .. } = &request.answer {
            system.push_str(&http::schema_instructions(schema));
        }
        let body = MessagesRequest {
            model,
            max_tokens: request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
            system: (!system.is_empty()).then_some(&system),
            messages: [Message { role: "user", content: &request.user }],
            // The scale of temperatures ends at 1 in this protocol.
            temperature: request.temperature.filter(|_| accepts.temperature).map(|value| value.min(1.0)),
            stream: streaming,
        };
        serde_json::to_vec(&body)
            .map_err(|error| LlmError::fatal_error(format!("The request could not be written ({error}).")))
    }

    fn parse_answer(&self, body: &[u8]) -> Result<ParsedAnswer, LlmError> {
        let value = self.read(body)?;
        let answer: Answer = serde_json::from_value(value).map_err(|_other_shape| self.unreadable())?;
        self.refuse(answer.stop_reason.as_deref())?;
        let blocks = answer.content.ok_or_else(|| self.unreadable())?;
        let text = blocks.into_iter().filter_map(|block| block.text).collect();
        Ok(ParsedAnswer { text, usage: answer.usage.map(Into::into), model: answer.model })
    }

    fn read_event(&self, event: &SseEvent, progress: &mut Progress) -> Result<StreamItem, LlmError> {
        let value = self.read(event.data.as_bytes())?;
        let event: MessageEvent = serde_json::from_value(value).map_err(|_other_shape| self.unreadable())?;
        match event.kind.as_deref() {
            Some("message_start") => {
                let message = event.message.unwrap_or_default();
                progress.model = message.model;
                progress.usage = message.usage.map(Into::into);
                Ok(StreamItem::Nothing)
            }
            Some("content_block_delta") => {
                let text = event.delta.and_then(|delta| delta.text);
                Ok(text.filter(|text| !text.is_empty()).map_or(StreamItem::Thought, StreamItem::Text))
            }
            Some("message_delta") => {
                self.refuse(event.delta.and_then(|delta| delta.stop_reason).as_deref())?;
                // Counts are cumulative, and only the output counts are always repeated here.
                if let (Some(known), Some(usage)) = (&mut progress.usage, event.usage) {
                    known.output_tokens = usage.output_tokens.unwrap_or(known.output_tokens);
                }
                Ok(StreamItem::Nothing)
            }
            Some("message_stop") => Ok(StreamItem::End),
            _ => Ok(StreamItem::Nothing),
        }
    }
}

impl Messages {
    fn read(&self, json: &[u8]) -> Result<Value, LlmError> {
        let value: Value = serde_json::from_slice(json).map_err(|_garbage| self.unreadable())?;
        match ErrorBody::find(&value) {
            Some(complaint) => Err(http::error_in_stream(&self.host, &complaint)),
            None => Ok(value),
        }
    }

    fn refuse(&self, stop_reason: Option<&str>) -> Result<(), LlmError> {
        if stop_reason == Some("refusal") {
            let message = format!("The language model at {} declined to answer this.", self.host);
            return Err(LlmError::Refused { message });
        }
        Ok(())
    }

    fn unreadable(&self) -> LlmError {
        LlmError::fatal_error(format!(
            "The response of {} is not in Anthropic's format. Nothing was lost; check llm.base_url.",
            self.host
        ))
    }
}

#[derive(Serialize)]
struct MessagesRequest<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a String>,
    messages: [Message<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    stream: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Default, Deserialize)]
struct Answer {
    content: Option<Vec<Block>>,
    stop_reason: Option<String>,
    usage: Option<MessageUsage>,
    model: Option<String>,
}

#[derive(Deserialize)]
struct Block {
    text: Option<String>,
}

#[derive(Deserialize)]
struct MessageEvent {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<Answer>,
    delta: Option<Delta>,
    usage: Option<MessageUsage>,
}

#[derive(Deserialize)]
struct Delta {
    text: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct MessageUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl From<MessageUsage> for Usage {
    /// Converts the token counts. Anthropic's `input_tokens` excludes tokens read from or written to the cache; ours
    /// includes them.
    fn from(usage: MessageUsage) -> Usage {
        let cached = usage.cache_read_input_tokens.unwrap_or(0);
        let written = usage.cache_creation_input_tokens.unwrap_or(0);
        Usage {
            input_tokens: usage.input_tokens.unwrap_or(0) + cached + written,
            output_tokens: usage.output_tokens.unwrap_or(0),
            cached_tokens: cached,
            reported: true,
        }
    }
}
