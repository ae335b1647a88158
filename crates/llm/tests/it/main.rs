//! Providers with real sockets on this machine.
#![expect(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod scripted_server;

mod anthropic;
mod connect;
mod model_list;
mod fallback;
mod limits;
mod openai;
mod retries;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt, ready};
use llm::{
    AnswerFormat, LlmError, ModelTier, Provider, ProviderKind, ProviderSettings, Request, RetryTimer,
    StreamEvent,
};
use offline::OfflineProvider;
use serde_json::{Value, json};

/// Pauses that take no time and are recorded.
#[derive(Default)]
struct NoPauses {
    asked: Mutex<Vec<Duration>>,
}

impl NoPauses {
    fn asked(&self) -> Vec<Duration> {
        self.asked.lock().unwrap().clone()
    }
}

impl RetryTimer for NoPauses {
    fn pause(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.asked.lock().unwrap().push(duration);
        ready(()).boxed()
    }

    fn jitter(&self) -> f64 {
        0.0
    }
}

fn openai_settings(base_url: String) -> ProviderSettings {
    ProviderSettings {
        provider: ProviderKind::OpenAi,
        base_url,
        api_key: Some("sk-test-key".into()),
        model: "test-model".to_owned(),
        max_retries: 0,
        ..ProviderSettings::default()
    }
}

async fn connected(settings: ProviderSettings) -> Arc<dyn Provider> {
    llm::connect(settings, Arc::new(NoPauses::default()), Arc::new(OfflineProvider)).await.unwrap()
}

fn text_request() -> Request {
    Request {
        task: "reply".to_owned(),
        tier: ModelTier::Large,
        system: "You are Echo.".to_owned(),
        user: "你还记得我的猫吗".to_owned(),
        answer: AnswerFormat::Text,
        temperature: Some(0.7),
        max_tokens: Some(300),
        inputs: json!({"not": "for the wire"}),
    }
}

fn json_request() -> Request {
    let schema = json!({"type": "object", "properties": {"thoughts": {"type": "array"}}});
    Request {
        task: "reflection".to_owned(),
        tier: ModelTier::Small,
        answer: AnswerFormat::Json { name: "reflection".to_owned(), schema },
        ..text_request()
    }
}

/// The text of a stream, and how it ended.
struct Heard {
    text: String,
    end: Option<Result<StreamEvent, LlmError>>,
}

async fn listen(provider: &dyn Provider, request: Request) -> Result<Heard, LlmError> {
    let mut stream = provider.stream(request).await?;
    let mut heard = Heard { text: String::new(), end: None };
    while let Some(event) = stream.next().await {
        assert!(heard.end.is_none(), "something came after the end: {event:?}");
        match event {
            Ok(StreamEvent::Delta(text)) => heard.text.push_str(&text),
            end => heard.end = Some(end),
        }
    }
    Ok(heard)
}

/// A chat-completions stream with these pieces that ends normally.
fn spoken(pieces: &[&str]) -> String {
    let mut body = String::from(
        ": keep-alive\n\ndata: {\"model\":\"test-model-2\",\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n",
    );
    for piece in pieces {
        body.push_str(&chunk(piece));
    }
    body.push_str("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
    body.push_str("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":5,\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\n");
    body.push_str("data: [DONE]\n\n");
    body
}

fn chunk(text: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}))
}

fn completion(text: &str) -> Value {
    json!({
        "model": "test-model-2",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 4},
    })
}
