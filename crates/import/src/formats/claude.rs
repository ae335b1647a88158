//! Claude's export: `conversations.json`, `projects.json` and `memories.json`.

use std::collections::{HashMap, HashSet, VecDeque};

use serde::Deserialize;
use serde_json::Value;

use super::branches::{BranchNode, NodeContent, add_tree};
use super::building::{attachment_from_path, build_message, conversation_with_star};
use super::digests::stable_id;
use super::listed::{self, Element, ListedFormat, deserialize_lenient, string_field};
use super::openclaw::leading_day;
use super::{Format, ReaderContext, statements};
use crate::item::{Attachment, CoreBlock, CoreDraft, Document, ExternalId, Item, Role, Skip};
use crate::message_time::MessageTime;

pub(super) const FORMAT: Format = Format {
    id: "claude",
    name: "Claude export",
    detect: is_claude,
    open: |context| {
        listed::open(
            context,
            Claude { name: context.source.name().to_owned(), whole: serde_json::Map::new() },
        )
    },
};

fn is_claude(context: &ReaderContext<'_>) -> bool {
    let head = context.head;
    head.has_keys(&["uuid", "chat_messages"])
        || head.has_keys(&["uuid", "is_private", "docs"])
        || head.has_keys(&["conversations_memory"])
}

struct Claude {
    name: String,
    /// Fields of the root object, if the file is a single conversation or project.
    whole: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct ExportedConversation {
    uuid: Option<String>,
    name: Option<String>,
    current_leaf_message_uuid: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    is_starred: bool,
    chat_messages: Vec<Value>,
}

#[derive(Deserialize)]
struct ExportedMessage {
    uuid: String,
    text: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    content: Vec<Value>,
    sender: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    created_at: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    attachments: Vec<Value>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    files: Vec<Value>,
}

impl ListedFormat for Claude {
    fn read_field(&mut self, key: &str, value: &Value) {
        self.whole.insert(key.to_owned(), value.clone());
    }

    fn read_end(&mut self, items: &mut VecDeque<Item>) {
        let json = Value::Object(std::mem::take(&mut self.whole)).to_string();
        let element = Element { json: json.as_bytes(), is_cleaned: false, place: self.name.clone() };
        self.read_element(element, items);
    }

    fn read_element(&mut self, element: Element<'_>, items: &mut VecDeque<Item>) {
        if let Ok(exported) = element.parse::<ExportedConversation>() {
            return add_conversation(exported, &element, items);
        }
        match element.parse::<Value>() {
            Ok(value) if value.get("docs").is_some() => add_project(&value, &element, items),
            Ok(value) if value.get("conversations_memory").is_some() => add_memory(&value, &element, items),
            // Reports what a conversation lacks.
            Ok(_) => items.extend(element.parse::<ExportedConversation>().err()),
            Err(skip) => items.push_back(skip),
        }
    }
}

fn add_conversation(exported: ExportedConversation, element: &Element<'_>, items: &mut VecDeque<Item>) {
    let name = exported.name.as_deref().unwrap_or_default();
    let messages = exported.chat_messages;
    let id = exported.uuid.clone().unwrap_or_else(|| {
        let first = messages.first().and_then(|message| string_field(message, "uuid"));
        stable_id(&[name, first.unwrap_or_default()])
    });
    items.push_back(conversation_with_star(&id, exported.name.as_deref(), exported.is_starred));
    let mut nodes: HashMap<String, BranchNode> = HashMap::new();
    let mut previous: Option<String> = None;
    let known: HashSet<&str> = messages.iter().filter_map(|message| string_field(message, "uuid")).collect();
    let parent_of = |message: &Value| string_field(message, "parent_message_uuid").map(str::to_owned);
    let is_tree =
        messages.iter().any(|message| parent_of(message).is_some_and(|parent| known.contains(&*parent)));
    for (number, message) in (1..).zip(&messages) {
        let exported = match serde_json::from_value::<ExportedMessage>(message.clone()) {
            Ok(exported) => exported,
            Err(error) => {
                let place = format!("{}, message {number}", element.place);
                items.push_back(Item::Skip(Skip::new(
                    place,
                    format!("it is not in the expected form: {error}"),
                )));
                continue;
            }
        };
        let own = exported.uuid.clone();
        let parent = if is_tree { parent_of(message) } else { previous.take() };
        if let Some(parent) = &parent {
            nodes.entry(parent.clone()).or_default().children.push(own.clone());
        }
        let content = content(&id, exported, element, items);
        let node = nodes.entry(own.clone()).or_default();
        node.parent = parent;
        node.content = content;
        previous = Some(own);
    }
    let shown = exported.current_leaf_message_uuid.or(previous);
    add_tree(nodes, shown.as_deref(), items);
}

fn content(
    conversation: &str,
    exported: ExportedMessage,
    element: &Element<'_>,
    items: &mut VecDeque<Item>,
) -> NodeContent {
    let place = format!("{}, message {}", element.place, exported.uuid);
    let (speaker, role) = match exported.sender.as_deref() {
        Some("human" | "user") => ("Human", Role::User),
        Some("assistant") => ("Claude", Role::Persona),
        other => (other.unwrap_or_default(), Role::Other),
    };
    let parts = exported.content.iter().filter(|part| string_field(part, "type") == Some("text"));
    let parts: Vec<&str> = parts.filter_map(|part| string_field(part, "text")).collect();
    let text = if parts.is_empty() { exported.text.unwrap_or_default() } else { parts.join("\n") };
    let mut attachments: Vec<Attachment> = Vec::new();
    for (index, file) in exported.attachments.iter().chain(&exported.files).enumerate() {
        let name = string_field(file, "file_name").unwrap_or("pasted text");
        attachments.push(attachment_from_path(name));
        if let Some(text) = string_field(file, "extracted_content") {
            items.push_back(Item::Document(Document {
                id: format!("{}#{index}", exported.uuid),
                name: name.to_owned(),
                day: exported.created_at.as_deref().and_then(leading_day),
                text: text.to_owned(),
                is_cleaned: element.is_cleaned,
                place: place.clone(),
            }));
        }
    }
    if text.trim().is_empty() && attachments.is_empty() {
        return NodeContent::Empty;
    }
    let time = exported.created_at.as_deref().map_or(MessageTime::Unknown, MessageTime::parse);
    let mut message =
        build_message(ExternalId::Given(exported.uuid), conversation, (speaker, role), time, text, place);
    message.attachments = attachments;
    message.is_cleaned = element.is_cleaned;
    NodeContent::Talk(Box::new(message))
}

fn add_project(project: &Value, element: &Element<'_>, items: &mut VecDeque<Item>) {
    let name = string_field(project, "name").unwrap_or("project");
    if let Some(text) = string_field(project, "prompt_template").filter(|text| !text.trim().is_empty()) {
        items.push_back(Item::CoreDraft(CoreDraft {
            block: CoreBlock::Style,
            title: format!("Instructions of the project {name}"),
            text: text.to_owned(),
            place: element.place.clone(),
        }));
    }
    for document in project.get("docs").and_then(Value::as_array).into_iter().flatten() {
        let file = string_field(document, "filename").unwrap_or("document");
        let full_name = format!("{name}/{file}");
        items.push_back(Item::Document(Document {
            id: string_field(document, "uuid").map_or_else(|| full_name.clone(), str::to_owned),
            name: full_name,
            day: string_field(document, "created_at").and_then(leading_day),
            text: string_field(document, "content").unwrap_or_default().to_owned(),
            is_cleaned: element.is_cleaned,
            place: element.place.clone(),
        }));
    }
}

fn add_memory(memory: &Value, element: &Element<'_>, items: &mut VecDeque<Item>) {
    let projects = memory.get("project_memories").and_then(Value::as_object).into_iter().flatten();
    let texts = string_field(memory, "conversations_memory")
        .into_iter()
        .chain(projects.filter_map(|(_, text)| text.as_str()));
    let statements = texts.flat_map(statements::statements_of_markdown);
    items.extend(statements.map(|text| statements::statement_item(&text, None, "Claude", &element.place)));
}
