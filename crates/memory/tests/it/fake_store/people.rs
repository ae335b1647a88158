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
            names
                .filter(|name| folded.contains(name))
                .map(|folded| AliasHit { folded, entity: entity.clone() })
        });
        Ok(hits.collect())
    }
    async fn entities(&self, _scope: &Scope, _limit: u32) -> Result<Vec<Entity>, StoreError> {
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
    async fn entities_of_nodes(&self, _nodes: &[NodeId]) -> Result<Vec<(NodeId, EntityId)>, StoreError> {
        refused()
    }
}

#[async_trait]
impl LedgerStore for FakeStore {
    async fn record_call(&self, _call: ModelCall) -> Result<(), StoreError> {
        refused()
    }
    async fn recent_calls(&self, _limit: u32) -> Result<Vec<(i64, ModelCall)>, StoreError> {
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
    async fn receipt(&self, _turn: TurnId) -> Result<Option<Receipt>, StoreError> {
        refused()
    }
    async fn counts(&self, _scope: &Scope) -> Result<[u64; 4], StoreError> {
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
