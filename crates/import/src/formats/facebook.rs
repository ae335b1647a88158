//! Messenger's and Instagram's exports: `message_1.json` of a chat, the newest message first.

use std::collections::VecDeque;

use serde_json::Value;

use super::building::{attachment_from_path, begin_conversation, build_message, check_message};
use super::digests::{DigestIds, stable_id};
use super::listed::{self, Element, ListedFormat, string_field};
use super::ordering::oldest_first;
use super::{Format, ReaderContext};
use crate::item::{Attachment, AttachmentKind, Item, Role, Skip};
use crate::message_time::MessageTime;

pub(super) const FORMAT: Format = Format {
    id: "facebook",
    name: "Messenger or Instagram chat",
    detect: is_facebook,
    open: |context| oldest_first(|| listed::open(context, Facebook::default())),
};

/// Fields with files that a message may have, with the kind of the files.
const FILE_LISTS: [(&str, Option<AttachmentKind>); 6] = [
    ("photos", Some(AttachmentKind::Image)),
    ("videos", Some(AttachmentKind::Video)),
    ("audio_files", Some(AttachmentKind::Audio)),
    ("gifs", Some(AttachmentKind::Video)),
    ("files", None),
    ("media", None),
];

fn is_facebook(context: &ReaderContext<'_>) -> bool {
    let Some(json) = &context.head.json else { return false };
    json.has_top_keys(&["participants"])
        && (json.inner_object_has_keys("messages", &["sender_name", "timestamp_ms"])
            || json.inner_object_has_keys("messages", &["senderName", "timestamp"]))
}

#[derive(Default)]
struct Facebook {
    title: String,
    thread: Option<String>,
    has_begun: bool,
    ids: DigestIds,
}

impl ListedFormat for Facebook {
    fn is_list(&self, key: &str) -> bool {
        key == "messages"
    }

    fn read_field(&mut self, key: &str, value: &Value) {
        match (key, value.as_str()) {
            ("title" | "threadName", Some(title)) => self.title = repair_encoding(title),
            ("thread_path", Some(thread)) => self.thread = Some(thread.to_owned()),
            _ => {}
        }
    }

    /// The title follows the messages, so it may be missing at first.
    fn lacks_field(&self) -> bool {
        self.title.is_empty()
    }

    fn read_element(&mut self, element: Element<'_>, items: &mut VecDeque<Item>) {
        let value = match element.parse::<Value>() {
            Ok(value) => value,
            Err(skip) => return items.push_back(skip),
        };
        let chat = self.thread.clone().unwrap_or_else(|| stable_id(&["facebook", &self.title]));
        if !std::mem::replace(&mut self.has_begun, true) {
            items.push_back(begin_conversation(&chat, Some(&self.title)));
        }
        if value.get("is_unsent") == Some(&Value::Bool(true))
            || value.get("isUnsent") == Some(&Value::Bool(true))
        {
            return items.push_back(Item::Skip(Skip::new(element.place, "its sender deleted it")));
        }
        let either =
            |one: &str, other: &str| string_field(&value, one).or_else(|| string_field(&value, other));
        let speaker = either("sender_name", "senderName").map(repair_encoding).unwrap_or_default();
        let mut text = either("content", "text").map(repair_encoding).unwrap_or_default();
        let link = value.get("share").and_then(|share| string_field(share, "link"));
        if let Some(link) = link.filter(|link| !text.contains(*link)) {
            text = [text.as_str(), link]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join("\n");
        }
        let time = ["timestamp_ms", "timestamp"].iter().find_map(|key| value.get(*key)?.as_i64());
        let time = time.map_or(MessageTime::Unknown, MessageTime::from_millis);
        let id = self.ids.next_id(&chat, &speaker, time, &text);
        let mut message = build_message(id, &chat, (&speaker, Role::Other), time, text, element.place);
        for (list, kind) in FILE_LISTS {
            let files = value.get(list).and_then(Value::as_array).into_iter().flatten();
            message.attachments.extend(files.filter_map(|file| string_field(file, "uri")).map(|path| {
                let file = attachment_from_path(path);
                Attachment { kind: kind.unwrap_or(file.kind), ..file }
            }));
        }
        if value.get("sticker").is_some_and(Value::is_object) {
            message.attachments.push(Attachment { kind: AttachmentKind::Sticker, name: None });
        }
        message.is_cleaned = element.is_cleaned;
        items.push_back(check_message(message));
    }
}

/// The original text: Facebook writes each byte of UTF-8 as a character of its own.
fn repair_encoding(text: &str) -> String {
    let bytes: Option<Vec<u8>> = text.chars().map(|letter| u8::try_from(u32::from(letter)).ok()).collect();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_written_as_characters_are_read() {
        assert_eq!(repair_encoding("caf\u{c3}\u{a9} \u{f0}\u{9f}\u{90}\u{9d}"), "café 🐝");
        for text in ["plain", "café", "早上好"] {
            assert_eq!(repair_encoding(text), text);
        }
    }
}
