//! Sections of a reply's prompt that may be cut, with their lines.

use std::borrow::Cow;
use std::collections::BTreeSet;

use memory::entities::Entity;
use memory::identifiers::{MessageId, NodeId};
use memory::messages::{Message, Role};
use memory::nodes::{Node, NodeKind, Subject};
use memory::text::estimate_tokens;

use super::context::{EntityBlock, LabelledText, PairLine};
use super::corrected;
use super::input::{Passage, ReplyInput, UncertainPair};
use crate::calendar::{self, DayBucket};
use crate::quoted::{one_line, quote_after_label, quote_lines, speaker_name};

/// Maximum characters of an earlier message; the current message is never cut. A pasted document would otherwise
/// displace the rest of the window.
const EARLIER_MESSAGE_LENGTH_MAX: usize = 2_000;

/// A section of the prompt that may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Documents,
    Lore,
    Entities,
    Uncertain,
    Fulfilled,
    Periods,
    Sessions,
    Thoughts,
    PinnedThoughts,
    SelfThoughts,
    Events,
    Passages,
    Promises,
    Expectations,
    Conversation,
    Said,
}

impl Name {
    /// Sections in the order of the prompt.
    pub(super) const ALL: [Self; 16] = [
        Self::Documents,
        Self::Lore,
        Self::Entities,
        Self::Uncertain,
        Self::Fulfilled,
        Self::Periods,
        Self::Sessions,
        Self::Thoughts,
        Self::PinnedThoughts,
        Self::SelfThoughts,
        Self::Events,
        Self::Passages,
        Self::Promises,
        Self::Expectations,
        Self::Conversation,
        Self::Said,
    ];

    /// The section's name in a receipt.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Documents => "Identity documents",
            Self::Lore => "The world around you",
            Self::Entities => "About named entities",
            Self::Uncertain => "Entity disambiguation pending",
            Self::Fulfilled => "Expectation match",
            Self::Periods => "How you remember whole periods",
            Self::Sessions => "Recent sessions",
            Self::Thoughts => "Recent thoughts",
            Self::PinnedThoughts => "Pinned thoughts",
            Self::SelfThoughts => "How you see yourself lately",
            Self::Events => "Recent things you remember happened",
            Self::Passages => "Their own words",
            Self::Promises => "Promises you've made",
            Self::Expectations => "You've been expecting",
            Self::Conversation => "Our recent conversation",
            Self::Said => "What they just said",
        }
    }
}

/// One line or block of a section.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) shown: ItemForm,
    /// Estimated number of tokens.
    pub(super) tokens: u64,
    /// The node that the item shows.
    pub(super) node: Option<NodeId>,
    /// The messages of a passage.
    pub(super) messages: Vec<MessageId>,
    /// True if a person pinned the item: the others are cut first.
    pub(super) pinned: bool,
}

/// The form in which an item is printed.
#[derive(Clone, Debug)]
pub(super) enum ItemForm {
    Line(String),
    Lines(Vec<String>),
    Dated(DayBucket, String),
    Entity(EntityBlock),
    Pair(PairLine),
    /// A text whose lines are not quoted yet, so that it can be shortened.
    Text(LabelledText),
}

impl Item {
    pub(super) fn new(shown: ItemForm) -> Self {
        let estimate = |text: &str| u64::from(estimate_tokens(text)) + 1;
        let tokens = match &shown {
            ItemForm::Line(line) | ItemForm::Dated(_, line) => estimate(line),
            ItemForm::Lines(lines) => lines.iter().map(|line| estimate(line)).sum(),
            ItemForm::Entity(entity) => estimate(&entity.name) + estimate(&entity.description),
            ItemForm::Pair(pair) => estimate(&pair.a) + estimate(&pair.b),
            ItemForm::Text(document) => {
                estimate(&document.label) + document.text.lines().map(|line| estimate(line) + 1).sum::<u64>()
            }
        };
        Self { shown, tokens, node: None, messages: Vec::new(), pinned: false }
    }
}

/// The sections with their items, the most useful item first.
#[derive(Clone, Debug)]
pub(super) struct Sections {
    items: Vec<(Name, Vec<Item>)>,
}

impl Sections {
    pub(super) fn from_input(input: &ReplyInput) -> Self {
        let mut sections = Self { items: Name::ALL.map(|name| (name, Vec::new())).to_vec() };
        sections.extend(Name::Documents, text_items(&input.documents));
        sections.extend(Name::Lore, text_items(&input.lore));
        sections.extend(Name::Periods, text_items(&input.periods));
        sections.add_entities(input);
        sections.add_nodes(input);
        sections.add_earlier_messages(input);
        sections
    }

    pub(super) fn section_items(&self, name: Name) -> &[Item] {
        self.items.iter().find(|(known, _)| *known == name).map_or(&[], |(_, items)| items)
    }

    pub(super) fn items_mut(&mut self, name: Name) -> Option<&mut Vec<Item>> {
        self.items.iter_mut().find(|(known, _)| *known == name).map(|(_, items)| items)
    }

    fn extend(&mut self, name: Name, items: impl IntoIterator<Item = Item>) {
        if let Some(list) = self.items_mut(name) {
            list.extend(items);
        }
    }

    fn add_entities(&mut self, input: &ReplyInput) {
        let described = input.named_entities.iter().filter_map(|entity| {
            let description = entity.description.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
            let name = one_line(&entity.canonical_name);
            Some(Item::new(ItemForm::Entity(EntityBlock {
                name,
                description: quote_lines(&one_line(description)),
            })))
        });
        self.extend(Name::Entities, described);
        let pair = |UncertainPair { entity, other }: &UncertainPair| {
            Item::new(ItemForm::Pair(PairLine { a: name_with_aliases(entity), b: name_with_aliases(other) }))
        };
        self.extend(Name::Uncertain, input.uncertain.iter().map(pair));
        let questions =
            corrected::open_questions(input).into_iter().map(|line| Item::new(ItemForm::Line(line)));
        self.extend(Name::Uncertain, questions);
    }

    /// Adds each node once: to the section of recalled nodes, or else to its usual section.
    fn add_nodes(&mut self, input: &ReplyInput) {
        let mut seen = BTreeSet::new();
        for node in &input.fulfilled {
            if seen.insert(node.id) {
                self.extend(Name::Fulfilled, [node_item(Name::Fulfilled, node, input)]);
            }
        }
        for node in &input.recalled {
            if seen.insert(node.id) {
                let name = section_for_node(node);
                self.extend(name, [node_item(name, node, input)]);
            }
        }
        let mut intentions: Vec<&Node> = input.intentions.iter().collect();
        let mut expectations: Vec<&Node> = input.expectations.iter().collect();
        for list in [&mut intentions, &mut expectations] {
            list.sort_by_key(|node| (node.event_time.is_none(), node.event_time.map(|time| time.start)));
        }
        let standing = [
            (Name::Promises, intentions),
            (Name::Expectations, expectations),
            (Name::PinnedThoughts, input.pinned_thoughts.iter().collect()),
            (Name::SelfThoughts, input.self_thoughts.iter().collect()),
        ];
        for (name, nodes) in standing {
            for node in nodes {
                if seen.insert(node.id) {
                    self.extend(name, [node_item(name, node, input)]);
                }
            }
        }
    }

    fn add_earlier_messages(&mut self, input: &ReplyInput) {
        let zone = &input.user_zone;
        let mut sessions: Vec<_> = input.sessions.iter().collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.last_message_at));
        let summaries = sessions.into_iter().filter_map(|session| {
            let summary = session.summary.as_deref().map(one_line).filter(|text| !text.is_empty())?;
            let bucket = DayBucket::from_time(session.last_message_at, input.now, zone).day_heading();
            let denial = input.corrected.correction_denying(&summary, session.last_message_at);
            let note = if denial.is_some() { corrected::DENIED_NOTE } else { "" };
            Some(Item::new(ItemForm::Line(format!("[{bucket}] {summary}{note}"))))
        });
        self.extend(Name::Sessions, summaries);
        self.extend(Name::Passages, input.passages.iter().map(|passage| passage_item(passage, input)));

        let burst: BTreeSet<MessageId> = input.burst.iter().map(|message| message.id).collect();
        let window = sort_newest_first(input.window.iter().filter(|message| !burst.contains(&message.id)));
        let talk = window.into_iter().map(|message| {
            let bucket = DayBucket::from_time(message.created_at, input.now, zone);
            Item::new(ItemForm::Dated(
                bucket,
                corrected::with_note(
                    earlier_messages(message),
                    message.id,
                    &message.content,
                    message.created_at,
                    input,
                ),
            ))
        });
        self.extend(Name::Conversation, talk);
        let burst = sort_newest_first(input.burst.iter());
        self.extend(
            Name::Said,
            burst.into_iter().map(|message| Item::new(ItemForm::Line(labelled_line(message)))),
        );
    }
}

fn text_items(texts: &[(String, String)]) -> impl Iterator<Item = Item> {
    let telling = texts.iter().filter(|(_, text)| !text.trim().is_empty());
    telling.map(|(label, text)| {
        Item::new(ItemForm::Text(LabelledText { label: one_line(label), text: text.trim().to_owned() }))
    })
}

/// The section for a recalled node.
fn section_for_node(node: &Node) -> Name {
    match (node.kind, node.subject) {
        (NodeKind::Event, _) => Name::Events,
        (NodeKind::Thought, Subject::Persona) => Name::SelfThoughts,
        (NodeKind::Thought, _) => Name::Thoughts,
        (NodeKind::Intention, _) => Name::Promises,
        (NodeKind::Expectation, _) => Name::Expectations,
    }
}

fn node_item(name: Name, node: &Node, input: &ReplyInput) -> Item {
    let mut line = one_line(&node.description);
    if matches!(name, Name::Events | Name::Promises | Name::Expectations) {
        line.push_str(&calendar::time_phrase(node, input.now, &input.user_zone));
    }
    line.push_str(&corrected::node_note(node, input));
    Item { node: Some(node.id), pinned: node.pinned, ..Item::new(ItemForm::Line(line)) }
}

fn passage_item(passage: &Passage, input: &ReplyInput) -> Item {
    let zone = &input.user_zone;
    let lines = passage.lines.iter();
    let shown = lines.clone().map(|line| {
        let label = format!(
            "[{}] {}",
            calendar::format_minute(line.at, zone),
            speaker_label(line.speaker, line.name.as_deref())
        );
        corrected::with_note(
            quote_after_label(&label, &line.text),
            line.message_id,
            &line.text,
            line.at,
            input,
        )
    });
    let messages = lines.clone().map(|line| line.message_id).collect();
    Item { messages, ..Item::new(ItemForm::Lines(shown.collect())) }
}

fn labelled_line(message: &Message) -> String {
    let line = quote_after_label(&speaker_label(message.role, message.speaker.as_deref()), &message.content);
    if message.incomplete { line + " … (cut off)" } else { line }
}

/// The messages of the recent window. A message longer than [`EARLIER_MESSAGE_LENGTH_MAX`] is cut, so that a long
/// paste does not displace the rest of the conversation.
fn earlier_messages(message: &Message) -> String {
    let Some((end, _)) = message.content.char_indices().nth(EARLIER_MESSAGE_LENGTH_MAX) else {
        return labelled_line(message);
    };
    let label = speaker_label(message.role, message.speaker.as_deref());
    quote_after_label(&label, &message.content[..end]) + " … (it went on)"
}

/// The label before a message. `name` is the name of another speaker.
fn speaker_label(role: Role, name: Option<&str>) -> Cow<'static, str> {
    match role {
        Role::User => "them:".into(),
        Role::Persona => "me:".into(),
        // With "said", so that no name can imitate one of the two speakers.
        Role::Other => format!("{} said:", speaker_name(name.unwrap_or_default())).into(),
    }
}

fn sort_newest_first<'a>(messages: impl Iterator<Item = &'a Message>) -> Vec<&'a Message> {
    let mut messages: Vec<&Message> = messages.collect();
    messages.sort_by_key(|message| std::cmp::Reverse((message.created_at, message.seq)));
    messages
}

fn name_with_aliases(entity: &Entity) -> String {
    let name = one_line(&entity.canonical_name);
    let others: Vec<String> = entity
        .aliases
        .iter()
        .filter(|alias| **alias != entity.canonical_name)
        .map(|alias| one_line(alias))
        .collect();
    if others.is_empty() { name } else { format!("{name} (also {})", others.join(", ")) }
}
