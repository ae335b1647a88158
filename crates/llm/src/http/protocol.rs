//! The port of a protocol.

use reqwest::Url;
use reqwest::header::HeaderMap;

use super::SseEvent;
use crate::{AnswerFormat, LlmError, Request, Usage};

/// An HTTP protocol of a provider. Implementations only build requests and parse answers; they do no input or output.
pub(crate) trait Protocol: Send + Sync + 'static {
    fn name(&self) -> &'static str;

    /// The address for requests.
    fn url(&self) -> &Url;

    /// Host and port, for error messages.
    fn host(&self) -> &str;

    /// Headers with the key, marked sensitive.
    fn headers(&self) -> HeaderMap;

    /// Capabilities assumed of an endpoint before its first answer.
    fn assumed_capabilities(&self) -> Capabilities;

    fn request_body(
        &self,
        request: &Request,
        model: &str,
        accepts: Capabilities,
        streaming: bool,
    ) -> Result<Vec<u8>, LlmError>;

    /// Parses a complete answer.
    fn parse_answer(&self, body: &[u8]) -> Result<ParsedAnswer, LlmError>;

    /// Parses one event of a streamed answer.
    fn read_event(&self, event: &SseEvent, progress: &mut Progress) -> Result<StreamItem, LlmError>;
}

/// An answer after it was parsed.
#[derive(Debug, Default)]
pub(crate) struct ParsedAnswer {
    pub(crate) text: String,
    pub(crate) usage: Option<Usage>,
    pub(crate) model: Option<String>,
}

/// State of a stream besides its text.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) usage: Option<Usage>,
    pub(crate) model: Option<String>,
}

/// The meaning of one event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamItem {
    /// A piece of the answer's text.
    Text(String),
    /// The model is working and has sent no text yet.
    Thought,
    Nothing,
    /// The protocol's own end mark.
    End,
}

/// Capabilities of an endpoint, learned from its refusals and remembered until the provider is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) json: JsonMode,
    pub(crate) limit: LimitField,
    pub(crate) stream_usage: bool,
    pub(crate) temperature: bool,
}

/// Ways to request a JSON answer, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonMode {
    Schema,
    /// `response_format: json_object`, and the schema in the system text.
    Object,
    /// The schema in the system text only.
    Instructions,
}

/// The field that carries `max_tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitField {
    /// `max_tokens`, required by the protocol.
    Required,
    /// The reply ended at `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`, the newer name.
    MaxCompletionTokens,
    None,
}

impl Capabilities {
    /// The next form to try after the endpoint refused this request with `complaint` (its error text), or `None` if
    /// no parameter can be left out.
    ///
    /// A parameter named in the complaint is left out first. A JSON request refused without such a name falls back to
    /// the next way of asking for JSON.
    pub(crate) fn fallback(
        self,
        complaint: &str,
        request: &Request,
        streaming: bool,
    ) -> Option<Capabilities> {
        let complaint = complaint.to_lowercase();
        let names = |word: &str| complaint.contains(word);
        if streaming && self.stream_usage && (names("stream_options") || names("include_usage")) {
            return Some(Capabilities { stream_usage: false, ..self });
        }
        if self.temperature && request.temperature.is_some() && names("temperature") {
            return Some(Capabilities { temperature: false, ..self });
        }
        if request.max_tokens.is_some() && (names("max_tokens") || names("max_completion_tokens")) {
            match self.limit {
                LimitField::MaxTokens => {
                    return Some(Capabilities { limit: LimitField::MaxCompletionTokens, ..self });
                }
                LimitField::MaxCompletionTokens => {
                    return Some(Capabilities { limit: LimitField::None, ..self });
                }
                LimitField::Required | LimitField::None => {}
            }
        }
        match (&request.answer, self.json) {
            (AnswerFormat::Json { .. }, JsonMode::Schema) => {
                Some(Capabilities { json: JsonMode::Object, ..self })
            }
            (AnswerFormat::Json { .. }, JsonMode::Object) => {
                Some(Capabilities { json: JsonMode::Instructions, ..self })
            }
            _ => None,
        }
    }
}

/// The schema as part of the system text, for endpoints without a parameter for it.
pub(crate) fn schema_instructions(schema: &serde_json::Value) -> String {
    format!(
        "\n\n# Form of the answer\nAnswer with exactly one JSON object and nothing else: no prose before or after it, no code fence. The object must satisfy this JSON schema:\n{schema}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelTier;

    const FRESH: Capabilities = Capabilities {
        json: JsonMode::Schema,
        limit: LimitField::MaxTokens,
        stream_usage: true,
        temperature: true,
    };

    fn request(answer: AnswerFormat) -> Request {
        Request {
            task: "extraction".to_owned(),
            tier: ModelTier::Small,
            system: String::new(),
            user: String::new(),
            answer,
            temperature: Some(0.5),
            max_tokens: Some(9),
            inputs: serde_json::Value::Null,
        }
    }

    fn json() -> AnswerFormat {
        AnswerFormat::Json { name: "extraction".to_owned(), schema: serde_json::json!({"type": "object"}) }
    }

    #[test]
    fn json_falls_back_in_two_steps_and_then_gives_up() {
        let object = FRESH.fallback("unknown field", &request(json()), false).unwrap();
        assert_eq!(object.json, JsonMode::Object);
        let text = object.fallback("unknown field", &request(json()), false).unwrap();
        assert_eq!(text.json, JsonMode::Instructions);
        assert_eq!(text.fallback("unknown field", &request(json()), false), None);
    }

    #[test]
    fn a_named_parameter_is_left_out_before_anything_else() {
        let asked = request(json());
        let cold = FRESH.fallback("Unsupported value: 'temperature'", &asked, false).unwrap();
        assert!(!cold.temperature && cold.json == JsonMode::Schema);
        let renamed = FRESH.fallback("Unsupported parameter: 'max_tokens'", &asked, false).unwrap();
        assert_eq!(renamed.limit, LimitField::MaxCompletionTokens);
        let counted = FRESH.fallback("stream_options is not permitted", &asked, true).unwrap();
        assert!(!counted.stream_usage);
    }

    #[test]
    fn a_text_request_has_nothing_more_to_give_up() {
        assert_eq!(FRESH.fallback("no such model", &request(AnswerFormat::Text), true), None);
    }

    #[test]
    fn a_required_limit_is_sent() {
        let claude = Capabilities { limit: LimitField::Required, json: JsonMode::Instructions, ..FRESH };
        assert_eq!(claude.fallback("max_tokens: 9 is too many", &request(json()), false), None);
    }
}
