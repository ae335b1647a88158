//! State of the simulated platform: conversations, the session, sent messages.

use std::collections::{BTreeMap, HashMap, VecDeque};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{DiscordFault, DiscordSent};

/// The bot's own account.
pub(super) const BOT: &str = "99";
const PLATFORM_EPOCH: i64 = 1_420_070_400_000;

/// A command to a connection of the gateway.
pub(super) enum Command {
    Send(Value),
    Close(u16),
    Cut,
}

#[derive(Default)]
pub(super) struct State {
    conversations: BTreeMap<String, Vec<Value>>,
    last_id: i64,
    pub(super) session: Option<Session>,
    sessions_so_far: usize,
    connections: Vec<mpsc::UnboundedSender<Command>>,
    pub(super) is_unruly: bool,
    pub(super) ignores_heartbeats: bool,
    pub(super) is_away: bool,
    pub(super) sent: Vec<DiscordSent>,
    pub(super) sent_voices: Vec<(String, Vec<u8>)>,
    pub(super) files: Vec<Vec<u8>>,
    pub(super) nonces: HashMap<String, Value>,
    pub(super) calls: HashMap<String, usize>,
    pub(super) faults: HashMap<String, VecDeque<DiscordFault>>,
    pub(super) closed_until: HashMap<String, Timestamp>,
    held_back: Option<Value>,
}

pub(super) struct Session {
    pub(super) id: String,
    sequence: u64,
    /// All its events, which are sent again when it is resumed.
    pub(super) events: Vec<Value>,
    connection: Option<mpsc::UnboundedSender<Command>>,
}

impl State {
    pub(super) fn count(&mut self, what: &str) {
        *self.calls.entry(what.to_owned()).or_default() += 1;
    }

    pub(super) fn write(&mut self, channel: &str, person: u64, fields: Value, now: Timestamp) -> String {
        let author = json!({"id": person.to_string(), "username": "ann", "global_name": "Ann"});
        let message = self.add(channel, author, fields, now);
        message["id"].as_str().unwrap_or_default().to_owned()
    }

    /// Stores a message of the bot, with the file if it is a voice message; for a known nonce returns the earlier
    /// message.
    pub(super) fn send(
        &mut self,
        channel: &str,
        asked: &Value,
        voice: Option<Vec<u8>>,
        now: Timestamp,
    ) -> Value {
        let nonce = asked["nonce"].as_str().filter(|_| asked["enforce_nonce"] == json!(true));
        if let Some(known) = nonce.and_then(|nonce| self.nonces.get(nonce)) {
            return known.clone();
        }
        let nonce = nonce.map(str::to_owned);
        let text = asked["content"].as_str().unwrap_or_default().to_owned();
        match voice {
            Some(voice) => self.sent_voices.push((channel.to_owned(), voice)),
            None => {
                let (channel, text, nonce) = (channel.to_owned(), text.clone(), nonce.clone());
                self.sent.push(DiscordSent { channel, text, nonce });
            }
        }
        let author = json!({"id": BOT, "username": "echo", "bot": true});
        let message = self.add(channel, author, json!({"content": text}), now);
        if let Some(nonce) = nonce {
            self.nonces.insert(nonce, message.clone());
        }
        message
    }

    fn add(&mut self, channel: &str, author: Value, fields: Value, now: Timestamp) -> Value {
        let earliest = (now.as_millisecond() - PLATFORM_EPOCH) << 22;
        self.last_id = earliest.max(self.last_id + 1);
        let mut message = json!({
            "id": self.last_id.to_string(), "channel_id": channel, "author": author, "content": "", "type": 0,
            "mentions": [], "attachments": [], "timestamp": now.to_string(), "edited_timestamp": null,
        });
        if let (Some(message), Some(fields)) = (message.as_object_mut(), fields.as_object()) {
            message.extend(fields.clone());
        }
        let mut stored = message.clone();
        if let Some(stored) = stored.as_object_mut() {
            // The REST API does not return the server of a message.
            stored.remove("guild_id");
        }
        self.conversations.entry(channel.to_owned()).or_default().push(stored);
        self.publish("MESSAGE_CREATE", message.clone());
        message
    }

    pub(super) fn message(&self, channel: &str, id: &str) -> Option<Value> {
        self.conversations.get(channel)?.iter().find(|message| message["id"] == *id).cloned()
    }

    pub(super) fn edit(&mut self, channel: &str, id: &str, text: &str) {
        let messages = self.conversations.get_mut(channel).map(Vec::as_mut_slice).unwrap_or_default();
        let Some(message) = messages.iter_mut().find(|message| message["id"] == *id) else { return };
        message["content"] = json!(text);
        message["edited_timestamp"] = message["timestamp"].clone();
        let message = message.clone();
        self.publish("MESSAGE_UPDATE", message);
    }

    pub(super) fn delete(&mut self, channel: &str, id: &str) {
        if let Some(messages) = self.conversations.get_mut(channel) {
            messages.retain(|message| message["id"] != *id);
        }
        self.publish("MESSAGE_DELETE", json!({"id": id, "channel_id": channel}));
    }

    /// The messages after one, or the newest; newest first, like the platform.
    pub(super) fn history(&self, channel: &str, after: Option<i64>, limit: usize) -> Vec<Value> {
        let messages = self.conversations.get(channel).map(Vec::as_slice).unwrap_or_default();
        let number = |message: &Value| message["id"].as_str().and_then(|id| id.parse::<i64>().ok());
        let mut found: Vec<Value> = match after {
            Some(after) => {
                let is_later = |message: &&Value| number(message).is_some_and(|number| number > after);
                messages.iter().filter(is_later).take(limit).cloned().collect()
            }
            None => messages[messages.len().saturating_sub(limit)..].to_vec(),
        };
        found.reverse();
        found
    }

    fn publish(&mut self, name: &str, data: Value) {
        if !self.is_unruly {
            self.dispatch(name, data);
            return;
        }
        let event = json!({"t": name, "d": data});
        match self.held_back.take() {
            None => self.held_back = Some(event),
            Some(earlier) => {
                for event in [&event, &earlier, &event, &earlier] {
                    self.dispatch(event["t"].as_str().unwrap_or_default(), event["d"].clone());
                }
            }
        }
    }

    fn dispatch(&mut self, name: &str, data: Value) {
        let Some(session) = &mut self.session else { return };
        session.sequence += 1;
        let event = json!({"op": 0, "t": name, "s": session.sequence, "d": data});
        session.events.push(event.clone());
        if let Some(connection) = &session.connection {
            let _ = connection.send(Command::Send(event));
        }
    }

    pub(super) fn connect(&mut self, connection: mpsc::UnboundedSender<Command>) {
        self.connections.retain(|connection| !connection.is_closed());
        self.connections.push(connection);
    }

    pub(super) fn begin(&mut self, connection: mpsc::UnboundedSender<Command>, gateway_url: &str) {
        self.sessions_so_far += 1;
        let id = format!("session{}", self.sessions_so_far);
        let (sequence, events) = (0, Vec::new());
        self.session = Some(Session { id: id.clone(), sequence, events, connection: Some(connection) });
        let user = json!({"id": BOT, "username": "echo", "bot": true});
        self.dispatch(
            "READY",
            json!({"v": 10, "session_id": id, "resume_gateway_url": gateway_url, "user": user, "guilds": []}),
        );
    }

    /// Sends the events after a sequence number again; false if the session is unknown.
    pub(super) fn resume(
        &mut self,
        id: &str,
        after: u64,
        connection: mpsc::UnboundedSender<Command>,
    ) -> bool {
        let Some(session) = self.session.as_mut().filter(|session| session.id == id) else { return false };
        session.connection = Some(connection.clone());
        let is_later = |event: &&Value| event["s"].as_u64().is_some_and(|sequence| sequence > after);
        for event in session.events.iter().filter(is_later) {
            let _ = connection.send(Command::Send(event.clone()));
        }
        self.dispatch("RESUMED", json!({}));
        true
    }

    pub(super) fn forget_session(&mut self) {
        self.session = None;
    }

    pub(super) fn command(&mut self, command: Command) {
        for connection in self.connections.drain(..) {
            let command = match &command {
                Command::Send(payload) => Command::Send(payload.clone()),
                Command::Close(code) => Command::Close(*code),
                Command::Cut => Command::Cut,
            };
            let _ = connection.send(command);
        }
    }
}
