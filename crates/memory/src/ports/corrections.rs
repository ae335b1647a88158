//! Port for corrections of memories, refused memories and messages, and for undoing them.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::corrections::{
    Approval, Correction, NodeVersion, PendingRejection, ReplacedQuery, ReplacedValues, UndoneChange,
};
use crate::forget::{ThoughtPolicy, Withdrawal};
use crate::identifiers::{MessageId, NodeId, RejectedId};
use crate::messages::Message;
use crate::nodes::{NewNode, Node};
use crate::ports::{CommitOutcome, StoreError};
use crate::scope::Scope;

/// A new text for a message of the user.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageEdit {
    pub id: MessageId,
    /// The new text, verbatim.
    pub content: String,
    /// The text's index terms, as [`crate::text::index_terms`] gives them.
    pub terms: String,
    /// Estimated number of tokens.
    pub token_count: u32,
    /// Time at which the message was edited.
    pub at: Timestamp,
}

/// The result of editing a message.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageEditResult {
    /// The current state of the message.
    pub message: Message,
    /// Memories that were withdrawn with the old text.
    pub withdrawn: Withdrawal,
}

/// Storage of corrections and their history.
#[async_trait]
pub trait CorrectionStore: Send + Sync {
    /// The scope of a live node.
    async fn scope_of_node(&self, id: NodeId) -> Result<Option<Scope>, StoreError>;
    /// Gives a live node a new text and updates its terms, links and vector in the same transaction (a missing vector
    /// is computed later). The old text stays in the node's history.
    async fn correct_node(&self, correction: Correction) -> Result<Option<Node>, StoreError>;
    /// Pins or unpins a live node.
    async fn pin_node(&self, id: NodeId, pinned: bool) -> Result<Option<Node>, StoreError>;
    /// All versions of a live node: its texts, those of nodes that it replaced and of nodes that replaced it, newest
    /// first, at most `limit`. `None` if there is no such node.
    async fn node_history(&self, id: NodeId, limit: u32) -> Result<Option<Vec<NodeVersion>>, StoreError>;
    /// Undoes the last correction, supersession or mention merge that involves the node. `None` if there is nothing
    /// to undo.
    async fn undo_last_change(&self, id: NodeId, at: Timestamp) -> Result<Option<UndoneChange>, StoreError>;
    /// The values that are no longer current, as far as they concern the texts of the query.
    async fn replaced_values(
        &self,
        scope: &Scope,
        about: &ReplacedQuery,
    ) -> Result<ReplacedValues, StoreError>;
    /// A refused memory, decided or not.
    async fn rejected_memory(&self, id: RejectedId) -> Result<Option<PendingRejection>, StoreError>;
    /// Stores a refused memory that a person approved: node, terms, links and vector in one transaction.
    async fn approve_rejected(&self, approval: Approval) -> Result<CommitOutcome, StoreError>;
    /// Approves or dismisses a refused memory. Approval writes the node with the person's decision as evidence; its
    /// vector is computed later.
    async fn decide_rejected(
        &self,
        id: RejectedId,
        approved: Option<NewNode>,
        at: Timestamp,
    ) -> Result<CommitOutcome, StoreError>;
    /// Gives a live message of the user a new text and withdraws memories that depended on the old one; a session
    /// that has ended is consolidated again. The old text is stored, but no search finds it. `None` if there is no
    /// such message.
    async fn edit_message(&self, edit: MessageEdit) -> Result<Option<MessageEditResult>, StoreError>;
    /// Withdraws the evidence in these messages, which stay as they are: quotes are removed, and with them every
    /// memory without other support (see [`crate::forget::Support::decide_after_loss`]).
    async fn withdraw_evidence(
        &self,
        messages: &[MessageId],
        thoughts: ThoughtPolicy,
        at: Timestamp,
    ) -> Result<Withdrawal, StoreError>;
}
