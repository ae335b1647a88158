//! What a client of the OpenAI API asks. Fields that steer a model (temperature, tools, …) are not ours to follow and
//! are passed over.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Problem;

/// The body of `POST /v1/chat/completions`.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatCompletionRequest")]
pub(crate) struct Completion {
    /// The persona; the configured one by default.
    #[serde(default)]
    pub(super) model: Option<String>,
    messages: Vec<Message>,
    #[serde(default)]
    pub(super) stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    pub(super) user: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatCompletionMessage")]
struct Message {
    role: String,
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ChatCompletionContent")]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatCompletionPart")]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

impl Completion {
    pub(super) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().and_then(|options| options.include_usage).unwrap_or(false)
    }

    /// The words of the last user message; text parts are joined by line breaks.
    pub(super) fn words(&mut self) -> Result<String, Problem> {
        let last = self.messages.iter_mut().rev().find(|message| message.role == "user");
        let Some(content) = last.and_then(|message| message.content.take()) else {
            return Err(Problem::bad_request("messages: there is no user message to answer"));
        };
        match content {
            Content::Text(text) => Ok(text),
            Content::Parts(parts) => {
                let text = |part: Part| part.text.filter(|_| part.kind == "text");
                let texts: Option<Vec<String>> = parts.into_iter().map(text).collect();
                texts.map(|texts| texts.join("\n")).ok_or_else(|| {
                    Problem::bad_request("messages: only text can be read here; nothing was written")
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(messages: serde_json::Value) -> Option<String> {
        let body = serde_json::json!({"messages": messages, "temperature": 0.2, "tools": []});
        serde_json::from_value::<Completion>(body).unwrap().words().ok()
    }

    #[test]
    fn the_last_user_message_is_what_is_said() {
        let messages = serde_json::json!([
            {"role": "system", "content": "be brief"}, {"role": "user", "content": "first"},
            {"role": "assistant", "content": null, "tool_calls": []}, {"role": "user", "content": "second"},
            {"role": "assistant", "content": "prefill"},
        ]);
        assert_eq!(words(messages).as_deref(), Some("second"));
    }

    #[test]
    fn text_parts_are_read_and_pictures_are_refused() {
        let text = serde_json::json!({"type": "text", "text": "one"});
        let picture = serde_json::json!({"type": "image_url", "image_url": {"url": "data:"}});
        assert_eq!(
            words(serde_json::json!([{"role": "user", "content": [text, text]}])).as_deref(),
            Some("one\none")
        );
        assert_eq!(words(serde_json::json!([{"role": "user", "content": [text, picture]}])), None);
        assert_eq!(words(serde_json::json!([{"role": "system", "content": "alone"}])), None);
    }
}
