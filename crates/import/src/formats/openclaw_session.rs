//! OpenClaw's session logs (`agents/<id>/sessions/*.jsonl`): one entry per line, some of them messages.

use std::collections::VecDeque;

use serde_json::Value;

use super::building::{begin_conversation, build_message, check_message};
use super::digests::stable_id;
use super::listed::{self, Element, ListedFormat, read_id, string_field};
use super::{Format, ReaderContext};
use crate::item::{ExternalId, Item, Role, Skip};
use crate::message_time::MessageTime;

pub(super) const FORMAT: Format = Format {
    id: "openclaw-session",
    name: "OpenClaw session",
    detect: is_session,
    open: |context| listed::open_lines(context, Session::default()),
};

fn is_session(context: &ReaderContext<'_>) -> bool {
    let head = context.head;
    let is_entry = head.is_object_with(&["type", "id", "timestamp"]);
    is_entry && (head.has_keys(&["cwd"]) || head.has_keys(&["parentId", "message"]))
}

#[derive(Default)]
struct Session {
    id: Option<String>,
}

impl ListedFormat for Session {
    fn read_element(&mut self, element: Element<'_>, items: &mut VecDeque<Item>) {
        let entry = match element.parse::<Value>() {
            Ok(entry) => entry,
            Err(skip) => return items.push_back(skip),
        };
        match string_field(&entry, "type") {
            Some("session") => self.begin_session(read_id(&entry, "id").unwrap_or_default(), items),
            Some("message") => self.message(&entry, element, items),
            // Changes of settings do not count as messages, and neither does the header.
            _ => {}
        }
    }
}

/// True for heartbeats: the program asked its model if there is anything to do, or the model had nothing to do.
fn is_heartbeat(role: Role, text: &str) -> bool {
    let text = text.trim();
    match role {
        Role::User => text.starts_with("Read HEARTBEAT.md") || text.contains("reply HEARTBEAT_OK"),
        _ => text.trim_matches(|c: char| !c.is_alphanumeric()) == "HEARTBEAT_OK",
    }
}

impl Session {
    fn begin_session(&mut self, id: String, items: &mut VecDeque<Item>) {
        items.push_back(begin_conversation(&id, None));
        self.id = Some(id);
    }

    fn message(&mut self, entry: &Value, element: Element<'_>, items: &mut VecDeque<Item>) {
        let place = element.place;
        let said = entry.get("message").unwrap_or(&Value::Null);
        let (speaker, role) = match string_field(said, "role") {
            Some("user") => ("User", Role::User),
            Some("assistant") => ("Assistant", Role::Persona),
            _ => {
                items.push_back(Item::Skip(Skip::new(place, "it is a tool's output, not a message")));
                return;
            }
        };
        let text = match said.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                let texts = parts.iter().filter(|part| string_field(part, "type") == Some("text"));
                texts.filter_map(|part| string_field(part, "text")).collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        };
        if text.trim().is_empty() {
            items.push_back(Item::Skip(Skip::new(
                place,
                "it is a tool call or a note of the model, not a message",
            )));
            return;
        }
        if is_heartbeat(role, &text) {
            return items
                .push_back(Item::Skip(Skip::new(place, "it is a heartbeat of the program, not a message")));
        }
        let time = string_field(entry, "timestamp").map_or(MessageTime::Unknown, MessageTime::parse);
        if self.id.is_none() {
            self.begin_session(stable_id(&[&time.to_string(), &text]), items);
        }
        let session = self.id.clone().unwrap_or_default();
        let id = read_id(entry, "id").unwrap_or_else(|| stable_id(&[&time.to_string(), &text]));
        let mut message = build_message(ExternalId::Given(id), &session, (speaker, role), time, text, place);
        message.model = string_field(said, "model").map(str::to_owned).filter(|_| role == Role::Persona);
        message.is_cleaned = element.is_cleaned;
        items.push_back(check_message(message));
    }
}
