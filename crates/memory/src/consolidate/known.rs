//! Known memories for the prompt: those that the session may repeat or replace, those in the persona's prompts, and
//! those that the session produced before.

use std::collections::BTreeSet;

use super::evidence::CheckedEvent;
use super::{ConsolidateError, Consolidator, Participants};
use crate::entities::{EntityKind, fold_name};
use crate::identifiers::{MessageId, NodeId, TurnId};
use crate::messages::{Message, Role};
use crate::mood::MOOD_LIFETIME;
use crate::nodes::{Node, NodeKind};
use crate::ports::{Extraction, ExtractionInput, StoreError, UsedQuote};
use crate::recall::{CandidateKind, ScoredNode};
use crate::sessions::Session;

/// Maximum existing nodes that the model is shown, which a new event may replace.
const KNOWN_NODES_MAX: usize = 12;
/// Minimum existing nodes that each kind of search contributes. Otherwise impressions alone could fill all places
/// after a long session.
const KNOWN_NODES_PER_LOOK_MIN: usize = 8;
/// Messages of the user per search for existing nodes: recall itself uses only the last few sentences.
const LINES_PER_SEARCH: usize = 4;
/// Maximum searches for existing nodes, from the newest messages backwards. Each is a recall of its own; five cover
/// the last twenty messages of the user.
const SEARCHES_MAX: usize = 5;
/// Maximum replies of a session whose receipts are read, the newest first. Receipts name the memories that the
/// replies used. A session ends after 200 messages, half of which are replies.
const RECEIPTS_MAX: usize = 100;
/// Maximum pinned nodes whose texts are read. Pins are set by hand, and few people set more.
const PINNED_MAX: usize = 100;

impl Consolidator<'_> {
    /// Existing memories that the session may repeat or replace. The searches contribute their best results in turn.
    pub(super) async fn known_nodes(
        &self,
        session: &Session,
        messages: &[Message],
        parties: &Participants,
    ) -> Result<Vec<Node>, ConsolidateError> {
        let said: Vec<&str> =
            messages.iter().filter(|m| m.role == Role::User).map(|m| m.content.as_str()).collect();
        let looks: Vec<String> =
            said.rchunks(LINES_PER_SEARCH).take(SEARCHES_MAX).map(|lines| lines.join("\n")).collect();
        // Impressions take some of the places, and several searches find different nodes.
        let k = (2 * KNOWN_NODES_MAX / looks.len().max(1)).max(KNOWN_NODES_PER_LOOK_MIN);
        let found = self.nearest_memories(session, looks, k, parties).await?;
        // An event does not make an impression untrue; the next reflection writes another one.
        let is_extracted_kind = |node: &Node| matches!(node.kind, NodeKind::Event | NodeKind::Intention);
        let nodes = |found: Vec<ScoredNode>| {
            found.into_iter().map(|scored| scored.node).filter(is_extracted_kind).collect()
        };
        Ok(interleave_nodes(found.into_iter().map(nodes).collect()))
    }

    /// The texts that recall added to the prompts of these turns, without messages of the user.
    pub(super) async fn recalled_texts(&self, messages: &[Message]) -> Result<Vec<String>, StoreError> {
        let turns: BTreeSet<TurnId> =
            messages.iter().rev().filter_map(|message| message.turn_id).take(RECEIPTS_MAX).collect();
        let (mut texts, mut pinned) = (BTreeSet::new(), BTreeSet::new());
        for turn in turns {
            let Some(receipt) = self.store.receipt(turn).await? else { continue };
            pinned.extend(receipt.pinned);
            for candidate in receipt.used {
                let of_user = candidate.kind == CandidateKind::Message && {
                    let message = self.store.message(MessageId(candidate.id)).await?;
                    message.is_none_or(|message| message.role == Role::User)
                };
                if !of_user && !candidate.text.is_empty() {
                    texts.insert(candidate.text);
                }
            }
        }
        for id in pinned.into_iter().take(PINNED_MAX) {
            texts.extend(self.store.node(id).await?.map(|found| found.node.description));
        }
        Ok(texts.into_iter().collect())
    }

    /// True if the mood after a session is still the current one: the session is recent, and no other mood followed.
    pub(super) async fn is_recent(&self, session: &Session) -> Result<bool, StoreError> {
        let age = self.clock.now().duration_since(session.last_message_at);
        if age > MOOD_LIFETIME {
            return Ok(false);
        }
        let newest = self.store.summarised_sessions(&session.scope, 1).await?;
        Ok(newest.iter().all(|other| other.last_message_at <= session.last_message_at))
    }
}

/// The first of each list, then the second of each, and so on; each node once.
fn interleave_nodes(lists: Vec<Vec<Node>>) -> Vec<Node> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let mut chosen: Vec<Node> = Vec::new();
    for place in 0..longest {
        for node in lists.iter().filter_map(|list| list.get(place)) {
            if chosen.len() < KNOWN_NODES_MAX && !chosen.iter().any(|known| known.id == node.id) {
                chosen.push(node.clone());
            }
        }
    }
    chosen
}

/// Folded names of people: those in the answer, and known ones.
pub(super) fn folded_names_of_people(answer: &Extraction, input: &ExtractionInput) -> Vec<String> {
    let mentioned = answer
        .mentioned_entities
        .iter()
        .filter(|entity| entity.kind == EntityKind::Person)
        .flat_map(|entity| std::iter::once(&entity.canonical_name).chain(&entity.aliases));
    let known = input
        .known_entities
        .iter()
        .filter(|entity| entity.kind == EntityKind::Person)
        .flat_map(|entity| std::iter::once(&entity.canonical_name).chain(&entity.aliases));
    let persona = fold_name(&input.persona_name);
    let names: BTreeSet<String> = mentioned.chain(known).map(|name| fold_name(name)).collect();
    names.into_iter().filter(|name| name.chars().count() > 1 && *name != persona).collect()
}

/// True if a session that is extracted again produced this memory before: one with the same meaning, or one that
/// contains all its words, even if a person has deleted it.
pub(super) fn is_remembered(checked: &CheckedEvent, remembered: &[UsedQuote]) -> bool {
    if remembered.iter().any(|known| known.description == checked.event.description) {
        return true;
    }
    let nodes: BTreeSet<NodeId> = remembered.iter().map(|known| known.node_id).collect();
    nodes.into_iter().any(|id| {
        checked.evidence.iter().all(|quote| {
            remembered.iter().filter(|known| known.node_id == id).any(|known| {
                let other = &known.evidence;
                other.message_id == quote.message_id && other.start < quote.end && quote.start < other.end
            })
        })
    })
}
