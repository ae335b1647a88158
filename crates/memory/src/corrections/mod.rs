//! Corrections by people: of a memory's text, of a refused memory, of a change.
//!
//! A person's text is its own evidence: it is stored with its author and time, the former text stays in the memory's
//! history, and the last change can be undone.

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
    /// Extraction or reflection, from messages.
    Extraction,
    /// A person changed it.
    Person,
}

/// The kind of change that created a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VersionKind {
    /// The memory was written.
    Written,
    /// A person approved a memory that the checks had refused.
    Approval,
    /// A person wrote another text.
    Correction,
    /// The same statement was made again and was merged into the node.
    MentionMerge,
}

/// One version of a memory's text.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodeVersion {
    /// The node of this version; it differs from the requested one if a node replaced another.
    pub node_id: NodeId,
    /// The text; `None` if the messages that it came from were withdrawn.
    pub text: Option<String>,
    /// The kind of change that led to this text.
    pub change: VersionKind,
    /// The author of the change.
    pub by: Author,
    /// Time from which this text was current.
    pub at: Timestamp,
    /// Time until which this text was current; `None` for the current one.
    pub replaced_at: Option<Timestamp>,
    /// The node that replaced this one.
    pub superseded_by: Option<NodeId>,
    /// True if the change was undone.
    pub undone: bool,
    /// The quotes that the version depends on; a person's own text depends on nothing else.
    pub evidence: Vec<Evidence>,
}

/// A kind of change that can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A person's text: the text before it is restored.
    Correction,
    /// A newer memory replaced an older one: both become current again.
    Supersession,
    /// A repetition was merged: it becomes a memory of its own again, with its own quotes.
    MentionMerge,
}

/// A change that was undone.
#[derive(Clone, Debug, PartialEq)]
pub struct UndoneChange {
    pub kind: ChangeKind,
    /// The current state of the requested node.
    pub node: Node,
    /// The restored node: the one that had been replaced, or the repetition.
    pub restored: Option<Node>,
}

/// A person's text for a memory, with everything that is stored in its transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    pub node_id: NodeId,
    /// The new text of the memory.
    pub text: String,
    /// Index terms of the text.
    pub terms: String,
    /// The tags after the correction.
    pub relational_tags: Vec<RelationalTag>,
    /// The known entities that the text mentions.
    pub entities: Vec<EntityId>,
    /// The model and its vector; without them the vector is made later.
    pub embedding: Option<(String, Embedding)>,
    pub at: Timestamp,
}

/// A refused memory with its scope, and if it was decided.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingRejection {
    pub scope: Scope,
    pub memory: RejectedMemory,
    /// True if a person has decided.
    pub settled: bool,
}

/// A refused memory that a person approved, ready to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    pub id: RejectedId,
    pub node: NewNode,
    /// The model of the node's vector.
    pub fingerprint: Option<String>,
    /// The known entities that its text mentions.
    pub entities: Vec<EntityId>,
    pub at: Timestamp,
}
