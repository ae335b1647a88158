//! One bounded request to a voice provider, and the interpretation of errors.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use memory::ports::Clock;
use outgoing::{client_builder, mask_key};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::multipart::Part;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::provider::VoiceError;

/// Time limit for opening a connection.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// Maximum bytes of a refusal to read. It may be the whole page of a proxy.
const REFUSAL_BYTES_MAX: usize = 16 * 1024;
/// Maximum characters of a refusal that a message repeats: enough for the reason.
const QUOTED_CHARACTERS_MAX: usize = 160;

/// Address and credentials of a provider.
#[derive(Clone)]
pub struct EndpointSettings {
    /// The endpoint's base; empty for the provider's own.
    pub base_url: String,
    /// The model to use; empty for the provider's default.
    pub model: String,
    /// The key, if one is needed.
    pub api_key: Option<SecretString>,
    /// The clock for time limits of requests.
    pub clock: Arc<dyn Clock>,
}

/// True if texts and keys may be sent to this address: by TLS, or to this machine.
pub fn is_secure_url(base_url: &str) -> bool {
    base_url.is_empty()
        || Url::parse(base_url).is_ok_and(|url| match url.scheme() {
            "https" => true,
            "http" => is_loopback(&url),
            _ => false,
        })
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A provider's address with its key.
pub(crate) struct Endpoint {
    client: Client,
    base: String,
    name: String,
    api_key: Option<SecretString>,
    clock: Arc<dyn Clock>,
}

impl Endpoint {
    pub(crate) fn new(settings: &EndpointSettings, own_base: &str) -> Result<Self, VoiceError> {
        let base = if settings.base_url.is_empty() { own_base } else { settings.base_url.as_str() };
        let base = base.trim_end_matches('/').to_owned();
        let url = Url::parse(&base).ok().filter(|_| is_secure_url(&base)).ok_or_else(|| {
            VoiceError::Settings(
                "the address of the voice provider must be https://, or http:// on this machine".to_owned(),
            )
        })?;
        // Redirects would send texts and the key elsewhere.
        let builder = client_builder()
            .user_agent(concat!("echovessel/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIME_MAX)
            .redirect(redirect::Policy::none());
        let builder = if is_loopback(&url) { builder.no_proxy().tls_certs_only([]) } else { builder };
        let client = builder.build().map_err(|error| VoiceError::Settings(error.to_string()))?;
        let name = url.host_str().unwrap_or_default().to_owned();
        Ok(Self { client, base, name, api_key: settings.api_key.clone(), clock: settings.clock.clone() })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.base));
        match &self.api_key {
            Some(key) => request.bearer_auth(key.expose_secret()),
            None => request,
        }
    }

    /// Sends the request and reads the whole answer.
    pub(crate) async fn fetch(
        &self,
        request: RequestBuilder,
        bytes_max: usize,
        limit: Duration,
    ) -> Result<Answer, VoiceError> {
        tokio::select! {
            answer = self.answer(request, bytes_max) => answer,
            () = self.clock.sleep(limit) => Err(VoiceError::TimedOut(self.name.clone(), limit.as_secs())),
        }
    }

    async fn answer(&self, request: RequestBuilder, bytes_max: usize) -> Result<Answer, VoiceError> {
        let broken = |_| VoiceError::Passing(format!("the connection to {} failed or was cut", self.name));
        let mut response = request.send().await.map_err(broken)?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let content_type = mask_key(&content_type(response.headers()), self.api_key.as_ref());
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(broken)? {
            if body.len() + piece.len() > bytes_max {
                return Err(VoiceError::Passing(format!(
                    "the response of {} is larger than {bytes_max} bytes and was discarded",
                    self.name
                )));
            }
            body.extend_from_slice(&piece);
        }
        Ok(Answer { content_type, body })
    }

    async fn refusal(&self, mut response: Response) -> VoiceError {
        let status = response.status();
        let mut body = Vec::new();
        while let Ok(Some(piece)) = response.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() > REFUSAL_BYTES_MAX {
                break;
            }
        }
        let reason = mask_key(&error_reason(&body), self.api_key.as_ref());
        let reason: String = reason.chars().take(QUOTED_CHARACTERS_MAX).collect();
        let message = format!("{} answered {}{reason}", self.name, status.as_u16());
        match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYMENT_REQUIRED => VoiceError::Quota(message),
            status if status.is_server_error() => VoiceError::Passing(message),
            _ if reason.contains("quota") || reason.contains("balance") => VoiceError::Quota(message),
            _ => VoiceError::Settings(message),
        }
    }
}

/// A WAV file as a part of a multipart form.
pub(crate) fn wav_part(file_name: &str, wav: Vec<u8>) -> Part {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("audio/wav"));
    let is_plain = |letter: char| letter.is_ascii_graphic() && letter != '"';
    let file_name: String =
        file_name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    Part::bytes(wav).file_name(file_name).headers(headers)
}

pub(crate) struct Answer {
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

fn content_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The text of an error object, as `: reason`.
fn error_reason(body: &[u8]) -> String {
    let Ok(answer) = serde_json::from_slice::<Value>(body) else { return String::new() };
    let places = [&answer["error"]["message"], &answer["message"], &answer["detail"], &answer["error"]];
    let text = places.iter().find_map(|place| place.as_str()).unwrap_or_default();
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    if text.is_empty() { text } else { format!(": {text}") }
}
