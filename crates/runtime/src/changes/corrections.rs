//! A person's corrections of memories, refused memories, messages and replies while the program runs.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::Scope;
use memory::capture::{self, CaptureError};
use memory::consolidate::ConsolidationEvent;
use memory::corrections::{ApproveError, ChangeKind, CorrectError, Corrector, Edits, UndoneChange};
use memory::forget::Withdrawal;
use memory::identifiers::{MessageId, NodeId, RejectedId, SessionId, TurnId};
use memory::messages::{Message, Role, Turn, TurnStatus};
use memory::nodes::{NewNode, Node};
use memory::ports::{CommitOutcome, Corpus, MessageEdit, MessageEditResult, ReplacedMessages, StoreError};
use memory::text;

use crate::events::server_event::ServerEvent;
use crate::runtime::{Runtime, RuntimeInner};

/// Why a reply can't be replaced. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RegenerateError {
    /// Nothing was said yet, or there is no such turn.
    #[error("there is no such reply")]
    Unknown,
    /// The talk has gone on.
    #[error("only the last reply can be replaced; nothing was changed")]
    NotTheLast,
    /// It is being said.
    #[error("this turn is being answered; stop it first, or wait")]
    BeingAnswered,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Runtime {
    /// Gives a memory the text that a person wrote. None if there is no such memory.
    pub async fn correct_node(&self, id: NodeId, text: &str) -> Result<Option<Node>, CorrectError> {
        let corrector = self.runtime.corrector();
        let corrected = self.runtime.forget_epochs.run_exclusive(corrector.correct(id, text)).await?;
        if let Some(node) = &corrected {
            self.runtime.publish_node(node, "correction").await?;
            self.runtime.wake_hub();
            self.runtime.written.notify_one();
        }
        Ok(corrected)
    }

    /// Pins a memory, so that it is in every prompt, or takes the pin away. None if there is no such memory.
    pub async fn pin_node(&self, id: NodeId, pinned: bool) -> Result<Option<Node>, StoreError> {
        let node = self.runtime.store().pin_node(id, pinned).await?;
        if let Some(node) = &node {
            self.runtime.publish_node(node, if pinned { "pin" } else { "unpin" }).await?;
        }
        Ok(node)
    }

    /// Takes back the last correction, supersession or mention merge of a memory. None when there is none.
    pub async fn undo_node(&self, id: NodeId) -> Result<Option<UndoneChange>, StoreError> {
        let runtime = &self.runtime;
        let undoing = runtime.store().undo_last_change(id, runtime.clock().now());
        let undone = runtime.forget_epochs.run_exclusive(undoing).await?;
        let Some(undone) = undone else { return Ok(None) };
        let scope = runtime.store().scope_of_node(id).await?;
        if let (Some(scope), ChangeKind::Correction) = (&scope, undone.kind) {
            runtime.index().forget(scope, Corpus::Nodes, &[undone.node.seq]);
        }
        runtime.publish_node(&undone.node, "undo").await?;
        runtime.wake_hub();
        if let (Some(scope), Some(restored)) = (scope, &undone.restored) {
            match (undone.kind, restored.source_session_id) {
                (ChangeKind::MentionMerge, Some(session_id)) => {
                    let (node, at) = (Box::new(NewNode::of(restored)), restored.created_at);
                    let said_at = session_end(runtime, session_id).await?.unwrap_or(at);
                    runtime.publish(
                        &scope,
                        ServerEvent::Formed(ConsolidationEvent::Event {
                            scope: scope.clone(),
                            session_id,
                            node,
                            said_at,
                            at,
                        }),
                    );
                }
                _ => runtime.publish_node(restored, "undo").await?,
            }
        }
        runtime.written.notify_one();
        Ok(Some(undone))
    }

    /// Writes a refused memory because a person says so. None if there is none in the scope that waits.
    pub async fn approve_rejected(
        &self,
        scope: &Scope,
        id: RejectedId,
        edits: Edits,
    ) -> Result<Option<NewNode>, ApproveError> {
        let runtime = &self.runtime;
        let pending = runtime.store().rejected_memory(id).await?;
        let approved = runtime.corrector().approve(scope, id, edits).await?;
        if let (Some(node), Some(pending)) = (&approved, pending) {
            let (session_id, at) = (pending.memory.session_id, runtime.clock().now());
            let formed = ConsolidationEvent::Event {
                scope: scope.clone(),
                session_id,
                node: Box::new(node.clone()),
                said_at: session_end(runtime, session_id).await?.unwrap_or(at),
                at,
            };
            runtime.publish(scope, ServerEvent::Formed(formed));
            runtime.written.notify_one();
        }
        Ok(approved)
    }

    /// Lays a refused memory aside for good. Says whether it waited.
    pub async fn dismiss_rejected(&self, id: RejectedId) -> Result<bool, StoreError> {
        let runtime = &self.runtime;
        let outcome = runtime.store().settle_rejected(id, None, runtime.clock().now()).await?;
        Ok(outcome == CommitOutcome::Committed)
    }

    /// Gives a message of the user new words; what rested on the old ones is withdrawn. None if the user has said no
    /// such message.
    pub async fn edit_message(
        &self,
        id: MessageId,
        content: &str,
    ) -> Result<Option<MessageEditResult>, CaptureError> {
        capture::check(content)?;
        let runtime = &self.runtime;
        let edit = MessageEdit {
            id,
            content: content.to_owned(),
            terms: text::index_terms(content),
            token_count: text::estimate_tokens(content),
            at: runtime.clock().now(),
        };
        let at = edit.at;
        let edited = runtime.forget_epochs.run_exclusive(runtime.store().edit_message(edit)).await?;
        if let Some(MessageEditResult { message, withdrawn }) = &edited {
            runtime.index().forget(&message.scope, Corpus::Messages, &[message.seq]);
            runtime.publish(
                &message.scope,
                ServerEvent::MessageEdited { message: Box::new(message.clone()), at },
            );
            runtime.publish_withdrawn(message, withdrawn).await;
            runtime.written.notify_one();
        }
        Ok(edited)
    }

    /// Has the last reply of the scope said again: that of the turn, or of the turn of the message, or the last one. The
    /// earlier reply stays until the new one is there. A turn without a reply is asked again.
    pub async fn regenerate(&self, scope: &Scope, turn: Option<TurnId>) -> Result<Turn, RegenerateError> {
        let store = self.runtime.store();
        let newest = store.messages_before(scope, None, 1).await?.pop().ok_or(RegenerateError::Unknown)?;
        let last = newest.turn_id;
        let id = turn.or(last).ok_or(RegenerateError::Unknown)?;
        let known = store.turn(id).await?.filter(|turn| turn.scope == *scope);
        let known = known.ok_or(RegenerateError::Unknown)?;
        if last != Some(id) {
            return Err(RegenerateError::NotTheLast);
        }
        let again = match known.status {
            TurnStatus::Answered => store.reopen_answered_turn(id).await?,
            TurnStatus::Failed => store.reopen_turn(id).await?,
            TurnStatus::Pending => None,
        };
        let again = again.ok_or(RegenerateError::BeingAnswered)?;
        self.runtime.resume(again.scope.clone(), again.channel_id.clone(), again.id);
        Ok(again)
    }

    /// Stops a turn: what was said so far is kept, marked incomplete; one that has said nothing fails and can be asked
    /// again. Says whether it was being answered.
    pub async fn stop_turn(&self, id: TurnId) -> Result<bool, StoreError> {
        let runtime = &self.runtime;
        let is_pending = async || {
            let turn = runtime.store().turn(id).await?;
            Ok::<_, StoreError>(turn.is_some_and(|turn| turn.status == TurnStatus::Pending))
        };
        if !is_pending().await? {
            return Ok(false);
        }
        runtime.stop_of(id).cancel();
        if !is_pending().await? {
            // It ended by itself meanwhile; a later turn of this id must not be stopped for it.
            runtime.forget_stop_of(id);
        }
        Ok(true)
    }
}

impl RuntimeInner {
    fn corrector(&self) -> Corrector<'_> {
        Corrector {
            store: self.store(),
            embedder: self.embedder(),
            index: self.index(),
            clock: self.clock(),
            ids: self.ids(),
        }
    }

    async fn publish_node(&self, node: &Node, change: &'static str) -> Result<(), StoreError> {
        if let Some(scope) = self.store().scope_of_node(node.id).await? {
            self.publish(&scope, ServerEvent::NodeUpdated { node: Box::new(node.clone()), change });
        }
        Ok(())
    }

    /// Tells what went with the old words of a message, and takes it out of memory.
    pub(crate) async fn publish_withdrawn(&self, message: &Message, withdrawn: &Withdrawal) {
        for (id, _) in &withdrawn.messages {
            let (turn_id, channel_id) = (message.turn_id, message.channel_id.clone());
            self.publish(
                &message.scope,
                ServerEvent::MessageDeleted { message_id: *id, turn_id, channel_id },
            );
        }
        let edited = if message.role == Role::User { vec![message.id] } else { Vec::new() };
        self.publish_lost_support(&message.scope, edited, withdrawn).await;
    }

    /// Tells of messages that an import changed, and takes out of memory what depended on their words.
    pub(crate) async fn publish_replaced(&self, scope: &Scope, replaced: ReplacedMessages) {
        let at = self.clock().now();
        for (message_id, channel_id) in replaced.removed {
            self.publish(scope, ServerEvent::MessageDeleted { message_id, turn_id: None, channel_id });
        }
        let mut edited = Vec::with_capacity(replaced.reworded.len());
        for message in replaced.reworded {
            self.index().forget(scope, Corpus::Messages, &[message.seq]);
            edited.push(message.id);
            self.publish(scope, ServerEvent::MessageEdited { message: Box::new(message), at });
        }
        self.publish_lost_support(scope, edited, &replaced.withdrawn).await;
    }

    async fn publish_lost_support(&self, scope: &Scope, edited: Vec<MessageId>, withdrawn: &Withdrawal) {
        let numbers = |ids: &[(NodeId, i64)]| ids.iter().map(|(_, seq)| *seq).collect::<Vec<_>>();
        self.index().forget(scope, Corpus::Nodes, &numbers(&withdrawn.nodes));
        self.index().forget(scope, Corpus::Nodes, &numbers(&withdrawn.rewritten));
        let messages: Vec<i64> = withdrawn.messages.iter().map(|(_, seq)| *seq).collect();
        self.index().forget(scope, Corpus::Messages, &messages);
        // Also the recording of an edited message: it still says the old words.
        let mut gone: BTreeSet<MessageId> = withdrawn.messages.iter().map(|(id, _)| *id).collect();
        gone.extend(&edited);
        self.forget_sound(scope, &gone).await;
        if !withdrawn.nodes.is_empty() {
            let node_ids = withdrawn.nodes.iter().map(|(id, _)| *id).collect();
            let entity_ids = withdrawn.entities.clone();
            self.publish(scope, ServerEvent::Withdrawn { node_ids, entity_ids, message_ids: edited });
        }
        for (id, _) in &withdrawn.rewritten {
            // It is committed; whoever is not told reads it at the next look.
            if let Err(error) = self.publish_reduced(*id).await {
                tracing::warn!("a memory that says less now could not be told of: {error}");
            }
            self.written.notify_one();
        }
        if !withdrawn.sessions.is_empty() {
            self.session_ended.notify_one();
        }
    }

    async fn publish_reduced(&self, id: NodeId) -> Result<(), StoreError> {
        match self.store().node(id).await? {
            Some(found) => self.publish_node(&found.node, "withdrawal").await,
            None => Ok(()),
        }
    }
}

/// Returns the time of the last message of a session.
async fn session_end(runtime: &RuntimeInner, id: SessionId) -> Result<Option<Timestamp>, StoreError> {
    Ok(runtime.store().session(id).await?.map(|session| session.last_message_at))
}
