//! Extraction: asks what is worth remembering of a closed session.

mod context;
mod events;
mod read;

pub(crate) mod event_time;

pub(crate) use context::ExtractionContext;

use jiff::tz::TimeZone;
use memory::entities::Entity;
use memory::identifiers::{MessageId, NodeId};
use memory::messages::{Message, Role};
use memory::ports::ExtractionInput;
use serde_json::{Value, json};

use crate::calendar;
use crate::handles::Handles;
use crate::quoted::speaker_name;

/// An extraction request: the input, and the handles that represent its ids in the prompt.
pub(crate) struct ExtractionTask<'a> {
    input: &'a ExtractionInput,
    messages: Handles<MessageId>,
    nodes: Handles<NodeId>,
}

impl<'a> ExtractionTask<'a> {
    pub(crate) fn new(input: &'a ExtractionInput) -> Self {
        Self {
            input,
            messages: Handles::add_handle('m', input.messages.iter().map(|message| message.id)),
            nodes: Handles::add_handle('k', input.known_nodes.iter().map(|node| node.id)),
        }
    }

    /// Values for the prompt's template. `problem` is the reason why the last answer was rejected.
    pub(crate) fn prompt_context(&self, problem: Option<&str>) -> ExtractionContext {
        ExtractionContext::new(self, problem)
    }

    /// The input as data, for a provider without a language model.
    pub(crate) fn input_data(&self) -> Value {
        let messages = self.input.messages.iter().enumerate().map(|(index, message)| {
            json!({
                "handle": self.messages.handle_at(index),
                "role": speaker_label(message),
                "text": message.content,
                "at": calendar::format_with_offset(message.created_at, self.zone()),
            })
        });
        let entities = self.input.known_entities.iter();
        let doubts = self.input.entities_in_doubt.iter();
        let names = |entity: &Entity| {
            let others = entity.aliases.iter().filter(|alias| **alias != entity.canonical_name);
            std::iter::once(&entity.canonical_name).chain(others).cloned().collect::<Vec<_>>()
        };
        let nodes = self.input.known_nodes.iter().enumerate();
        json!({
            "messages": messages.collect::<Vec<_>>(),
            "known_entities": entities
                .map(|entity| json!({
                    "name": entity.canonical_name,
                    "aliases": entity.aliases,
                    "kind": entity.kind.as_str(),
                }))
                .collect::<Vec<_>>(),
            "entities_in_doubt": doubts
                .map(|(entity, other)| json!({"a": names(entity), "b": names(other)}))
                .collect::<Vec<_>>(),
            "known_nodes": nodes
                .map(|(index, node)| json!({"handle": self.nodes.handle_at(index), "text": node.description}))
                .collect::<Vec<_>>(),
        })
    }

    fn zone(&self) -> &TimeZone {
        &self.input.zone
    }
}

fn speaker_label(message: &Message) -> String {
    match message.role {
        Role::User => "user".to_owned(),
        Role::Persona => "persona".to_owned(),
        Role::Other => format!("other ({})", speaker_name(message.speaker.as_deref().unwrap_or_default())),
    }
}
