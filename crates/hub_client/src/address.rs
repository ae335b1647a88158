//! The address of a hub, with its endpoint, token and HTTP client.

use std::time::Duration;

use hub::ports::RemoteError;
use reqwest::{Certificate, Client, Url};
use secrecy::SecretString;

use crate::HttpAddress;

/// Time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Path of the MCP endpoint of an EchoVessel server.
const TOOLS_PATH: &str = "/mcp";

/// The address of the MCP endpoint.
///
/// # Errors
///
/// When the text is not an HTTP address.
pub(crate) fn endpoint(url: &str) -> Result<Url, RemoteError> {
    let refused = |why: &str| {
        RemoteError::Refused(format!("sync.url: `{url}` {why}; write it as https://home.example:7777"))
    };
    let mut address: Url = url.trim().parse().map_err(|_| refused("is not an address"))?;
    if !matches!(address.scheme(), "http" | "https") || address.host_str().is_none() {
        return Err(refused("must begin with http:// or https://"));
    }
    if !address.username().is_empty() || address.password().is_some() {
        return Err(refused("contains a name or password, which logs would show"));
    }
    let path = address.path().trim_end_matches('/').to_owned();
    if !path.ends_with(TOOLS_PATH) {
        address.set_path(&format!("{path}{TOOLS_PATH}"));
    }
    Ok(address)
}

/// Host and port, with which errors name a hub.
pub(crate) fn host_and_port(url: &str) -> String {
    let Ok(address) = Url::parse(url.trim()) else { return url.to_owned() };
    let host = address.host_str().unwrap_or_default();
    match address.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Reads the token; the error says how to set one.
pub(crate) fn token(address: &HttpAddress) -> Result<SecretString, RemoteError> {
    (address.token)().ok_or_else(|| {
        RemoteError::Refused(
            "the token for the hub is missing; run `echovessel sync connect` again, or set the variable that sync.token_env names"
                .to_owned(),
        )
    })
}

pub(crate) fn client(address: &HttpAddress) -> Result<Client, RemoteError> {
    let mut builder = outgoing::client_builder().connect_timeout(CONNECT_TIMEOUT);
    if let Some(file) = &address.ca_file {
        let refused = |error: &dyn std::fmt::Display| {
            RemoteError::Refused(format!(
                "sync.ca_file: {} can't be used: {error}; it is a certificate in PEM form",
                file.display()
            ))
        };
        let pem = std::fs::read(file).map_err(|error| refused(&error))?;
        let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| refused(&error))?;
        builder = builder.tls_certs_merge(certificates);
    }
    builder
        .build()
        .map_err(|error| RemoteError::Refused(format!("the HTTP client can't be created: {error}")))
}
