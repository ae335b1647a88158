//! Records of generic formats: an object or row per message, under any of the usual names of fields.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::building::{checked, conversation, message, role_of};
use super::dates::{DateOrder, WrittenTime};
use super::digests::{DigestIds, stable_id};
use crate::item::{ExternalId, Item, Role, Skip};
use crate::message_time::MessageTime;

/// Names of each field, the most telling first; compared without case.
const TEXT: &[&str] = &[
    "text",
    "content",
    "message",
    "body",
    "mes",
    "msg",
    "contents",
    "strcontent",
    "消息内容",
    "内容",
    "消息",
];
const SPEAKER: &[&str] = &[
    "speaker",
    "sender",
    "author",
    "from",
    "name",
    "username",
    "user",
    "nickname",
    "sender_name",
    "who",
    "发送者",
    "发送人",
    "昵称",
    "说话人",
];
const ROLE: &[&str] = &["role"];
const TIME: &[&str] = &[
    "time",
    "timestamp",
    "datetime",
    "date",
    "created_at",
    "create_time",
    "createtime",
    "sent_at",
    "send_date",
    "ts",
    "timestamp_ms",
    "createdat",
    "created",
    "sentat",
    "date_unixtime",
    "时间",
    "日期",
];
const CONVERSATION: &[&str] = &[
    "conversation",
    "conversation_id",
    "chat_id",
    "chat",
    "thread",
    "thread_id",
    "session_id",
    "channel",
    "talker",
    "会话",
];
const ID: &[&str] = &["id", "message_id", "uuid", "msg_id", "msgid", "消息id"];
const MODEL: &[&str] = &["model"];

/// A message as a generic file has it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Record {
    pub(super) id: Option<String>,
    pub(super) conversation: Option<String>,
    pub(super) speaker: Option<String>,
    pub(super) role: Option<String>,
    pub(super) time: WrittenTime,
    pub(super) text: String,
    pub(super) model: Option<String>,
}

/// Which column is what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Columns {
    id: Option<usize>,
    conversation: Option<usize>,
    speaker: Option<usize>,
    role: Option<usize>,
    time: Option<usize>,
    text: usize,
    model: Option<usize>,
}

impl Columns {
    /// From a header; `None` if none of its names is a text's or none a speaker's, role's or time's.
    pub(super) fn of(header: &[String]) -> Option<Self> {
        let names: Vec<String> = header.iter().map(|name| name.trim().to_lowercase()).collect();
        let find =
            |known: &[&str]| known.iter().find_map(|known| names.iter().position(|name| name == known));
        let columns = Self {
            id: find(ID),
            conversation: find(CONVERSATION),
            speaker: find(SPEAKER),
            role: find(ROLE),
            time: find(TIME),
            text: find(TEXT)?,
            model: find(MODEL),
        };
        (columns.speaker.or(columns.role).or(columns.time).is_some()).then_some(columns)
    }

    pub(super) fn record(&self, fields: &[String]) -> Record {
        let get =
            |at: Option<usize>| at.and_then(|at| fields.get(at)).filter(|field| !field.is_empty()).cloned();
        Record {
            id: get(self.id),
            conversation: get(self.conversation),
            speaker: get(self.speaker),
            role: get(self.role),
            time: get(self.time).map_or(WrittenTime::Unknown, |time| WrittenTime::of(&time)),
            text: get(Some(self.text)).unwrap_or_default(),
            model: get(self.model),
        }
    }
}

/// Whether the keys are those of a message.
pub(super) fn are_message_keys(keys: &[String]) -> bool {
    Columns::of(keys).is_some()
}

impl Record {
    /// From an object; `None` if it has no text.
    pub(super) fn of(object: &Map<String, Value>) -> Option<Self> {
        let find = |known: &[&str]| {
            known.iter().find_map(|known| object.iter().find(|(key, _)| key.eq_ignore_ascii_case(known)))
        };
        let string = |known: &[&str]| find(known).and_then(|(_, value)| short_string(value));
        let text = find(TEXT).and_then(|(_, value)| long_text(value))?;
        let time = match find(TIME).map(|(_, value)| value) {
            Some(Value::Number(number)) => {
                number.as_f64().map(MessageTime::from_number).map_or(WrittenTime::Unknown, WrittenTime::Clear)
            }
            Some(Value::String(time)) => WrittenTime::of(time),
            _ => WrittenTime::Unknown,
        };
        Some(Self {
            id: string(ID),
            conversation: string(CONVERSATION),
            speaker: string(SPEAKER),
            role: string(ROLE),
            time,
            text,
            model: string(MODEL),
        })
    }
}

/// A string or number; of an object, its name.
fn short_string(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(object) => ["name", "username", "display_name", "id", "role"]
            .iter()
            .find_map(|key| short_string(object.get(*key)?)),
        _ => None,
    }
}

/// A string, or the texts of a list of parts.
fn long_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                Value::String(text) => Some(text.as_str()),
                Value::Object(part) => part.get("text").and_then(Value::as_str),
                _ => None,
            });
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        Value::Object(object) => object.get("text").or_else(|| object.get("parts")).and_then(long_text),
        _ => None,
    }
}

/// Turns records into items: starts conversations, gives ids.
#[derive(Default)]
pub(super) struct RecordItems {
    ids: DigestIds,
    /// Of day, month and year, where the whole file was asked.
    order: Option<DateOrder>,
    /// The conversation that was started last.
    current: Option<String>,
    /// The one of records that name none.
    unnamed: Option<String>,
}

impl RecordItems {
    /// For a file whose dates have this order of day, month and year.
    pub(super) fn in_order(order: DateOrder) -> Self {
        Self { order: Some(order), ..Self::default() }
    }

    /// Adds the record's message, with the start of its conversation if that is another one.
    pub(super) fn add(
        &mut self,
        record: Record,
        place: String,
        is_cleaned: bool,
        items: &mut VecDeque<Item>,
    ) {
        let Some(role) = record.role.as_deref().map_or(Some(Role::Other), role_of) else {
            items
                .push_back(Item::Skip(Skip::new(place, "it is an instruction or a tool's output, not talk")));
            return;
        };
        let speaker = record.speaker.or(record.role).unwrap_or_default();
        let role = if role == Role::Other { role_of(&speaker).unwrap_or(Role::Other) } else { role };
        let time = record.time.resolve(self.order);
        let id = match record.conversation {
            Some(id) => id,
            None => {
                let first = || stable_id(&[&speaker, &time.to_string(), &record.text]);
                self.unnamed.get_or_insert_with(first).clone()
            }
        };
        if self.current.as_ref() != Some(&id) {
            items.push_back(conversation(&id, None));
            self.current = Some(id.clone());
        }
        let external = match record.id {
            Some(own) => ExternalId::Given(own),
            None => self.ids.next_id(&id, &speaker, time, &record.text),
        };
        let mut message = message(external, &id, (&speaker, role), time, record.text, place);
        message.model = record.model;
        message.is_cleaned = is_cleaned;
        items.push_back(checked(message));
    }

    /// Starts a conversation for records that name none.
    pub(super) fn begin(&mut self, id: String, title: Option<&str>, items: &mut VecDeque<Item>) {
        items.push_back(conversation(&id, title));
        self.current = Some(id.clone());
        self.unnamed = Some(id);
    }
}
