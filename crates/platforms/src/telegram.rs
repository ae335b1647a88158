//! A simulated server for Telegram's documented Bot API, with faults: for tests and for trying a bot without an
//! account.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::http::{HttpRequest, HttpResponse, read_request, write_response};

/// Maximum updates of one answer, as on the platform.
const UPDATES_MAX: usize = 100;

/// A fault of the next call of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TelegramFault {
    /// 429 with this number of seconds to wait.
    TooMany(u64),
    /// 409: another program receives updates with the token.
    Conflict,
    /// 401: the token is invalid.
    Unauthorized,
    /// 403: the person has blocked the bot.
    Blocked,
    /// 400: the formatting is invalid.
    Entities,
    /// Answered with status 502.
    Broken,
    /// An HTML page with this status, from a proxy before the platform.
    Page(u16),
    /// The connection closes before the call was processed.
    CutBefore,
    /// The call succeeds, and the connection closes before the answer.
    CutAfter,
}

/// A simulated Telegram server; it ends when it is dropped.
pub struct TelegramServer {
    address: SocketAddr,
    shared: Arc<SharedState>,
    serving: JoinHandle<()>,
}

struct SharedState {
    token: String,
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    /// All updates so far; the platform does not send those below `confirmed` again, unless it is unruly.
    updates: Vec<Value>,
    confirmed: i64,
    /// True if confirmed updates are sent again, in reverse order.
    is_unruly: bool,
    /// True if the numbers restarted, so that a bot's position means nothing.
    is_renumbered: bool,
    next_update: i64,
    next_message: i64,
    sent: Vec<(String, String)>,
    entities: Vec<Value>,
    sent_voices: Vec<(String, Vec<u8>)>,
    /// Recordings of voice messages; a file's id is its index.
    recordings: Vec<Vec<u8>>,
    calls: HashMap<String, usize>,
    waits: Vec<u64>,
    faults: HashMap<String, VecDeque<TelegramFault>>,
}

impl TelegramServer {
    /// Starts on a free port of loopback, for a bot with this token.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start(token: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = State { next_update: 1_000, next_message: 1, ..State::default() };
        let shared = Arc::new(SharedState {
            token: token.to_owned(),
            state: Mutex::new(state),
            arrived: Notify::new(),
        });
        let serving = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self { address, shared, serving })
    }

    /// The value for `channels.telegram.api_base`.
    #[must_use]
    pub fn api_base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Writes to the bot as a person; returns the message's number.
    pub fn write(&self, person: i64, text: &str) -> i64 {
        self.update("message", person, json!({"text": text}))
    }

    /// Sends a voice message of a person, with a caption if given; returns the message's number.
    pub fn speak(&self, person: i64, ogg_opus: &[u8], caption: &str) -> i64 {
        let file_id = {
            let mut state = self.shared.state.lock();
            state.recordings.push(ogg_opus.to_vec());
            (state.recordings.len() - 1).to_string()
        };
        let voice = json!({
            "file_id": file_id, "file_unique_id": file_id, "duration": 2, "mime_type": "audio/ogg",
            "file_size": ogg_opus.len(),
        });
        let fields = if caption.is_empty() {
            json!({"voice": voice})
        } else {
            json!({"voice": voice, "caption": caption})
        };
        self.update("message", person, fields)
    }

    /// Edits a message, as a person.
    pub fn edit(&self, person: i64, message: i64, text: &str) {
        let fields = json!({"text": text, "message_id": message});
        self.update("edited_message", person, fields);
    }

    /// Sends an update of a person with these fields.
    pub fn update(&self, kind: &str, person: i64, fields: Value) -> i64 {
        let number = {
            let mut state = self.shared.state.lock();
            let (update, number) = (state.next_update, state.next_message);
            state.next_update += 1;
            state.next_message += 1;
            let mut message = json!({
                "message_id": number, "date": 1_767_225_600,
                "from": {"id": person, "is_bot": false, "first_name": "Ann"},
                "chat": {"id": person, "type": "private"},
            });
            if let (Some(message), Some(fields)) = (message.as_object_mut(), fields.as_object()) {
                message.extend(fields.clone());
            }
            state.updates.push(json!({"update_id": update, kind: message}));
            number
        };
        self.shared.arrived.notify_waiters();
        number
    }

    /// From now on sends confirmed updates again, and all of them in reverse order.
    pub fn send_repeated_and_unordered(&self) {
        self.shared.state.lock().is_unruly = true;
        self.shared.arrived.notify_waiters();
    }

    /// Sends an update of an unknown form.
    pub fn send_unknown(&self) {
        let mut state = self.shared.state.lock();
        let update = state.next_update;
        state.next_update += 1;
        // A field that every message has is missing.
        state.updates.push(json!({"update_id": update, "message": {"text": "?", "chat": 5}}));
        drop(state);
        self.shared.arrived.notify_waiters();
    }

    /// Numbers later updates from here on, as after a week of silence; former confirmations no longer count.
    pub fn number_from(&self, update: i64) {
        let mut state = self.shared.state.lock();
        state.updates.clear();
        state.confirmed = i64::MIN;
        state.next_update = update;
        state.is_renumbered = true;
    }

    /// Makes the next call of a method fail; several faults apply one after another.
    pub fn fail(&self, method: &str, fault: TelegramFault) {
        self.shared.state.lock().faults.entry(method.to_owned()).or_default().push_back(fault);
        self.shared.arrived.notify_waiters();
    }

    /// The bot's messages, as chat and text.
    #[must_use]
    pub fn sent(&self) -> Vec<(String, String)> {
        self.shared.state.lock().sent.clone()
    }

    /// The entities of each of the bot's messages; null if there were none.
    #[must_use]
    pub fn entities(&self) -> Vec<Value> {
        self.shared.state.lock().entities.clone()
    }

    /// The bot's voice messages, as chat and file.
    #[must_use]
    pub fn sent_voices(&self) -> Vec<(String, Vec<u8>)> {
        self.shared.state.lock().sent_voices.clone()
    }

    /// The number of seconds that each request for updates may be held.
    #[must_use]
    pub fn requested_waits(&self) -> Vec<u64> {
        self.shared.state.lock().waits.clone()
    }

    /// Number of calls of a method.
    #[must_use]
    pub fn call_count(&self, method: &str) -> usize {
        self.shared.state.lock().calls.get(method).copied().unwrap_or_default()
    }
}

impl Drop for TelegramServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl SharedState {
    /// Updates from a position on; those below it are confirmed and dropped.
    fn updates(&self, offset: Option<i64>) -> Vec<Value> {
        let mut state = self.state.lock();
        let offset = offset.unwrap_or(state.confirmed);
        // A position beyond all updates confirms nothing.
        let is_beyond = state.is_renumbered && offset > state.next_update;
        let offset = if is_beyond { i64::MIN } else { offset };
        state.confirmed = state.confirmed.max(offset);
        let is_new = |update: &&Value| update["update_id"].as_i64().is_some_and(|id| id >= offset);
        let fresh: Vec<Value> = state.updates.iter().filter(is_new).take(UPDATES_MAX).cloned().collect();
        if !state.is_unruly {
            return fresh;
        }
        state.updates.iter().rev().take(UPDATES_MAX).cloned().collect()
    }
}

async fn accept(listener: TcpListener, shared: Arc<SharedState>) {
    while let Ok((connection, _)) = listener.accept().await {
        let shared = shared.clone();
        tokio::spawn(async move {
            // A client that disconnects is not an error here.
            let _ = serve(connection, &shared).await;
        });
    }
}

async fn serve(mut connection: TcpStream, shared: &SharedState) -> io::Result<()> {
    let (reader, mut writer) = connection.split();
    let mut reader = BufReader::new(reader);
    while let Some(request) = read_request(&mut reader).await? {
        if let Some(place) = request.path.strip_prefix(&format!("/file/bot{}/voice/", shared.token)) {
            let Some((status, file)) = recording(shared, place) else { return Ok(()) };
            let response = HttpResponse { status, content_type: "audio/ogg", headers: &[], body: &file };
            write_response(&mut writer, &response, file.len()).await?;
            continue;
        }
        let Some((status, body)) = answer(shared, &request).await else { return Ok(()) };
        let (content_type, body) = match body {
            Value::String(page) => ("text/html", page),
            body => ("application/json", body.to_string()),
        };
        let response = HttpResponse { status, content_type, headers: &[], body: body.as_bytes() };
        write_response(&mut writer, &response, body.len()).await?;
    }
    Ok(())
}

/// The file of a voice message; `None` if the connection closes instead. Its faults are those of `file`.
fn recording(shared: &SharedState, place: &str) -> Option<(u16, Vec<u8>)> {
    match take_fault(shared, "file") {
        Some(TelegramFault::CutBefore | TelegramFault::CutAfter) => return None,
        Some(fault) => return Some((failure(fault).0, Vec::new())),
        None => {}
    }
    let place = place.trim_end_matches(".oga").parse::<usize>().ok();
    let file = place.and_then(|place| shared.state.lock().recordings.get(place).cloned());
    Some(file.map_or((404, Vec::new()), |file| (200, file)))
}

/// The answer; `None` if the connection closes instead.
async fn answer(shared: &SharedState, request: &HttpRequest) -> Option<(u16, Value)> {
    let Some(method) = request.path.strip_prefix(&format!("/bot{}/", shared.token)) else {
        return Some((401, error_body(401, "Unauthorized")));
    };
    let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let form = request.form_parts();
    *shared.state.lock().calls.entry(method.to_owned()).or_default() += 1;
    match take_fault(shared, method) {
        Some(TelegramFault::CutBefore) => return None,
        Some(TelegramFault::CutAfter) => {
            let _ = perform(shared, method, &asked, form);
            return None;
        }
        Some(fault) => return Some(failure(fault)),
        None => {}
    }
    if method != "getUpdates" {
        return Some(perform(shared, method, &asked, form));
    }
    let seconds = asked["timeout"].as_u64().unwrap_or_default();
    shared.state.lock().waits.push(seconds);
    let held = Duration::from_secs(seconds);
    let offset = asked["offset"].as_i64();
    let waiting = async {
        loop {
            let arrived = shared.arrived.notified();
            tokio::pin!(arrived);
            arrived.as_mut().enable();
            if let Some(fault) = take_fault(shared, method) {
                return Err(fault);
            }
            let updates = shared.updates(offset);
            if !updates.is_empty() {
                return Ok(updates);
            }
            arrived.await;
        }
    };
    match tokio::time::timeout(held, waiting).await {
        Ok(Ok(updates)) => Some((200, json!({"ok": true, "result": updates}))),
        Ok(Err(TelegramFault::CutBefore | TelegramFault::CutAfter)) => None,
        Ok(Err(fault)) => Some(failure(fault)),
        Err(_) => Some((200, json!({"ok": true, "result": []}))),
    }
}

fn take_fault(shared: &SharedState, method: &str) -> Option<TelegramFault> {
    shared.state.lock().faults.get_mut(method).and_then(VecDeque::pop_front)
}

fn perform(shared: &SharedState, method: &str, asked: &Value, form: Vec<(String, Vec<u8>)>) -> (u16, Value) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match method {
        "sendMessage" => {
            let words = text(&asked["text"]);
            if words.encode_utf16().count() > 4_096 {
                return (400, error_body(400, "Bad Request: message is too long"));
            }
            let mut state = shared.state.lock();
            state.entities.push(asked["entities"].clone());
            state.sent.push((text(&asked["chat_id"]), words));
            let number = state.next_message;
            state.next_message += 1;
            (200, json!({"ok": true, "result": {"message_id": number}}))
        }
        "sendVoice" => {
            let part =
                |name: &str| form.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone());
            let (Some(chat), Some(voice)) = (part("chat_id"), part("voice")) else {
                return (400, error_body(400, "Bad Request: the request has no voice"));
            };
            let mut state = shared.state.lock();
            state.sent_voices.push((String::from_utf8_lossy(&chat).into_owned(), voice));
            let number = state.next_message;
            state.next_message += 1;
            (200, json!({"ok": true, "result": {"message_id": number}}))
        }
        "getFile" => {
            let id = text(&asked["file_id"]);
            (200, json!({"ok": true, "result": {"file_id": id, "file_path": format!("voice/{id}.oga")}}))
        }
        "getMe" => (200, json!({"ok": true, "result": {"id": 1, "is_bot": true, "username": "echo_bot"}})),
        "sendChatAction" => (200, json!({"ok": true, "result": true})),
        _ => (404, error_body(404, "Not Found")),
    }
}

fn failure(fault: TelegramFault) -> (u16, Value) {
    match fault {
        TelegramFault::TooMany(seconds) => {
            let mut body = error_body(429, "Too Many Requests");
            body["parameters"] = json!({"retry_after": seconds});
            (429, body)
        }
        TelegramFault::Conflict => (409, error_body(409, "Conflict: terminated by other getUpdates request")),
        TelegramFault::Unauthorized => (401, error_body(401, "Unauthorized")),
        TelegramFault::Page(status) => (status, json!("<html>blocked</html>")),
        TelegramFault::Entities => (400, error_body(400, "Bad Request: can't parse entities")),
        TelegramFault::Blocked => (403, error_body(403, "Forbidden: bot was blocked by the user")),
        _ => (502, error_body(502, "Bad Gateway")),
    }
}

fn error_body(code: u16, description: &str) -> Value {
    json!({"ok": false, "error_code": code, "description": description})
}
