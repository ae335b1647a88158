//! A scripted voice provider over real HTTP.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use platforms::http::{HttpRequest, HttpResponse, read_request, write_response};

/// Samples per second of the scripted voice.
const RATE: u32 = 24_000;
/// Length of each word in seconds.
const SECONDS_PER_WORD: f64 = 0.4;

/// An HTTP server on loopback that simulates an OpenAI-compatible audio endpoint (`/v1/audio/speech`,
/// `/v1/audio/transcriptions`) and Fish Audio (`/v1/tts`, `/model`). It speaks a tone whose length depends on the
/// text, and transcribes to the text of [`set_transcript`](Self::set_transcript). Dropping it stops the server.
pub struct ScriptedVoice {
    address: SocketAddr,
    shared: Arc<SharedState>,
    accepting: JoinHandle<()>,
}

/// Fault of the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoiceFault {
    /// This status, with an error object that repeats the key.
    Status(u16),
    /// 429, because the quota is exhausted.
    Quota,
    /// The connection closes in the middle of the sound.
    Cut,
    /// An HTML page instead of sound, with status 200.
    WrongType,
    /// No answer until the client closes the connection.
    Nothing,
}

#[derive(Clone, Debug)]
pub struct VoiceCall {
    pub path: String,
    /// Headers with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, which may contain sound.
    pub body: Vec<u8>,
}

#[derive(Default)]
struct SharedState {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    faults: VecDeque<VoiceFault>,
    transcript: String,
    calls: Vec<VoiceCall>,
}

impl ScriptedVoice {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// When there is no free port.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(SharedState::default());
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self { address, shared, accepting })
    }

    /// The root, which contains Fish Audio's paths.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Address of the OpenAI-compatible paths; ends in `/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// Makes the next request fail.
    pub fn fail_next(&self, fault: VoiceFault) {
        self.shared.state.lock().faults.push_back(fault);
    }

    /// Sets the transcript of all further recordings.
    pub fn set_transcript(&self, transcript: &str) {
        self.shared.state.lock().transcript = transcript.to_owned();
    }

    /// All requests, in order.
    #[must_use]
    pub fn recorded_calls(&self) -> Vec<VoiceCall> {
        self.shared.state.lock().calls.clone()
    }

    /// Waits until there were this many requests in all.
    pub async fn wait_for_calls(&self, count: usize) {
        loop {
            let changed = self.shared.changed.notified();
            if self.shared.state.lock().calls.len() >= count {
                return;
            }
            changed.await;
        }
    }
}

impl Drop for ScriptedVoice {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl SharedState {}

async fn accept(listener: TcpListener, shared: Arc<SharedState>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((connection, _)) = listener.accept().await {
        connections.spawn(serve(connection, shared.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(connection: TcpStream, shared: Arc<SharedState>) -> io::Result<()> {
    let (reader, mut writer) = connection.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(request) = read_request(&mut reader).await? {
        let (fault, transcript) = {
            let mut state = shared.state.lock();
            let (path, headers, body) = (request.path.clone(), request.headers.clone(), request.body.clone());
            state.calls.push(VoiceCall { path, headers, body });
            (state.faults.pop_front(), state.transcript.clone())
        };
        shared.changed.notify_waiters();
        if !answer(&request, fault, &transcript, &mut writer).await? {
            break;
        }
    }
    Ok(())
}

/// Answers a request. True if the connection stays open.
async fn answer(
    request: &HttpRequest,
    fault: Option<VoiceFault>,
    transcript: &str,
    writer: &mut (impl AsyncWrite + Unpin),
) -> io::Result<bool> {
    let (content_type, body) = content(request, transcript);
    // Providers repeat the key that they refuse.
    let key = request.headers.iter().find(|(name, _)| name == "authorization").map_or("", |(_, value)| value);
    let refused = |status: u16, message: &str| {
        (status, "application/json", json!({"error": {"message": message}}).to_string().into_bytes())
    };
    let (status, content_type, body) = match fault {
        None | Some(VoiceFault::Cut) if body.is_empty() => refused(404, "not served"),
        None | Some(VoiceFault::Cut) => (200, content_type, body),
        Some(VoiceFault::Status(status)) => refused(status, &format!("Incorrect API key provided: {key}")),
        Some(VoiceFault::Quota) => refused(429, "you exceeded your current quota"),
        Some(VoiceFault::WrongType) => (200, "text/html", b"<html>hello</html>".to_vec()),
        Some(VoiceFault::Nothing) => return std::future::pending().await,
    };
    let cut = fault == Some(VoiceFault::Cut);
    let sent = if cut { body.len() / 2 } else { body.len() };
    let response = HttpResponse { status, content_type, headers: &[], body: &body };
    write_response(writer, &response, sent).await?;
    if cut {
        writer.shutdown().await?;
    }
    Ok(!cut)
}

fn content(request: &HttpRequest, transcript: &str) -> (&'static str, Vec<u8>) {
    let spoken = |field: &str| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap_or_default();
        ("audio/wav", tone_file(body[field].as_str().unwrap_or_default()))
    };
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/v1/audio/speech") => spoken("input"),
        ("POST", "/v1/tts") => spoken("text"),
        ("POST", "/v1/audio/transcriptions") => {
            ("application/json", json!({"text": transcript}).to_string().into_bytes())
        }
        ("POST", "/model") => {
            ("application/json", json!({"_id": "cloned-voice", "state": "trained"}).to_string().into_bytes())
        }
        _ => ("application/json", Vec::new()),
    }
}

/// A WAV file with a tone. Like those of streams, its header does not state the length.
fn tone_file(text: &str) -> Vec<u8> {
    let words = text.split_whitespace().count().max(1);
    let samples = (words as f64 * SECONDS_PER_WORD * f64::from(RATE)) as usize;
    let mut wav = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    wav.extend_from_slice(&RATE.to_le_bytes());
    wav.extend_from_slice(&(RATE * 2).to_le_bytes());
    wav.extend_from_slice(b"\x02\0\x10\0data\xff\xff\xff\xff");
    for index in 0..samples {
        let level: i16 = if index % 100 < 50 { 6_000 } else { -6_000 };
        wav.extend_from_slice(&level.to_le_bytes());
    }
    wav
}
