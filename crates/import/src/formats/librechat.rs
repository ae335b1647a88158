//! LibreChat's export of a conversation: a tree of messages with nested replies, or a flat list.

use std::collections::{HashMap, VecDeque};
use std::io;

use serde_json::Value;

use super::branches::{BranchNode, NodeContent, add_tree};
use super::building::{attachment_from_path, begin_conversation, build_message};
use super::digests::stable_id;
use super::listed::string_field;
use super::{Format, ReaderContext, Step, reader_of_steps};
use crate::item::{ExternalId, Item, Role, Skip};
use crate::json::{EnteredValue, JsonReader, RawValue};
use crate::limits::{ELEMENT_BYTES_MAX, MESSAGE_BYTES_MAX};
use crate::lines::clean_text;
use crate::message_time::MessageTime;
use crate::sources::DecodedReader;

pub(super) const FORMAT: Format = Format {
    id: "librechat",
    name: "LibreChat conversation",
    detect: is_librechat,
    open: |context| {
        let json = JsonReader::new(context.source.open_text()?);
        Ok(reader_of_steps(LibreChat {
            json,
            name: context.source.name().to_owned(),
            fields: HashMap::new(),
            said: Vec::new(),
            bytes: 0,
        }))
    },
};

fn is_librechat(context: &ReaderContext<'_>) -> bool {
    let Some(json) = &context.head.json else { return false };
    json.has_top_keys(&["conversationId", "messages"])
        && json.inner_object_has_keys("messages", &["messageId", "isCreatedByUser"])
}

struct LibreChat {
    json: JsonReader<DecodedReader>,
    name: String,
    /// Text fields of the conversation.
    fields: HashMap<String, String>,
    /// Each message with the index of the message that it replies to.
    said: Vec<(Option<usize>, serde_json::Map<String, Value>)>,
    /// Bytes of the messages held in memory.
    bytes: usize,
}

/// An object or array that the reader has entered.
enum OpenValue {
    /// A list of messages, with the one that they reply to.
    List(EnteredValue, Option<usize>),
    /// A message with its index.
    Message(EnteredValue, usize),
}

impl Step for LibreChat {
    /// Reads the whole file: a conversation is a tree whose end must be known before its beginning can be added.
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        if !self.json.enter_object()? {
            return Err(self.json.invalid_json("not an object"));
        }
        let mut root = EnteredValue::default();
        while let Some(key) = self.json.next_key(&mut root)? {
            if key == "messages" && self.json.enter_array()? {
                self.messages(items)?;
            } else if let Some(Value::String(text)) = self.value()? {
                self.fields.insert(key, text);
            }
        }
        let title = self.fields.get("title").map(String::as_str);
        let id = self.fields.get("conversationId").cloned();
        let id = id.unwrap_or_else(|| stable_id(&["librechat", &self.name]));
        items.push_back(begin_conversation(&id, title));
        let mut tree = Tree { conversation: &id, file: &self.name, nodes: HashMap::new(), newest: None };
        let mut ids: Vec<Option<String>> = Vec::new();
        for (parent, fields) in self.said.drain(..) {
            let parent = parent.and_then(|parent| ids.get(parent).cloned().flatten());
            ids.push(tree.add(parent, &Value::Object(fields), items));
        }
        let shown = tree.newest.take().map(|(_, id)| id);
        add_tree(tree.nodes, shown.as_deref(), items);
        Ok(false)
    }
}

impl LibreChat {
    /// Reads the messages of the list just entered, with all replies. A chain of replies is nested as deep as it is
    /// long.
    fn messages(&mut self, items: &mut VecDeque<Item>) -> io::Result<()> {
        let mut open = vec![OpenValue::List(EnteredValue::default(), None)];
        while let Some(innermost) = open.last_mut() {
            match innermost {
                OpenValue::List(list, parent) => {
                    let parent = *parent;
                    if !self.json.next_element(list)? {
                        open.pop();
                    } else if self.bytes > ELEMENT_BYTES_MAX {
                        self.json.skip()?;
                        let reason = format!("the conversation is longer than {ELEMENT_BYTES_MAX} bytes");
                        items.push_back(Item::Skip(Skip::new(&self.name, reason)));
                    } else if self.json.enter_object()? {
                        self.said.push((parent, serde_json::Map::new()));
                        open.push(OpenValue::Message(EnteredValue::default(), self.said.len() - 1));
                    } else {
                        self.json.skip()?;
                        items.push_back(Item::Skip(Skip::new(&self.name, "it is not a message")));
                    }
                }
                OpenValue::Message(object, number) => {
                    let number = *number;
                    match self.json.next_key(object)? {
                        None => _ = open.pop(),
                        Some(key) if key == "children" && self.json.enter_array()? => {
                            open.push(OpenValue::List(EnteredValue::default(), Some(number)));
                        }
                        Some(key) => {
                            if let Some(value) = self.value()? {
                                self.said[number].1.insert(key, value);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The next value; `None` if it is too long or too deep.
    fn value(&mut self) -> io::Result<Option<Value>> {
        let RawValue::Whole(bytes) = self.json.read_raw(MESSAGE_BYTES_MAX)? else { return Ok(None) };
        self.bytes += bytes.len();
        Ok(serde_json::from_str(&clean_text(bytes).0).ok())
    }
}

struct Tree<'a> {
    conversation: &'a str,
    file: &'a str,
    nodes: HashMap<String, BranchNode>,
    /// Time and id of the newest message: the end of the last shown branch.
    newest: Option<(String, String)>,
}

impl Tree<'_> {
    /// Adds a message and returns its id. A message without an id is skipped.
    fn add(&mut self, parent: Option<String>, value: &Value, items: &mut VecDeque<Item>) -> Option<String> {
        let Some(own) = string_field(value, "messageId").map(str::to_owned) else {
            items.push_back(Item::Skip(Skip::new(self.file, "the message has no id")));
            return None;
        };
        let parent = parent.or_else(|| string_field(value, "parentMessageId").map(str::to_owned));
        if let Some(parent) = &parent {
            self.nodes.entry(parent.clone()).or_default().children.push(own.clone());
        }
        let created_at = string_field(value, "createdAt").unwrap_or_default();
        if self.newest.as_ref().is_none_or(|(newest, _)| created_at >= newest.as_str()) {
            self.newest = Some((created_at.to_owned(), own.clone()));
        }
        let content = self.content(value, &own, created_at);
        let node = self.nodes.entry(own.clone()).or_default();
        (node.parent, node.content) = (parent, content);
        Some(own)
    }

    fn content(&self, value: &Value, own: &str, created_at: &str) -> NodeContent {
        let place = format!("{}, message {own}", self.file);
        let is_user = value.get("isCreatedByUser").and_then(Value::as_bool) == Some(true);
        let role = if is_user { Role::User } else { Role::Persona };
        let speaker = string_field(value, "sender").unwrap_or(if is_user { "User" } else { "Assistant" });
        let parts = value.get("content").and_then(Value::as_array).into_iter().flatten();
        // A part's text is a string, or an object with the field `value`.
        let part_text = |part: &Value| match part.get("text") {
            Some(Value::String(text)) => Some(text.clone()),
            Some(text) => string_field(text, "value").map(str::to_owned),
            None => None,
        };
        let written: Vec<String> = parts.filter_map(part_text).collect();
        let text = match string_field(value, "text").filter(|text| !text.trim().is_empty()) {
            Some(text) => text.to_owned(),
            None => written.join("\n"),
        };
        let files: Vec<_> = value
            .get("files")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|file| attachment_from_path(string_field(file, "filename").unwrap_or("file")))
            .collect();
        if text.trim().is_empty() && files.is_empty() {
            return NodeContent::NoTalk(Skip::new(place, "it has no text"));
        }
        let id = ExternalId::Given(own.to_owned());
        let time = MessageTime::parse(created_at);
        let mut message = build_message(id, self.conversation, (speaker, role), time, text, place);
        message.model = string_field(value, "model").filter(|_| !is_user).map(str::to_owned);
        message.attachments = files;
        NodeContent::Talk(Box::new(message))
    }
}
