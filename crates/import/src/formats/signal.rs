//! Signal Desktop's messages as JSON: a list of database records, as written by sigtop and similar exporters.

use std::collections::VecDeque;

use serde_json::Value;

use super::building::{attachment_from_path, begin_conversation, build_message, check_message};
use super::listed::{self, Element, ListedFormat, read_id, string_field};
use super::{Format, ReaderContext};
use crate::item::{Attachment, AttachmentKind, ExternalId, Item, Role, Skip};
use crate::message_time::MessageTime;

pub(super) const FORMAT: Format = Format {
    id: "signal",
    name: "Signal Desktop messages",
    detect: is_signal,
    open: |context| {
        let title = context.source.stem().to_owned();
        listed::open(context, SignalReader { title, begun: None })
    },
};

fn is_signal(context: &ReaderContext<'_>) -> bool {
    let Some(json) = &context.head.json else { return false };
    const SIGNAL_KEYS: &[&str] = &["sent_at", "conversationId", "type"];
    json.is_array && json.has_top_keys(SIGNAL_KEYS)
        || json.inner_object_has_keys("messages", SIGNAL_KEYS)
        || json.inner_object_has_keys("messsages", SIGNAL_KEYS)
}

struct SignalReader {
    title: String,
    begun: Option<String>,
}

impl ListedFormat for SignalReader {
    fn is_list(&self, key: &str) -> bool {
        // One exporter misspells the name.
        matches!(key, "messages" | "messsages")
    }

    fn read_element(&mut self, element: Element<'_>, items: &mut VecDeque<Item>) {
        let value = match element.parse::<Value>() {
            Ok(value) => value,
            Err(skip) => return items.push_back(skip),
        };
        let place = element.place.clone();
        let role = match string_field(&value, "type") {
            Some("outgoing") => Role::User,
            Some("incoming") => Role::Other,
            _ => {
                items.push_back(Item::Skip(Skip::new(place, "it is a notice of the program, not a message")));
                return;
            }
        };
        let id = read_id(&value, "conversationId").unwrap_or_default();
        if self.begun.as_ref() != Some(&id) {
            items.push_back(begin_conversation(&id, Some(&self.title)));
            self.begun = Some(id.clone());
        }
        let speaker = match role {
            Role::User => Some("Me".to_owned()),
            _ => ["sourceName", "source", "sourceServiceId", "sourceUuid"]
                .iter()
                .find_map(|key| read_id(&value, key)),
        };
        let time = value
            .get("sent_at")
            .and_then(Value::as_i64)
            .map_or(MessageTime::Unknown, MessageTime::from_millis);
        let external = read_id(&value, "id")
            .unwrap_or_else(|| format!("{}-{time}", speaker.as_deref().unwrap_or_default()));
        let text = string_field(&value, "body").unwrap_or_default().to_owned();
        let speaker = speaker.unwrap_or_default();
        let mut message =
            build_message(ExternalId::Given(external), &id, (&speaker, role), time, text, place);
        message.attachments = attachments(&value);
        message.is_cleaned = element.is_cleaned;
        items.push_back(check_message(message));
    }
}

fn attachments(value: &Value) -> Vec<Attachment> {
    let list = value.get("attachments").and_then(Value::as_array).into_iter().flatten();
    let files = list.map(|file| {
        let kind = match string_field(file, "contentType").and_then(|kind| kind.split('/').next()) {
            Some("image") => AttachmentKind::Image,
            Some("video") => AttachmentKind::Video,
            Some("audio") => AttachmentKind::Audio,
            _ => AttachmentKind::File,
        };
        Attachment {
            kind,
            name: string_field(file, "fileName").and_then(|name| attachment_from_path(name).name),
        }
    });
    let sticker = value.get("sticker").filter(|sticker| sticker.is_object());
    let sticker = sticker.map(|sticker| Attachment {
        kind: AttachmentKind::Sticker,
        name: string_field(sticker, "emoji").map(str::to_owned),
    });
    files.chain(sticker).collect()
}
