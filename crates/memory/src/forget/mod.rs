//! Complete removal of memories.
//!
//! A [`ForgetRequest`] selects what to forget; an edited message or another reply withdraws what the former text
//! supported. The store follows both in one transaction ([`crate::ports::ForgetStore`]): from messages to the nodes
//! that quote them, from events to the thoughts that cite them, then to names, summaries, moods and receipts. One
//! pure rule, [`Support::decide_after_loss`], decides what stays. A preview is the same transaction, rolled back, so
//! it shows exactly what would be removed. [`Eraser`] adds the receipt, the confirmation and the vectors in memory,
//! and splits a large erasure into groups, so that concurrent turns wait only briefly.

mod erase;
mod confirm;
mod lost_words;
mod support;
mod preview;
mod forgotten_spans;
mod withdraw;

pub use confirm::{CONFIRMATION_TIMEOUT, Confirmations};
pub use erase::{EraseError, Eraser, Erasure, ErasureRequest, TEXT_LENGTH_MIN};
pub use forgotten_spans::{
    ForgottenSpan, are_quotes_forgotten, has_no_content_left, is_forgotten, sentences_repeating,
    without_forgotten,
};
pub use lost_words::has_removed_words;
pub use preview::{Dependent, Dependents};
pub use support::{
    LossReason, Support, SupportDecision, SupportingMention, SupportingQuote, mention_count, quotes_prove,
};
pub use withdraw::{ThoughtPolicy, Withdrawal};

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core_blocks::CoreBlockLabel;
use crate::identifiers::{EntityId, ErasureId, MessageId, NodeId, RejectedId, SessionId, TurnId};
use crate::nodes::NodeKind;
use crate::scope::Scope;

/// Treatment of thoughts that depend on an erased event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForgetMode {
    /// The thoughts stay, with their evidence marked as erased.
    #[default]
    Orphan,
    /// Thoughts are erased too.
    Cascade,
}

/// Rows that a person selects. They are erased together; rows outside of the scope are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub messages: BTreeSet<MessageId>,
    /// Events, thoughts, intentions, expectations.
    pub nodes: BTreeSet<NodeId>,
    /// Sessions: all their messages.
    pub sessions: BTreeSet<SessionId>,
    /// Entities: with their names, and the nodes about them.
    pub entities: BTreeSet<EntityId>,
    /// Documents, as `category/file` or `granularity/file`, with all their versions. Core blocks are not erased.
    pub documents: BTreeSet<String>,
    /// Folded text ([`crate::text::fold`]): every message, node and name that contains it.
    pub text: Option<String>,
    /// True to also select the messages that selected nodes quote, or that name selected entities.
    pub with_messages: bool,
    /// True to silence the quotes of selected nodes: their messages stay in the conversation, but no model sees the
    /// quoted text again.
    pub silences: bool,
    /// True to leave documents alone that all users of the persona share.
    pub spares_shared: bool,
}

impl Selection {
    /// True if nothing is selected.
    pub fn is_empty(&self) -> bool {
        let count = self.messages.len() + self.nodes.len() + self.sessions.len() + self.entities.len();
        count + self.documents.len() == 0 && self.text.is_none()
    }
}

/// A request to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgetRequest {
    /// The memory; nothing outside of it is changed.
    pub scope: Scope,
    pub selection: Selection,
    /// Treatment of thoughts that depend on erased events.
    pub thoughts: ForgetMode,
    pub at: Timestamp,
}

/// A message, node or session that a path identifies by its id alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgetTarget {
    Message(MessageId),
    Node(NodeId),
    Session(SessionId),
}

/// Rows that were erased, or would be. It holds ids and counts, no text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgetSummary {
    /// Messages that are gone.
    pub messages: BTreeSet<MessageId>,
    /// Events that are gone.
    pub events: BTreeSet<NodeId>,
    /// Thoughts that are gone.
    pub thoughts: BTreeSet<NodeId>,
    /// Intentions that are gone.
    pub intentions: BTreeSet<NodeId>,
    /// Expectations that are gone.
    pub expectations: BTreeSet<NodeId>,
    /// Entities that are gone.
    pub entities: BTreeSet<EntityId>,
    /// Refused memories that are gone.
    pub rejected: BTreeSet<RejectedId>,
    /// Turns of which nothing is left.
    pub turns: BTreeSet<TurnId>,
    /// Sessions that lost messages.
    pub sessions: BTreeSet<SessionId>,
    /// Nodes with other evidence: they stay, reduced to what that evidence says.
    pub rewritten: BTreeSet<NodeId>,
    /// Thoughts that stay although something that they depend on was erased.
    pub orphaned: BTreeSet<NodeId>,
    /// Nodes that recall finds again, because the memory that had replaced them was erased.
    pub revived: BTreeSet<NodeId>,
    /// Messages that still contain the text of a selected node or entity.
    pub left_messages: BTreeSet<MessageId>,
    /// Core blocks that contain the text. Only a person edits them.
    pub left_core_blocks: Vec<CoreBlockLabel>,
    /// Documents of all users that contain the text, as `category/file`, if the selection leaves these alone.
    #[serde(default)]
    pub left_documents: BTreeSet<String>,
    /// Counts of everything else that was erased.
    pub counts: Counts,
}

/// Counts of erased parts of rows, and of rows that have no id of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counts {
    /// Number of erased quotes of nodes.
    pub quotes: u64,
    /// Edges between thoughts and events, and between nodes and entities.
    pub links: u64,
    /// Repeated mentions of erased memories.
    pub mentions: u64,
    /// Names of entities, with aliases.
    pub names: u64,
    /// Descriptions of entities that stay.
    pub descriptions: u64,
    /// Summaries of sessions that were cleared.
    pub summaries: u64,
    /// Entries of the mood history.
    pub moods: u64,
    /// Receipts of replies, whole or in part.
    pub receipts: u64,
    /// Vectors of messages and nodes.
    pub vectors: u64,
    /// Documents of the hub: diaries that lost lines, deleted roll-ups and memories.
    pub documents: u64,
    /// Traces of turns and sessions, and transcripts of slow cycles.
    #[serde(default)]
    pub traces: u64,
}

impl Counts {
    fn add(&mut self, more: &Self) {
        for (count, more) in [
            (&mut self.quotes, more.quotes),
            (&mut self.links, more.links),
            (&mut self.mentions, more.mentions),
            (&mut self.names, more.names),
            (&mut self.descriptions, more.descriptions),
            (&mut self.summaries, more.summaries),
            (&mut self.moods, more.moods),
            (&mut self.receipts, more.receipts),
            (&mut self.vectors, more.vectors),
            (&mut self.documents, more.documents),
            (&mut self.traces, more.traces),
        ] {
            *count += more;
        }
    }
}

impl ForgetSummary {
    /// Adds an erased node.
    pub fn add_node(&mut self, kind: NodeKind, id: NodeId) {
        let ids = match kind {
            NodeKind::Event => &mut self.events,
            NodeKind::Thought => &mut self.thoughts,
            NodeKind::Intention => &mut self.intentions,
            NodeKind::Expectation => &mut self.expectations,
        };
        ids.insert(id);
    }

    pub fn all_nodes(&self) -> BTreeSet<NodeId> {
        let kinds = [&self.events, &self.thoughts, &self.intentions, &self.expectations];
        kinds.into_iter().flatten().copied().collect()
    }

    /// Adds the result of a later group of the same erasure. A row that was first changed and later erased counts as
    /// erased.
    pub fn merge(&mut self, later: Self) {
        self.messages.extend(later.messages);
        self.events.extend(later.events);
        self.thoughts.extend(later.thoughts);
        self.intentions.extend(later.intentions);
        self.expectations.extend(later.expectations);
        self.entities.extend(later.entities);
        self.rejected.extend(later.rejected);
        self.turns.extend(later.turns);
        self.sessions.extend(later.sessions);
        let gone = [&self.events, &self.thoughts, &self.intentions, &self.expectations];
        for (stay, more) in [
            (&mut self.rewritten, later.rewritten),
            (&mut self.orphaned, later.orphaned),
            (&mut self.revived, later.revived),
        ] {
            stay.extend(more);
            stay.retain(|id| !gone.iter().any(|ids| ids.contains(id)));
        }
        self.left_messages.extend(later.left_messages);
        self.left_messages.retain(|id| !self.messages.contains(id));
        self.left_core_blocks.extend(later.left_core_blocks);
        self.left_core_blocks.sort_unstable();
        self.left_core_blocks.dedup();
        self.left_documents.extend(later.left_documents);
        self.counts.add(&later.counts);
    }

    /// True if both name the same rows. Mere counts may differ, because vectors are written in the background.
    pub fn agrees_with(&self, shown: &Self) -> bool {
        let uncounted = |taken: &Self| Self { counts: Counts::default(), ..taken.clone() };
        uncounted(self) == uncounted(shown)
    }

    /// True if nothing was found.
    pub fn is_empty(&self) -> bool {
        let kept = Self {
            left_messages: self.left_messages.clone(),
            left_core_blocks: self.left_core_blocks.clone(),
            left_documents: self.left_documents.clone(),
            ..Self::default()
        };
        *self == kept
    }
}

/// The result of an erasure, with the row numbers that in-memory indexes need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgetResult {
    pub taken: ForgetSummary,
    /// Numbers of the erased messages.
    pub message_seqs: Vec<i64>,
    /// Numbers of the nodes that were erased or rewritten.
    pub node_seqs: Vec<i64>,
    /// Instances that have copies of changed documents.
    pub instances: Vec<InstanceWithCopy>,
}

/// The outcome of a request to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetOutcome {
    /// The erasure is complete and durable.
    Done(Box<ForgetResult>),
    /// The erasure would remove other rows than the confirmed preview; no row was erased.
    Changed,
    /// Nothing was found, so there is no receipt. Has the core blocks that contain the text, if a text was given.
    Nothing(Vec<CoreBlockLabel>),
}

/// Receipt of an erasure, stored permanently. It holds ids and counts, never an erased text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErasureReceipt {
    /// The receipt's id; for a dry run, the id to confirm it with.
    pub id: ErasureId,
    /// The memory that was erased from.
    pub scope: Scope,
    /// Time of the erasure.
    pub created_at: Timestamp,
    /// Fields of the request that were used: `message_ids`, `event_ids`, `session_ids`, `entity_ids`, `documents`,
    /// `text`, `reset`.
    pub selected_by: Vec<String>,
    /// Ids and counts of everything that was erased.
    pub taken: ForgetSummary,
    /// Existing copies of the database that were not changed: names of files beside it.
    pub copies: Vec<String>,
    /// Name of a database on a server, whose operator is responsible for its log, replicas, backups and freed blocks.
    #[serde(default)]
    pub server: Option<String>,
    /// Time at which the freed pages and the log were overwritten; `None` before that, and always on a server.
    pub overwritten_at: Option<Timestamp>,
    /// Instances that had received erased text, and if they know of the erasure.
    #[serde(default)]
    pub instances: Vec<InstanceWithCopy>,
}

/// Copies of the database that an erasure does not reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreachedCopies {
    /// Names of files beside the database.
    pub files: Vec<String>,
    /// Name of the database, if it is on a server.
    pub server: Option<String>,
}

/// An instance that holds a copy of erased documents, and when it learned of the erasure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceWithCopy {
    /// The name of the instance.
    pub id: String,
    /// Time at which the instance confirmed the erasure; `None` before that.
    pub reached_at: Option<Timestamp>,
}

/// Counts of everything that a reset removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResetCounts {
    /// Users whose memory is gone.
    pub users: u64,
    /// Messages of all users.
    pub messages: u64,
    /// Events, thoughts, intentions, expectations.
    pub nodes: u64,
    /// Entities of all users.
    pub entities: u64,
    /// Sessions of all users.
    pub sessions: u64,
    /// Core blocks that were cleared.
    pub core_blocks: u64,
}

/// A stored edit of a core block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CoreBlockAppend {
    /// Row number of the edit.
    pub id: i64,
    /// The block that was edited.
    pub label: CoreBlockLabel,
    /// The block's text after that edit.
    pub content: String,
    /// The block's version after that edit.
    pub version: i64,
    /// The author of the edit.
    pub edited_by: String,
    /// Time of the edit.
    pub created_at: Timestamp,
}
