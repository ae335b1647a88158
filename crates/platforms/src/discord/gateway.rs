//! The simulated gateway: hello, identify or resume, heartbeats, events.

use std::io;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use super::SharedState;
use super::state::Command;
use crate::http::{HttpRequest, HttpResponse, write_response};

const NOT_AUTHENTICATED: u16 = 4_003;
const WRONG_TOKEN: u16 = 4_004;

pub(super) async fn serve(
    mut connection: TcpStream,
    shared: &SharedState,
    request: &HttpRequest,
) -> io::Result<()> {
    let key = request.headers.iter().find(|(name, _)| name == "sec-websocket-key");
    let is_away = shared.state.lock().is_away;
    let Some((_, key)) = key.filter(|_| !is_away) else {
        let response = HttpResponse { status: 503, content_type: "text/plain", headers: &[], body: b"away" };
        return write_response(&mut connection, &response, response.body.len()).await;
    };
    let accept = derive_accept_key(key.as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await?;
    let socket = WebSocketStream::from_raw_socket(connection, Role::Server, None).await;
    talk(socket, shared).await.map_err(io::Error::other)
}

type SocketResult<T> = Result<T, tokio_tungstenite::tungstenite::Error>;

async fn talk(mut socket: WebSocketStream<TcpStream>, shared: &SharedState) -> SocketResult<()> {
    let (sender, mut commands) = mpsc::unbounded_channel();
    shared.state.lock().connect(sender.clone());
    let interval = u64::try_from(shared.heartbeat.as_millis()).unwrap_or(u64::MAX);
    socket.send(text_frame(&json!({"op": 10, "d": {"heartbeat_interval": interval}}))).await?;
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Send(payload)) => socket.send(text_frame(&payload)).await?,
                Some(Command::Close(code)) => return close(&mut socket, code).await,
                Some(Command::Cut) | None => return Ok(()),
            },
            received = socket.next() => match received {
                Some(Ok(Message::Text(payload))) => {
                    let payload: Value = serde_json::from_str(&payload).unwrap_or_default();
                    if let Some(code) = handle_payload(shared, &payload, &sender) {
                        return close(&mut socket, code).await;
                    }
                }
                Some(Ok(Message::Close(frame))) => {
                    // An ordinary close ends the session.
                    if frame.is_some_and(|frame| matches!(u16::from(frame.code), 1_000 | 1_001)) {
                        shared.state.lock().forget_session();
                    }
                    return Ok(());
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Ok(()),
            },
        }
    }
}

/// Handles a payload of the bot; returns the code with which the connection closes, if it does.
fn handle_payload(
    shared: &SharedState,
    payload: &Value,
    sender: &mpsc::UnboundedSender<Command>,
) -> Option<u16> {
    let mut state = shared.state.lock();
    let is_token_good = payload["d"]["token"] == *shared.token;
    match payload["op"].as_u64() {
        Some(1) => {
            state.count("HEARTBEAT");
            if !state.ignores_heartbeats {
                let _ = sender.send(Command::Send(json!({"op": 11})));
            }
            None
        }
        Some(2 | 6) if !is_token_good => Some(WRONG_TOKEN),
        Some(2) => {
            state.count("IDENTIFY");
            state.begin(sender.clone(), &format!("ws://{}/gateway", shared.address));
            None
        }
        Some(6) => {
            state.count("RESUME");
            let (id, after) = (payload["d"]["session_id"].as_str(), payload["d"]["seq"].as_u64());
            if !state.resume(id.unwrap_or_default(), after.unwrap_or_default(), sender.clone()) {
                let _ = sender.send(Command::Send(json!({"op": 9, "d": false})));
            }
            None
        }
        _ => Some(NOT_AUTHENTICATED),
    }
}

async fn close(socket: &mut WebSocketStream<TcpStream>, code: u16) -> SocketResult<()> {
    socket.close(Some(CloseFrame { code: code.into(), reason: "".into() })).await?;
    // The other side completes the closing handshake.
    while let Some(Ok(_)) = socket.next().await {}
    Ok(())
}

fn text_frame(payload: &Value) -> Message {
    Message::text(payload.to_string())
}
