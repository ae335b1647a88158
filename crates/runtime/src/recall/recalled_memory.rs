//! Adds the result of recall to the inputs of a prompt.

use std::collections::HashSet;

use hub::PromptDocuments;
use memory::core_blocks::CoreBlocks;
use memory::entities::Entity;
use memory::identifiers::NodeId;
use memory::messages::Message;
use memory::mood::Mood;
use memory::nodes::Node;
use memory::recall::RecallResult;
use mind::{Passage, PassageLine, ReplyInput, UncertainPair};

/// Memories for a text, including those of every prompt, without values that are no longer current.
pub struct RecalledMemory {
    /// The result of recall; its `corrected` lists everything that was left out.
    pub recalled: RecallResult,
    /// The core blocks as they were written.
    pub core_blocks: CoreBlocks,
    /// The persona's current mood; `None` before the first.
    pub mood: Option<Mood>,
    /// The documents of the shared self.
    pub documents: PromptDocuments,
}

/// Adds the memories to the inputs of a reply.
pub(crate) fn add_remembered(input: &mut ReplyInput, remembered: &RecalledMemory) {
    let RecalledMemory {
        recalled,
        core_blocks,
        mood,
        documents: PromptDocuments { documents, periods, related, lore },
    } = remembered;
    input.core_blocks.clone_from(core_blocks);
    input.mood.clone_from(mood);
    input.documents.clone_from(documents);
    input.lore = lore.iter().map(|entry| (entry.label.clone(), entry.text.clone())).collect();
    let related = related.iter().map(|memory| (memory.label(), memory.excerpt.clone()));
    input.periods = periods.iter().cloned().chain(related).collect();
    let chosen: HashSet<NodeId> = recalled.nodes.iter().map(|scored| scored.node.id).collect();
    // A thought that the text itself recalled is not listed twice.
    let fresh =
        |nodes: &[Node]| nodes.iter().filter(|node| !chosen.contains(&node.id)).cloned().collect::<Vec<_>>();
    input.recalled = recalled.nodes.iter().map(|scored| scored.node.clone()).collect();
    input.recalled.extend(fresh(&recalled.pinned.events));
    input.fulfilled.clone_from(&recalled.pinned.fulfilled);
    input.pinned_thoughts = fresh(&recalled.pinned.about_user);
    input.self_thoughts = fresh(&recalled.pinned.about_self);
    input.intentions = fresh(&recalled.pinned.intentions);
    input.expectations = fresh(&recalled.pinned.expectations);
    input.sessions.clone_from(&recalled.pinned.summaries);
    let line = |message: &Message| PassageLine {
        message_id: message.id,
        speaker: message.role,
        name: message.speaker.clone(),
        at: message.created_at,
        text: message.content.clone(),
    };
    let passage = |lines: &[Message]| Passage { lines: lines.iter().map(line).collect() };
    input.passages = recalled.passages.iter().map(|found| passage(&found.messages)).collect();
    input.corrected = recalled.corrected.clone();
    // A roll-up of the time asked about is a memory of it.
    input.nothing_found = recalled.nothing_found && input.periods.is_empty();
    input.named_entities.clone_from(&recalled.entities);
    let pair =
        |(entity, other): &(Entity, Entity)| UncertainPair { entity: entity.clone(), other: other.clone() };
    input.uncertain = recalled.in_doubt.iter().map(pair).collect();
}
