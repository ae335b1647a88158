//! The two protocols on the wire.

use serde_json::{Value, json};

use super::reply::{Reply, TokenCounts};
use super::request::RecordedRequest;

/// Protocol of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAi,
    Anthropic,
}

impl Dialect {
    pub(super) fn full_response(self, request: &RecordedRequest, reply: &Reply, text: &str) -> Value {
        let model = request.model();
        match self {
            Dialect::OpenAi => json!({
                "id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": model,
                "choices": [{
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": openai_end(reply),
                }],
                "usage": openai_usage(reply.usage),
            }),
            Dialect::Anthropic => json!({
                "id": "msg_scripted", "type": "message", "role": "assistant", "model": model,
                "content": [{"type": "text", "text": text}],
                "stop_reason": anthropic_end(reply), "stop_sequence": null,
                "usage": anthropic_usage(reply.usage, reply.usage.output),
            }),
        }
    }

    /// An error as a response body.
    pub(super) fn error(self, status: u16, message: &str) -> Value {
        let kind = match status {
            400 | 404 | 413 | 422 => "invalid_request_error",
            401 | 403 => "authentication_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        match self {
            Dialect::OpenAi => {
                json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
            }
            Dialect::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
        }
    }

    /// The events before the first piece of text.
    pub(super) fn opening_events(self, request: &RecordedRequest, reply: &Reply) -> String {
        let model = request.model();
        match self {
            Dialect::OpenAi => {
                openai_event(&openai_chunk(model, &json!({"role": "assistant", "content": ""}), Value::Null))
            }
            Dialect::Anthropic => {
                let start = json!({"type": "message_start", "message": {
                    "id": "msg_scripted", "type": "message", "role": "assistant", "model": model, "content": [],
                    "stop_reason": null, "stop_sequence": null, "usage": anthropic_usage(reply.usage, 1),
                }});
                let block = json!({"type": "content_block_start", "index": 0,
                    "content_block": {"type": "text", "text": ""}});
                [start, block, json!({"type": "ping"})].iter().map(anthropic_event).collect()
            }
        }
    }

    /// One piece of text.
    pub(super) fn text_event(self, request: &RecordedRequest, text: &str) -> String {
        match self {
            Dialect::OpenAi => {
                openai_event(&openai_chunk(request.model(), &json!({"content": text}), Value::Null))
            }
            Dialect::Anthropic => anthropic_event(&json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "text_delta", "text": text}})),
        }
    }

    /// An error in the middle of a stream.
    pub(super) fn error_event(self, message: &str) -> String {
        match self {
            Dialect::OpenAi => openai_event(&self.error(500, message)),
            Dialect::Anthropic => anthropic_event(&self.error(529, message)),
        }
    }

    /// The events after the last piece of text.
    pub(super) fn closing_events(self, request: &RecordedRequest, reply: &Reply) -> String {
        match self {
            Dialect::OpenAi => {
                let mut end =
                    openai_event(&openai_chunk(request.model(), &json!({}), openai_end(reply).into()));
                if request.body["stream_options"]["include_usage"] == Value::Bool(true) {
                    let mut counts = openai_chunk(request.model(), &Value::Null, Value::Null);
                    counts["choices"] = json!([]);
                    counts["usage"] = openai_usage(reply.usage);
                    end += &openai_event(&counts);
                }
                end + "data: [DONE]\n\n"
            }
            Dialect::Anthropic => {
                let end = json!({"type": "message_delta",
                    "delta": {"stop_reason": anthropic_end(reply), "stop_sequence": null},
                    "usage": {"output_tokens": reply.usage.output}});
                let stop = json!({"type": "content_block_stop", "index": 0});
                [stop, end, json!({"type": "message_stop"})].iter().map(anthropic_event).collect()
            }
        }
    }
}

fn openai_chunk(model: &str, delta: &Value, finish_reason: Value) -> Value {
    json!({"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})
}

fn openai_event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn openai_end(reply: &Reply) -> &'static str {
    if reply.reach_token_limit { "length" } else { "stop" }
}

fn openai_usage(counts: TokenCounts) -> Value {
    json!({"prompt_tokens": counts.input, "completion_tokens": counts.output,
        "total_tokens": counts.input + counts.output,
        "prompt_tokens_details": {"cached_tokens": counts.cached}})
}

fn anthropic_event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn anthropic_end(reply: &Reply) -> &'static str {
    if reply.reach_token_limit { "max_tokens" } else { "end_turn" }
}

/// Usage of an Anthropic answer, which counts cached tokens separately from the rest of the input.
fn anthropic_usage(counts: TokenCounts, output: u64) -> Value {
    json!({"input_tokens": counts.input.saturating_sub(counts.cached), "output_tokens": output,
        "cache_read_input_tokens": counts.cached, "cache_creation_input_tokens": 0})
}
