//! Records of generic formats: an object or row per message, with the usual names of fields.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::building::{begin_conversation, build_message, check_message, role_from_word};
use super::dates::{DateOrder, WrittenTime};
use super::digests::{DigestIds, stable_id};
use super::wechat::is_notice;
use crate::field_names::{FieldKind, FieldNames};
use crate::item::{ExternalId, Item, Role, Skip};
use crate::message_time::MessageTime;

/// Names of each field, the most specific first; case is ignored.
const TEXT_NAMES: &[&str] = &[
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
const SPEAKER_NAMES: &[&str] = &[
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
const ROLE_NAMES: &[&str] = &["role"];
const TIME_NAMES: &[&str] = &[
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
const CONVERSATION_NAMES: &[&str] = &[
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
const ID_NAMES: &[&str] = &["id", "message_id", "uuid", "msg_id", "msgid", "消息id"];
const MODEL_NAMES: &[&str] = &["model"];
const KIND_NAMES: &[&str] = &["type", "消息类型", "类型"];

/// A message of a generic file.
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

/// Columns of a table, by their meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Columns {
    id: Option<usize>,
    conversation: Option<usize>,
    speaker: Option<usize>,
    role: Option<usize>,
    time: Option<usize>,
    text: usize,
    model: Option<usize>,
    kind: Option<usize>,
}

impl Columns {
    /// Finds the columns in a header; `None` without a text, or without any of speaker, role and time. A column that
    /// a person has mapped is found by that name only.
    pub(super) fn from_header(header: &[String], fields: &FieldNames) -> Option<Self> {
        let names: Vec<String> = header.iter().map(|name| name.trim().to_lowercase()).collect();
        let position = |wanted: &str| names.iter().position(|name| name == wanted);
        let find = |kind, known: &[&str]| match fields.for_kind(kind) {
            Some(named) => position(&named.to_lowercase()),
            None => known.iter().find_map(|known| position(known)),
        };
        let columns = Self {
            id: find(FieldKind::Id, ID_NAMES),
            conversation: find(FieldKind::Conversation, CONVERSATION_NAMES),
            speaker: find(FieldKind::From, SPEAKER_NAMES),
            role: find(FieldKind::Role, ROLE_NAMES),
            time: find(FieldKind::Time, TIME_NAMES),
            text: find(FieldKind::Text, TEXT_NAMES)?,
            model: find(FieldKind::Model, MODEL_NAMES),
            kind: KIND_NAMES.iter().find_map(|known| position(known)),
        };
        (columns.speaker.or(columns.role).or(columns.time).is_some()).then_some(columns)
    }

    /// True if the row is a notice of a chat program (somebody joined, a message was withdrawn), in the words of
    /// exporters for WeChat.
    pub(super) fn is_notice(&self, fields: &[String]) -> bool {
        self.kind.and_then(|at| fields.get(at)).is_some_and(|kind| is_notice(kind.trim()))
    }

    pub(super) fn record(&self, fields: &[String]) -> Record {
        let get =
            |at: Option<usize>| at.and_then(|at| fields.get(at)).filter(|field| !field.is_empty()).cloned();
        Record {
            id: get(self.id),
            conversation: get(self.conversation),
            speaker: get(self.speaker),
            role: get(self.role),
            time: get(self.time).map_or(WrittenTime::Unknown, |time| WrittenTime::from_text(&time)),
            text: get(Some(self.text)).unwrap_or_default(),
            model: get(self.model),
        }
    }
}

/// True if these are the keys of a message.
pub(super) fn are_message_keys(keys: &[String]) -> bool {
    Columns::from_header(keys, &FieldNames::default()).is_some()
}

impl Record {
    /// Reads an object; `None` if it has no text. A field that a person has mapped is found by that name only.
    pub(super) fn from_object(object: &Map<String, Value>, fields: &FieldNames) -> Option<Self> {
        let find = |kind, known: &[&str]| match fields.for_kind(kind) {
            Some(named) => value_at(object, named),
            None => known.iter().find_map(|known| value_ignoring_case(object, known)),
        };
        let string = |kind, known: &[&str]| find(kind, known).and_then(short_string);
        let text = find(FieldKind::Text, TEXT_NAMES).and_then(long_text)?;
        let time = match find(FieldKind::Time, TIME_NAMES) {
            Some(Value::Number(number)) => {
                number.as_f64().map(MessageTime::from_number).map_or(WrittenTime::Unknown, WrittenTime::Clear)
            }
            Some(Value::String(time)) => WrittenTime::from_text(time),
            _ => WrittenTime::Unknown,
        };
        Some(Self {
            id: string(FieldKind::Id, ID_NAMES),
            conversation: string(FieldKind::Conversation, CONVERSATION_NAMES),
            speaker: string(FieldKind::From, SPEAKER_NAMES),
            role: string(FieldKind::Role, ROLE_NAMES),
            time,
            text,
            model: string(FieldKind::Model, MODEL_NAMES),
        })
    }
}

/// The value under a name, ignoring case.
fn value_ignoring_case<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.iter().find(|(key, _)| key.to_lowercase() == name.to_lowercase()).map(|(_, value)| value)
}

/// The value under a name, else under a path of names separated by dots.
fn value_at<'a>(object: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    value_ignoring_case(object, path).or_else(|| {
        let (first, rest) = path.split_once('.')?;
        value_at(value_ignoring_case(object, first)?.as_object()?, rest)
    })
}

/// A string or number; for an object, its name.
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

/// A string, or the joined texts of a list of parts.
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

/// Turns records into items: starts conversations and assigns ids.
#[derive(Default)]
pub(super) struct RecordItems {
    ids: DigestIds,
    /// Order of day, month and year, if the whole file was read for it.
    order: Option<DateOrder>,
    /// The conversation that was started last.
    current: Option<String>,
    /// The conversation of records without one.
    unnamed: Option<String>,
}

impl RecordItems {
    /// Creates a reader for a file whose dates have this order of day, month and year.
    pub(super) fn with_date_order(order: DateOrder) -> Self {
        Self { order: Some(order), ..Self::default() }
    }

    /// Adds the record's message, after the start of its conversation if that differs from the current one.
    pub(super) fn add(
        &mut self,
        record: Record,
        place: String,
        is_cleaned: bool,
        items: &mut VecDeque<Item>,
    ) {
        let Some(role) = record.role.as_deref().map_or(Some(Role::Other), role_from_word) else {
            items.push_back(Item::Skip(Skip::new(
                place,
                "it is an instruction or a tool's output, not a \
                    message",
            )));
            return;
        };
        let speaker = record.speaker.or(record.role).unwrap_or_default();
        let role = if role == Role::Other { role_from_word(&speaker).unwrap_or(Role::Other) } else { role };
        let time = record.time.resolve(self.order);
        let id = match record.conversation {
            Some(id) => id,
            None => {
                let first = || stable_id(&[&speaker, &time.to_string(), &record.text]);
                self.unnamed.get_or_insert_with(first).clone()
            }
        };
        if self.current.as_ref() != Some(&id) {
            items.push_back(begin_conversation(&id, None));
            self.current = Some(id.clone());
        }
        let external = match record.id {
            Some(own) => ExternalId::Given(own),
            None => self.ids.next_id(&id, &speaker, time, &record.text),
        };
        let mut message = build_message(external, &id, (&speaker, role), time, record.text, place);
        message.model = record.model;
        message.is_cleaned = is_cleaned;
        items.push_back(check_message(message));
    }

    /// Starts a conversation for records without one.
    pub(super) fn begin(&mut self, id: String, title: Option<&str>, items: &mut VecDeque<Item>) {
        items.push_back(begin_conversation(&id, title));
        self.current = Some(id.clone());
        self.unnamed = Some(id);
    }
}
