//! Generic JSON: Lines with a message or a list of messages each, or an array or object of the same.

use std::collections::VecDeque;

use serde_json::Value;

use super::listed::{self, Element, ListedFormat};
use super::records::{Record, RecordItems, are_message_keys};
use super::{Format, ReaderContext};
use crate::field_names::FieldNames;
use crate::head::Head;
use crate::item::{Item, Skip};

pub(super) const FORMAT: Format = Format {
    id: "jsonl",
    name: "JSON Lines, one message per line",
    detect: |context| is_json_lines(context.head),
    open: |context| listed::open_lines(context, JsonList::from_context(context)),
};

pub(super) const JSON_FORMAT: Format = Format {
    id: "json",
    name: "JSON with a list of messages",
    detect: |context| has_messages(context.head),
    open: |context| listed::open(context, JsonList::from_context(context)),
};

fn is_json_lines(head: &Head) -> bool {
    head.json.as_ref().is_some_and(|json| {
        !json.is_array && (are_message_keys(&json.keys) || json.has_more_values && has_messages(head))
    })
}

fn has_messages(head: &Head) -> bool {
    let Some(json) = &head.json else { return false };
    are_message_keys(&json.keys)
        || json.inner.iter().any(|(key, keys)| is_list_key(key) && are_message_keys(keys))
}

fn is_list_key(key: &str) -> bool {
    matches!(
        key,
        "messages" | "chat" | "history" | "conversation" | "conversations" | "data" | "items" | "turns"
    )
}

/// Adds a message, or the messages of a conversation.
fn add_value(
    json: &[u8],
    place: &str,
    is_cleaned: bool,
    JsonList { records, fields }: &mut JsonList,
    items: &mut VecDeque<Item>,
) {
    let value = match serde_json::from_slice::<Value>(json) {
        Ok(value) => value,
        Err(error) => {
            items.push_back(Item::Skip(Skip::new(place, format!("it is not valid JSON: {error}"))));
            return;
        }
    };
    let Value::Object(object) = value else {
        items.push_back(Item::Skip(Skip::new(place, "it is not a message")));
        return;
    };
    if let Some(record) = Record::from_object(&object, fields) {
        records.add(record, place.to_owned(), is_cleaned, items);
        return;
    }
    let list =
        object.iter().find_map(|(key, value)| is_list_key(key).then_some(value).and_then(Value::as_array));
    let Some(list) = list else {
        items.push_back(Item::Skip(Skip::new(place, "it has no text")));
        return;
    };
    let title = ["title", "name"].iter().find_map(|key| object.get(*key).and_then(Value::as_str));
    let id = ["id", "conversation_id", "uuid"].iter().find_map(|key| match object.get(*key) {
        Some(Value::String(id)) => Some(id.clone()),
        Some(Value::Number(id)) => Some(id.to_string()),
        _ => None,
    });
    let first = list.first().map(Value::to_string).unwrap_or_default();
    let id = id.unwrap_or_else(|| super::digests::stable_id(&[title.unwrap_or_default(), &first]));
    records.begin(id, title, items);
    for (index, message) in list.iter().enumerate() {
        let place = format!("{place}, message {}", index + 1);
        match message.as_object().and_then(|message| Record::from_object(message, fields)) {
            Some(record) => records.add(record, place, is_cleaned, items),
            None => items.push_back(Item::Skip(Skip::new(place, "it has no text"))),
        }
    }
}

struct JsonList {
    records: RecordItems,
    fields: FieldNames,
}

impl JsonList {
    fn from_context(context: &ReaderContext<'_>) -> Self {
        Self { records: RecordItems::default(), fields: context.fields.clone() }
    }
}

impl ListedFormat for JsonList {
    fn is_list(&self, key: &str) -> bool {
        is_list_key(key) || !self.fields.is_empty()
    }

    fn read_element(&mut self, element: Element<'_>, items: &mut VecDeque<Item>) {
        add_value(element.json, &element.place, element.is_cleaned, self, items);
    }
}
