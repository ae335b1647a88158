//! A simulated server for Discord's documented gateway and REST API, with faults: for tests and for trying a bot
//! without an account.

mod gateway;
mod rest;
mod state;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::http::read_request;
use state::{Command, State};

/// A fault of the next call of a route.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DiscordFault {
    /// 429 for the route, with this number of seconds to wait.
    TooMany(f64),
    /// 429 for all routes.
    TooManyInAll(f64),
    /// The call succeeds, and the bucket is empty for this number of seconds: each call before their end counts as a
    /// violation.
    EmptiesBucket(f64),
    /// 401: the token is invalid.
    Unauthorized,
    /// 403: the person accepts no messages from the bot.
    Blocked,
    /// 403 with the code by which the platform's proxy blocks misbehaving clients.
    BlockedByCloudflare,
    /// An HTML page with this status, from a proxy before the platform.
    Page(u16),
    /// This status, with a JSON error.
    Status(u16),
    /// Answered with status 502.
    Broken,
    /// The connection closes before the call was processed.
    CutBefore,
    /// The call succeeds, and the connection closes before the answer.
    CutAfter,
}

/// A fault of the gateway for all its connections, which takes effect at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayFault {
    /// The sockets close without a close code.
    Cut,
    /// The gateway closes with this code.
    Close(u16),
    /// The gateway asks to reconnect.
    AskToReconnect,
    /// The gateway declares the session invalid, to be resumed or not.
    Invalid(bool),
}

/// A message sent by the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscordSent {
    pub channel: String,
    pub text: String,
    /// The nonce, which prevents repetition.
    pub nonce: Option<String>,
}

/// A simulated Discord server; it ends when it is dropped.
pub struct DiscordServer {
    address: SocketAddr,
    shared: Arc<SharedState>,
    serving: JoinHandle<()>,
}

struct SharedState {
    address: SocketAddr,
    token: String,
    heartbeat: Duration,
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    state: Mutex<State>,
}

impl DiscordServer {
    /// Starts on a free port of loopback, for a bot with this token. `now` is the platform's clock; the gateway
    /// expects a heartbeat every `heartbeat`.
    ///
    /// # Errors
    ///
    /// When no port is free.
    pub async fn start(
        token: &str,
        heartbeat: Duration,
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (token, now) = (token.to_owned(), Box::new(now));
        let shared = Arc::new(SharedState { address, token, heartbeat, now, state: Mutex::default() });
        let serving = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self { address, shared, serving })
    }

    /// The value for `channels.discord.api_base`.
    #[must_use]
    pub fn api_base(&self) -> String {
        format!("http://{}/api/v10", self.address)
    }

    /// The value for `channels.discord.gateway_url`, unless the API provides it.
    #[must_use]
    pub fn gateway_url(&self) -> String {
        format!("ws://{}/gateway", self.address)
    }

    /// The direct conversation of a person with the bot.
    #[must_use]
    pub fn direct_conversation(person: u64) -> String {
        (500_000 + person).to_string()
    }

    /// Writes to the bot as a person; returns the message's id.
    pub fn write(&self, person: u64, text: &str) -> String {
        self.write_with(person, json!({"content": text}))
    }

    /// Sends a direct message of a person with these fields.
    pub fn write_with(&self, person: u64, fields: Value) -> String {
        self.message(&Self::direct_conversation(person), person, fields)
    }

    /// Stores an attachment; returns its address.
    fn upload(&self, file: &[u8]) -> String {
        let mut state = self.shared.state.lock();
        state.files.push(file.to_vec());
        format!("http://{}/files/{}", self.address, state.files.len() - 1)
    }

    /// Sends a text of a person that is too long for a message: the platform's apps send it as a file.
    pub fn paste(&self, person: u64, content: &str, text: &str) -> String {
        let attachment = json!({
            "id": "1", "filename": "message.txt", "content_type": "text/plain; charset=utf-8", "size": text.len(),
            "url": self.upload(text.as_bytes()),
        });
        self.write_with(person, json!({"content": content, "attachments": [attachment]}))
    }

    /// Makes files unavailable, as their addresses expire after a day.
    pub fn lose_files(&self) {
        self.shared.state.lock().files.clear();
    }

    /// Sends a voice message of a person; returns the message's id.
    pub fn speak(&self, person: u64, ogg_opus: &[u8]) -> String {
        let url = self.upload(ogg_opus);
        let attachment = json!({
            "id": "1", "filename": "voice-message.ogg", "content_type": "audio/ogg", "size": ogg_opus.len(),
            "url": url, "duration_secs": 2.0, "waveform": "AAAA",
        });
        self.write_with(person, json!({"content": "", "flags": 8_192, "attachments": [attachment]}))
    }

    /// The bot's voice messages, as conversation and file.
    #[must_use]
    pub fn sent_voices(&self) -> Vec<(String, Vec<u8>)> {
        self.shared.state.lock().sent_voices.clone()
    }

    /// Writes in a channel of a server, as a person.
    pub fn write_in_server(&self, channel: &str, person: u64, text: &str) -> String {
        let mentions = if text.contains(&format!("<@{}>", state::BOT)) {
            json!([{"id": state::BOT, "username": "echo", "bot": true}])
        } else {
            json!([])
        };
        self.message(channel, person, json!({"guild_id": "77", "content": text, "mentions": mentions}))
    }

    fn message(&self, channel: &str, person: u64, fields: Value) -> String {
        let now = (self.shared.now)();
        self.shared.state.lock().write(channel, person, fields, now)
    }

    /// Edits a direct message, as a person.
    pub fn edit(&self, person: u64, message: &str, text: &str) {
        self.shared.state.lock().edit(&Self::direct_conversation(person), message, text);
    }

    /// Deletes a direct message, as a person.
    pub fn delete(&self, person: u64, message: &str) {
        self.shared.state.lock().delete(&Self::direct_conversation(person), message);
    }

    /// From now on sends each event twice, and each pair in the wrong order.
    pub fn send_repeated_and_unordered(&self) {
        self.shared.state.lock().is_unruly = true;
    }

    /// Makes the next call of a route fail, such as `POST messages`; several faults apply one after another.
    pub fn fail(&self, route: &str, fault: DiscordFault) {
        self.shared.state.lock().faults.entry(route.to_owned()).or_default().push_back(fault);
    }

    /// Makes the gateway fail now.
    pub fn inject_fault(&self, fault: GatewayFault) {
        let mut state = self.shared.state.lock();
        match fault {
            GatewayFault::Cut => state.command(Command::Cut),
            GatewayFault::Close(code) => state.command(Command::Close(code)),
            GatewayFault::AskToReconnect => state.command(Command::Send(json!({"op": 7, "d": null}))),
            GatewayFault::Invalid(can_resume) => {
                if !can_resume {
                    state.forget_session();
                }
                state.command(Command::Send(json!({"op": 9, "d": can_resume})));
            }
        }
    }

    /// Turns answers to heartbeats on or off; they are on at first.
    pub fn answer_heartbeats(&self, answers: bool) {
        self.shared.state.lock().ignores_heartbeats = !answers;
    }

    /// Makes the gateway unreachable; no session survives.
    pub fn set_away(&self, is_away: bool) {
        let mut state = self.shared.state.lock();
        state.is_away = is_away;
        if is_away {
            state.forget_session();
            state.command(Command::Cut);
        }
    }

    /// Forgets the nonces of messages, as the platform does after some minutes.
    pub fn forget_nonces(&self) {
        self.shared.state.lock().nonces.clear();
    }

    /// The bot's messages, in the platform's order.
    #[must_use]
    pub fn sent(&self) -> Vec<DiscordSent> {
        self.shared.state.lock().sent.clone()
    }

    /// The bot's messages in a direct conversation.
    #[must_use]
    pub fn sent_to(&self, person: u64) -> Vec<String> {
        let direct = Self::direct_conversation(person);
        self.sent().into_iter().filter(|sent| sent.channel == direct).map(|sent| sent.text).collect()
    }

    /// Number of calls of a route, such as `POST messages`, or of events at the gateway: `IDENTIFY`, `RESUME`,
    /// `HEARTBEAT`. `violations` are calls while the bucket was known to be empty.
    #[must_use]
    pub fn call_count(&self, what: &str) -> usize {
        self.shared.state.lock().calls.get(what).copied().unwrap_or_default()
    }
}

impl Drop for DiscordServer {
    fn drop(&mut self) {
        self.shared.state.lock().command(Command::Cut);
        self.serving.abort();
    }
}

impl SharedState {}

async fn accept(listener: TcpListener, shared: Arc<SharedState>) {
    while let Ok((connection, _)) = listener.accept().await {
        let shared = shared.clone();
        tokio::spawn(async move {
            // A client that disconnects is not an error here.
            let _ = serve(connection, &shared).await;
        });
    }
}

async fn serve(connection: TcpStream, shared: &SharedState) -> io::Result<()> {
    let mut connection = BufReader::new(connection);
    while let Some(request) = read_request(&mut connection).await? {
        if request.path.starts_with("/gateway") {
            return gateway::serve(connection.into_inner(), shared, &request).await;
        }
        if !rest::answer(connection.get_mut(), shared, &request).await? {
            return Ok(());
        }
    }
    Ok(())
}
