//! Requests of the OpenAI API. Fields that steer a model (temperature, penalties, …) are ignored; fields that would
//! change the kind of answer are refused.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::problem::Problem;

/// The body of `POST /v1/chat/completions`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CompletionRequest {
    /// The persona; default: the configured one.
    #[serde(default)]
    pub(super) model: Option<String>,
    messages: Vec<CompletionMessage>,
    #[serde(default)]
    pub(super) stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    pub(super) user: Option<String>,
    /// Stop sequences: texts before which the answer ends.
    #[serde(default)]
    stop: Option<StopSequences>,
    #[serde(default)]
    n: Option<u32>,
    /// Tools, which personas can't use: only an empty list is accepted.
    #[serde(default)]
    tools: Option<Vec<Value>>,
    /// Predecessor of `tools`, and refused likewise.
    #[serde(default)]
    functions: Option<Vec<Value>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum StopSequences {
    One(String),
    Several(Vec<String>),
}

/// Maximum stop sequences, as in the OpenAI API.
const STOPS_MAX: usize = 4;

#[derive(Deserialize, JsonSchema)]
struct CompletionMessage {
    role: String,
    #[serde(default)]
    content: Option<MessageContent>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum MessageContent {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Deserialize, JsonSchema)]
struct ContentPart {
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

impl CompletionRequest {
    pub(super) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().and_then(|options| options.include_usage).unwrap_or(false)
    }

    /// Refuses unsupported requests before anything is written.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let asked = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|list| !list.is_empty());
        for (name, list) in [("tools", &self.tools), ("functions", &self.functions)] {
            if asked(list) {
                return Err(unsupported_parameter(
                    name,
                    "a persona uses no tools, so send the request without them",
                ));
            }
        }
        if self.n.is_some_and(|n| n != 1) {
            return Err(unsupported_parameter("n", "a persona replies once, so it must be 1"));
        }
        if self.stops().len() > STOPS_MAX {
            let detail = format!("stop: at most {STOPS_MAX} texts; nothing was saved");
            return Err(Problem::bad_request(detail).with_param("stop"));
        }
        Ok(())
    }

    /// The stop sequences of the request.
    pub(super) fn stops(&self) -> Vec<String> {
        let stops = match &self.stop {
            None => Vec::new(),
            Some(StopSequences::One(stop)) => vec![stop.clone()],
            Some(StopSequences::Several(stops)) => stops.clone(),
        };
        stops.into_iter().filter(|stop| !stop.is_empty()).collect()
    }

    /// The text of the last user message; text parts are joined by line breaks. A program's text in the user's place
    /// is refused, because it would be remembered as the user's words.
    pub(super) fn last_user_text(&mut self) -> Result<String, Problem> {
        let words = self.last_words()?;
        if is_program_task(&words) {
            let detail = "messages: this is a task that the program sets by itself (a title, tags, suggestions, or documents \
                          around somebody's words), not what a person says; nothing was written. Switch it off there, \
                          give such tasks a model of their own, or set openai.utility_prompts = \"answer\" here";
            return Err(Problem::bad_request(detail).with_param("messages").with_code("unsupported_content"));
        }
        Ok(words)
    }

    /// The last user message if a program wrote it for the model itself, for example to get a title for the chat.
    pub(super) fn utility_prompt(&self) -> Option<String> {
        let last = self.messages.iter().rev().find(|message| message.role == "user")?;
        let text = match last.content.as_ref()? {
            MessageContent::Text(text) => text.clone(),
            MessageContent::Parts(parts) => {
                parts.iter().filter_map(|part| part.text.as_deref()).collect::<Vec<_>>().join("\n")
            }
        };
        is_program_task(&text).then_some(text)
    }

    fn last_words(&mut self) -> Result<String, Problem> {
        let last = self.messages.iter_mut().rev().find(|message| message.role == "user");
        let Some(content) = last.and_then(|message| message.content.take()) else {
            let detail = "messages: no user message found";
            return Err(Problem::bad_request(detail).with_param("messages"));
        };
        match content {
            MessageContent::Text(text) => Ok(text),
            MessageContent::Parts(parts) => {
                if let Some(other) = parts.iter().find(|part| part.kind != "text") {
                    let detail = format!(
                        "messages: parts of type {} are not supported, only text; nothing was saved",
                        other.kind
                    );
                    let refusal = Problem::bad_request(detail).with_param("messages");
                    return Err(refusal.with_code("unsupported_content"));
                }
                Ok(parts.into_iter().filter_map(|part| part.text).collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

/// True if a text is one of the tasks that Open WebUI sends to a model in a user's name. They all begin and end
/// alike, around the conversation so far or around documents.
fn is_program_task(text: &str) -> bool {
    let around = |tag: &str| text.contains(&format!("<{tag}>")) && text.contains(&format!("</{tag}>"));
    text.starts_with("### Task:")
        && text.contains("### Output:")
        && (around("chat_history") || around("context"))
}

fn unsupported_parameter(param: &'static str, why: &str) -> Problem {
    let refusal = Problem::bad_request(format!("{param}: {why}; nothing was saved"));
    refusal.with_param(param).with_code("unsupported_parameter")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(messages: serde_json::Value) -> Option<String> {
        let body = serde_json::json!({"messages": messages, "temperature": 0.2, "tools": []});
        serde_json::from_value::<CompletionRequest>(body).unwrap().last_user_text().ok()
    }

    #[test]
    fn the_last_user_message_is_the_message() {
        let messages = serde_json::json!([
            {"role": "system", "content": "be brief"}, {"role": "user", "content": "first"},
            {"role": "assistant", "content": null, "tool_calls": []}, {"role": "user", "content": "second"},
            {"role": "assistant", "content": "prefill"},
        ]);
        assert_eq!(words(messages).as_deref(), Some("second"));
    }

    #[test]
    fn a_task_of_the_program_is_no_message() {
        let task = |around: &str, inside: &str| {
            let text = format!("### Task:\nDo it.\n### Output:\nJSON.\n<{around}>\n{inside}\n</{around}>\n");
            words(serde_json::json!([{"role": "user", "content": text}]))
        };
        assert_eq!(task("chat_history", "USER: I went to the river."), None);
        assert_eq!(task("context", "a document"), None);
        assert!(task("b", "bold").is_some());
        let prompt_text = "### Task:\nI have to mow the lawn.";
        assert_eq!(
            words(serde_json::json!([{"role": "user", "content": prompt_text}])).as_deref(),
            Some(prompt_text)
        );
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
