//! A real store that fails, panics or dies when a test says so, and records its calls.

use std::collections::{BTreeMap, HashMap};
use std::future::pending;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use memory::core_blocks::{CoreBlockLabel, CoreBlocks};
use memory::corrections::{
    Approval, Correction, NodeVersion, PendingRejection, ReplacedQuery, ReplacedValues, UndoneChange,
};
use memory::entities::{ChangedBy, Entity, EntityChange, EntityChanged, EntityUndone};
use memory::facts::{Fact, Facts};
use memory::forget::{
    CoreBlockAppend, Dependents, ErasureReceipt, ForgetOutcome, ForgetRequest, ForgetSummary, ForgetTarget,
    ForgottenSpan, ResetCounts, ThoughtPolicy, UnreachedCopies, Withdrawal,
};
use memory::identifiers::{
    CycleId, DecisionId, EntityId, ErasureId, MessageId, NodeId, RejectedId, SessionId, TurnId,
};
use memory::ledger::{CallSum, ModelCall, ReplyReceipt};
use memory::messages::{Message, MessageVersion, Turn};
use memory::mood::{Mood, MoodShift};
use memory::nodes::{NewNode, Node, NodeKind, RejectedMemory, Subject};
use memory::ports::{
    AliasHit, Appearance, AuthoredEntity, Avatar, BindOutcome, CaptureStore, CapturedMessage, CommitOutcome,
    ConsolidationStore, Corpus, CorpusSize, CorrectionStore, EdgeLimits, Embedding, EmbeddingModel,
    EmbeddingStore, EntityMentions, EntityPlace, EntityStore, EntityVector, EvidencedNode, ExpectationEnd,
    ExternalIdentity, ExtractionCommit, FailedAttempt, FailedWork, FillingEdge, FirstPersona, ForgetStore,
    IndexedMessage, IndexedNode, KnownUser, LedgerStore, ListedPersona, MessageEdit, MessageEditResult,
    MessageOutline, MessageStore, NewMessage, NodeOrigin, NodeOutline, NodePageQuery, NodeQuery, NodeStore,
    OpenPair, PersonaRecord, PersonaStore, PhaseTrace, Phrase, PhraseCounts, PhraseHits, ProactiveStore,
    RecallStore, ReconciliationCommit, ReconciliationStore, ReflectionCandidate, ReflectionCommit,
    RowSelection, SessionFilter, SessionStore, SlowCycleCommit, SlowCycleReport, SlowCycleState,
    SlowCycleStore, SpanMessages, StatusStore, StoreError, StoredVector, TimelineItem, TraceStore,
    TranscriptSummary, TurnStore, TurnSummary, TurnTrace, UnembeddedEntity, UsedQuote, UserRecord, UserStore,
    VectorCoverage, VectorIndexStore, WaitingPair,
};
use memory::proactive::{ListedDecision, ProactiveDecision, ProactiveQuery, ProactiveView, TriggerUse};
use memory::sessions::{CloseTrigger, Session, SessionPolicy};
use memory::{PersonaId, Scope, UserId};
use serde_json::Value;
use store::{HomeStore, StoreOptions};
use tokio::sync::watch;
use uuid::Uuid;

/// The behaviour of the next call of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The call succeeds; the fault after it is for the next call.
    Works,
    /// The call fails and changes nothing.
    Error(StoreError),
    /// The call writes, and fails with `Unconfirmed`.
    Unconfirmed,
    /// The call panics.
    Panic,
    /// The process ends before anything is written: neither this call nor any later one returns.
    DeathBefore,
    /// The process ends after the write.
    DeathAfter,
}

/// Commits that really happened, whatever their caller was told.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// The session of each extraction.
    pub(crate) extractions: Vec<SessionId>,
    /// Scope and time of each reflection, and whether it added a thought.
    pub(crate) reflections: Vec<(Scope, Timestamp, bool)>,
}

pub(crate) struct FaultyStore {
    pub(crate) database: HomeStore,
    pub(crate) commits: Mutex<Commits>,
    faults: Mutex<HashMap<&'static str, Vec<Fault>>>,
    calls: Mutex<Vec<&'static str>>,
    dead: watch::Sender<bool>,
}

impl FaultyStore {
    pub(crate) fn open(path: &Path) -> Self {
        let database = HomeStore::open(path, StoreOptions::default()).unwrap();
        let (commits, faults) = (Mutex::default(), Mutex::default());
        Self { database, commits, faults, calls: Mutex::default(), dead: watch::Sender::new(false) }
    }

    /// Plans a fault for the next call of the method; several are used in order.
    pub(crate) fn plan(&self, method: &'static str, fault: Fault) {
        self.faults.lock().unwrap().entry(method).or_default().push(fault);
    }

    /// Ends the process now.
    pub(crate) fn die(&self) {
        self.dead.send_replace(true);
    }

    /// Whether the process has ended.
    pub(crate) fn is_dead(&self) -> bool {
        *self.dead.borrow()
    }

    /// Waits until the process has ended.
    pub(crate) async fn death(&self) {
        self.dead.subscribe().wait_for(|dead| *dead).await.unwrap();
    }

    /// Number of calls of the method.
    pub(crate) fn calls(&self, method: &str) -> usize {
        self.calls.lock().unwrap().iter().filter(|called| **called == method).count()
    }

    async fn before(&self, method: &'static str) -> Result<Option<Fault>, StoreError> {
        self.calls.lock().unwrap().push(method);
        let fault = {
            let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
            faults.get_mut(method).filter(|planned| !planned.is_empty()).map(|planned| planned.remove(0))
        };
        match &fault {
            Some(Fault::Error(error)) => return Err(error.clone()),
            Some(Fault::Panic) => panic!("the story wants {method} to panic"),
            Some(Fault::DeathBefore) => self.die(),
            Some(Fault::DeathAfter | Fault::Unconfirmed | Fault::Works) | None => {}
        }
        if self.is_dead() {
            pending::<()>().await;
        }
        Ok(fault)
    }

    async fn after(&self, fault: Option<Fault>) -> Result<(), StoreError> {
        let is_unconfirmed = matches!(fault, Some(Fault::Unconfirmed));
        if matches!(fault, Some(Fault::DeathAfter)) {
            self.die();
        }
        if self.is_dead() {
            pending::<()>().await;
        }
        match is_unconfirmed {
            true => Err(StoreError::Unconfirmed("the story wants it".to_owned())),
            false => Ok(()),
        }
    }
}

macro_rules! passing_on {
    ($port:ident: $($method:ident($($name:ident: $kind:ty),*) -> $answer:ty;)* $(+ { $($own:tt)* })?) => {
        #[async_trait]
        impl $port for FaultyStore {
            $(async fn $method(&self, $($name: $kind),*) -> Result<$answer, StoreError> {
                let fault = self.before(stringify!($method)).await?;
                let answer = self.database.$method($($name),*).await;
                self.after(fault).await?;
                answer
            })*
            $($($own)*)?
        }
    };
}

passing_on!(CaptureStore:
    capture(message: NewMessage, policy: SessionPolicy, receipt: Option<ReplyReceipt>) -> CapturedMessage;
);

passing_on!(TurnStore:
    fail_turn(id: TurnId, reason: &str) -> ();
    reopen_turn(id: TurnId) -> Option<Turn>;
    reopen_answered_turn(id: TurnId) -> Option<Turn>;
    pending_turns() -> Vec<Turn>;
    failed_work(scope: Option<&Scope>, before: Option<(Timestamp, Uuid)>, limit: u32) -> Vec<FailedWork>;
    turn(id: TurnId) -> Option<Turn>;
    turn_messages(id: TurnId) -> Vec<Message>;
    turn_external_ref(id: TurnId) -> Option<String>;
);

passing_on!(MessageStore:
    messages_before(scope: &Scope, before: Option<i64>, limit: u32) -> Vec<Message>;
    session_messages(id: SessionId) -> Vec<Message>;
    message_versions(session: SessionId) -> BTreeMap<MessageId, Vec<MessageVersion>>;
    message(id: MessageId) -> Option<Message>;
);

passing_on!(SessionStore:
    end_quiet_sessions(before: Timestamp, trigger: CloseTrigger) -> Vec<Session>;
    end_session(id: SessionId, trigger: CloseTrigger) -> Option<Session>;
    retry_session(id: SessionId) -> Option<Session>;
    session(id: SessionId) -> Option<Session>;
    sessions(filter: SessionFilter) -> Vec<Session>;
);

passing_on!(ReconciliationStore:
    waiting_pairs(scope: &Scope, session: SessionId, limit: u32) -> Vec<WaitingPair>;
    commit_reconciliation(commit: ReconciliationCommit) -> ();
    open_pairs(scope: &Scope, nodes: &[i64], messages: &[i64]) -> Vec<OpenPair>;
);

passing_on!(ConsolidationStore:
    claim_closing_session(now: Timestamp) -> Option<Session>;
    release_claims() -> u32;
    finish_session(id: SessionId, at: Timestamp) -> Option<Session>;
    record_failure(attempt: FailedAttempt) -> Option<Session>;
    summarised_sessions(scope: &Scope, limit: u32) -> Vec<Session>;
    reflections_since(scope: &Scope, since: Timestamp) -> Vec<Timestamp>;
    last_reflection(scope: &Scope) -> Option<Timestamp>;
    events_since(scope: &Scope, since: Timestamp, limit: u32) -> Vec<Node>;
    remembered_of_session(id: SessionId) -> Vec<UsedQuote>;
    + {
        async fn commit_extraction(&self, commit: ExtractionCommit) -> Result<CommitOutcome, StoreError> {
            let fault = self.before("commit_extraction").await?;
            let id = commit.session_id;
            let answer = self.database.commit_extraction(commit).await;
            if answer == Ok(CommitOutcome::Committed) {
                self.commits.lock().unwrap().extractions.push(id);
            }
            self.after(fault).await?;
            answer
        }
        async fn commit_reflection(&self, commit: ReflectionCommit) -> Result<CommitOutcome, StoreError> {
            let fault = self.before("commit_reflection").await?;
            let reflection = (commit.scope.clone(), commit.at, !commit.thoughts.is_empty());
            let answer = self.database.commit_reflection(commit).await;
            if answer == Ok(CommitOutcome::Committed) {
                self.commits.lock().unwrap().reflections.push(reflection);
            }
            self.after(fault).await?;
            answer
        }
    }
);

passing_on!(NodeStore:
    node(id: NodeId) -> Option<EvidencedNode>;
    nodes_before(scope: &Scope, kinds: &[NodeKind], before: Option<i64>, limit: u32) -> Vec<Node>;
    node_page(scope: &Scope, query: NodePageQuery) -> (Vec<Node>, u64);
    node_origins(nodes: &[i64]) -> BTreeMap<i64, NodeOrigin>;
    said_at(nodes: &[i64]) -> BTreeMap<i64, Timestamp>;
    rejected(scope: &Scope, before: Option<(Timestamp, RejectedId)>, limit: u32) -> Vec<RejectedMemory>;
    timeline(scope: &Scope, before: Option<Timestamp>, limit: u32) -> Vec<(Timestamp, TimelineItem)>;
);

passing_on!(RecallStore:
    phrase_hits(scope: &Scope, corpus: Corpus, phrases: &[Phrase], limit: u32) -> (CorpusSize, Vec<PhraseHits>);
    rows_holding(scope: &Scope, corpus: Corpus, wanted: &[RowSelection]) -> Vec<Vec<i64>>;
    phrase_counts(scope: &Scope, corpus: Corpus, seqs: &[i64], phrases: &[Phrase]) -> Vec<PhraseCounts>;
    rows_beginning(scope: &Scope, corpus: Corpus, phrase: &Phrase, limit: u32) -> Vec<i64>;
    rows_containing(scope: &Scope, corpus: Corpus, folded: &str, rows: u32) -> Vec<i64>;
    message_outlines(scope: &Scope, seqs: &[i64]) -> Vec<MessageOutline>;
    messages_within(scope: &Scope, start: Timestamp, end: Timestamp, limit: u32) -> SpanMessages;
    outlines_about(scope: &Scope, wanted: &[NodeQuery]) -> Vec<Vec<NodeOutline>>;
    identity_events(scope: &Scope, limit: u32) -> Vec<i64>;
    edges_around(scope: &Scope, seqs: &[i64], reach: EdgeLimits) -> Vec<FillingEdge>;
    nodes_numbered(scope: &Scope, seqs: &[i64]) -> Vec<IndexedNode>;
    nodes_about(scope: &Scope, kind: NodeKind, subjects: &[Subject], limit: u32) -> Vec<Node>;
    nodes_linked_to(scope: &Scope, entities: &[EntityId], limit: u32) -> Vec<i64>;
    nodes_within(scope: &Scope, start: Timestamp, end: Timestamp, limit: u32) -> Vec<i64>;
    messages_numbered(scope: &Scope, seqs: &[i64]) -> Vec<IndexedMessage>;
    neighbours(scope: &Scope, seqs: &[i64], before: u32, after: u32) -> Vec<(i64, Vec<IndexedMessage>)>;
    count_node_recalls(ids: &[NodeId], at: Timestamp) -> ();
);

passing_on!(VectorIndexStore:
    last_revision(scope: &Scope, corpus: Corpus, fingerprint: &str) -> i64;
    newest_vectors(scope: &Scope, corpus: Corpus, fingerprint: &str, before: Option<i64>, limit: u32) -> Vec<StoredVector>;
    vectors_after(scope: &Scope, corpus: Corpus, fingerprint: &str, after: i64, limit: u32) -> Vec<StoredVector>;
    vectors_numbered(scope: &Scope, corpus: Corpus, fingerprint: &str, seqs: &[i64]) -> Vec<StoredVector>;
);

passing_on!(EmbeddingStore:
    messages_without_vector(fingerprint: &str, limit: u32) -> Vec<Message>;
    put_message_vectors(fingerprint: &str, vectors: Vec<(MessageId, Embedding)>) -> ();
    nodes_without_vector(fingerprint: &str, limit: u32) -> Vec<Node>;
    put_node_vectors(fingerprint: &str, vectors: Vec<(NodeId, Embedding)>) -> ();
    embedding_models() -> Vec<EmbeddingModel>;
    note_embedding_model(fingerprint: &str, source: Option<&str>) -> ();
    vector_coverage(fingerprint: &str) -> VectorCoverage;
    scopes_between_models(fingerprint: &str, previous: &str) -> Vec<Scope>;
    adopt_vectors(fingerprint: &str, limit: u32) -> u32;
    remove_other_vectors(fingerprint: &str, limit: u32) -> u32;
);

passing_on!(EntityStore:
    entities_without_vector(fingerprint: &str, limit: u32) -> Vec<UnembeddedEntity>;
    put_entity_vectors(fingerprint: &str, vectors: Vec<(UnembeddedEntity, Embedding)>) -> ();
    entities_named(scope: &Scope, folded: &[String]) -> Vec<AliasHit>;
    entities(scope: &Scope, limit: u32) -> Vec<Entity>;
    entity_page(scope: &Scope, below: Option<EntityPlace>, limit: u32) -> Vec<Entity>;
    entity(scope: &Scope, id: EntityId) -> Option<Entity>;
    entities_of_nodes(nodes: &[NodeId]) -> Vec<(NodeId, EntityId)>;
    entity_mentions(scope: &Scope, ids: &[EntityId]) -> Vec<EntityMentions>;
    entities_in_doubt(scope: &Scope, about: Option<&[EntityId]>, limit: u32) -> Vec<(Entity, Entity)>;
    entity_vectors(scope: &Scope, fingerprint: &str) -> Vec<EntityVector>;
    create_entity(scope: &Scope, entity: AuthoredEntity, at: Timestamp) -> EntityChanged;
    change_entity(
        scope: &Scope,
        id: EntityId,
        change: EntityChange,
        by: ChangedBy,
        at: Timestamp
    ) -> EntityChanged;
    undo_entity_change(scope: &Scope, id: EntityId) -> EntityUndone;
    describe_entity(scope: &Scope, id: EntityId, description: &str, at: Timestamp) -> Option<Entity>;
);

passing_on!(PersonaStore:
    ensure_persona(id: &PersonaId, name: &str, at: Timestamp) -> PersonaRecord;
    create_persona(scope: &Scope, first: FirstPersona, edited_by: &str, at: Timestamp) -> bool;
    persona(id: &PersonaId) -> Option<PersonaRecord>;
    personas() -> Vec<PersonaRecord>;
    persona_page(user: &UserId, after: Option<&PersonaId>, limit: u32) -> Vec<ListedPersona>;
    rename_persona(id: &PersonaId, name: &str) -> ();
    persona_facts(id: &PersonaId) -> Facts;
    write_facts(id: &PersonaId, facts: Vec<(Fact, Option<String>)>) -> bool;
    persona_appearance(id: &PersonaId) -> Appearance;
    enable_voice(id: &PersonaId, enabled: bool) -> ();
    choose_voice(id: &PersonaId, voice_id: &str) -> ();
    avatar(id: &PersonaId) -> Option<Avatar>;
    put_avatar(id: &PersonaId, avatar: Avatar, at: Timestamp) -> ();
    remove_avatar(id: &PersonaId) -> bool;
    character_card(id: &PersonaId) -> Option<String>;
    put_character_card(id: &PersonaId, card: &str) -> ();
    core_blocks(scope: &Scope) -> CoreBlocks;
    write_core_block(scope: &Scope, label: CoreBlockLabel, text: &str, edited_by: &str, at: Timestamp) -> ();
    write_first_persona(scope: &Scope, first: FirstPersona, edited_by: &str, at: Timestamp) -> bool;
    mood(scope: &Scope) -> Option<Mood>;
    mood_history(scope: &Scope, from: Timestamp, before: Option<(Timestamp, i64)>, limit: u32) -> Vec<MoodShift>;
);

passing_on!(UserStore:
    ensure_user(id: &UserId, at: Timestamp) -> UserRecord;
    known_user(id: &UserId) -> UserRecord;
    set_user_timezone(id: &UserId, timezone: Option<String>) -> ();
    users(after: Option<&UserId>, limit: u32) -> Vec<KnownUser>;
    user(id: &UserId) -> Option<KnownUser>;
    create_user(user: KnownUser) -> bool;
    name_user(id: &UserId, name: Option<String>) -> bool;
    bind_identity(user: &UserId, identity: ExternalIdentity, at: Timestamp) -> BindOutcome;
    user_of_identity(identity: &ExternalIdentity) -> Option<UserId>;
    unbind_identity(user: &UserId, identity: &ExternalIdentity) -> bool;
);

passing_on!(LedgerStore:
    record_call(call: ModelCall) -> ();
    recent_calls(before: Option<i64>, limit: u32) -> Vec<(i64, ModelCall)>;
    calls_of_session(session: SessionId) -> Vec<ModelCall>;
    call_sums_since(since: Timestamp) -> Vec<CallSum>;
    spent_since(since: Timestamp) -> f64;
    receipt(turn: TurnId) -> Option<ReplyReceipt>;
    scope_of_receipt(turn: TurnId) -> Option<Scope>;
);

passing_on!(StatusStore:
    scope_counts(scope: &Scope) -> [u64; 4];
    total_counts() -> [u64; 4];
    work_counts() -> [u64; 2];
);

passing_on!(CorrectionStore:
    scope_of_node(id: NodeId) -> Option<Scope>;
    correct_node(correction: Correction) -> Option<Node>;
    pin_node(id: NodeId, pinned: bool) -> Option<Node>;
    node_history(id: NodeId, limit: u32) -> Option<Vec<NodeVersion>>;
    replaced_values(scope: &Scope, about: &ReplacedQuery) -> ReplacedValues;
    undo_last_change(id: NodeId, at: Timestamp) -> Option<UndoneChange>;
    rejected_memory(id: RejectedId) -> Option<PendingRejection>;
    approve_rejected(approval: Approval) -> CommitOutcome;
    decide_rejected(id: RejectedId, approved: Option<NewNode>, at: Timestamp) -> CommitOutcome;
    edit_message(edit: MessageEdit) -> Option<MessageEditResult>;
    withdraw_evidence(messages: &[MessageId], thoughts: ThoughtPolicy, at: Timestamp) -> Withdrawal;
);

passing_on!(SlowCycleStore:
    slow_cycle_progress(scope: &Scope, since: Timestamp) -> SlowCycleState;
    events_to_reflect_on(scope: &Scope, since: Timestamp, cycles_max: u32, limit: u32) -> Vec<ReflectionCandidate>;
    entities_to_describe(scope: &Scope, nodes: &[NodeId], linked_min: u32) -> Vec<Entity>;
    commit_slow_cycle(commit: SlowCycleCommit) -> SlowCycleReport;
    settle_expectations(scope: &Scope, ids: &[NodeId], settled: ExpectationEnd) -> Vec<NodeId>;
    expire_expectations(now: Timestamp) -> u32;
    expectation_end(id: NodeId) -> Option<ExpectationEnd>;
    transcripts(scope: &Scope, before: Option<(Timestamp, CycleId)>, limit: u32) -> Vec<TranscriptSummary>;
    transcript(id: CycleId) -> Option<Value>;
);

passing_on!(ProactiveStore:
    proactive_scopes() -> Vec<Scope>;
    proactive_view(scope: &Scope, query: ProactiveQuery) -> ProactiveView;
    trigger_uses_by_key(scope: &Scope, keys: &[String]) -> Vec<TriggerUse>;
    last_decision(scope: &Scope) -> Option<ProactiveDecision>;
    store_decision(decision: ProactiveDecision) -> ();
    send_proactive(
        decision: ProactiveDecision,
        message: NewMessage,
        policy: SessionPolicy,
        receipt: ReplyReceipt
    ) -> CapturedMessage;
    fail_unfinished_decisions(detail: &str) -> u32;
    drop_decisions(before: Timestamp) -> u32;
    decisions(user: Option<&UserId>, before: Option<(Timestamp, DecisionId)>, limit: u32) -> Vec<ListedDecision>;
    decisions_behind(messages: &[i64]) -> BTreeMap<i64, DecisionId>;
    mute(user: &UserId, until: Option<Timestamp>) -> bool;
    muted_until(user: &UserId) -> Option<Timestamp>;
    recent_channels(scope: &Scope) -> Vec<String>;
);

passing_on!(TraceStore:
    store_turn_trace(trace: TurnTrace) -> ();
    turn_traces(scope: &Scope, before: Option<(Timestamp, TurnId)>, limit: u32) -> Vec<TurnSummary>;
    turn_trace(id: TurnId) -> Option<TurnTrace>;
    store_phase_trace(session: SessionId, phase: PhaseTrace) -> ();
    phases(session: SessionId) -> Vec<PhaseTrace>;
    drop_traces(before: Timestamp) -> u32;
);

passing_on!(ForgetStore:
    scope_of(thing: ForgetTarget) -> Option<Scope>;
    dependents(id: NodeId) -> Option<Dependents>;
    preview_forgetting(act: ForgetRequest) -> ForgetSummary;
    forget(act: ForgetRequest, expected: Option<ForgetSummary>, receipt: Option<ErasureReceipt>) -> ForgetOutcome;
    forgotten_spans(session: SessionId) -> Vec<ForgottenSpan>;
    silenced_spans(scope: &Scope, seqs: &[i64]) -> Vec<ForgottenSpan>;
    erasure_receipts(scope: &Scope, before: Option<ErasureId>, limit: u32) -> Vec<ErasureReceipt>;
    erasure_receipt(id: ErasureId) -> Option<ErasureReceipt>;
    overwrite_freed(at: Timestamp) -> bool;
    unreached_copies() -> UnreachedCopies;
    core_block_appends(scope: &Scope, label: CoreBlockLabel, before: Option<i64>, limit: u32) -> Vec<CoreBlockAppend>;
    forget_core_block_append(scope: &Scope, label: CoreBlockLabel, id: i64) -> bool;
    reset_persona(persona: &PersonaId, name: &str, at: Timestamp) -> Option<ResetCounts>;
);
