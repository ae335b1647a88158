//! OpenAI-compatible endpoints: `POST {base_url}/chat/completions`.

use std::sync::Arc;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::http::{
    self, Capabilities, ErrorBody, HttpProvider, JsonMode, LimitField, ParsedAnswer, Progress, Protocol,
    SseEvent, StreamItem,
};
use crate::{AnswerFormat, LlmError, Provider, ProviderSettings, Request, RetryTimer, TierModels, Usage};

/// Creates a provider for the endpoint at `base_url`.
pub(crate) fn provider(
    base_url: Url,
    models: TierModels,
    settings: &ProviderSettings,
    pauses: Arc<dyn RetryTimer>,
) -> Result<Arc<dyn Provider>, LlmError> {
    let authorization = settings.api_key.as_ref().map(bearer_header).transpose()?;
    let protocol = ChatCompletions {
        url: join_path(&base_url, "chat/completions"),
        host: http::host_of(&base_url),
        authorization,
    };
    Ok(Arc::new(HttpProvider::new(protocol, models, settings, pauses)?))
}

/// The address and the headers of a request for the list of models.
pub(crate) fn models_request(base: &Url, settings: &ProviderSettings) -> Result<(Url, HeaderMap), LlmError> {
    let authorization = settings.api_key.as_ref().map(bearer_header).transpose()?;
    Ok((join_path(base, "models"), authorization.into_iter().map(|value| (AUTHORIZATION, value)).collect()))
}

/// Joins a base and a path, with or without a slash between them.
pub(crate) fn join_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

fn bearer_header(key: &SecretString) -> Result<HeaderValue, LlmError> {
    let mut value =
        HeaderValue::from_str(&format!("Bearer {}", key.expose_secret().trim())).map_err(|_| {
            LlmError::Auth { message: "The API key contains invalid characters. Copy it again.".to_owned() }
        })?;
    value.set_sensitive(true);
    Ok(value)
}

struct ChatCompletions {
    url: Url,
    host: String,
    authorization: Option<HeaderValue>,
}

impl Protocol for ChatCompletions {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn url(&self) -> &Url {
        &self.url
    }

    fn host(&self) -> &str {
        &self.host
    }

    fn headers(&self) -> HeaderMap {
        self.authorization.iter().map(|value| (AUTHORIZATION, value.clone())).collect()
    }

    fn assumed_capabilities(&self) -> Capabilities {
        Capabilities {
            json: JsonMode::Schema,
            limit: LimitField::MaxTokens,
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
        let response_format = match (&request.answer, accepts.json) {
            (AnswerFormat::Text, _) => None,
            (AnswerFormat::Json { name, schema }, JsonMode::Schema) => Some(json!({
                "type": "json_schema",
                "json_schema": {"name": name, "schema": schema, "strict": fits_strict_mode(schema)},
            })),
            (AnswerFormat::Json { schema, .. }, mode) => {
                system.push_str(&http::schema_instructions(schema));
                (mode == JsonMode::Object).then(|| json!({"type": "json_object"}))
            }
        };
        let system = (!system.is_empty()).then_some(Message { role: "system", content: &system });
        let limit = |field| request.max_tokens.filter(|_| accepts.limit == field);
        let body = ChatRequest {
            model,
            messages: system.into_iter().chain([Message { role: "user", content: &request.user }]).collect(),
            stream: streaming,
            stream_options: (streaming && accepts.stream_usage).then(|| json!({"include_usage": true})),
            temperature: request.temperature.filter(|_| accepts.temperature),
            max_tokens: limit(LimitField::MaxTokens),
            max_completion_tokens: limit(LimitField::MaxCompletionTokens),
            response_format,
        };
        serde_json::to_vec(&body)
            .map_err(|error| LlmError::fatal_error(format!("The request could not be written ({error}).")))
    }

    fn parse_answer(&self, body: &[u8]) -> Result<ParsedAnswer, LlmError> {
        let chat = self.read(body)?;
        let Some(choice) = chat.choices.into_iter().flatten().next() else { return Err(self.unreadable()) };
        let message = choice.message.unwrap_or_default();
        self.refuse(message.refusal.as_deref(), choice.finish_reason.as_deref())?;
        let text = message.content.ok_or_else(|| self.unreadable())?;
        Ok(ParsedAnswer { text, usage: chat.usage.map(Into::into), model: chat.model })
    }

    fn read_event(&self, event: &SseEvent, progress: &mut Progress) -> Result<StreamItem, LlmError> {
        if event.data.trim() == "[DONE]" {
            return Ok(StreamItem::End);
        }
        let chat = self.read(event.data.as_bytes())?;
        if let Some(usage) = chat.usage {
            progress.usage = Some(usage.into());
        }
        if progress.model.is_none() {
            progress.model = chat.model.filter(|model| !model.is_empty());
        }
        let Some(choice) = chat.choices.into_iter().flatten().next() else { return Ok(StreamItem::Nothing) };
        let delta = choice.delta.unwrap_or_default();
        self.refuse(delta.refusal.as_deref(), choice.finish_reason.as_deref())?;
        Ok(match delta.content.filter(|content| !content.is_empty()) {
            Some(content) => StreamItem::Text(content),
            None if delta.reasoning_content.is_some() || delta.reasoning.is_some() => StreamItem::Thought,
            None => StreamItem::Nothing,
        })
    }
}

impl ChatCompletions {
    fn read(&self, json: &[u8]) -> Result<Chat, LlmError> {
        let value: Value = serde_json::from_slice(json).map_err(|_garbage| self.unreadable())?;
        if let Some(complaint) = ErrorBody::find(&value) {
            return Err(http::error_in_stream(&self.host, &complaint));
        }
        serde_json::from_value(value).map_err(|_other_shape| self.unreadable())
    }

    fn refuse(&self, refusal: Option<&str>, finish_reason: Option<&str>) -> Result<(), LlmError> {
        match refusal.filter(|words| !words.is_empty()) {
            None if finish_reason != Some("content_filter") => Ok(()),
            _ => Err(LlmError::Refused {
                message: format!("The language model at {} declined to answer this.", self.host),
            }),
        }
    }

    fn unreadable(&self) -> LlmError {
        LlmError::fatal_error(format!(
            "The answer of {} is not a chat completion. Nothing was lost; check llm.base_url (it usually \
                ends in /v1).",
            self.host
        ))
    }
}

/// True if a schema meets the conditions of `strict`: every object closed, and every property required.
fn fits_strict_mode(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let closed = match fields.get("properties").and_then(Value::as_object) {
                None => fields.get("type").and_then(Value::as_str) != Some("object"),
                Some(properties) => {
                    let required = fields.get("required").and_then(Value::as_array);
                    fields.get("additionalProperties") == Some(&Value::Bool(false))
                        && properties.keys().all(|name| {
                            required.is_some_and(|names| names.iter().any(|other| other == name.as_str()))
                        })
                }
            };
            closed && fields.values().all(fits_strict_mode)
        }
        Value::Array(items) => items.iter().all(fits_strict_mode),
        _ => true,
    }
}

#[derive(Serialize)]
struct ChatRequest<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Deserialize)]
struct Chat {
    choices: Option<Vec<Choice>>,
    usage: Option<ChatUsage>,
    model: Option<String>,
}

#[derive(Deserialize)]
struct Choice {
    message: Option<ChatAnswer>,
    delta: Option<ChatAnswer>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct ChatAnswer {
    content: Option<String>,
    refusal: Option<String>,
    /// The thoughts of a reasoning model, under its two usual names.
    reasoning_content: Option<String>,
    reasoning: Option<String>,
}

#[derive(Deserialize)]
struct ChatUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptTokens>,
}

#[derive(Deserialize)]
struct PromptTokens {
    cached_tokens: Option<u64>,
}

impl From<ChatUsage> for Usage {
    fn from(usage: ChatUsage) -> Usage {
        Usage {
            input_tokens: usage.prompt_tokens.unwrap_or(0),
            output_tokens: usage.completion_tokens.unwrap_or(0),
            cached_tokens: usage.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0),
            reported: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_is_asked_only_of_schemas_that_allow_it() {
        let open = json!({"type": "object", "properties": {"a": {}}, "required": ["a"]});
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
        let optional =
            json!({"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": false});
        assert!(fits_strict_mode(&closed));
        assert!(!fits_strict_mode(&open));
        assert!(!fits_strict_mode(&optional));
        assert!(!fits_strict_mode(&json!({"type": "object"})));
        let nested = json!({"type": "object", "properties": {"a": open}, "required": ["a"], "additionalProperties": false});
        assert!(!fits_strict_mode(&nested));
    }

    #[test]
    fn a_path_joins_with_and_without_a_slash() {
        for base in ["http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/"] {
            assert_eq!(
                join_path(&Url::parse(base).unwrap(), "models").as_str(),
                "http://127.0.0.1:9/v1/models"
            );
        }
    }
}
