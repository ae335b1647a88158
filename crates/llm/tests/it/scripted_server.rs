//! An HTTP server with scripted responses, byte by byte.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The behaviour on one connection, in the order of connections.
pub(crate) enum Answer {
    /// Sends these bytes, then closes the connection.
    Bytes(Vec<u8>),
    /// Sends these bytes, then nothing, with the connection open.
    Stuck(Vec<u8>),
    /// Sends these bytes, then `piece` repeatedly until the client disconnects.
    Endless(Vec<u8>, Vec<u8>),
}

impl Answer {
    pub(crate) fn status(status: &str, headers: &str, body: &str) -> Answer {
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
            body.len()
        );
        Answer::Bytes([head.as_bytes(), body.as_bytes()].concat())
    }

    pub(crate) fn json(body: &Value) -> Answer {
        Answer::status("200 OK", "", &body.to_string())
    }

    pub(crate) fn stream(body: &str) -> Answer {
        Answer::Bytes(event_stream(body))
    }
}

/// The head of an event stream and these first bytes of its body.
pub(crate) fn event_stream(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

/// One request as it was received.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) line: String,
    /// In lower case.
    pub(crate) headers: String,
    pub(crate) body: Value,
}

pub(crate) struct ScriptedServer {
    address: String,
    received: Arc<Mutex<Vec<Received>>>,
    /// Number of clients that disconnected before the end of a response.
    pub(crate) left: watch::Receiver<usize>,
    accepting: JoinHandle<()>,
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ScriptedServer {
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> ScriptedServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (leave, left) = watch::channel(0);
        let mut answers: VecDeque<Answer> = answers.into_iter().collect();
        let log = Arc::clone(&received);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answers
                    .pop_front()
                    .unwrap_or_else(|| Answer::status("418 No", "", "the script has no further answer"));
                tokio::spawn(serve(stream, answer, Arc::clone(&log), leave.clone()));
            }
        });
        ScriptedServer { address, received, left, accepting }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: Answer,
    log: Arc<Mutex<Vec<Received>>>,
    leave: watch::Sender<usize>,
) {
    let Some(request) = read_request(&mut stream).await else { return };
    log.lock().unwrap().push(request);
    match answer {
        Answer::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Answer::Stuck(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let mut rest = [0; 64];
            while matches!(stream.read(&mut rest).await, Ok(read) if read > 0) {}
            leave.send_modify(|left| *left += 1);
        }
        Answer::Endless(head, piece) => {
            let _ = stream.write_all(&head).await;
            while stream.write_all(&piece).await.is_ok() {}
            leave.send_modify(|left| *left += 1);
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let (line, headers) = head.split_once("\r\n").unwrap_or((head, ""));
        let headers = headers.to_lowercase();
        let length = headers
            .lines()
            .find_map(|header| header.strip_prefix("content-length: "))
            .map_or(0, |length| length.trim().parse().unwrap());
        let body = &bytes[head.len() + 4..];
        if body.len() >= length {
            let body = serde_json::from_slice(body).unwrap_or(Value::Null);
            return Some(Received { line: line.to_owned(), headers, body });
        }
    }
}
