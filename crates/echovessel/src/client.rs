//! Client of a home's running daemon, over the socket in the home, with the owner's token.

use std::path::Path;

use anyhow::{Context as _, bail};
use futures_util::{Stream, StreamExt as _};
use outgoing::client_builder;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;
use server::HomeSocket;
use tokio::io::AsyncWriteExt as _;

use crate::home::{Home, RunFile};
use crate::system::random_bytes;

/// Error: no daemon answers at the home's address.
#[derive(Debug, thiserror::Error)]
#[error("no EchoVessel is running on {0}; start one with `echovessel run`")]
pub(crate) struct NoDaemon(String);

/// The daemon answered with an error. The text does not mention a daemon, as a command without one asks in its own
/// process.
#[derive(Debug, thiserror::Error)]
#[error("{detail}")]
pub(crate) struct Refusal {
    /// Stable name of the reason, if it has one.
    pub(crate) code: Option<String>,
    detail: String,
}

/// A running daemon of the home.
pub(crate) struct Daemon {
    /// The daemon's address, as in `run.json`.
    pub(crate) run: RunFile,
    token: String,
    http: reqwest::Client,
    /// Base of request URLs. Over the socket the host in it is not looked up.
    base: String,
    /// Keeps the address of the socket valid.
    _socket: Option<HomeSocket>,
}

impl Daemon {
    /// Returns the daemon of this home, if one is running.
    pub(crate) fn find(home: &Home) -> anyhow::Result<Self> {
        let missing = || NoDaemon(home.folder().display().to_string());
        let run = home.run_file().ok_or_else(missing)?;
        // A killed daemon leaves its run.json behind. If the lock is free, there is no daemon.
        if home.lock_home().is_ok() {
            return Err(missing().into());
        }
        let token = home.token(random_bytes)?;
        let path = home.daemon_socket();
        if !path.exists() {
            return Self::connect_to_address(run, token);
        }
        let socket = HomeSocket::find(&path).with_context(|| format!("{} can't be used", path.display()))?;
        // The socket uses no TLS, so no certificates are loaded, which a small machine may not have.
        let http = client_builder().unix_socket(socket.path()).tls_certs_only([]).build();
        let http = http.context("the HTTP client can't be created")?;
        let base = format!("http://127.0.0.1:{}", run.port);
        Ok(Self { run, token, http, base, _socket: Some(socket) })
    }

    /// Returns the daemon at its TCP address, also where the home can hold no socket.
    pub(crate) fn connect_to_address(run: RunFile, token: String) -> anyhow::Result<Self> {
        // No proxy: these requests never leave the machine. The certificate is for the public name; here the daemon
        // is identified by its lock on the home and by the port that it wrote into the home.
        let http = client_builder().no_proxy().tls_danger_accept_invalid_certs(true).build();
        let http = http.context("the HTTP client can't be created")?;
        let base = run.url.trim_end_matches('/').to_owned();
        Ok(Self { run, token, http, base, _socket: None })
    }

    /// Sends a request and parses the answer as JSON. A refusal of the daemon becomes an error with the daemon's own
    /// text.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        Self::answer(self.send(method, path, body).await?).await
    }

    /// Uploads a body in chunks, and parses the answer as JSON.
    pub(crate) async fn upload(
        &self,
        path: &str,
        kind: &str,
        pieces: impl Stream<Item = std::io::Result<Vec<u8>>> + Send + 'static,
    ) -> anyhow::Result<Value> {
        let url = format!("{}{path}", self.base);
        let request = self.http.post(url).bearer_auth(&self.token).header(CONTENT_TYPE, kind);
        let sent = request.body(reqwest::Body::wrap_stream(pieces)).send().await;
        Self::answer(
            sent.with_context(|| format!("the daemon at {} closed the connection early", self.run.url))?,
        )
        .await
    }

    /// Writes the answer's body to a new file that only its owner can read, and returns the number of bytes.
    pub(crate) async fn download(&self, path: &str, file: &Path) -> anyhow::Result<u64> {
        let response = self.send(Method::GET, path, None).await?;
        if !response.status().is_success() {
            return Self::answer(response).await.map(|_| 0);
        }
        let mut options = tokio::fs::OpenOptions::new();
        let opened = options.write(true).create(true).truncate(true).mode(0o600).open(file).await;
        let mut out = opened.with_context(|| format!("{} can't be written", file.display()))?;
        let (mut bytes, mut size) = (response.bytes_stream(), 0);
        while let Some(chunk) = bytes.next().await {
            let chunk = chunk.context("the daemon closed the connection early; see its log")?;
            out.write_all(&chunk).await.with_context(|| format!("{} can't be written", file.display()))?;
            size += chunk.len() as u64;
        }
        out.flush().await?;
        out.sync_all().await?;
        Ok(size)
    }

    async fn answer(response: Response) -> anyhow::Result<Value> {
        let status = response.status();
        let answer: Value = response.json().await.context("the daemon's answer could not be read")?;
        if status.is_success() {
            return Ok(answer);
        }
        let detail = answer["detail"].as_str().or(answer["error"]["message"].as_str());
        let code = answer["code"].as_str().or(answer["error"]["code"].as_str());
        Err(Refusal {
            code: code.map(str::to_owned),
            detail: detail.map_or_else(|| format!("rejected without a reason ({status})"), str::to_owned),
        }
        .into())
    }

    /// Sends a message of the terminal and passes each piece of the reply to `piece`.
    pub(crate) async fn say(
        &self,
        user: &str,
        text: &str,
        mut piece: impl FnMut(&str),
    ) -> anyhow::Result<SpokenReply> {
        let body = serde_json::json!({
            "model": "default", "stream": true, "user": user, "messages": [{"role": "user", "content": text}],
        });
        let request = self.request(Method::POST, "/v1/chat/completions", Some(body));
        let response = self.execute(request.header(server::CHANNEL_HEADER, server::TERMINAL_CHANNEL)).await?;
        if !response.status().is_success() {
            let answer: Value = response.json().await.unwrap_or_default();
            bail!(
                "{}",
                answer["error"]["message"].as_str().unwrap_or(
                    "the daemon rejected the request \
                without a reason"
                )
            );
        }
        let mut bytes = response.bytes_stream();
        let (mut pending, mut reply) = (Vec::new(), SpokenReply::default());
        while let Some(chunk) = bytes.next().await {
            pending.extend_from_slice(&chunk.context("the daemon closed the connection early")?);
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                read_line(&String::from_utf8_lossy(&line), &mut reply, &mut piece)?;
            }
        }
        Ok(reply)
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Response> {
        self.execute(self.request(method, path, body)).await
    }

    fn request(&self, method: Method, path: &str, body: Option<Value>) -> RequestBuilder {
        let url = format!("{}{path}", self.base);
        let request = self.http.request(method, url).bearer_auth(&self.token);
        match body {
            Some(body) => request.json(&body),
            None => request,
        }
    }

    async fn execute(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        request.send().await.with_context(|| format!("the daemon at {} does not answer", self.run.url))
    }
}

/// The end of a streamed reply.
#[derive(Debug, Default)]
pub(crate) struct SpokenReply {
    /// Id of the turn; none if the stream held no chunk.
    pub(crate) turn: Option<String>,
    /// Set when the model stopped before the end.
    pub(crate) is_incomplete: bool,
}

/// Parses a line of the event stream.
fn read_line(line: &str, reply: &mut SpokenReply, piece: &mut impl FnMut(&str)) -> anyhow::Result<()> {
    let Some(data) = line.trim_end().strip_prefix("data:").map(str::trim).filter(|data| *data != "[DONE]")
    else {
        return Ok(());
    };
    let chunk: Value = serde_json::from_str(data).context("the daemon's answer is not JSON")?;
    if let Some(message) = chunk["error"]["message"].as_str() {
        bail!("{message}");
    }
    if let Some(delta) = chunk["choices"][0]["delta"]["content"].as_str() {
        piece(delta);
    }
    reply.turn =
        reply.turn.take().or_else(|| chunk["id"].as_str()?.strip_prefix("chatcmpl-").map(str::to_owned));
    reply.is_incomplete |= chunk["choices"][0]["finish_reason"] == "length";
    Ok(())
}
