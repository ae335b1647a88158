//! Sends a request to another daemon of the home, and returns its answer.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::header::{
    CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use outgoing::client_builder;
use reqwest::redirect::Policy;

use super::FrontError;
use super::forwarded_request::Sender;

/// Time limit for connecting to another daemon. Daemons are on one private network; a machine that is down never
/// answers.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(3);
/// Headers of a single connection, which must not be forwarded.
const CONNECTION_HEADERS: [HeaderName; 7] =
    [CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// Why a forwarded request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryFailure {
    /// The request was not sent.
    NotSent,
    /// The request may have been processed in part or completely.
    Unknown,
}

pub(super) struct Carrier {
    client: reqwest::Client,
    secret: HeaderValue,
}

impl Carrier {
    pub(super) fn new(secret: HeaderValue) -> Result<Self, FrontError> {
        // The browser or program follows redirects itself.
        let client =
            client_builder().no_proxy().redirect(Policy::none()).connect_timeout(CONNECT_TIME_MAX).build()?;
        Ok(Self { client, secret })
    }

    pub(super) async fn send(
        &self,
        url: &str,
        sender: &Sender,
        head: &Parts,
        body: Body,
    ) -> Result<Response, DeliveryFailure> {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let target = format!("{}{path}", url.trim_end_matches('/'));
        let mut headers = without_those_of_connection(&head.headers);
        sender.write(&mut headers, &self.secret);
        let mut request = self.client.request(head.method.clone(), target).headers(headers);
        if !body.is_end_stream() {
            request = request.body(reqwest::Body::wrap_stream(body.into_data_stream()));
        }
        let answered = request.send().await.map_err(|error| {
            tracing::debug!("a request could not be forwarded: {error}");
            if error.is_connect() || error.is_builder() {
                DeliveryFailure::NotSent
            } else {
                DeliveryFailure::Unknown
            }
        })?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = answered.status();
        *response.headers_mut() = without_those_of_connection(answered.headers());
        Ok(response.map(|_| Body::from_stream(answered.bytes_stream())))
    }
}

fn without_those_of_connection(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in CONNECTION_HEADERS.iter().chain(&named) {
        kept.remove(name);
    }
    kept.remove("keep-alive");
    kept.remove("proxy-connection");
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_one_connection_are_not_passed_on() {
        let fields = [
            ("host", "pi.local"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("cookie", "a=1"),
            ("cookie", "b=2"),
        ];
        let headers =
            fields.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let kept = without_those_of_connection(&headers.into_iter().collect());
        let mut names: Vec<_> =
            kept.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        names.sort_unstable();
        assert_eq!(names, [("cookie", "a=1"), ("cookie", "b=2"), ("host", "pi.local")]);
    }
}
