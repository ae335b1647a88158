//! Converts error responses of an endpoint to an [`LlmError`].

use std::error::Error;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use crate::LlmError;

/// Maximum characters of an endpoint's error text to repeat. A refusal may be the whole page of a proxy.
const MAX_QUOTED_CHARS: usize = 200;

const TOO_LONG_PHRASES: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "maximum context",
];
const REFUSED_PHRASES: &[&str] =
    &["content_filter", "content_policy", "content management policy", "moderation", "safety system"];
const NO_CREDIT_PHRASES: &[&str] =
    &["insufficient_quota", "billing", "credit balance", "insufficient balance"];
const AUTH_PHRASES: &[&str] =
    &["invalid_api_key", "authentication_error", "permission_error", "unauthorized"];
const RATE_PHRASES: &[&str] = &["rate_limit", "rate limit", "too many requests"];
const TRANSIENT_PHRASES: &[&str] = &["overloaded", "server_error", "api_error", "timeout", "unavailable"];

/// Error body of an endpoint, in any of the usual forms.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorBody {
    /// The endpoint's error text.
    pub(crate) message: String,
    /// The error's `type` and `code`, if they are words.
    code: String,
    /// The error's `code`, if that is an HTTP status.
    status: Option<u16>,
}

impl ErrorBody {
    /// Parses an error body as JSON, else takes its text.
    pub(crate) fn read(body: &[u8]) -> ErrorBody {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => ErrorBody::find(&value).unwrap_or_else(|| ErrorBody::from_error(&value)),
            Err(_not_json) => {
                ErrorBody { message: String::from_utf8_lossy(body).into_owned(), ..ErrorBody::default() }
            }
        }
    }

    /// Finds an error inside an otherwise successful answer or event.
    pub(crate) fn find(value: &Value) -> Option<ErrorBody> {
        value.get("error").filter(|error| !error.is_null()).map(ErrorBody::from_error)
    }

    fn from_error(error: &Value) -> ErrorBody {
        let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        let message = [error.as_str().unwrap_or_default(), text("message"), text("detail")]
            .into_iter()
            .find(|message| !message.is_empty())
            .unwrap_or_default();
        let code = error.get("code");
        let status = code
            .and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()))
            .and_then(|code| u16::try_from(code).ok())
            .filter(|code| (400..600).contains(code));
        ErrorBody { message: message.to_owned(), code: format!("{} {}", text("type"), text("code")), status }
    }

    /// True if the error text contains any of these phrases.
    fn contains_phrase(&self, phrases: &[&str]) -> bool {
        let words = format!("{} {}", self.code, self.message).to_lowercase();
        phrases.iter().any(|phrase| words.contains(phrase))
    }

    /// The error text shortened to one line, to append to another text.
    fn short_message(&self) -> String {
        let line = self.message.split_whitespace().collect::<Vec<_>>().join(" ");
        let line: String = line.chars().filter(|letter| !letter.is_control()).collect();
        match line.char_indices().nth(MAX_QUOTED_CHARS) {
            Some((end, _)) => format!(" It said: {}…", &line[..end]),
            None if line.is_empty() => String::new(),
            None => format!(" It said: {line}"),
        }
    }
}

/// Converts an answer with this status into an error.
pub(crate) fn error_of_status(
    host: &str,
    status: StatusCode,
    headers: &HeaderMap,
    complaint: &ErrorBody,
) -> LlmError {
    if status.is_redirection() {
        return LlmError::fatal_error(format!(
            "The address of the language model at {host} redirects to another address ({status}). Messages \
                and key are not sent there. Set llm.base_url to the final address."
        ));
    }
    classify(host, Some(status.as_u16()), retry_after(headers), complaint)
}

/// Converts an error inside an answer that began successfully.
pub(crate) fn error_in_stream(host: &str, complaint: &ErrorBody) -> LlmError {
    classify(host, complaint.status, None, complaint)
}

fn classify(
    host: &str,
    status: Option<u16>,
    retry_after: Option<Duration>,
    complaint: &ErrorBody,
) -> LlmError {
    let code = status.unwrap_or(0);
    let shown = status.map_or(String::new(), |status| format!(" ({status})"));
    let said = complaint.short_message();
    if complaint.contains_phrase(NO_CREDIT_PHRASES) || code == 402 {
        let message = format!(
            "The account at {host} has no credit left{shown}. Nothing was lost; add credit or choose another provider."
        );
        return LlmError::Auth { message };
    }
    // The endpoint's text is left out here, because some repeat part of the key.
    if matches!(code, 401 | 403) && !complaint.contains_phrase(REFUSED_PHRASES)
        || complaint.contains_phrase(AUTH_PHRASES)
    {
        let message = format!(
            "The language model at {host} does not accept the API key{shown}. Check the key and its \
                permissions."
        );
        return LlmError::Auth { message };
    }
    // An error about tokens per minute also mentions too many tokens.
    if code == 413 || (code != 429 && complaint.contains_phrase(TOO_LONG_PHRASES)) {
        let message = format!(
            "The prompt is too long for the language model at {host}. Send less text, or choose a model \
                with a larger context window.{said}"
        );
        return LlmError::TooLong { message };
    }
    if complaint.contains_phrase(REFUSED_PHRASES) {
        return LlmError::Refused {
            message: format!("The language model at {host} declined to answer this.{said}"),
        };
    }
    if code == 429 || complaint.contains_phrase(RATE_PHRASES) || (code == 503 && retry_after.is_some()) {
        let wait = retry_after.map_or(String::new(), |wait| format!(" and to wait {wait:?}"));
        let message = format!(
            "The language model at {host} has reached its rate limit{wait}. Nothing was lost; calls are \
                accepted again later."
        );
        return LlmError::RateLimited { retry_after, message };
    }
    let passing =
        matches!(code, 0 | 408 | 409 | 425 | 500..=599) || complaint.contains_phrase(TRANSIENT_PHRASES);
    if passing {
        return LlmError::transient(format!(
            "The language model at {host} is not available right now{shown}. Nothing was lost; try again in a moment.{said}"
        ));
    }
    LlmError::fatal_error(format!(
        "The language model at {host} did not accept the request{shown}. Check llm.model and llm.base_url.{said}"
    ))
}

/// Converts a connection that could not be opened, or broke, into an error.
pub(crate) fn transport_error(host: &str, error: &reqwest::Error) -> LlmError {
    let cause = root_cause(error);
    if error.is_builder() {
        return LlmError::fatal_error(format!("The request to {host} could not be written ({cause})."));
    }
    let what = if error.is_connect() { "cannot be reached" } else { "closed the connection" };
    LlmError::transient(format!(
        "The language model at {host} {what} ({cause}). Nothing was lost; check that it is running and try \
            again."
    ))
}

/// The innermost cause, which never contains the address or the key.
pub(super) fn root_cause(error: &reqwest::Error) -> String {
    let Some(mut cause) = error.source() else { return "no further reason".to_owned() };
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Time that the endpoint asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date. A date is
/// compared with the answer's own `Date`, so that our clock does not matter.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |text: &str| jiff::fmt::rfc2822::parse(text).ok();
    let wait = date(value)?.timestamp().duration_since(date(text(DATE.as_str())?)?.timestamp());
    Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn kind(status: u16, body: &str) -> &'static str {
        let status = StatusCode::from_u16(status).unwrap();
        error_of_status("a.test", status, &HeaderMap::new(), &ErrorBody::read(body.as_bytes())).kind()
    }

    #[test]
    fn each_refusal_has_its_kind() {
        for (status, body, expected) in [
            (401, r#"{"error":{"message":"Incorrect API key"}}"#, "auth"),
            (403, "forbidden", "auth"),
            (402, "", "auth"),
            (429, r#"{"error":{"code":"insufficient_quota","message":"quota"}}"#, "auth"),
            (429, r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#, "rate_limited"),
            (429, r#"{"error":{"message":"too many tokens per minute"}}"#, "rate_limited"),
            (400, r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#, "too_long"),
            (400, r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000"}}"#, "too_long"),
            (413, "", "too_long"),
            (400, r#"{"error":{"code":"content_filter","message":"filtered"}}"#, "refused"),
            (403, r#"{"error":{"message":"input was flagged by moderation"}}"#, "refused"),
            (500, "<html>oops</html>", "transient"),
            (529, r#"{"type":"error","error":{"type":"overloaded_error"}}"#, "transient"),
            (408, "", "transient"),
            (404, r#"{"error":"model 'x' not found"}"#, "fatal"),
            (400, r#"{"error":{"message":"no"}}"#, "fatal"),
            (302, "", "fatal"),
        ] {
            assert_eq!(kind(status, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn an_error_inside_a_stream_has_its_kind_too() {
        for (body, expected) in [
            (r#"{"error":{"code":502,"message":"upstream"}}"#, "transient"),
            (r#"{"error":{"code":"429","message":"slow"}}"#, "rate_limited"),
            (r#"{"error":{"type":"overloaded_error","message":"busy"}}"#, "transient"),
            (r#"{"error":{"type":"invalid_request_error","code":401}}"#, "auth"),
            (r#"{"error":"something"}"#, "transient"),
        ] {
            assert_eq!(
                error_in_stream("a.test", &ErrorBody::read(body.as_bytes())).kind(),
                expected,
                "{body}"
            );
        }
        assert_eq!(ErrorBody::find(&serde_json::json!({"error": null, "choices": []})), None);
    }

    #[test]
    fn the_wait_is_read_from_every_customary_form() {
        let headers = |pairs: &[(&'static str, &'static str)]| -> HeaderMap {
            pairs
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
                .collect()
        };
        let date = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
        for (pairs, expected) in [
            (vec![("retry-after", "20")], Some(Duration::from_secs(20))),
            (vec![("retry-after", "1.5")], Some(Duration::from_millis(1500))),
            (vec![("retry-after-ms", "250"), ("retry-after", "9")], Some(Duration::from_millis(250))),
            (vec![date, ("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT")], Some(Duration::from_secs(30))),
            (vec![date, ("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT")], Some(Duration::ZERO)),
            (vec![("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT")], None),
            (vec![("retry-after", "-4")], None),
            (vec![], None),
        ] {
            assert_eq!(retry_after(&headers(&pairs)), expected, "{pairs:?}");
        }
    }

    #[test]
    fn an_endpoints_words_are_bounded_and_on_one_line() {
        let complaint = ErrorBody::read(format!("a\n\u{7}b{}", "猫".repeat(5000)).as_bytes());
        let quoted = complaint.short_message();
        assert!(quoted.chars().count() < MAX_QUOTED_CHARS + 20 && quoted.starts_with(" It said: a b猫"));
    }
}
