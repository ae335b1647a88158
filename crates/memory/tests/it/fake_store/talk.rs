//! Messages and sessions.

use super::*;

#[async_trait]
impl MessageStore for FakeStore {
    async fn capture(
        &self,
        _message: NewMessage,
        _policy: SessionPolicy,
        _receipt: Option<ReplyReceipt>,
    ) -> Result<CapturedMessage, StoreError> {
        refused()
    }
    async fn fail_turn(&self, _id: TurnId, _reason: &str) -> Result<(), StoreError> {
        refused()
    }
    async fn reopen_turn(&self, _id: TurnId) -> Result<Option<Turn>, StoreError> {
        refused()
    }
    async fn pending_turns(&self) -> Result<Vec<Turn>, StoreError> {
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
    async fn message(&self, _id: MessageId) -> Result<Option<Message>, StoreError> {
        refused()
    }
    async fn messages_numbered(
        &self,
        scope: &Scope,
        seqs: &[i64],
    ) -> Result<Vec<IndexedMessage>, StoreError> {
        let data = self.data();
        let found =
            data.messages.iter().filter(|m| m.message.scope == *scope && seqs.contains(&m.message.seq));
        Ok(found.cloned().collect())
    }
    async fn neighbours(
        &self,
        scope: &Scope,
        seqs: &[i64],
        before: u32,
        after: u32,
    ) -> Result<Vec<(i64, Vec<IndexedMessage>)>, StoreError> {
        let data = self.data();
        let around = |seq: i64| {
            let hit = data.messages.iter().find(|m| m.message.scope == *scope && m.message.seq == seq)?;
            let session = hit.message.session_id;
            let session: Vec<_> = data.messages.iter().filter(|m| m.message.session_id == session).collect();
            let at = session.iter().position(|m| m.message.seq == seq)?;
            let range = at.saturating_sub(before as usize)..session.len().min(at + 1 + after as usize);
            Some((seq, session[range].iter().map(|&m| m.clone()).collect()))
        };
        Ok(seqs.iter().filter_map(|&seq| around(seq)).collect())
    }
    async fn messages_without_vector(
        &self,
        _fingerprint: &str,
        _limit: u32,
    ) -> Result<Vec<Message>, StoreError> {
        refused()
    }
    async fn put_message_vectors(
        &self,
        _fingerprint: &str,
        _vectors: Vec<(MessageId, Embedding)>,
    ) -> Result<(), StoreError> {
        refused()
    }
}

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
    async fn claim_closing_session(&self, _now: Timestamp) -> Result<Option<Session>, StoreError> {
        refused()
    }
    async fn release_claims(&self) -> Result<u32, StoreError> {
        refused()
    }
    async fn commit_extraction(&self, _commit: ExtractionCommit) -> Result<CommitOutcome, StoreError> {
        refused()
    }
    async fn commit_reflection(&self, _commit: ReflectionCommit) -> Result<CommitOutcome, StoreError> {
        refused()
    }
    async fn finish_session(&self, _id: SessionId, _at: Timestamp) -> Result<Option<Session>, StoreError> {
        refused()
    }
    async fn record_failure(&self, _attempt: FailedAttempt) -> Result<Option<Session>, StoreError> {
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
    async fn summarised_sessions(&self, _scope: &Scope, _limit: u32) -> Result<Vec<Session>, StoreError> {
        Ok(Vec::new())
    }
    async fn reflections_since(
        &self,
        _scope: &Scope,
        _since: Timestamp,
    ) -> Result<Vec<Timestamp>, StoreError> {
        refused()
    }
    async fn last_reflection(&self, _scope: &Scope) -> Result<Option<Timestamp>, StoreError> {
        refused()
    }
}
