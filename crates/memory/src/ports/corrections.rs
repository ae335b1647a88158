//! Storage for what a person puts right: memories, refused memories, messages; and for taking a change back.

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

/// New words for a message of the user.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageEdit {
    pub id: MessageId,
    /// The new text, verbatim.
    pub content: String,
    /// The text's index terms, as [`crate::text::index_terms`] gives them.
    pub terms: String,
    /// Estimated, not counted by the model.
    pub token_count: u32,
    /// Time at which the message was edited.
    pub at: Timestamp,
}

/// The result of editing a message.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageEditResult {
    /// The current state of the message.
    pub message: Message,
    /// Memories that depended on the old text.
    pub withdrawn: Withdrawal,
}

/// Corrections, their history, and the way back.
#[async_trait]
pub trait CorrectionStore: Send + Sync {
    /// The scope of a live node.
    async fn scope_of_node(&self, id: NodeId) -> Result<Option<Scope>, StoreError>;
    /// Gives a live node a new text; words, links and vector follow in the same transaction (a vector that is not
    /// given is made afterwards, with those of all nodes without one). The old text stays in the node's history.
    async fn correct_node(&self, correction: Correction) -> Result<Option<Node>, StoreError>;
    /// Pins a live node or takes the pin away.
    async fn pin_node(&self, id: NodeId, pinned: bool) -> Result<Option<Node>, StoreError>;
    /// All that a live node says, has said, was said in its place and is said in its place now, newest first, at most
    /// `limit`. None if there is no such node.
    async fn node_history(&self, id: NodeId, limit: u32) -> Result<Option<Vec<NodeVersion>>, StoreError>;
    /// Takes back the last correction, supersession or mention merge that the node had a part in. None when there is
    /// nothing to take back.
    async fn undo_last_change(&self, id: NodeId, at: Timestamp) -> Result<Option<UndoneChange>, StoreError>;
    /// The values that are no longer current, as far as they concern what is about to be shown.
    async fn replaced_values(
        &self,
        scope: &Scope,
        about: &ReplacedQuery,
    ) -> Result<ReplacedValues, StoreError>;
    /// A refused memory, decided or not.
    async fn rejected_memory(&self, id: RejectedId) -> Result<Option<PendingRejection>, StoreError>;
    /// Writes what a person approved of a refused memory: node, words, links and vector in one transaction.
    async fn approve_rejected(&self, approval: Approval) -> Result<CommitOutcome, StoreError>;
    /// Approves or dismisses a refused memory; approval writes the node with the person's decision as evidence. Its
    /// vector is written afterwards, with those of all nodes without one.
    async fn settle_rejected(
        &self,
        id: RejectedId,
        approved: Option<NewNode>,
        at: Timestamp,
    ) -> Result<CommitOutcome, StoreError>;
    /// Gives a live message of the user new words and withdraws what rested on the old ones; a session that has ended
    /// becomes memory again. The old words are kept and found by nobody. None if there is no such message.
    async fn edit_message(&self, edit: MessageEdit) -> Result<Option<MessageEditResult>, StoreError>;
    /// Withdraws what depends on the words of these messages, which stay as they are: their quotes go, and with them
    /// every memory that nothing else supports (see [`crate::forget::Support::decide_after_loss`]).
    async fn withdraw_evidence(
        &self,
        messages: &[MessageId],
        thoughts: ThoughtPolicy,
        at: Timestamp,
    ) -> Result<Withdrawal, StoreError>;
}
