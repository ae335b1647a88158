//! Sessions, messages and turns in memory.

use memory::ports::*;
use uuid::Uuid;

use super::*;

#[async_trait]
impl SessionStore for FakeStore {
    async fn end_quiet_sessions(
        &self,
        _before: Timestamp,
        _trigger: CloseTrigger,
    ) -> Result<Vec<Session>, StoreError> {
        refused()
    }

    async fn end_session(
        &self,
        _id: SessionId,
        _trigger: CloseTrigger,
    ) -> Result<Option<Session>, StoreError> {
        refused()
    }

    async fn retry_session(&self, _id: SessionId) -> Result<Option<Session>, StoreError> {
        refused()
    }

    async fn session(&self, _id: SessionId) -> Result<Option<Session>, StoreError> {
        refused()
    }

    async fn sessions(&self, _filter: SessionFilter) -> Result<Vec<Session>, StoreError> {
        refused()
    }
}

#[async_trait]
impl MessageStore for FakeStore {
    async fn messages_before(
        &self,
        _scope: &Scope,
        _before: Option<i64>,
        _limit: u32,
    ) -> Result<Vec<Message>, StoreError> {
        refused()
    }

    async fn session_messages(&self, _id: SessionId) -> Result<Vec<Message>, StoreError> {
        refused()
    }

    async fn message_versions(
        &self,
        _session: SessionId,
    ) -> Result<std::collections::BTreeMap<MessageId, Vec<memory::messages::MessageVersion>>, StoreError>
    {
        refused()
    }

    async fn message(&self, _id: MessageId) -> Result<Option<Message>, StoreError> {
        refused()
    }
}

#[async_trait]
impl CaptureStore for FakeStore {
    async fn capture(
        &self,
        _message: NewMessage,
        _policy: SessionPolicy,
        _receipt: Option<ReplyReceipt>,
    ) -> Result<CapturedMessage, StoreError> {
        refused()
    }
}

#[async_trait]
impl CorrectionStore for FakeStore {
    async fn scope_of_node(&self, _id: NodeId) -> Result<Option<Scope>, StoreError> {
        refused()
    }

    async fn correct_node(&self, _correction: Correction) -> Result<Option<Node>, StoreError> {
        refused()
    }

    async fn pin_node(&self, _id: NodeId, _pinned: bool) -> Result<Option<Node>, StoreError> {
        refused()
    }

    async fn node_history(&self, _id: NodeId, _limit: u32) -> Result<Option<Vec<NodeVersion>>, StoreError> {
        refused()
    }

    async fn replaced_values(
        &self,
        _scope: &Scope,
        _about: &ReplacedQuery,
    ) -> Result<ReplacedValues, StoreError> {
        Ok(ReplacedValues::default())
    }

    async fn undo_last_change(
        &self,
        _id: NodeId,
        _at: Timestamp,
    ) -> Result<Option<UndoneChange>, StoreError> {
        refused()
    }

    async fn rejected_memory(&self, _id: RejectedId) -> Result<Option<PendingRejection>, StoreError> {
        refused()
    }

    async fn approve_rejected(&self, _approval: Approval) -> Result<CommitOutcome, StoreError> {
        refused()
    }

    async fn decide_rejected(
        &self,
        _id: RejectedId,
        _approved: Option<NewNode>,
        _at: Timestamp,
    ) -> Result<CommitOutcome, StoreError> {
        refused()
    }

    async fn edit_message(&self, _edit: MessageEdit) -> Result<Option<MessageEditResult>, StoreError> {
        refused()
    }

    async fn withdraw_evidence(
        &self,
        _messages: &[MessageId],
        _thoughts: ThoughtPolicy,
        _at: Timestamp,
    ) -> Result<Withdrawal, StoreError> {
        refused()
    }
}

#[async_trait]
impl TurnStore for FakeStore {
    async fn fail_turn(&self, _id: TurnId, _reason: &str) -> Result<(), StoreError> {
        refused()
    }

    async fn reopen_turn(&self, _id: TurnId) -> Result<Option<Turn>, StoreError> {
        refused()
    }

    async fn reopen_answered_turn(&self, _id: TurnId) -> Result<Option<Turn>, StoreError> {
        refused()
    }

    async fn pending_turns(&self) -> Result<Vec<Turn>, StoreError> {
        refused()
    }

    async fn failed_work(
        &self,
        _scope: Option<&Scope>,
        _before: Option<(Timestamp, Uuid)>,
        _limit: u32,
    ) -> Result<Vec<FailedWork>, StoreError> {
        refused()
    }

    async fn turn(&self, _id: TurnId) -> Result<Option<Turn>, StoreError> {
        refused()
    }

    async fn turn_messages(&self, _id: TurnId) -> Result<Vec<Message>, StoreError> {
        refused()
    }

    async fn turn_external_ref(&self, _id: TurnId) -> Result<Option<String>, StoreError> {
        refused()
    }
}
