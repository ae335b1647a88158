//! Vectors for requests without a scripted answer.

use serde_json::{Value, json};

use super::{RecordedRequest, Reply};
use crate::embedder::unit_vector;

/// One vector of hashed words per input.
pub(super) fn answer(request: &RecordedRequest) -> Reply {
    let inputs = match &request.body["input"] {
        Value::String(text) => vec![text.as_str()],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => return Reply::error(400, "input must be a text or a list of texts"),
    };
    if inputs.is_empty() || inputs.contains(&"") {
        return Reply::error(400, "input must not be empty");
    }
    let data: Vec<Value> = (0..)
        .zip(&inputs)
        .map(|(index, text): (usize, _)| json!({"object": "embedding", "index": index, "embedding": unit_vector(text)}))
        .collect();
    let usage = json!({"prompt_tokens": inputs.len(), "total_tokens": inputs.len()});
    Reply::json(json!({"object": "list", "data": data, "model": request.model(), "usage": usage}))
}
