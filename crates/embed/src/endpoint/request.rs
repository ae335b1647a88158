//! One request to an endpoint, and the interpretation of errors.

use std::error::Error as _;
use std::net::IpAddr;
use std::time::Duration;

use outgoing::{client_builder, mask_key};
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, Response, StatusCode, Url, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::EndpointSettings;
use crate::ModelError;

/// The address of OpenAI's own API.
const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
/// Maximum bytes of an answer: 64 vectors of 4,096 components with ten digits each are 4 MB.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum bytes to read of an error answer: a proxy may send a whole page.
const REFUSAL_BYTES_MAX: usize = 16 * 1024;
/// Maximum characters of the endpoint's error text to repeat in ours: enough for the reason, too few to fill a log.
const QUOTED_CHARACTERS_MAX: usize = 200;

/// Why a request failed, grouped by how the caller reacts. The texts are for people and hold no secret.
pub(super) enum Refusal {
    /// The endpoint is down, slow or too busy: the same request may succeed later.
    Passing {
        /// Time that the endpoint asks to wait.
        retry_after: Option<Duration>,
        message: String,
    },
    /// The endpoint refuses one of the texts, or the model's name.
    Text(String),
    /// A person has to act.
    Final(String),
}

impl Refusal {
    pub(super) fn into_message(self) -> String {
        match self {
            Self::Passing { message, .. } | Self::Text(message) | Self::Final(message) => message,
        }
    }

    fn transient(message: String) -> Self {
        Self::Passing { retry_after: None, message }
    }
}

/// An address with its key.
pub(super) struct Endpoint {
    client: Client,
    url: Url,
    host: String,
    model: String,
    api_key: Option<SecretString>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Endpoint {
    pub(super) fn new(settings: &EndpointSettings) -> Result<Self, ModelError> {
        let url = checked_url(settings)?;
        let local = is_loopback(&url);
        // Redirects are not followed, because they would send texts and the key elsewhere. A client for this machine
        // uses no proxy and loads no certificates, so that a local model works without any.
        let builder = client_builder()
            .user_agent(concat!("echovessel/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(settings.connect_timeout)
            .redirect(redirect::Policy::none());
        let builder = if local { builder.no_proxy().tls_certs_only([]) } else { builder };
        let client = builder.build().map_err(|error| {
            ModelError::Settings(format!(
                "the connection to the embedding model could not be prepared ({}). Check that this machine has CA \
                 certificates",
                root_cause(&error)
            ))
        })?;
        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or_default().to_owned(),
        };
        let model = settings.model.trim().to_owned();
        Ok(Self { client, url, host, model, api_key: settings.api_key.clone() })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Returns one vector per input, in order. All have the same length; they are not scaled to unit length.
    pub(super) async fn ask(&self, inputs: &[String], limit: Duration) -> Result<Vec<Vec<f32>>, Refusal> {
        let mut request = self
            .client
            .post(self.url.clone())
            .timeout(limit)
            .json(&json!({"model": self.model, "input": inputs}));
        if let Some(key) = &self.api_key {
            request = request.bearer_auth(key.expose_secret());
        }
        let mut response = request.send().await.map_err(|error| self.of_transport(&error, limit))?;
        if !response.status().is_success() {
            return Err(self.of_status(response, limit).await);
        }
        let body = self.read(&mut response, ANSWER_BYTES_MAX, limit).await?;
        let body = body.ok_or_else(|| {
            Refusal::Final(format!("the response of {} is too large and was discarded", self.host))
        })?;
        let answer: Answer = serde_json::from_slice(&body).map_err(|error| {
            Refusal::Final(format!(
                "the response of {} is not a list of vectors ({error}); check embedding.base_url and \
                    embedding.model",
                self.host
            ))
        })?;
        self.vectors_in_order(answer, inputs.len())
    }

    fn vectors_in_order(&self, answer: Answer, wanted: usize) -> Result<Vec<Vec<f32>>, Refusal> {
        let wrong = |what: &str| Err(Refusal::Final(format!("the response of {} {what}", self.host)));
        if answer.data.len() != wanted {
            return wrong(&format!("contains {} vectors for {wanted} texts", answer.data.len()));
        }
        let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); wanted];
        for (place, item) in answer.data.into_iter().enumerate() {
            match vectors.get_mut(item.index.unwrap_or(place)) {
                Some(slot) if slot.is_empty() => *slot = item.embedding,
                _ => return wrong("contains two vectors for one text"),
            }
        }
        let usable =
            |vector: &Vec<f32>| vector.iter().all(|x| x.is_finite()) && vector.iter().any(|x| *x != 0.0);
        if !vectors.iter().all(usable) {
            return wrong("contains a vector that is empty, zero or not a number");
        }
        Ok(vectors)
    }

    /// Reads the body; `None` if it is larger than `most`, and then it is not read to its end.
    async fn read(
        &self,
        response: &mut Response,
        most: usize,
        limit: Duration,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.of_transport(&error, limit))? {
            if body.len() + chunk.len() > most {
                return Ok(None);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Some(body))
    }

    fn of_transport(&self, error: &reqwest::Error, limit: Duration) -> Refusal {
        let host = &self.host;
        Refusal::transient(if error.is_timeout() {
            format!("the embedding model at {host} did not respond within {limit:?}")
        } else if error.is_connect() {
            format!("the embedding model at {host} can't be reached ({})", root_cause(error))
        } else {
            format!("the embedding model at {host} closed the connection ({})", root_cause(error))
        })
    }

    async fn of_status(&self, mut response: Response, limit: Duration) -> Refusal {
        let status = response.status();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok())
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let body =
            self.read(&mut response, REFUSAL_BYTES_MAX, limit).await.ok().flatten().unwrap_or_default();
        let said = self.shorten_answer(&body);
        let host = &self.host;
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PAYMENT_REQUIRED => {
                Refusal::Final(format!(
                    "{host} does not accept the key ({status}); set the environment variable that \
                     embedding.api_key_env names.{said}"
                ))
            }
            StatusCode::TOO_MANY_REQUESTS if said.contains("insufficient_quota") => {
                Refusal::Final(format!("the account at {host} has no credit left.{said}"))
            }
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
                Refusal::Text(format!(
                    "{host} rejects the text ({status}); check embedding.model if that happens for all \
                        texts.{said}"
                ))
            }
            StatusCode::TOO_MANY_REQUESTS => Refusal::Passing {
                retry_after,
                message: format!("{host} has reached its rate limit ({status}).{said}"),
            },
            status if status.is_server_error() || matches!(status.as_u16(), 408 | 409 | 425) => {
                Refusal::Passing {
                    retry_after,
                    message: format!(
                        "the embedding model at {host} is not available right now ({status}).{said}"
                    ),
                }
            }
            status => Refusal::Final(format!(
                "{host} did not accept the request ({status}); check embedding.base_url and embedding.model.{said}"
            )),
        }
    }

    /// The endpoint's error text in one short line, without the key.
    fn shorten_answer(&self, body: &[u8]) -> String {
        let text = match serde_json::from_slice::<Value>(body) {
            Ok(value) => match &value["error"] {
                Value::String(message) => message.clone(),
                error => match error["message"].as_str() {
                    Some(message) => format!("{message} {}", error["code"].as_str().unwrap_or_default()),
                    None => value.to_string(),
                },
            },
            Err(_not_json) => String::from_utf8_lossy(body).into_owned(),
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = mask_key(&text, self.api_key.as_ref());
        let text: String =
            text.chars().filter(|letter| !letter.is_control()).take(QUOTED_CHARACTERS_MAX).collect();
        if text.is_empty() { text } else { format!(" It said: {text}") }
    }
}

/// Parses and checks the address: http(s), no user name or password, and no plain HTTP to another machine.
fn checked_url(settings: &EndpointSettings) -> Result<Url, ModelError> {
    let base = match settings.base_url.trim().trim_end_matches('/') {
        "" => OPENAI_BASE_URL,
        base => base,
    };
    let refused = |reason: String| Err(ModelError::Settings(format!("embedding.base_url {reason}")));
    let url = match Url::parse(&format!("{base}/embeddings")) {
        Ok(url) => url,
        Err(error) => return refused(format!("is not an address ({error}). Write it like https://host/v1")),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return refused(
            "contains a user name or password. Remove it and set the key in its environment variable"
                .to_owned(),
        );
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if settings.allow_insecure_http || is_loopback(&url) => Ok(url),
        "http" => refused(
            "is plain http to another machine: messages could be read on the way. Use https, or set \
                embedding.allow_insecure_http for a network you trust"
                .to_owned(),
        ),
        other => refused(format!("has the scheme {other:?}; use https or http")),
    }
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The innermost cause, which never contains the address or the key.
fn root_cause(error: &reqwest::Error) -> String {
    let Some(mut cause) = error.source() else { return "no further reason".to_owned() };
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_stays_on_this_machine_unless_allowed() {
        let with = |base_url: &str, allow_insecure_http| {
            checked_url(&EndpointSettings {
                base_url: base_url.to_owned(),
                allow_insecure_http,
                ..EndpointSettings::default()
            })
        };
        for good in
            ["http://127.0.0.1:1/v1", "http://localhost/v1/", "http://[::1]:9/v1", "https://a.test/v1", ""]
        {
            let url = with(good, false).unwrap();
            assert!(url.path().ends_with("/v1/embeddings"), "{url}");
        }
        for bad in ["http://192.168.1.9/v1", "http://127.0.0.1.evil.test/v1", "ftp://a.test", "nonsense"] {
            assert!(with(bad, false).is_err(), "{bad}");
        }
        assert!(with("http://192.168.1.9/v1", true).is_ok());
        let error = with("https://me:hunter2@a.test/v1", false).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
