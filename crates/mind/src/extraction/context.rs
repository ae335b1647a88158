//! Values for the extraction template. They contain no ids and no channels.

use memory::entities::Entity;
use serde::Serialize;

use super::{ExtractionTask, speaker_label};
use crate::calendar;
use crate::quoted::{one_line, quote_lines};
use crate::vocabulary::Vocabulary;

#[derive(Debug, Default, Serialize)]
pub(crate) struct ExtractionContext {
    persona_name: String,
    persona_block: String,
    user_block: String,
    began: String,
    messages: Vec<MessageLine>,
    known_entities: Vec<EntityLine>,
    in_doubt: Vec<DoubtLine>,
    known_nodes: Vec<NodeLine>,
    failures: Vec<FailureLine>,
    problem: String,
    vocabulary: Vocabulary,
}

#[derive(Debug, Serialize)]
struct MessageLine {
    handle: String,
    speaker: String,
    when: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct EntityLine {
    name: String,
    kind: &'static str,
    aliases: String,
}

/// Two names that may mean one.
#[derive(Debug, Serialize)]
struct DoubtLine {
    a: String,
    b: String,
}

#[derive(Debug, Serialize)]
struct NodeLine {
    handle: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct FailureLine {
    description: String,
    quote: String,
    reason: String,
}

impl ExtractionContext {
    pub(super) fn new(question: &ExtractionTask<'_>, problem: Option<&str>) -> Self {
        let input = question.input;
        let zone = question.zone();
        let messages = input.messages.iter().enumerate().map(|(index, message)| MessageLine {
            handle: question.messages.handle_at(index),
            speaker: speaker_label(message),
            when: calendar::format_minute(message.created_at, zone),
            text: quote_lines(&message.content),
        });
        let known_nodes = input.known_nodes.iter().enumerate().map(|(index, node)| {
            let time = match node.event_time {
                Some(time) => format!(" · {}", calendar::format_day(time.start, zone)),
                None => format!(" · noted {}", calendar::format_day(node.created_at, zone)),
            };
            NodeLine { handle: question.nodes.handle_at(index), text: one_line(&node.description) + &time }
        });
        let failures = input.failures.iter().map(|failure| FailureLine {
            description: one_line(&failure.description),
            quote: one_line(&failure.quote),
            reason: one_line(&failure.reason),
        });
        let doubt = |(entity, other): &(Entity, Entity)| DoubtLine {
            a: one_line(&entity.canonical_name),
            b: one_line(&other.canonical_name),
        };
        Self {
            persona_name: one_line(&input.persona_name),
            persona_block: quote_block(&input.core_blocks.persona),
            user_block: quote_block(&input.core_blocks.user),
            began: input
                .messages
                .first()
                .map_or_else(String::new, |first| calendar::wall_clock(first.created_at, zone)),
            messages: messages.collect(),
            known_entities: input.known_entities.iter().map(EntityLine::from_entity).collect(),
            in_doubt: input.entities_in_doubt.iter().map(doubt).collect(),
            known_nodes: known_nodes.collect(),
            failures: failures.collect(),
            problem: problem.map_or_else(String::new, one_line),
            vocabulary: Vocabulary::default(),
        }
    }

    /// A context with one of everything, to try a template out.
    pub(crate) fn sample_input() -> Self {
        let text = || "text".to_owned();
        Self {
            persona_name: text(),
            persona_block: text(),
            user_block: text(),
            began: text(),
            messages: vec![MessageLine {
                handle: text(),
                speaker: "user".to_owned(),
                when: text(),
                text: text(),
            }],
            known_entities: vec![EntityLine { name: text(), kind: "pet", aliases: text() }],
            in_doubt: vec![DoubtLine { a: text(), b: text() }],
            known_nodes: vec![NodeLine { handle: text(), text: text() }],
            failures: vec![FailureLine { description: text(), quote: text(), reason: text() }],
            problem: text(),
            vocabulary: Vocabulary::default(),
        }
    }
}

impl EntityLine {
    fn from_entity(entity: &Entity) -> Self {
        let others = entity.aliases.iter().filter(|alias| **alias != entity.canonical_name);
        Self {
            name: one_line(&entity.canonical_name),
            kind: entity.kind.as_str(),
            aliases: others.map(|alias| one_line(alias)).collect::<Vec<_>>().join(", "),
        }
    }
}

/// A block that is background here: quoted, so that its headings are not taken for the prompt's.
fn quote_block(block: &str) -> String {
    if block.trim().is_empty() { String::new() } else { quote_lines(block.trim()) }
}
