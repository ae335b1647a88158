//! Personas, users, entities, costs.

use super::*;

#[async_trait]
impl PersonaStore for FakeStore {
    async fn ensure_persona(
        &self,
        _id: &PersonaId,
        _name: &str,
        _at: Timestamp,
    ) -> Result<PersonaRecord, StoreError> {
        refused()
    }
    async fn ensure_user(&self, _id: &UserId, _at: Timestamp) -> Result<UserRecord, StoreError> {
        refused()
    }
    async fn personas(&self) -> Result<Vec<PersonaRecord>, StoreError> {
        refused()
    }
    async fn set_user_timezone(&self, _id: &UserId, _timezone: &str) -> Result<(), StoreError> {
        refused()
    }
    async fn rename_persona(&self, _id: &PersonaId, _name: &str) -> Result<(), StoreError> {
        refused()
    }
    async fn core_blocks(&self, _scope: &Scope) -> Result<CoreBlocks, StoreError> {
        refused()
    }
    async fn write_core_block(
        &self,
        _scope: &Scope,
        _label: CoreBlockLabel,
        _text: &str,
        _edited_by: &str,
        _at: Timestamp,
    ) -> Result<(), StoreError> {
        refused()
    }
    async fn mood(&self, _scope: &Scope) -> Result<Option<Mood>, StoreError> {
        refused()
    }
}

#[async_trait]
impl EntityStore for FakeStore {
    async fn entities_named(&self, scope: &Scope, folded: &[String]) -> Result<Vec<AliasHit>, StoreError> {
        let data = self.data();
        let of_scope = data.entities.iter().filter(|(of, _)| of == scope).map(|(_, entity)| entity);
        let hits = of_scope.flat_map(|entity| {
            let names = entity.aliases.iter().map(|alias| fold_name(alias));
            names.filter(|name| folded.contains(name)).map(|folded| AliasHit {
                folded,
                entity: entity.clone(),
                named: entity.id,
            })
        });
        Ok(hits.collect())
    }
    async fn entities(&self, _scope: &Scope, _limit: u32) -> Result<Vec<Entity>, StoreError> {
        refused()
    }
    async fn entity(&self, scope: &Scope, id: EntityId) -> Result<Option<Entity>, StoreError> {
        let data = self.data();
        let found = data.entities.iter().find(|(of, entity)| of == scope && entity.id == id);
        Ok(found.map(|(_, entity)| entity.clone()))
    }
    async fn entities_of_nodes(&self, _nodes: &[NodeId]) -> Result<Vec<(NodeId, EntityId)>, StoreError> {
        refused()
    }
    async fn entity_mentions(
        &self,
        _scope: &Scope,
        _ids: &[EntityId],
    ) -> Result<Vec<EntityMentions>, StoreError> {
        refused()
    }
    async fn entities_in_doubt(
        &self,
        _scope: &Scope,
        _about: Option<&[EntityId]>,
        _limit: u32,
    ) -> Result<Vec<(Entity, Entity)>, StoreError> {
        Ok(Vec::new())
    }
    async fn entity_vectors(
        &self,
        _scope: &Scope,
        _fingerprint: &str,
    ) -> Result<Vec<EntityVector>, StoreError> {
        refused()
    }
    async fn entities_without_vector(
        &self,
        _fingerprint: &str,
        _limit: u32,
    ) -> Result<Vec<UnembeddedEntity>, StoreError> {
        refused()
    }
    async fn put_entity_vectors(
        &self,
        _fingerprint: &str,
        _vectors: Vec<(UnembeddedEntity, Embedding)>,
    ) -> Result<(), StoreError> {
        refused()
    }
    async fn create_entity(
        &self,
        _scope: &Scope,
        _entity: AuthoredEntity,
        _at: Timestamp,
    ) -> Result<EntityChanged, StoreError> {
        refused()
    }
    async fn change_entity(
        &self,
        _scope: &Scope,
        _id: EntityId,
        _change: EntityChange,
        _by: ChangedBy,
        _at: Timestamp,
    ) -> Result<EntityChanged, StoreError> {
        refused()
    }
    async fn undo_entity_change(&self, _scope: &Scope, _id: EntityId) -> Result<EntityUndone, StoreError> {
        refused()
    }
    async fn describe_entity(
        &self,
        _scope: &Scope,
        _id: EntityId,
        _description: &str,
        _at: Timestamp,
    ) -> Result<Option<Entity>, StoreError> {
        refused()
    }
}

#[async_trait]
impl LedgerStore for FakeStore {
    async fn record_call(&self, _call: ModelCall) -> Result<(), StoreError> {
        refused()
    }
    async fn recent_calls(
        &self,
        _before: Option<i64>,
        _limit: u32,
    ) -> Result<Vec<(i64, ModelCall)>, StoreError> {
        refused()
    }
    async fn calls_of_session(&self, _session: SessionId) -> Result<Vec<ModelCall>, StoreError> {
        refused()
    }
    async fn call_sums_since(&self, _since: Timestamp) -> Result<Vec<CallSum>, StoreError> {
        refused()
    }
    async fn spent_since(&self, _since: Timestamp) -> Result<f64, StoreError> {
        refused()
    }
    async fn receipt(&self, _turn: TurnId) -> Result<Option<ReplyReceipt>, StoreError> {
        refused()
    }
    async fn counts(&self, _scope: &Scope) -> Result<[u64; 4], StoreError> {
        refused()
    }
    async fn total_counts(&self) -> Result<[u64; 4], StoreError> {
        refused()
    }
    async fn work_counts(&self) -> Result<[u64; 2], StoreError> {
        refused()
    }
    async fn settle_rejected(
        &self,
        _id: RejectedId,
        _approved: Option<NewNode>,
        _at: Timestamp,
    ) -> Result<CommitOutcome, StoreError> {
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
    async fn remembered_of_session(&self, _id: SessionId) -> Result<Vec<UsedQuote>, StoreError> {
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
    async fn reopen_answered_turn(&self, _id: TurnId) -> Result<Option<Turn>, StoreError> {
        refused()
    }
}

#[async_trait]
impl VectorStore for FakeStore {
    async fn embedding_models(&self) -> Result<Vec<EmbeddingModel>, StoreError> {
        refused()
    }
    async fn note_embedding_model(
        &self,
        _fingerprint: &str,
        _source: Option<&str>,
    ) -> Result<(), StoreError> {
        refused()
    }
    async fn vector_coverage(&self, _fingerprint: &str) -> Result<VectorCoverage, StoreError> {
        refused()
    }
    async fn scopes_between_models(
        &self,
        _fingerprint: &str,
        _previous: &str,
    ) -> Result<Vec<Scope>, StoreError> {
        refused()
    }
    async fn adopt_vectors(&self, _fingerprint: &str, _limit: u32) -> Result<u32, StoreError> {
        refused()
    }
    async fn remove_other_vectors(&self, _fingerprint: &str, _limit: u32) -> Result<u32, StoreError> {
        refused()
    }
}
