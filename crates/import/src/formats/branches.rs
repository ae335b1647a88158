//! Conversations that are trees: the shown path becomes messages, all other nodes their alternatives.

use std::collections::{HashMap, HashSet, VecDeque};

use super::building::check_message;
use crate::item::{Alternative, ExternalId, Item, Message, Skip};
use crate::limits::{ALTERNATIVES_MAX, MESSAGE_BYTES_MAX};

/// A node in the tree of a conversation.
#[derive(Default)]
pub(super) struct BranchNode {
    pub(super) parent: Option<String>,
    /// Ids of the children in the publisher's order.
    pub(super) children: Vec<String>,
    pub(super) content: NodeContent,
}

/// The content of a node.
#[derive(Default)]
pub(super) enum NodeContent {
    #[default]
    Empty,
    Talk(Box<Message>),
    /// An item of the file that is not a conversation.
    NoTalk(Skip),
}

/// Adds the items of a tree: along the path to `shown`, or if that does not exist, along the last children.
pub(super) fn add_tree(
    mut nodes: HashMap<String, BranchNode>,
    shown: Option<&str>,
    items: &mut VecDeque<Item>,
) {
    let path = shown_path(&nodes, shown);
    let on_path: HashSet<&String> = path.iter().collect();
    let mut visited: HashSet<String> = HashSet::new();
    let mut waiting = Versions::default();
    let mut messages: Vec<Message> = Vec::new();
    let mut out: Vec<Item> = Vec::new();
    for (index, id) in path.iter().enumerate() {
        let content = nodes.get_mut(id).map(|node| std::mem::take(&mut node.content)).unwrap_or_default();
        match content {
            NodeContent::Talk(mut message) => {
                waiting.attach_versions(&mut message, &mut out);
                messages.push(*message);
                // Keeps its position among the skips.
                out.push(Item::Conversation(crate::item::Conversation::default()));
            }
            NodeContent::NoTalk(skip) => out.push(Item::Skip(skip)),
            NodeContent::Empty => {}
        }
        let next = path.get(index + 1);
        let children = nodes.get(id).map(|node| node.children.clone()).unwrap_or_default();
        let shown_at = next.and_then(|next| children.iter().position(|child| child == next));
        for (at, child) in children.iter().enumerate() {
            if on_path.contains(child) {
                continue;
            }
            let before = waiting.alternatives.len();
            let follows =
                if next.is_some() { None } else { messages.last().map(|last| last.id.as_str().to_owned()) };
            collect_descendants(&mut nodes, child, follows, &mut visited, &mut waiting);
            waiting.shown_index +=
                usize::from(waiting.alternatives.len() > before && shown_at.is_some_and(|shown| at < shown));
        }
    }
    if let Some(last) = messages.last_mut() {
        // Branches without a later shown message are attached to the last message.
        let id = last.id.as_str().to_owned();
        for alternative in &mut waiting.alternatives {
            alternative.follows.get_or_insert_with(|| id.clone());
        }
        waiting.shown_index = 0;
        let shown_index = last.shown_index;
        waiting.attach_versions(last, &mut out);
        last.shown_index = shown_index;
    }
    add_unreached(nodes, &mut out);
    let mut messages = messages.into_iter();
    for item in out {
        match item {
            Item::Conversation(_) => items.extend(messages.next().map(check_message)),
            item => items.push_back(item),
        }
    }
}

/// Adds nodes that can't be reached from the root: the tree is damaged.
fn add_unreached(nodes: HashMap<String, BranchNode>, out: &mut Vec<Item>) {
    let mut unreached: Vec<(String, NodeContent)> =
        nodes.into_iter().map(|(id, node)| (id, node.content)).collect();
    unreached.sort_by(|one, other| one.0.cmp(&other.0));
    for (_, content) in unreached {
        match content {
            NodeContent::Talk(message) => {
                out.push(Item::Skip(Skip::new(
                    message.place,
                    "it is not part of any branch of its \
                    conversation",
                )));
            }
            NodeContent::NoTalk(skip) => out.push(Item::Skip(skip)),
            NodeContent::Empty => {}
        }
    }
}

/// Versions to attach to the next shown message.
#[derive(Default)]
struct Versions {
    alternatives: Vec<Alternative>,
    skips: Vec<Skip>,
    shown_index: usize,
}

impl Versions {
    fn attach_versions(&mut self, message: &mut Message, out: &mut Vec<Item>) {
        let mut waiting = std::mem::take(self);
        out.extend(waiting.skips.drain(..).map(Item::Skip));
        let room = ALTERNATIVES_MAX.saturating_sub(message.alternatives.len());
        if waiting.alternatives.len() > room {
            let reason = format!(
                "{} versions beyond {ALTERNATIVES_MAX} are not kept",
                waiting.alternatives.len() - room
            );
            out.push(Item::Skip(Skip::new(&message.place, reason)));
            waiting.alternatives.truncate(room);
        }
        message.alternatives.append(&mut waiting.alternatives);
        message.shown_index = waiting.shown_index;
    }
}

/// Ids from the root to the shown leaf.
fn shown_path(nodes: &HashMap<String, BranchNode>, shown: Option<&str>) -> Vec<String> {
    let mut path = Vec::new();
    let mut seen = HashSet::new();
    if let Some(mut at) = shown.filter(|id| nodes.contains_key(*id)) {
        while let Some(node) = nodes.get(at)
            && seen.insert(at)
        {
            path.push(at.to_owned());
            match node.parent.as_deref() {
                Some(parent) => at = parent,
                None => break,
            }
        }
        path.reverse();
        return path;
    }
    let is_root = |node: &BranchNode| node.parent.as_ref().is_none_or(|parent| !nodes.contains_key(parent));
    let mut at = nodes.iter().filter(|(_, node)| is_root(node)).map(|(id, _)| id).min();
    while let Some(id) = at
        && let Some(node) = nodes.get(id)
        && seen.insert(id)
    {
        path.push(id.clone());
        at = node.children.last();
    }
    path
}

/// Adds the messages below `from`, parents first.
fn collect_descendants(
    nodes: &mut HashMap<String, BranchNode>,
    from: &str,
    follows: Option<String>,
    visited: &mut HashSet<String>,
    versions: &mut Versions,
) {
    let mut pending = vec![(from.to_owned(), follows)];
    while let Some((id, follows)) = pending.pop() {
        let Some(node) = nodes.get_mut(&id) else { continue };
        if !visited.insert(id.clone()) {
            continue;
        }
        let mut below = follows.clone();
        match std::mem::take(&mut node.content) {
            NodeContent::Talk(message) if message.text.len() > MESSAGE_BYTES_MAX => {
                versions.skips.push(Skip::new(message.place, "a version that was not shown is too long"));
            }
            NodeContent::Talk(message) => {
                let (ExternalId::Given(own) | ExternalId::Digest(own)) = &message.id;
                below = Some(own.clone());
                versions.alternatives.push(Alternative {
                    id: own.clone(),
                    follows,
                    text: message.text_with_attachments(),
                    speaker: message.speaker,
                    role: message.role,
                    time: message.time,
                    model: message.model,
                });
            }
            NodeContent::NoTalk(skip) => versions.skips.push(skip),
            NodeContent::Empty => {}
        }
        for child in node.children.iter().rev() {
            pending.push((child.clone(), below.clone()));
        }
    }
}
