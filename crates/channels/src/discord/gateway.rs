//! Discord's gateway: sessions that begin, are kept alive by heartbeats, break and are resumed.

use std::sync::Arc;
use std::time::Duration;

use memory::ports::{Backoff, Clock};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::rest::{ApiError, RestClient};
use super::socket::{Payload, Socket, SocketEnd};
use crate::address;
use crate::channel::{ChannelState, Inbound, Shutdown};

/// Messages of direct conversations, and those of servers; what they say is sent to bots where they are mentioned.
const INTENTS: u32 = (1 << 12) | (1 << 9);
/// Waits between connections that fail. A broken connection is back within a second or two; a minute at most, so that the bot is back soon
/// after an outage of hours.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// Wait after the platform has refused the bot itself. Only a person can change that, so asking more often gains nothing.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_secs(60);
/// Wait before a session that was declared invalid is begun again; the platform names 1 to 5 seconds.
const PAUSE_AFTER_INVALID_SESSION: Duration = Duration::from_secs(3);
/// Time for connecting and for the gateway's first message: without it a connection that is dead from its start would never be given up.
const HELLO_TIMEOUT: Duration = Duration::from_secs(20);
/// Close code after which the session can be resumed: Discord ends it only for 1000 and 1001.
const CLOSE_CODE_RESUMABLE: u16 = 4_000;
/// Close code after which Discord ends the session, so that a start does not find it still running.
const END_SESSION: u16 = 1_000;

/// An event of the gateway, in its order.
pub(super) enum GatewayEvent {
    /// A session began with this bot; what was sent before may have been missed.
    Began {
        bot: String,
    },
    Event {
        name: String,
        data: Value,
    },
}

/// A session that can be resumed as long as the program runs.
struct Session {
    id: String,
    url: Option<String>,
    sequence: Option<u64>,
}

/// Why a connection ended.
enum End {
    /// The gateway asked the client to end the connection.
    AskedTo,
    /// The connection broke; the session may be resumed.
    Lost(String),
    /// The session can't be resumed, or is not yet known again.
    Invalid,
    /// The bot is refused for a reason that a person has to remove.
    Refused(&'static str),
    /// The platform asks for a pause of this length.
    Wait(Duration),
}

#[derive(Deserialize)]
struct Ready {
    session_id: String,
    resume_gateway_url: Option<String>,
    user: ReadyUser,
}

#[derive(Deserialize)]
struct ReadyUser {
    id: String,
}

pub(super) struct Gateway {
    client: reqwest::Client,
    /// An address to use instead of the one that the API names.
    address: Option<Url>,
    token: SecretString,
    clock: Arc<dyn Clock>,
}

struct Connection<'a> {
    gateway: &'a Gateway,
    socket: Socket,
    session: &'a mut Option<Session>,
    signals: &'a mpsc::Sender<GatewayEvent>,
    is_acknowledged: bool,
}

impl Gateway {
    pub(super) fn new(
        client: reqwest::Client,
        address: Option<Url>,
        token: SecretString,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { client, address, token, clock }
    }

    /// The gateway's host, where it differs from the API's.
    pub(super) fn host(&self) -> Option<&str> {
        self.address.as_ref().and_then(Url::host_str)
    }

    /// Keeps a session until the program stops.
    pub(super) async fn run(
        &self,
        rest: &RestClient,
        inbound: &dyn Inbound,
        signals: mpsc::Sender<GatewayEvent>,
    ) -> Shutdown {
        let mut session: Option<Session> = None;
        let mut failures: u32 = 0;
        loop {
            let mut is_ready = false;
            let ended = tokio::select! {
                ended = self.connection(rest, inbound, &mut session, &signals, &mut is_ready) => ended,
                stopped = inbound.wait_for_stop() => return stopped,
            };
            if is_ready {
                failures = 0;
            }
            let (wait, reason) = match ended {
                End::AskedTo => (Duration::ZERO, None),
                End::Invalid => (PAUSE_AFTER_INVALID_SESSION, None),
                End::Wait(wait) => (wait, Some(ApiError::Wait(wait).to_string())),
                End::Refused(reason) => (PAUSE_AFTER_REFUSAL, Some(reason.to_owned())),
                End::Lost(reason) => (
                    BACKOFF.wait_after_failures(failures),
                    Some(format!("Discord can't be reached: {reason}")),
                ),
            };
            failures = failures.saturating_add(1);
            inbound.set_state(reason.map_or(ChannelState::Connecting, ChannelState::Failed));
            if let Err(stopped) = inbound.wait(wait).await {
                return stopped;
            }
        }
    }

    /// Runs one connection to the gateway from its beginning to its end.
    async fn connection(
        &self,
        rest: &RestClient,
        inbound: &dyn Inbound,
        session: &mut Option<Session>,
        signals: &mpsc::Sender<GatewayEvent>,
        is_ready: &mut bool,
    ) -> End {
        let url = match self.url(rest, session.as_ref()).await {
            Ok(url) => url,
            Err(end) => return end,
        };
        let connecting = tokio::select! {
            socket = Socket::connect(&self.client, url) => socket,
            () = self.clock.sleep(HELLO_TIMEOUT) => Err("no response in time".to_owned()),
        };
        let socket = match connecting {
            Ok(socket) => socket,
            Err(reason) => {
                // The address for resuming may no longer work; the next attempt requests a new one.
                *session = None;
                return End::Lost(reason);
            }
        };
        let mut connection = Connection { gateway: self, socket, session, signals, is_acknowledged: true };
        let end = connection.run_session(inbound, is_ready).await;
        if matches!(end, End::Refused(_)) {
            *session = None;
        }
        end
    }

    async fn url(&self, rest: &RestClient, session: Option<&Session>) -> Result<Url, End> {
        let said = match (&self.address, session.and_then(|session| session.url.clone())) {
            (Some(address), _) => return Ok(with_gateway_version(address.clone())),
            (None, Some(url)) => url,
            (None, None) => {
                let info = rest.gateway().await.map_err(|error| match error {
                    ApiError::Wait(wait) => End::Wait(wait),
                    ApiError::Refused => End::Refused(REFUSED_TOKEN),
                    error => End::Lost(error.to_string()),
                })?;
                match info.session_start_limit {
                    Some(starts) if starts.remaining == 0 => {
                        return Err(End::Wait(Duration::from_millis(starts.reset_after)));
                    }
                    _ => info.url,
                }
            }
        };
        address::check_address(&said)
            .map(with_gateway_version)
            .map_err(|error| End::Lost(format!("its address: {error}")))
    }
}

const REFUSED_TOKEN: &str = "Discord rejects the bot's token; reset it in the developer portal and enter \
    the new one under Settings > Channels";

fn with_gateway_version(mut url: Url) -> Url {
    url.query_pairs_mut().append_pair("v", "10").append_pair("encoding", "json");
    url
}

impl Connection<'_> {
    async fn run_session(&mut self, inbound: &dyn Inbound, is_ready: &mut bool) -> End {
        let interval = match self.read_hello().await {
            Ok(interval) => interval,
            Err(end) => return end,
        };
        if let Err(end) = self.identify_or_resume().await {
            return end;
        }
        let clock = self.gateway.clock.clone();
        // The first heartbeat is sent after a random delay, so that clients that lost the gateway together do not
        // return together.
        let fraction = f64::from(clock.now().subsec_nanosecond().unsigned_abs()) / 1e9;
        let mut heartbeat = clock.sleep(interval.mul_f64(fraction));
        loop {
            let has_room = self.signals.capacity() > 0;
            let (signals, socket) = (self.signals, &mut self.socket);
            tokio::select! {
                payload = socket.receive(), if has_room => match payload {
                    Ok(payload) => {
                        if let Err(end) = self.handle_payload(payload, inbound, is_ready).await {
                            return end;
                        }
                    }
                    Err(end) => return self.session_end(end),
                },
                _room = signals.reserve(), if !has_room => {}
                () = &mut heartbeat => {
                    // While no event is read, no acknowledgement is read either.
                    if has_room && !self.is_acknowledged {
                        self.socket.close(CLOSE_CODE_RESUMABLE).await;
                        return End::Lost("a heartbeat was not answered".to_owned());
                    }
                    if let Err(end) = self.send_heartbeat().await {
                        return end;
                    }
                    heartbeat = clock.sleep(interval);
                }
                _ = inbound.wait_for_stop() => {
                    self.socket.close(END_SESSION).await;
                    return End::AskedTo;
                }
            }
        }
    }

    /// Returns the heartbeat interval, which the gateway's first message names.
    async fn read_hello(&mut self) -> Result<Duration, End> {
        let payload = tokio::select! {
            payload = self.socket.receive() => payload,
            () = self.gateway.clock.sleep(HELLO_TIMEOUT) => return Err(End::Lost("no hello in time".to_owned())),
        };
        let payload = payload.map_err(|end| self.session_end(end))?;
        match (payload.op, payload.d["heartbeat_interval"].as_u64()) {
            (10, Some(interval)) if interval > 0 => Ok(Duration::from_millis(interval)),
            _ => Err(End::Lost("no hello".to_owned())),
        }
    }

    /// Resumes the session, or begins one.
    async fn identify_or_resume(&mut self) -> Result<(), End> {
        let token = self.gateway.token.expose_secret();
        let payload = match &*self.session {
            Some(session) => json!({"op": 6, "d": {
                "token": token, "session_id": session.id, "seq": session.sequence,
            }}),
            None => json!({"op": 2, "d": {
                "token": token, "intents": INTENTS,
                "properties": {"os": std::env::consts::OS, "browser": "echovessel", "device": "echovessel"},
            }}),
        };
        self.send(&payload).await
    }

    async fn handle_payload(
        &mut self,
        payload: Payload,
        inbound: &dyn Inbound,
        is_ready: &mut bool,
    ) -> Result<(), End> {
        match payload.op {
            0 => {
                self.dispatch(payload, inbound, is_ready);
                Ok(())
            }
            1 => self.send_heartbeat().await,
            7 => {
                self.socket.close(CLOSE_CODE_RESUMABLE).await;
                Err(End::AskedTo)
            }
            9 => {
                if payload.d.as_bool() != Some(true) {
                    *self.session = None;
                }
                self.socket.close(CLOSE_CODE_RESUMABLE).await;
                Err(End::Invalid)
            }
            11 => {
                self.is_acknowledged = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Passes an event on. The queue has room: without room no event is read.
    fn dispatch(&mut self, payload: Payload, inbound: &dyn Inbound, is_ready: &mut bool) {
        let name = payload.t.unwrap_or_default();
        let signal = match name.as_str() {
            "READY" => {
                let Ok(ready) = serde_json::from_value::<Ready>(payload.d) else { return };
                let (id, url) = (ready.session_id, ready.resume_gateway_url);
                *self.session = Some(Session { id, url, sequence: None });
                Some(GatewayEvent::Began { bot: ready.user.id })
            }
            "RESUMED" => None,
            _ => Some(GatewayEvent::Event { name: name.clone(), data: payload.d }),
        };
        if matches!(name.as_str(), "READY" | "RESUMED") {
            *is_ready = true;
            inbound.set_state(ChannelState::Ready);
        }
        if let Some(signal) = signal
            && self.signals.try_send(signal).is_err()
        {
            // The event is not counted in the session's sequence, and comes again when the session is resumed.
            return;
        }
        if let (Some(session), Some(sequence)) = (self.session.as_mut(), payload.s) {
            session.sequence = Some(session.sequence.map_or(sequence, |known| known.max(sequence)));
        }
    }

    async fn send_heartbeat(&mut self) -> Result<(), End> {
        let sequence = self.session.as_ref().and_then(|session| session.sequence);
        self.is_acknowledged = false;
        self.send(&json!({"op": 1, "d": sequence})).await
    }

    async fn send(&mut self, payload: &Value) -> Result<(), End> {
        self.socket.send(payload).await.map_err(|end| self.session_end(end))
    }

    fn session_end(&mut self, end: SocketEnd) -> End {
        let code = match end {
            SocketEnd::Broken(reason) => return End::Lost(reason),
            SocketEnd::Closed(code) => code,
        };
        match code {
            4_004 => End::Refused(REFUSED_TOKEN),
            4_013 | 4_014 => End::Refused(
                "Discord does not let the bot read messages; allow it on the Bot page of the developer portal",
            ),
            4_010..=4_012 => End::Refused(
                "Discord no longer accepts the gateway version of this program; update EchoVessel",
            ),
            // A session that timed out or lost its position starts again; after an ordinary close it is unknown to
            // the platform.
            4_003 | 4_007 | 4_009 | 1_000 | 1_001 => {
                *self.session = None;
                End::Lost(format!("the gateway ended the session (code {code})"))
            }
            code => End::Lost(format!("the gateway closed the connection (code {code})")),
        }
    }
}
