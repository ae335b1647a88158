//! Users, personas, costs and models in memory.

use memory::facts::{Fact, Facts};
use memory::ports::*;

use super::*;

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

    async fn scope_of_receipt(&self, _turn: TurnId) -> Result<Option<Scope>, StoreError> {
        refused()
    }

    async fn receipt(&self, _turn: TurnId) -> Result<Option<ReplyReceipt>, StoreError> {
        refused()
    }
}

#[async_trait]
impl UserStore for FakeStore {
    async fn ensure_user(&self, _id: &UserId, _at: Timestamp) -> Result<UserRecord, StoreError> {
        refused()
    }

    async fn known_user(&self, _id: &UserId) -> Result<UserRecord, StoreError> {
        refused()
    }

    async fn set_user_timezone(&self, _id: &UserId, _timezone: Option<String>) -> Result<(), StoreError> {
        refused()
    }

    async fn users(&self, _after: Option<&UserId>, _limit: u32) -> Result<Vec<KnownUser>, StoreError> {
        refused()
    }

    async fn user(&self, _id: &UserId) -> Result<Option<KnownUser>, StoreError> {
        refused()
    }

    async fn create_user(&self, _user: KnownUser) -> Result<bool, StoreError> {
        refused()
    }

    async fn name_user(&self, _id: &UserId, _name: Option<String>) -> Result<bool, StoreError> {
        refused()
    }

    async fn bind_identity(
        &self,
        _user: &UserId,
        _identity: ExternalIdentity,
        _at: Timestamp,
    ) -> Result<BindOutcome, StoreError> {
        refused()
    }

    async fn user_of_identity(&self, _identity: &ExternalIdentity) -> Result<Option<UserId>, StoreError> {
        refused()
    }

    async fn unbind_identity(
        &self,
        _user: &UserId,
        _identity: &ExternalIdentity,
    ) -> Result<bool, StoreError> {
        refused()
    }
}

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

    async fn create_persona(
        &self,
        _scope: &Scope,
        _first: FirstPersona,
        _edited_by: &str,
        _at: Timestamp,
    ) -> Result<bool, StoreError> {
        refused()
    }

    async fn persona(&self, _id: &PersonaId) -> Result<Option<PersonaRecord>, StoreError> {
        refused()
    }

    async fn personas(&self) -> Result<Vec<PersonaRecord>, StoreError> {
        refused()
    }

    async fn persona_page(
        &self,
        _user: &UserId,
        _after: Option<&PersonaId>,
        _limit: u32,
    ) -> Result<Vec<ListedPersona>, StoreError> {
        refused()
    }

    async fn rename_persona(&self, _id: &PersonaId, _name: &str) -> Result<(), StoreError> {
        refused()
    }

    async fn persona_facts(&self, _id: &PersonaId) -> Result<Facts, StoreError> {
        refused()
    }

    async fn write_facts(
        &self,
        _id: &PersonaId,
        _facts: Vec<(Fact, Option<String>)>,
    ) -> Result<bool, StoreError> {
        refused()
    }

    async fn persona_appearance(&self, _id: &PersonaId) -> Result<Appearance, StoreError> {
        refused()
    }

    async fn enable_voice(&self, _id: &PersonaId, _enabled: bool) -> Result<(), StoreError> {
        refused()
    }

    async fn choose_voice(&self, _id: &PersonaId, _voice_id: &str) -> Result<(), StoreError> {
        refused()
    }

    async fn avatar(&self, _id: &PersonaId) -> Result<Option<Avatar>, StoreError> {
        refused()
    }

    async fn put_avatar(&self, _id: &PersonaId, _avatar: Avatar, _at: Timestamp) -> Result<(), StoreError> {
        refused()
    }

    async fn remove_avatar(&self, _id: &PersonaId) -> Result<bool, StoreError> {
        refused()
    }

    async fn character_card(&self, _id: &PersonaId) -> Result<Option<String>, StoreError> {
        refused()
    }

    async fn put_character_card(&self, _id: &PersonaId, _card: &str) -> Result<(), StoreError> {
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

    async fn write_first_persona(
        &self,
        _scope: &Scope,
        _first: FirstPersona,
        _edited_by: &str,
        _at: Timestamp,
    ) -> Result<bool, StoreError> {
        refused()
    }

    async fn mood(&self, _scope: &Scope) -> Result<Option<Mood>, StoreError> {
        refused()
    }

    async fn mood_history(
        &self,
        _scope: &Scope,
        _from: Timestamp,
        _before: Option<(Timestamp, i64)>,
        _limit: u32,
    ) -> Result<Vec<MoodShift>, StoreError> {
        refused()
    }
}

#[async_trait]
impl EmbeddingStore for FakeStore {
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

    async fn nodes_without_vector(&self, _fingerprint: &str, _limit: u32) -> Result<Vec<Node>, StoreError> {
        refused()
    }

    async fn put_node_vectors(
        &self,
        _fingerprint: &str,
        _vectors: Vec<(NodeId, Embedding)>,
    ) -> Result<(), StoreError> {
        refused()
    }

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

#[async_trait]
impl StatusStore for FakeStore {
    async fn scope_counts(&self, _scope: &Scope) -> Result<[u64; 4], StoreError> {
        refused()
    }

    async fn total_counts(&self) -> Result<[u64; 4], StoreError> {
        refused()
    }

    async fn work_counts(&self) -> Result<[u64; 2], StoreError> {
        refused()
    }
}
