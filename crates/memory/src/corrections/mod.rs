//! What a person puts right: a memory's text, a refused memory, a change that should not have been made.
//!
//! The text that a person writes is its own evidence: it is recorded with who wrote it and when, the text before it
//! stays in the memory's history, and the last change can be taken back.

mod correct;
mod approve;
mod replaced;
mod value_words;
mod word_keys;

pub use approve::{ApprovalEdits, ApproveError};
pub use correct::{CorrectError, Corrector};
pub use replaced::{ReplacedQuery, ReplacedSpan, ReplacedValue, ReplacedValues};
pub use value_words::ValueWords;
pub use word_keys::WordKey;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::identifiers::{EntityId, NodeId, RejectedId};
use crate::nodes::{Evidence, NewNode, Node, RejectedMemory, RelationalTag};
use crate::ports::Embedding;
use crate::scope::Scope;

/// The author of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// Extraction or reflection, from what was said.
    Extraction,
    /// A person changed it.
    Person,
}

/// The kind of change that gave a memory this text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VersionKind {
    /// The memory was written.
    Written,
    /// A person approved what the checks had refused.
    Approval,
    /// A person wrote another text.
    Correction,
    /// The same statement was made again, and was merged into the node.
    MentionMerge,
}

/// One text of a memory's history.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodeVersion {
    /// The node of this version: another than the requested one if a node replaced another.
    pub node_id: NodeId,
    /// The text; none if the messages that it came from were withdrawn.
    pub text: Option<String>,
    /// The kind of change that led to this text.
    pub change: VersionKind,
    /// The author of the change.
    pub by: Author,
    /// Time from which this text was current.
    pub at: Timestamp,
    /// Until when; none for the current text.
    pub replaced_at: Option<Timestamp>,
    /// The node that replaced this one.
    pub superseded_by: Option<NodeId>,
    /// True if the change was taken back.
    pub undone: bool,
    /// The words that the version depends on; a person's own text depends on nothing else.
    pub evidence: Vec<Evidence>,
}

/// A kind of change that can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A person's text: the text before it is restored.
    Correction,
    /// A newer memory that took the older one's place: both are current again.
    Supersession,
    /// A repetition: it is a memory of its own again, with its own words.
    MentionMerge,
}

/// A change that was taken back.
#[derive(Clone, Debug, PartialEq)]
pub struct UndoneChange {
    pub kind: ChangeKind,
    /// The current state of the requested node.
    pub node: Node,
    /// The node that came back: the one that had been replaced, or the repetition.
    pub restored: Option<Node>,
}

/// A person's text for a memory, with all that goes into its transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    pub node_id: NodeId,
    /// The new text of the memory.
    pub text: String,
    /// Index terms of the text.
    pub terms: String,
    /// Tags as they are now.
    pub relational_tags: Vec<RelationalTag>,
    /// The known entities that the text names.
    pub entities: Vec<EntityId>,
    /// The model and its vector; without them they are made afterwards.
    pub embedding: Option<(String, Embedding)>,
    pub at: Timestamp,
}

/// A refused memory with whose it is and whether it was decided.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingRejection {
    pub scope: Scope,
    pub memory: RejectedMemory,
    /// True if a person has decided.
    pub settled: bool,
}

/// A refused memory that a person approved, as it is to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    pub id: RejectedId,
    pub node: NewNode,
    /// Names the model of the node's vector.
    pub fingerprint: Option<String>,
    /// The known entities that its text names.
    pub entities: Vec<EntityId>,
    pub at: Timestamp,
}
