//! WeChat, in the formats of common exporters: JSON of WeFlow, ChatLab, chatlog and PyWxDump; CSV of PyWxDump and
//! MemoTrace.

use std::collections::{HashMap, VecDeque};
use std::io;

use serde_json::Value;

use super::building::{begin_conversation, build_message, check_message};
use super::digests::{DigestIds, stable_id};
use super::listed::{self, Element, ListedFormat, read_id, string_field};
use super::{Format, Reader, ReaderContext, Step, reader_of_steps};
use crate::csv::{CsvRecord, CsvRecords};
use crate::error::ImportError;
use crate::item::{Attachment, AttachmentKind, ExternalId, Item, Role, Skip};
use crate::limits::ELEMENT_BYTES_MAX;
use crate::message_time::MessageTime;
use crate::sources::DecodedReader;

pub(super) const FORMAT: Format =
    Format { id: "wechat", name: "WeChat (JSON)", detect: is_json, open: open_json };

pub(super) const CSV_FORMAT: Format =
    Format { id: "wechat-csv", name: "WeChat (CSV)", detect: is_csv, open: open_csv };

fn is_json(context: &ReaderContext<'_>) -> bool {
    let head = context.head;
    let Some(json) = &head.json else { return false };
    json.has_top_keys(&["weflow", "session"])
        || json.has_top_keys(&["chatlab", "meta"])
        || json.inner_object_has_keys("messages", &["isSend", "senderUsername"])
        || head.is_array_of(&["talker", "isSelf", "sender"])
        || head.is_array_of(&["MsgSvrID", "is_sender", "talker"])
}

fn is_csv(context: &ReaderContext<'_>) -> bool {
    context.head.complete_lines().next().is_some_and(|line| {
        let has = |names: &[&str]| names.iter().all(|name| line.contains(name));
        has(&["localId", "IsSender", "StrContent", "CreateTime"])
            || has(&["MsgSvrID", "is_sender", "talker", "CreateTime"])
    })
}

fn open_json(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    let has = |key: &str| context.head.json.as_ref().is_some_and(|json| json.has_top_keys(&[key]));
    let is_chatlab = has("chatlab");
    let format = WeChat { file: context.source.stem().to_owned(), is_chatlab, ..WeChat::default() };
    // ChatLab writes long chats line by line.
    match has("_type") {
        true => listed::open_lines(context, format),
        false => listed::open(context, format),
    }
}

#[derive(Default)]
struct WeChat {
    file: String,
    /// True if types are ChatLab's numbers, not WeChat's.
    is_chatlab: bool,
    /// Id and name of the file's chat.
    chat: Option<(String, String)>,
    /// The account's own id.
    own_id: Option<String>,
    names: HashMap<String, String>,
    begun: Option<String>,
    ids: DigestIds,
}

/// A message in any of the supported forms.
struct Record {
    id: Option<String>,
    chat: Option<(String, String)>,
    speaker: String,
    is_own: bool,
    is_notice: bool,
    time: MessageTime,
    text: String,
    attachment: Option<AttachmentKind>,
}

impl ListedFormat for WeChat {
    fn is_list(&self, key: &str) -> bool {
        key == "messages"
    }

    fn read_field(&mut self, key: &str, value: &Value) {
        match key {
            "session" => {
                let name =
                    ["remark", "displayName", "nickname"].iter().find_map(|key| string_field(value, key));
                let id = string_field(value, "wxid").or_else(|| string_field(value, "username"));
                self.chat = id.or(name).map(|id| (id.to_owned(), name.unwrap_or(id).to_owned()));
            }
            "meta" => {
                let name = string_field(value, "name").unwrap_or_default();
                let id = string_field(value, "groupId")
                    .map_or_else(|| stable_id(&["chatlab", name]), str::to_owned);
                self.chat = Some((id, name.to_owned()));
                self.own_id = string_field(value, "ownerId").map(str::to_owned);
            }
            "members" => value.as_array().into_iter().flatten().for_each(|member| self.add_member(member)),
            _ => {}
        }
    }

    fn lacks_field(&self) -> bool {
        self.chat.is_none()
    }

    fn read_element(&mut self, element: Element<'_>, items: &mut VecDeque<Item>) {
        if element.json.starts_with(b"#") {
            return;
        }
        match element.parse::<Value>() {
            Ok(value) if string_field(&value, "_type") == Some("header") => {
                if let Some(meta) = value.get("meta") {
                    self.read_field("meta", meta);
                }
            }
            Ok(value) if string_field(&value, "_type") == Some("member") => self.add_member(&value),
            Ok(value) => {
                let record = self.record(&value);
                self.add(record, element.is_cleaned, element.place, items);
            }
            Err(skip) => items.push_back(skip),
        }
    }
}

impl WeChat {
    fn add_member(&mut self, member: &Value) {
        let name = string_field(member, "groupNickname").or_else(|| string_field(member, "accountName"));
        if let (Some(id), Some(name)) = (string_field(member, "platformId"), name) {
            self.names.insert(id.to_owned(), name.to_owned());
        }
    }

    fn record(&self, value: &Value) -> Record {
        let flag = |key: &str| match value.get(key) {
            Some(Value::Bool(flag)) => Some(*flag),
            Some(Value::Number(number)) => Some(number.as_i64() == Some(1)),
            Some(Value::String(text)) => Some(text == "1"),
            _ => None,
        };
        let first = |keys: &[&str]| keys.iter().find_map(|key| string_field(value, key)).map(str::to_owned);
        let sender = first(&["sender", "senderUsername"]);
        let is_own = flag("isSend")
            .or_else(|| flag("isSelf"))
            .or_else(|| flag("is_sender"))
            .unwrap_or_else(|| sender.is_some() && sender == self.own_id);
        let known = sender.as_ref().and_then(|sender| self.names.get(sender)).cloned();
        let speaker = first(&["senderDisplayName", "senderName", "groupNickname", "accountName"])
            .or(known)
            .or_else(|| sender.clone())
            .unwrap_or_else(|| if is_own { "我".to_owned() } else { first(&["talker"]).unwrap_or_default() });
        let time = ["createTime", "timestamp", "time", "CreateTime"].iter().find_map(|key| {
            match value.get(*key)? {
                Value::Number(number) => number.as_f64().map(MessageTime::from_number),
                Value::String(text) => Some(MessageTime::parse(text)),
                _ => None,
            }
        });
        // `talker` is the speaker for PyWxDump, and the chat for chatlog.
        let chat =
            first(&["room_name"]).or_else(|| sender.as_ref().and_then(|_| first(&["talker"]))).map(|id| {
                let name = first(&["talkerName"]).unwrap_or_else(|| id.clone());
                (id, name)
            });
        let kind = read_id(value, "type").or_else(|| read_id(value, "type_name")).unwrap_or_default();
        let attachment =
            if self.is_chatlab { chatlab_attachment_kind(&kind) } else { attachment_kind(&kind) };
        let text = first(&["content", "msg", "StrContent"]).unwrap_or_default();
        // Exporters write `[图片]` for a message without text.
        let is_placeholder =
            attachment.is_some() && text.starts_with('[') && text.ends_with(']') && !text.contains(' ');
        Record {
            id: ["serverId", "localId", "platformMessageId", "MsgSvrID", "seq", "id"]
                .iter()
                .find_map(|key| read_id(value, key)),
            chat,
            speaker,
            is_own,
            is_notice: is_notice(&kind) || self.is_chatlab && matches!(kind.as_str(), "80" | "81"),
            time: time.unwrap_or(MessageTime::Unknown),
            text: if is_placeholder { String::new() } else { text },
            attachment,
        }
    }

    fn add(&mut self, record: Record, is_cleaned: bool, place: String, items: &mut VecDeque<Item>) {
        if record.is_notice {
            items.push_back(Item::Skip(Skip::new(place, "it is a notice of the program, not a message")));
            return;
        }
        let chat = record.chat.or_else(|| self.chat.clone());
        let (id, name) = chat.unwrap_or_else(|| (stable_id(&["wechat", &self.file]), self.file.clone()));
        if self.begun.as_ref() != Some(&id) {
            items.push_back(begin_conversation(&id, Some(&name)));
            self.begun = Some(id.clone());
        }
        let role = if record.is_own { Role::User } else { Role::Other };
        let external = match record.id {
            // Local ids are unique within the chat only together with the time.
            Some(own) => ExternalId::Given(format!("{own}@{}", record.time)),
            None => self.ids.next_id(&id, &record.speaker, record.time, &record.text),
        };
        let is_markup =
            record.text.trim_start().starts_with("<?xml") || record.text.trim_start().starts_with("<msg");
        let text = if is_markup { String::new() } else { record.text };
        let mut message = build_message(external, &id, (&record.speaker, role), record.time, text, place);
        let kind = record.attachment.or(is_markup.then_some(AttachmentKind::File));
        message.attachments.extend(kind.map(|kind| Attachment { kind, name: None }));
        message.is_cleaned = is_cleaned;
        items.push_back(check_message(message));
    }
}

pub(super) fn is_notice(kind: &str) -> bool {
    matches!(kind, "10000" | "10002" | "系统消息" | "系统通知")
}

/// The kind of attachment for ChatLab's number.
fn chatlab_attachment_kind(kind: &str) -> Option<AttachmentKind> {
    match kind {
        "1" => Some(AttachmentKind::Image),
        "2" => Some(AttachmentKind::Audio),
        "3" => Some(AttachmentKind::Video),
        "4" => Some(AttachmentKind::File),
        "5" => Some(AttachmentKind::Sticker),
        _ => None,
    }
}

/// The kind of attachment for WeChat's number or the exporters' word.
fn attachment_kind(kind: &str) -> Option<AttachmentKind> {
    match kind {
        "3" | "图片" | "图片消息" => Some(AttachmentKind::Image),
        "34" | "语音" | "语音消息" => Some(AttachmentKind::Audio),
        "43" | "62" | "视频" | "视频消息" => Some(AttachmentKind::Video),
        "47" | "动画表情" | "表情" | "动画表情消息" => Some(AttachmentKind::Sticker),
        "文件" | "文件消息" => Some(AttachmentKind::File),
        _ => None,
    }
}

fn open_csv(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    Ok(reader_of_steps(WeChatCsv {
        records: CsvRecords::new(context.source.open_text()?, b',', ELEMENT_BYTES_MAX),
        name: context.source.name().to_owned(),
        header: None,
        chat: WeChat { file: context.source.stem().to_owned(), ..WeChat::default() },
    }))
}

struct WeChatCsv {
    records: CsvRecords<DecodedReader>,
    name: String,
    header: Option<Vec<String>>,
    chat: WeChat,
}

impl Step for WeChatCsv {
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        let (line, fields, is_cleaned) = match self.records.next_record()? {
            None => return Ok(false),
            Some(CsvRecord::TooLong { line }) => {
                items.push_back(Item::Skip(Skip::new(
                    format!("{}, line {line}", self.name),
                    "the record is too long",
                )));
                return Ok(true);
            }
            Some(CsvRecord::Fields { line, fields, is_cleaned }) => (line, fields, is_cleaned),
        };
        let Some(header) = &self.header else {
            self.header = Some(fields);
            return Ok(true);
        };
        let field = |names: &[&str]| {
            let at = names.iter().find_map(|name| header.iter().position(|own| own.trim() == *name));
            at.and_then(|at| fields.get(at)).filter(|field| !field.is_empty()).cloned()
        };
        let is_own = field(&["IsSender", "is_sender"]).as_deref() == Some("1");
        let kind = field(&["Type", "type_name"]).unwrap_or_default();
        let partner = field(&["Remark", "NickName"]);
        // `talker` is the speaker here, so using it as the chat would split the chat in two.
        let talker = field(&["room_name", "TalkerId"]);
        // In a chat of two, MemoTrace omits the last columns: the file name has the partner's name.
        let title = self.chat.file.trim_end_matches("_utf8").to_owned();
        let speaker = match is_own {
            true => "我".to_owned(),
            false => partner.or_else(|| field(&["Sender", "talker"])).unwrap_or_else(|| title.clone()),
        };
        let record = Record {
            id: field(&["MsgSvrID", "localId", "id"]),
            chat: talker.map(|id| (id, title)),
            speaker,
            is_own,
            is_notice: is_notice(&kind),
            time: field(&["CreateTime", "StrTime"])
                .map_or(MessageTime::Unknown, |time| MessageTime::parse(&time)),
            text: field(&["StrContent", "msg"]).unwrap_or_default(),
            attachment: attachment_kind(&kind),
        };
        let place = format!("{}, line {line}", self.name);
        self.chat.add(record, is_cleaned, place, items);
        Ok(true)
    }
}
