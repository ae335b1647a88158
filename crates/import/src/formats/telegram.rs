//! Telegram Desktop's `result.json`: one chat, or all chats of an account.

use std::collections::VecDeque;
use std::io;

use serde_json::Value;

use super::building::{attachment_from_path, begin_conversation, build_message, check_message};
use super::listed::{read_id, string_field};
use super::{Format, Reader, ReaderContext, Step, reader_of_steps};
use crate::error::ImportError;
use crate::head::Head;
use crate::item::{Attachment, AttachmentKind, ExternalId, Item, Role, Skip};
use crate::json::{EnteredValue, JsonReader, RawValue};
use crate::limits::ELEMENT_BYTES_MAX;
use crate::lines::clean_text;
use crate::message_time::MessageTime;
use crate::sources::DecodedReader;

pub(super) const FORMAT: Format = Format {
    id: "telegram",
    name: "Telegram Desktop export",
    detect: |context| is_telegram(context.head),
    open,
};

fn is_telegram(head: &Head) -> bool {
    let Some(json) = &head.json else { return false };
    if json.is_array {
        return false;
    }
    json.has_top_keys(&["name", "type", "id", "messages"]) && head.text.contains("\"from_id\"")
        || json.has_top_keys(&["personal_information", "about"])
        || json.has_top_keys(&["chats", "about"])
        || json.inner_object_has_keys("chats", &["list"])
}

fn open(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    Ok(reader_of_steps(Telegram {
        json: JsonReader::new(context.source.open_text()?),
        name: context.source.name().to_owned(),
        stack: vec![Level::Start],
        own_id: None,
        chat: Chat::default(),
        number: 0,
    }))
}

/// The nested JSON containers, from the outermost to the one being read.
enum Level {
    Start,
    Root(EnteredValue),
    Chats(EnteredValue),
    /// The `list` of chats.
    List(EnteredValue),
    /// One chat of the list.
    Chat(EnteredValue),
    Messages(EnteredValue),
}

#[derive(Default)]
struct Chat {
    id: Option<String>,
    name: Option<String>,
    has_begun: bool,
}

struct Telegram {
    json: JsonReader<DecodedReader>,
    name: String,
    stack: Vec<Level>,
    /// `from_id` of the account that made the export.
    own_id: Option<String>,
    chat: Chat,
    number: u64,
}

impl Step for Telegram {
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        let Some(level) = self.stack.pop() else { return Ok(false) };
        match level {
            Level::Start => {
                if !self.json.enter_object()? {
                    return Err(self.json.invalid_json("it is not an object"));
                }
                self.stack.push(Level::Root(EnteredValue::default()));
            }
            Level::Root(mut object) => {
                if let Some(key) = self.json.next_key(&mut object)? {
                    self.stack.push(Level::Root(object));
                    self.root_field(&key)?;
                }
            }
            Level::Chats(mut object) => {
                if let Some(key) = self.json.next_key(&mut object)? {
                    self.stack.push(Level::Chats(object));
                    if key == "list" && self.json.enter_array()? {
                        self.stack.push(Level::List(EnteredValue::default()));
                    } else {
                        self.json.skip()?;
                    }
                }
            }
            Level::List(mut list) => {
                if self.json.next_element(&mut list)? {
                    self.stack.push(Level::List(list));
                    if self.json.enter_object()? {
                        self.chat = Chat::default();
                        self.stack.push(Level::Chat(EnteredValue::default()));
                    } else {
                        self.json.skip()?;
                    }
                }
            }
            Level::Chat(mut object) => {
                if let Some(key) = self.json.next_key(&mut object)? {
                    self.stack.push(Level::Chat(object));
                    self.chat_field(&key)?;
                }
            }
            Level::Messages(mut list) => {
                if self.json.next_element(&mut list)? {
                    self.stack.push(Level::Messages(list));
                    self.message(items)?;
                }
            }
        }
        Ok(true)
    }
}

impl Telegram {
    fn root_field(&mut self, key: &str) -> io::Result<()> {
        match key {
            "chats" | "left_chats" if self.json.enter_object()? => {
                self.stack.push(Level::Chats(EnteredValue::default()))
            }
            "personal_information" => {
                let person = self.value()?;
                self.own_id = read_id(&person, "user_id").map(|id| format!("user{id}"));
            }
            _ => self.chat_field(key)?,
        }
        Ok(())
    }

    fn chat_field(&mut self, key: &str) -> io::Result<()> {
        match key {
            "messages" if self.json.enter_array()? => {
                self.stack.push(Level::Messages(EnteredValue::default()))
            }
            "name" => self.chat.name = self.value()?.as_str().map(str::to_owned),
            "id" => {
                self.chat.id = match self.value()? {
                    Value::Number(id) => Some(id.to_string()),
                    Value::String(id) => Some(id),
                    _ => None,
                };
            }
            _ => self.json.skip()?,
        }
        Ok(())
    }

    fn value(&mut self) -> io::Result<Value> {
        Ok(match self.json.read_raw(64 * 1024)? {
            RawValue::Whole(bytes) => serde_json::from_str(&clean_text(bytes).0).unwrap_or_default(),
            RawValue::Refused(_) => Value::Null,
        })
    }

    fn message(&mut self, items: &mut VecDeque<Item>) -> io::Result<()> {
        self.number += 1;
        let place = format!("{}, message {}", self.name, self.number);
        let id = self.chat.id.clone().or_else(|| self.chat.name.clone()).unwrap_or_default();
        if !std::mem::replace(&mut self.chat.has_begun, true) {
            items.push_back(begin_conversation(&id, self.chat.name.as_deref()));
        }
        let bytes = match self.json.read_raw(ELEMENT_BYTES_MAX)? {
            RawValue::Whole(bytes) => bytes,
            RawValue::Refused(reason) => {
                items.push_back(Item::Skip(Skip::new(place, reason)));
                return Ok(());
            }
        };
        let (text, is_cleaned) = clean_text(bytes);
        items.push_back(match serde_json::from_str::<Value>(&text) {
            Ok(value) => self.read_item(&id, &value, is_cleaned, place),
            Err(error) => Item::Skip(Skip::new(place, format!("it is not valid JSON: {error}"))),
        });
        Ok(())
    }

    fn read_item(&self, conversation: &str, value: &Value, is_cleaned: bool, place: String) -> Item {
        if string_field(value, "type").is_some_and(|kind| kind != "message") {
            return Item::Skip(Skip::new(place, "it is a notice of the program, not a message"));
        }
        let Some(id) = read_id(value, "id") else { return Item::Skip(Skip::new(place, "it has no id")) };
        let is_own = self.own_id.is_some() && self.own_id.as_deref() == string_field(value, "from_id");
        // A forwarded text is not the sender's.
        let (speaker, role) = match value.get("forwarded_from") {
            Some(origin) => (origin.as_str().unwrap_or_default(), Role::Other),
            None => (
                string_field(value, "from").unwrap_or_default(),
                if is_own { Role::User } else { Role::Other },
            ),
        };
        let time = read_id(value, "date_unixtime")
            .and_then(|seconds| seconds.parse().ok())
            .map(MessageTime::from_seconds)
            .or_else(|| string_field(value, "date").map(MessageTime::parse))
            .unwrap_or(MessageTime::Unknown);
        let text = flat_text(value.get("text"));
        let mut message =
            build_message(ExternalId::Given(id), conversation, (speaker, role), time, text, place);
        message.attachments = attachments(value);
        message.is_cleaned = is_cleaned;
        check_message(message)
    }
}

/// The text of a string, or of a list of strings and formatted parts.
fn flat_text(text: Option<&Value>) -> String {
    match text {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.as_str().or_else(|| string_field(part, "text"))).collect()
        }
        _ => String::new(),
    }
}

fn attachments(value: &Value) -> Vec<Attachment> {
    let kind = match string_field(value, "media_type") {
        Some("sticker") => Some(AttachmentKind::Sticker),
        Some("voice_message" | "audio_file") => Some(AttachmentKind::Audio),
        Some("video_file" | "video_message" | "animation") => Some(AttachmentKind::Video),
        _ => None,
    };
    let mut attachments = Vec::new();
    for (key, default) in [("photo", AttachmentKind::Image), ("file", AttachmentKind::File)] {
        let Some(path) = string_field(value, key) else { continue };
        // Files that were not exported have a sentence in parentheses instead of a path.
        let name =
            string_field(value, "file_name").or_else(|| Some(path).filter(|path| !path.starts_with('(')));
        let mut file = name.map_or(Attachment { kind: default, name: None }, attachment_from_path);
        file.kind = if key == "photo" { default } else { kind.unwrap_or(file.kind) };
        if file.kind == AttachmentKind::Sticker {
            file.name = string_field(value, "sticker_emoji").map(str::to_owned).or(file.name);
        }
        attachments.push(file);
    }
    for key in ["location_information", "contact_information", "poll"] {
        if value.get(key).is_some() {
            let name = key.trim_end_matches("_information").to_owned();
            attachments.push(Attachment { kind: AttachmentKind::File, name: Some(name) });
        }
    }
    attachments
}
