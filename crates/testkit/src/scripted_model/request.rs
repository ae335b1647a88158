//! Recorded requests.

use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRequest {
    /// The task that was determined; `"models"` for the list of models.
    pub task: String,
    pub method: String,
    /// The path, without a query.
    pub path: String,
    /// Headers in order, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; `Null` if there is none or it is not JSON.
    pub body: Value,
}

impl RecordedRequest {
    /// The first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The API key of the request, from either protocol's header.
    #[must_use]
    pub fn api_key(&self) -> Option<&str> {
        let bearer = self.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        bearer.or_else(|| self.header("x-api-key"))
    }

    #[must_use]
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// True if the answer should be streamed.
    #[must_use]
    pub fn is_streamed(&self) -> bool {
        self.body["stream"] == Value::Bool(true)
    }

    /// The system text: Anthropic's own field, or the messages with that role.
    #[must_use]
    pub fn system(&self) -> String {
        match &self.body["system"] {
            Value::Null => self.said_by(&["system", "developer"]),
            system => text_of(system),
        }
    }

    /// The texts of the user's messages, joined.
    #[must_use]
    pub fn user(&self) -> String {
        self.said_by(&["user"])
    }

    /// The JSON schema of the request.
    #[must_use]
    pub fn schema(&self) -> Option<&Value> {
        let schema = &self.body["response_format"]["json_schema"]["schema"];
        (!schema.is_null()).then_some(schema)
    }

    /// The type of `response_format`: `"json_schema"`, `"json_object"`, or `None`.
    #[must_use]
    pub fn response_format(&self) -> Option<&str> {
        self.body["response_format"]["type"].as_str()
    }

    pub(super) fn schema_name(&self) -> Option<&str> {
        self.body["response_format"]["json_schema"]["name"].as_str()
    }

    fn said_by(&self, roles: &[&str]) -> String {
        let messages = self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let of_roles = |message: &&Value| message["role"].as_str().is_some_and(|role| roles.contains(&role));
        messages
            .iter()
            .filter(of_roles)
            .map(|message| text_of(&message["content"]))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// The text of a content, which is a text or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
