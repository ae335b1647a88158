//! The way to peers: HTTPS, or HTTP on loopback; pages as JSON in gzip; the token from the environment or a file of the home.

use std::io::{Read as _, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::sync::{ExchangeRequest, ExchangeResponse, PAGE_BYTES_MAX, PeerRecord};
use anyhow::Context as _;
use async_trait::async_trait;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures_util::StreamExt as _;
use outgoing::client_builder;
use reqwest::{Response, Url};
use runtime::PeerTransport;
use serde_json::Value;

use crate::home::Home;

/// How long one page may take, both ways.
const REQUEST_TIME: Duration = Duration::from_secs(120);
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Where a peer answers.
const PATH: &str = "/api/sync/exchange";

/// Asks peers over HTTP.
pub(crate) struct HttpPeers {
    http: reqwest::Client,
    folder: PathBuf,
}

impl HttpPeers {
    pub(crate) fn new(home: &Home) -> anyhow::Result<Self> {
        let http = client_builder()
            .timeout(REQUEST_TIME)
            .connect_timeout(CONNECT_TIME)
            // A token must not follow a redirect to somebody else.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .context("no HTTP client can be made")?;
        Ok(Self { http, folder: home.folder().join("peers") })
    }

    fn token_file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.token"))
    }

    fn token(&self, peer: &PeerRecord) -> Result<String, String> {
        let from_variable = peer.token_env.as_deref().and_then(|name| std::env::var(name).ok());
        let token = match from_variable {
            Some(token) => token,
            None => std::fs::read_to_string(self.token_file(&peer.name)).map_err(|_| match &peer.token_env {
                Some(variable) => {
                    format!("{variable} holds no token for this peer; set it in the daemon's environment and restart")
                }
                None => format!("the token for this peer is missing; run `echovessel sync add` again for {}", peer.name),
            })?,
        };
        Ok(token.trim().to_owned())
    }
}

#[async_trait]
impl PeerTransport for HttpPeers {
    async fn exchange(
        &self,
        peer: &PeerRecord,
        request: &ExchangeRequest,
    ) -> Result<ExchangeResponse, String> {
        let url = peer.url.as_deref().unwrap_or_default();
        let asked = address(url)?;
        let body = pack(request).map_err(|error| format!("the page could not be packed: {error}"))?;
        let sent = self.http.post(asked).bearer_auth(self.token(peer)?).body(body).send().await;
        let response = sent.map_err(|error| {
            let reason = if error.is_timeout() { "did not answer in time" } else { "can't be reached" };
            format!("{url} {reason}; changes wait here and are sent when it is back")
        })?;
        let status = response.status();
        if !status.is_success() {
            let problem: Value = response.json().await.unwrap_or_default();
            let detail = problem["detail"].as_str().unwrap_or("without a reason");
            return Err(format!("{url} refused the exchange ({status}): {detail}"));
        }
        let body = read_bounded(response).await.map_err(|error| format!("{url} broke off: {error}"))?;
        unpack(&body).map_err(|error| format!("{url} did not answer as a peer does: {error}"))
    }

    fn check_url(&self, url: &str) -> Result<(), String> {
        address(url).map(|_| ())
    }

    fn keep_token(&self, name: &str, token: Option<&str>) -> Result<(), String> {
        let file = self.token_file(name);
        let kept = match token {
            Some(token) => write_private(&self.folder, &file, token),
            None if !file.exists() => Ok(()),
            None => std::fs::remove_file(&file),
        };
        kept.map_err(|error| format!("{}: {error}", file.display()))
    }
}

/// The address of the exchange. Beyond loopback only HTTPS, because the pages hold every word.
fn address(url: &str) -> Result<Url, String> {
    let refused = || format!("url: `{url}` is not an address; give https://HOST:PORT");
    let mut address = Url::parse(url).map_err(|_| refused())?;
    let host = address.host_str().ok_or_else(refused)?.trim_matches(['[', ']']).to_owned();
    let is_loopback =
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match address.scheme() {
        "https" => {}
        "http" if is_loopback => {}
        "http" => {
            return Err(format!(
                "url: `{url}` would send every message unencrypted; use https (server.tls_cert and server.tls_key on the \
                 other side), or a tunnel that ends on loopback"
            ));
        }
        _ => return Err(refused()),
    }
    address.set_path(PATH);
    address.set_query(None);
    Ok(address)
}

fn write_private(folder: &Path, file: &Path, token: &str) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(file)?.write_all(token.trim().as_bytes())
}

fn pack(request: &ExchangeRequest) -> anyhow::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    serde_json::to_writer(&mut packed, request)?;
    Ok(packed.finish()?)
}

/// A peer may not fill this machine's memory: neither the packed page nor the unpacked one is larger than a page may be.
fn unpack(body: &[u8]) -> anyhow::Result<ExchangeResponse> {
    let mut text = Vec::new();
    GzDecoder::new(body).take(PAGE_BYTES_MAX as u64 + 1).read_to_end(&mut text)?;
    anyhow::ensure!(text.len() <= PAGE_BYTES_MAX, "the page is larger than {PAGE_BYTES_MAX} bytes");
    Ok(serde_json::from_slice(&text)?)
}

async fn read_bounded(response: Response) -> anyhow::Result<Vec<u8>> {
    let (mut body, mut chunks) = (Vec::new(), response.bytes_stream());
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk?);
        anyhow::ensure!(body.len() <= PAGE_BYTES_MAX, "the page is larger than {PAGE_BYTES_MAX} bytes");
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_leave_the_machine_encrypted_only() {
        for url in [
            "https://home.example:7777",
            "http://127.0.0.1:7777",
            "http://localhost:1",
            "http://[::1]:7777/x?y",
        ] {
            assert_eq!(address(url).unwrap().path(), PATH, "{url}");
        }
        for url in [
            "http://192.168.0.5:7777",
            "http://home.example",
            "ftp://127.0.0.1",
            "home",
            "",
            "http://127.0.0.1.example",
        ] {
            assert!(address(url).is_err(), "{url}");
        }
    }
}
