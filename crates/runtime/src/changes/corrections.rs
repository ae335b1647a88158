//! Corrections by people of memories, refused memories and messages.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::Scope;
use memory::capture::{self, CaptureError};
use memory::consolidate::ConsolidationEvent;
use memory::corrections::{ApprovalEdits, ApproveError, ChangeKind, CorrectError, Corrector, UndoneChange};
use memory::forget::Withdrawal;
use memory::identifiers::{MessageId, NodeId, RejectedId, SessionId};
use memory::messages::{Message, Role};
use memory::nodes::{NewNode, Node};
use memory::ports::{CommitOutcome, Corpus, MessageEdit, MessageEditResult, ReplacedMessages, StoreError};
use memory::text;

use crate::changes::Changes;
use crate::events::bodies::{MessageDeleted, MessageEdited};
use crate::events::memory_bodies::{MemoryForgotten, NodeUpdated};

impl Changes {
    /// Gives a memory the text that a person wrote. `None` if there is no such memory.
    pub async fn correct_node(&self, id: NodeId, text: &str) -> Result<Option<Node>, CorrectError> {
        let corrector = self.new_corrector();
        let corrected = self.core.forget_epochs.run_exclusive(corrector.correct(id, text)).await?;
        if let Some(node) = &corrected {
            self.publish_node(node, "correction").await?;
            self.shared_self.wake();
            self.core.written.notify_one();
        }
        Ok(corrected)
    }

    /// Pins a memory, so that it is in every prompt, or unpins it. `None` if there is no such memory.
    pub async fn pin_node(&self, id: NodeId, pinned: bool) -> Result<Option<Node>, StoreError> {
        let node = self.core.store().pin_node(id, pinned).await?;
        if let Some(node) = &node {
            self.publish_node(node, if pinned { "pin" } else { "unpin" }).await?;
        }
        Ok(node)
    }

    /// Undoes the last correction, supersession or mention merge of a memory. `None` if there is none.
    pub async fn undo_node(&self, id: NodeId) -> Result<Option<UndoneChange>, StoreError> {
        let core = &self.core;
        let undoing = core.store().undo_last_change(id, core.clock().now());
        let undone = core.forget_epochs.run_exclusive(undoing).await?;
        let Some(undone) = undone else { return Ok(None) };
        let scope = core.store().scope_of_node(id).await?;
        if let (Some(scope), ChangeKind::Correction) = (&scope, undone.kind) {
            core.index().forget(scope, Corpus::Nodes, &[undone.node.seq]);
        }
        self.publish_node(&undone.node, "undo").await?;
        self.shared_self.wake();
        if let (Some(scope), Some(restored)) = (scope, &undone.restored) {
            match (undone.kind, restored.source_session_id) {
                (ChangeKind::MentionMerge, Some(session_id)) => {
                    let (node, at) = (Box::new(NewNode::from_node(restored)), restored.created_at);
                    let said_at = self.session_end_time(session_id).await?.unwrap_or(at);
                    core.publish_formed(ConsolidationEvent::Event { scope, session_id, node, said_at, at });
                }
                _ => self.publish_node(restored, "undo").await?,
            }
        }
        core.written.notify_one();
        Ok(Some(undone))
    }

    /// Stores a refused memory because a person approves it. `None` if none with this id waits in the scope.
    pub async fn approve_rejected(
        &self,
        scope: &Scope,
        id: RejectedId,
        edits: ApprovalEdits,
    ) -> Result<Option<NewNode>, ApproveError> {
        let core = &self.core;
        let pending = core.store().rejected_memory(id).await?;
        let approved = self.new_corrector().approve(scope, id, edits).await?;
        if let (Some(node), Some(pending)) = (&approved, pending) {
            let (session_id, at) = (pending.memory.session_id, core.clock().now());
            let formed = ConsolidationEvent::Event {
                scope: scope.clone(),
                session_id,
                node: Box::new(node.clone()),
                said_at: self.session_end_time(session_id).await?.unwrap_or(at),
                at,
            };
            core.publish_formed(formed);
            core.written.notify_one();
        }
        Ok(approved)
    }

    /// Dismisses a refused memory permanently; false if it was not waiting.
    pub async fn dismiss_rejected(&self, id: RejectedId) -> Result<bool, StoreError> {
        let core = &self.core;
        let outcome = core.store().decide_rejected(id, None, core.clock().now()).await?;
        Ok(outcome == CommitOutcome::Committed)
    }

    /// Edits a message of the user; memories that depended on the old text are withdrawn. `None` if the user has no
    /// such message.
    pub async fn edit_message(
        &self,
        id: MessageId,
        content: &str,
    ) -> Result<Option<MessageEditResult>, CaptureError> {
        capture::check(content)?;
        let core = &self.core;
        let edit = MessageEdit {
            id,
            content: content.to_owned(),
            terms: text::index_terms(content),
            token_count: text::estimate_tokens(content),
            at: core.clock().now(),
        };
        let at = edit.at;
        let edited = core.forget_epochs.run_exclusive(core.store().edit_message(edit)).await?;
        if let Some(MessageEditResult { message, withdrawn }) = &edited {
            core.index().forget(&message.scope, Corpus::Messages, &[message.seq]);
            core.publish(&message.scope, MessageEdited::new(message.clone(), at));
            self.publish_withdrawn(message, withdrawn).await;
            core.written.notify_one();
        }
        Ok(edited)
    }

    fn new_corrector(&self) -> Corrector<'_> {
        Corrector {
            store: self.core.store(),
            embedder: self.core.embedder(),
            index: self.core.index(),
            clock: self.core.clock(),
            ids: self.core.ids(),
        }
    }

    async fn publish_node(&self, node: &Node, change: &'static str) -> Result<(), StoreError> {
        if let Some(scope) = self.core.store().scope_of_node(node.id).await? {
            self.core.publish(&scope, NodeUpdated::new(node.clone(), change));
        }
        Ok(())
    }

    /// Publishes the memories that were withdrawn with the old text of a message, and removes their vectors.
    pub(crate) async fn publish_withdrawn(&self, message: &Message, withdrawn: &Withdrawal) {
        for (id, _) in &withdrawn.messages {
            let (turn_id, source_channel_id) = (message.turn_id, message.channel_id.clone());
            self.core.publish(&message.scope, MessageDeleted { message_id: *id, turn_id, source_channel_id });
        }
        let edited = if message.role == Role::User { vec![message.id] } else { Vec::new() };
        self.publish_lost_support(&message.scope, edited, withdrawn).await;
    }

    /// Publishes messages that an import changed, and removes the vectors of memories that depended on their texts.
    pub(crate) async fn publish_replaced(&self, scope: &Scope, replaced: ReplacedMessages) {
        let at = self.core.clock().now();
        for (message_id, source_channel_id) in replaced.removed {
            self.core.publish(scope, MessageDeleted { message_id, turn_id: None, source_channel_id });
        }
        let mut edited = Vec::with_capacity(replaced.reworded.len());
        for message in replaced.reworded {
            self.core.index().forget(scope, Corpus::Messages, &[message.seq]);
            edited.push(message.id);
            self.core.publish(scope, MessageEdited::new(message, at));
        }
        self.publish_lost_support(scope, edited, &replaced.withdrawn).await;
    }

    async fn publish_lost_support(&self, scope: &Scope, edited: Vec<MessageId>, withdrawn: &Withdrawal) {
        let numbers = |ids: &[(NodeId, i64)]| ids.iter().map(|(_, seq)| *seq).collect::<Vec<_>>();
        self.core.index().forget(scope, Corpus::Nodes, &numbers(&withdrawn.nodes));
        self.core.index().forget(scope, Corpus::Nodes, &numbers(&withdrawn.rewritten));
        let messages: Vec<i64> = withdrawn.messages.iter().map(|(_, seq)| *seq).collect();
        self.core.index().forget(scope, Corpus::Messages, &messages);
        // Also the recording of an edited message, which still has the former text.
        let mut gone: BTreeSet<MessageId> = withdrawn.messages.iter().map(|(id, _)| *id).collect();
        gone.extend(&edited);
        self.voice.forget_sound(scope, &gone).await;
        if !withdrawn.nodes.is_empty() {
            let node_ids = withdrawn.nodes.iter().map(|(id, _)| *id).collect();
            let entity_ids = withdrawn.entities.clone();
            self.core.publish(scope, MemoryForgotten::from_edit(node_ids, entity_ids, edited));
        }
        for (id, _) in &withdrawn.rewritten {
            // It is committed; subscribers that miss the event see it when they reload.
            if let Err(error) = self.publish_reduced_node(*id).await {
                tracing::warn!("the event for a reduced memory could not be published: {error}");
            }
            self.core.written.notify_one();
        }
        if !withdrawn.sessions.is_empty() {
            self.core.session_ended.notify_one();
        }
    }

    async fn publish_reduced_node(&self, id: NodeId) -> Result<(), StoreError> {
        match self.core.store().node(id).await? {
            Some(found) => self.publish_node(&found.node, "withdrawal").await,
            None => Ok(()),
        }
    }

    /// Returns the time of the last message of a session.
    async fn session_end_time(&self, id: SessionId) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.core.store().session(id).await?.map(|session| session.last_message_at))
    }
}
