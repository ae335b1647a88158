//! Complete removal of memories.
//!
//! A [`ForgetRequest`] selects what to forget; an edited message or another reply withdraws what the old words supported.
//! The store follows both in one transaction ([`crate::ports::ForgetStore`]): from messages to the nodes that quote them,
//! from events to the thoughts that cite them, then to names, summaries, moods and receipts. One pure rule,
//! [`Support::decide_after_loss`], decides what is kept. A preview is the same transaction rolled back, so it shows exactly what
//! would be removed. [`Eraser`] adds the receipt, the confirmation and the vectors in memory, and splits a large erasure into
//! groups, so that nobody waits long who talks meanwhile.

mod erase;
mod confirm;
mod lost_words;
mod support;
mod preview;
mod forgotten_spans;
mod withdraw;

pub use confirm::{CONFIRM_WITHIN, Confirmations};
pub use erase::{EraseError, Eraser, Erasure, ErasureRequest, TEXT_LENGTH_MIN};
pub use forgotten_spans::{
    ForgottenSpan, are_quotes_forgotten, is_forgotten, is_left_empty, sentences_repeating, without_forgotten,
};
pub use lost_words::holds_lost_words;
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

/// Treatment of thoughts that depend on an erased event (seed: the filling chain).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForgetMode {
    /// The thoughts stay, and their evidence is marked as gone.
    #[default]
    Orphan,
    /// Thoughts are erased too.
    Cascade,
}

/// Rows that a person selects. They are erased together; what is not in the scope is ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub messages: BTreeSet<MessageId>,
    /// Events, thoughts, intentions, expectations.
    pub nodes: BTreeSet<NodeId>,
    /// Sessions: all their messages.
    pub sessions: BTreeSet<SessionId>,
    /// Entities: with their names, and the nodes about them.
    pub entities: BTreeSet<EntityId>,
    /// Documents, as `category/file` or `granularity/file`, whole with all their versions. Core blocks are left.
    pub documents: BTreeSet<String>,
    /// Folded text ([`crate::text::fold`]): every message, node and name that contains it.
    pub text: Option<String>,
    /// True if the messages that selected nodes quote, or that name selected entities, are selected too.
    pub with_messages: bool,
    /// True if the words on which selected nodes rest are silenced: their messages stay in the conversation, and nothing
    /// shows the words to a model again.
    pub silences: bool,
    /// True if documents that all users of the persona share are left as they are.
    pub spares_shared: bool,
}

impl Selection {
    /// True if nothing is pointed at.
    pub fn is_empty(&self) -> bool {
        let count = self.messages.len() + self.nodes.len() + self.sessions.len() + self.entities.len();
        count + self.documents.len() == 0 && self.text.is_none()
    }
}

/// One act of forgetting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgetRequest {
    /// The memory; nothing outside of it is changed.
    pub scope: Scope,
    pub selection: Selection,
    /// Treatment of thoughts that depend on erased events.
    pub thoughts: ForgetMode,
    pub at: Timestamp,
}

/// A message, node or session that a path names by its id alone.
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
    /// Nodes that other words prove: they stay, and say only what these words say.
    pub rewritten: BTreeSet<NodeId>,
    /// Thoughts that stay although something they depend on is gone.
    pub orphaned: BTreeSet<NodeId>,
    /// Nodes that come back to recall, because what had replaced them is gone.
    pub revived: BTreeSet<NodeId>,
    /// Messages that still say what a selected node or entity said.
    pub left_messages: BTreeSet<MessageId>,
    /// Core blocks that contain the text: only a person edits them.
    pub left_core_blocks: Vec<CoreBlockLabel>,
    /// Documents of all users that contain the text, as `category/file`, where the selection keeps them.
    #[serde(default)]
    pub left_documents: BTreeSet<String>,
    /// Counts of everything erased besides these rows.
    pub counts: Counts,
}

/// Parts of rows that are kept, and rows that have no id of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counts {
    /// Quotes that nodes rested on.
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
    /// Documents of the hub: diaries that lost lines, roll-ups and memories that are gone.
    pub documents: u64,
    /// Traces of turns and sessions, and what slow cycles were asked and answered.
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
    /// Notes a node that is gone.
    pub fn add_node(&mut self, kind: NodeKind, id: NodeId) {
        let ids = match kind {
            NodeKind::Event => &mut self.events,
            NodeKind::Thought => &mut self.thoughts,
            NodeKind::Intention => &mut self.intentions,
            NodeKind::Expectation => &mut self.expectations,
        };
        ids.insert(id);
    }

    /// All nodes that are gone.
    pub fn all_nodes(&self) -> BTreeSet<NodeId> {
        let kinds = [&self.events, &self.thoughts, &self.intentions, &self.expectations];
        kinds.into_iter().flatten().copied().collect()
    }

    /// Adds what a later group of the same erasure took. A row that first changed and then went is gone.
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

    /// True if both name the same things. What is only counted may differ: vectors are written in the background.
    pub fn agrees_with(&self, shown: &Self) -> bool {
        let uncounted = |taken: &Self| Self { counts: Counts::default(), ..taken.clone() };
        uncounted(self) == uncounted(shown)
    }

    /// True if nothing was there to be forgotten.
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
    /// Numbers of the messages that are gone.
    pub message_seqs: Vec<i64>,
    /// Numbers of the nodes that are gone or were rewritten.
    pub node_seqs: Vec<i64>,
    /// Instances that hold copies of documents from which something went.
    pub instances: Vec<InstanceReach>,
}

/// The outcome of a request to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetOutcome {
    /// The erasure is done and durable.
    Done(Box<ForgetResult>),
    /// The erasure would remove other rows than the confirmed preview; no row was erased.
    Changed,
    /// There was nothing to take, and so there is no receipt. The core blocks that contain the text, if it was one.
    Nothing(Vec<CoreBlockLabel>),
}

/// Proof of an erasure, kept permanently. It holds ids and counts, never a word of what was erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErasureReceipt {
    /// The receipt's id; of a dry run, what [`Confirmations`] ask for.
    pub id: ErasureId,
    /// The memory that was erased from.
    pub scope: Scope,
    /// Time of the erasure.
    pub created_at: Timestamp,
    /// Fields that selected something: `message_ids`, `event_ids`, `session_ids`, `entity_ids`, `documents`, `text`, `reset`.
    pub selected_by: Vec<String>,
    /// Ids and counts of everything that was erased.
    pub taken: ForgetSummary,
    /// Copies of the database that were there and were not touched: names of files beside it.
    pub copies: Vec<String>,
    /// Name of the database on a server: its log, replicas, backups and freed blocks are its operator's.
    #[serde(default)]
    pub server: Option<String>,
    /// Time at which the freed pages and the log were overwritten too; none while that waits, and none on a server.
    pub overwritten_at: Option<Timestamp>,
    /// Instances that had pulled what went, and which of them know that it is gone.
    #[serde(default)]
    pub instances: Vec<InstanceReach>,
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
pub struct InstanceReach {
    /// The name of the instance.
    pub id: String,
    /// Time at which a pull of it showed that it had received the erasure; none while it waits.
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

/// An audit row of a core block.
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
