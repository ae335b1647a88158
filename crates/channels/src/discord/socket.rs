//! The connection to the gateway: JSON over a WebSocket. reqwest opens it, so that addresses and certificates are
//! checked as for all other requests.

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use reqwest::{StatusCode, Upgraded, Url};
use serde::Deserialize;
use serde_json::Value;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// Maximum bytes of an event. The largest one, of a login with many servers, has a few MiB.
const PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A message of the gateway.
#[derive(Deserialize)]
pub(super) struct Payload {
    pub(super) op: u8,
    #[serde(default)]
    pub(super) d: Value,
    pub(super) s: Option<u64>,
    pub(super) t: Option<String>,
}

/// Why the connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SocketEnd {
    /// The gateway closed it with this code.
    Closed(u16),
    /// The connection broke, or spoke another protocol.
    Broken(String),
}

pub(super) struct Socket {
    stream: WebSocketStream<Upgraded>,
}

impl Socket {
    pub(super) async fn connect(client: &reqwest::Client, url: Url) -> Result<Self, String> {
        let failed = |error: reqwest::Error| error.without_url().to_string();
        let key = generate_key();
        let request = client
            .get(url)
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, &key);
        let answer = request.send().await.map_err(failed)?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(format!("status {} instead of a WebSocket upgrade", answer.status().as_u16()));
        }
        let accepted = answer.headers().get(SEC_WEBSOCKET_ACCEPT).map(|value| value.as_bytes());
        if accepted != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
            return Err("the WebSocket handshake was invalid".to_owned());
        }
        let config = WebSocketConfig::default()
            .max_message_size(Some(PAYLOAD_BYTES_MAX))
            .max_frame_size(Some(PAYLOAD_BYTES_MAX));
        let upgraded = answer.upgrade().await.map_err(failed)?;
        Ok(Self { stream: WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await })
    }

    /// The next payload. Dropping the future loses nothing.
    pub(super) async fn receive(&mut self) -> Result<Payload, SocketEnd> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(&text)
                        .map_err(|_| SocketEnd::Broken("the payload is not a Discord message".to_owned()));
                }
                Some(Ok(Message::Close(frame))) => {
                    return Err(SocketEnd::Closed(frame.map_or(1005, |frame| frame.code.into())));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(socket_end(&error)),
                None => return Err(SocketEnd::Broken("the connection ended".to_owned())),
            }
        }
    }

    pub(super) async fn send(&mut self, payload: &Value) -> Result<(), SocketEnd> {
        self.stream.send(Message::text(payload.to_string())).await.map_err(|error| socket_end(&error))
    }

    /// Ends the connection. With code 1000 the session ends too; with another it can be resumed.
    pub(super) async fn close(&mut self, code: u16) {
        let frame = CloseFrame { code: CloseCode::from(code), reason: "".into() };
        // The socket may be closed or broken already.
        let _ = self.stream.close(Some(frame)).await;
    }
}

fn socket_end(error: &Error) -> SocketEnd {
    SocketEnd::Broken(error.to_string())
}
