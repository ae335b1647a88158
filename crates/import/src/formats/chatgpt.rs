//! ChatGPT's `conversations.json`: a list of conversations, each a tree of nodes under `mapping`.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use jiff::civil::Date;
use serde::Deserialize;
use serde_json::Value;

use super::branches::{BranchNode, NodeContent, add_tree};
use super::building::{attachment_from_path, build_message, conversation_with_star};
use super::digests::stable_id;
use super::listed::{self, Element, ListedFormat, deserialize_lenient, string_field};
use super::{Format, ReaderContext, statements};
use crate::item::{Attachment, AttachmentKind, CoreBlock, CoreDraft, ExternalId, Item, Role, Skip};
use crate::message_time::MessageTime;

pub(super) const FORMAT: Format = Format {
    id: "chatgpt",
    name: "ChatGPT export",
    detect: |context: &ReaderContext<'_>| context.head.has_keys(&["mapping"]),
    open: |context| listed::open(context, ChatGpt::default()),
};

#[derive(Default)]
struct ChatGpt {
    /// Custom instructions and saved memories found so far, because every conversation repeats them.
    instructions: HashSet<String>,
    /// Fields of the root object, if the file is a single conversation.
    whole: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct ExportedConversation {
    title: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    create_time: Option<f64>,
    conversation_id: Option<String>,
    id: Option<String>,
    current_node: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    is_starred: bool,
    /// Sorted, so that an interrupted run finds the same items in the same order.
    mapping: BTreeMap<String, ExportedNode>,
}

#[derive(Deserialize)]
struct ExportedNode {
    message: Option<Value>,
    parent: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    children: Vec<String>,
}

#[derive(Deserialize)]
struct ExportedMessage {
    id: Option<String>,
    author: Option<Author>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    create_time: Option<f64>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    content: Option<ExportedContent>,
    recipient: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Author {
    role: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct ExportedContent {
    content_type: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    parts: Vec<Value>,
    text: Option<String>,
    user_profile: Option<String>,
    user_instructions: Option<String>,
    model_set_context: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    model_slug: Option<String>,
    is_visually_hidden_from_conversation: Option<bool>,
    #[serde(deserialize_with = "deserialize_lenient")]
    attachments: Vec<Value>,
    user_context_message_data: Option<Value>,
}

impl ListedFormat for ChatGpt {
    fn is_list(&self, key: &str) -> bool {
        key == "conversations"
    }

    fn read_field(&mut self, key: &str, value: &Value) {
        self.whole.insert(key.to_owned(), value.clone());
    }

    fn read_end(&mut self, items: &mut VecDeque<Item>) {
        let whole = std::mem::take(&mut self.whole);
        if whole.contains_key("mapping") {
            let json = Value::Object(whole).to_string();
            let element =
                Element { json: json.as_bytes(), is_cleaned: false, place: "the conversation".to_owned() };
            self.read_element(element, items);
        }
    }

    fn read_element(&mut self, element: Element<'_>, items: &mut VecDeque<Item>) {
        let exported: ExportedConversation = match element.parse() {
            Ok(exported) => exported,
            Err(skip) => return items.push_back(skip),
        };
        let created = exported.create_time.map(|time| time.to_string()).unwrap_or_default();
        let id = exported
            .conversation_id
            .or(exported.id)
            .unwrap_or_else(|| stable_id(&[exported.title.as_deref().unwrap_or_default(), &created]));
        items.push_back(conversation_with_star(&id, exported.title.as_deref(), exported.is_starred));
        let mut nodes = HashMap::new();
        for (node_id, node) in exported.mapping {
            let content = match node.message.map(serde_json::from_value::<ExportedMessage>) {
                None => NodeContent::Empty,
                Some(Ok(message)) => self.content(&id, &node_id, message, &element, items),
                Some(Err(error)) => {
                    let place = format!("{}, node {node_id}", element.place);
                    NodeContent::NoTalk(Skip::new(place, format!("it is not in the expected form: {error}")))
                }
            };
            nodes.insert(node_id, BranchNode { parent: node.parent, children: node.children, content });
        }
        add_tree(nodes, exported.current_node.as_deref(), items);
    }
}

impl ChatGpt {
    fn content(
        &mut self,
        conversation: &str,
        node_id: &str,
        exported: ExportedMessage,
        element: &Element<'_>,
        items: &mut VecDeque<Item>,
    ) -> NodeContent {
        let Some(content) = exported.content else { return NodeContent::Empty };
        let place = format!("{}, node {node_id}", element.place);
        let profile = exported.metadata.user_context_message_data.as_ref();
        for (block, text) in [
            (CoreBlock::User, profile.and_then(|data| string_field(data, "about_user_message"))),
            (CoreBlock::Style, profile.and_then(|data| string_field(data, "about_model_message"))),
            (CoreBlock::User, content.user_profile.as_deref()),
            (CoreBlock::Style, content.user_instructions.as_deref()),
        ] {
            self.add_instruction(block, text, &place, items);
        }
        for (day, text) in
            content.model_set_context.iter().flat_map(|text| statements::statements_of_numbered_list(text))
        {
            self.saved_memory(&text, day, &place, items);
        }
        // The tool by which the model stores a memory.
        if exported.recipient.as_deref() == Some("bio") {
            let day = exported.create_time.map(MessageTime::from_seconds).and_then(|time| time.civil_day());
            self.saved_memory(&text_and_pictures(&content).0, day, &place, items);
            return NodeContent::Empty;
        }
        let kind = content.content_type.as_deref().unwrap_or("text");
        if matches!(kind, "user_editable_context" | "model_editable_context") {
            return NodeContent::Empty;
        }
        let author = exported.author.as_ref();
        let (speaker, role) = match author.and_then(|author| author.role.as_deref()) {
            Some("user") => match author.and_then(|author| author.name.as_deref()) {
                Some(name) if !name.trim().is_empty() => (name, Role::Other),
                _ => ("User", Role::User),
            },
            Some("assistant") => ("ChatGPT", Role::Persona),
            _ if is_blank(&content) => return NodeContent::Empty,
            _ => {
                return NodeContent::NoTalk(Skip::new(
                    place,
                    "it is an instruction or a tool's output, not a message",
                ));
            }
        };
        if exported.metadata.is_visually_hidden_from_conversation == Some(true) {
            return NodeContent::Empty;
        }
        let is_to_all = exported.recipient.as_deref().is_none_or(|recipient| recipient == "all");
        if !is_to_all || !matches!(kind, "text" | "multimodal_text" | "code") {
            return NodeContent::NoTalk(Skip::new(
                place,
                "it is a tool call or a note of the model, not a message",
            ));
        }
        let (text, mut attachments) = text_and_pictures(&content);
        attachments.extend(
            exported
                .metadata
                .attachments
                .iter()
                .filter_map(|file| string_field(file, "name"))
                .map(attachment_from_path),
        );
        if text.trim().is_empty() && attachments.is_empty() {
            return NodeContent::Empty;
        }
        let id = ExternalId::Given(exported.id.unwrap_or_else(|| node_id.to_owned()));
        let time = exported.create_time.map_or(MessageTime::Unknown, MessageTime::from_seconds);
        let mut message = build_message(id, conversation, (speaker, role), time, text, place);
        message.attachments = attachments;
        message.model = exported.metadata.model_slug.filter(|_| role == Role::Persona);
        message.is_cleaned = element.is_cleaned;
        NodeContent::Talk(Box::new(message))
    }

    fn saved_memory(&mut self, text: &str, day: Option<Date>, place: &str, items: &mut VecDeque<Item>) {
        if !text.trim().is_empty() && self.instructions.insert(stable_id(&[text.trim()])) {
            items.push_back(statements::statement_item(text, day, "ChatGPT", place));
        }
    }

    fn add_instruction(
        &mut self,
        block: CoreBlock,
        text: Option<&str>,
        place: &str,
        items: &mut VecDeque<Item>,
    ) {
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return };
        if self.instructions.insert(stable_id(&[text])) {
            let title = "Custom instructions".to_owned();
            items.push_back(Item::CoreDraft(CoreDraft {
                block,
                title,
                text: text.to_owned(),
                place: place.to_owned(),
            }));
        }
    }
}

fn is_blank(content: &ExportedContent) -> bool {
    let (text, attachments) = text_and_pictures(content);
    text.trim().is_empty() && attachments.is_empty()
}

/// The text of all parts, and their pictures.
fn text_and_pictures(content: &ExportedContent) -> (String, Vec<Attachment>) {
    let mut texts: Vec<&str> = content.text.as_deref().into_iter().collect();
    let mut attachments = Vec::new();
    for part in &content.parts {
        match part {
            Value::String(text) => texts.push(text),
            Value::Object(_) => match string_field(part, "content_type") {
                Some("image_asset_pointer") => {
                    attachments.push(Attachment { kind: AttachmentKind::Image, name: None })
                }
                Some("audio_transcription") => texts.extend(string_field(part, "text")),
                Some(kind) if kind.contains("audio") => {
                    attachments.push(Attachment { kind: AttachmentKind::Audio, name: None });
                }
                Some(_) => attachments.push(Attachment { kind: AttachmentKind::File, name: None }),
                None => texts.extend(string_field(part, "text")),
            },
            _ => {}
        }
    }
    (texts.join("\n"), attachments)
}
