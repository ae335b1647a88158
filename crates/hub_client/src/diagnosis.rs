//! Explains why a hub can't be reached, with a remedy, by sending a plain request: errors of the protocol library
//! name neither.

use std::error::Error as _;
use std::time::Duration;

use hub::ports::RemoteError;
use reqwest::{Client, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::HttpAddress;
use crate::address::{client, endpoint, host_and_port, token};

/// Time limit of the plain request that finds out what is wrong. A person waits for it.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Explains why a call to this address failed; `error` is the text from MCP.
pub(crate) async fn explain(address: &HttpAddress, error: &str) -> RemoteError {
    let client = match client(address) {
        Ok(client) => client,
        Err(error) => return error,
    };
    let endpoint = match endpoint(&address.url) {
        Ok(endpoint) => endpoint,
        Err(error) => return error,
    };
    let token = match token(address) {
        Ok(token) => token,
        Err(error) => return error,
    };
    let host = host_and_port(&address.url);
    match ask(&client, endpoint.as_str(), &token).await {
        Err(failure) => RemoteError::Away(unreachable(&failure, &host, endpoint.scheme() == "https")),
        Ok((status, problem)) => refusal_in_answer(status, &problem, &host)
            .unwrap_or_else(|| RemoteError::Away(format!("{host} closed the connection early: {error}"))),
    }
}

async fn ask(
    client: &Client,
    endpoint: &str,
    token: &SecretString,
) -> Result<(StatusCode, Value), reqwest::Error> {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sync_status", "arguments": {}}});
    let answer = client
        .post(endpoint)
        .bearer_auth(token.expose_secret())
        .header("accept", "application/json, text/event-stream")
        .timeout(TIMEOUT)
        .json(&ping)
        .send()
        .await?;
    let status = answer.status();
    let text = answer.text().await?;
    Ok((status, serde_json::from_str(&text).unwrap_or_default()))
}

/// An error in the answer that this home can do something about; `None` if there is none.
fn refusal_in_answer(status: StatusCode, problem: &Value, host: &str) -> Option<RemoteError> {
    let detail = problem["detail"].as_str().unwrap_or_default();
    let text = match status {
        StatusCode::UNAUTHORIZED => format!(
            "{host} does not know the token; create one there with `echovessel token create --scope \
                hub:NAME` and run `echovessel sync connect` again"
        ),
        StatusCode::MISDIRECTED_REQUEST | StatusCode::FORBIDDEN if detail.contains("allowed_hosts") => {
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            format!("the hub does not accept the host name {name}; add it there to server.allowed_hosts")
        }
        StatusCode::FORBIDDEN => format!(
            "the token is valid for {host}, but not for its hub; create one there with `echovessel token \
                create --scope hub:NAME`"
        ),
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            format!("{host} responds, but not as an EchoVessel at this path; check sync.url")
        }
        StatusCode::TOO_MANY_REQUESTS => {
            return Some(RemoteError::Away(format!("{host} has reached its rate limit: {detail}")));
        }
        status if status.is_server_error() => {
            return Some(RemoteError::Away(format!("{host} failed with {status}: {detail}")));
        }
        status if status.is_success() && problem["jsonrpc"] == json!("2.0") => return None,
        _ => format!("{host} responds with {status}, but not as an EchoVessel does; check sync.url"),
    };
    Some(RemoteError::Refused(text))
}

/// Explains why there was no answer.
fn unreachable(error: &reqwest::Error, host: &str, is_tls: bool) -> String {
    let mut causes = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        causes.push_str(": ");
        causes.push_str(&inner.to_string());
        cause = inner.source();
    }
    let lower = causes.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["dns error", "failed to lookup", "name or service not known", "no address associated"]) {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        return format!("the name {name} was not found; check sync.url, or the name service of this machine");
    }
    if has(&["connection refused"]) {
        return format!("nothing answers at {host}; start the hub there, or check the port and server.host");
    }
    if has(&["certificate", "unknownissuer", "notvalidforname"]) {
        return format!(
            "the certificate of {host} is not trusted ({}); if it is your own, set sync.ca_file to the certificate of its authority",
            causes.rsplit(": ").next().unwrap_or_default()
        );
    }
    if error.is_timeout() {
        return format!("{host} did not respond within {} s", TIMEOUT.as_secs());
    }
    if is_tls && has(&["corrupt message", "invalidcontenttype", "unexpected message"]) {
        return format!(
            "{host} does not accept TLS; write sync.url with http:// or give the hub a certificate"
        );
    }
    if !is_tls
        && error.is_request()
        && has(&["invalid http version", "connection closed", "incomplete message"])
    {
        return format!("{host} does not accept plain HTTP; write sync.url with https://");
    }
    format!("{host} can't be reached: {}", causes.rsplit(": ").next().unwrap_or_default())
}
