//! Ports of the memory: storage, vectors, a mind, time, identifiers.

mod store;
mod personas;
mod users;
mod capture;
mod channels;
mod imports;
mod archive;
mod turns;
mod messages;
mod sessions;
mod consolidation;
mod reconciliation;
mod nodes;
mod recall;
mod vector_index;
mod embeddings;
mod entities;
mod corrections;
mod slow_cycle;
mod proactive;
mod traces;
mod ledger;
mod status;
mod forget;
mod access;
mod mind;
mod embedder;
mod clock;

pub use crate::text::Phrase;
pub use access::{ACTS_MAX, AccessStore, LOGINS_MAX, TOKEN_ACTS_MAX, TOKEN_TURNS_RETENTION};
pub use archive::{ArchiveReport, ArchiveStore};
pub use capture::{CaptureStore, CapturedMessage, NewMessage};
pub use channels::{
    ChannelCounts, ChannelStore, ChannelWrite, DeliveryStep, OutgoingMessage, ReceivedPosition,
};
pub use clock::{Backoff, Clock, IdGenerator};
pub use consolidation::{
    CommitOutcome, ConsolidationStore, ExtractionCommit, FailedAttempt, MentionMerge, ReflectionCommit,
    UsedQuote,
};
pub use corrections::{CorrectionStore, MessageEdit, MessageEditResult};
pub use embedder::{EmbedError, Embedder, Embedding};
pub use embeddings::{EmbeddingModel, EmbeddingStore, VectorCoverage};
pub use entities::{
    AliasHit, AuthoredEntity, EntityMentions, EntityPlace, EntityStore, EntityVector, IdentityDoubt,
    IdentityStatement, LINKS_WEIGHED_MAX, NewEntity, UnembeddedEntity,
};
pub use forget::ForgetStore;
pub use imports::{
    ImportMemories, ImportPage, ImportRun, ImportSkip, ImportStatus, ImportStore, ImportedDocument,
    ImportedMessage, ImportedProposal, ImportedSession, ImportedVersion, NewImport, RecordedPage,
    Remembering, ReplacedMessages,
};
pub use ledger::LedgerStore;
pub use messages::MessageStore;
pub use mind::{
    Clarification, EvidenceFailure, Extraction, ExtractionInput, MentionedEntity, Mind, MindError,
    MoodSignal, ProposedEvent, ProposedQuote, ProposedThought, Reflection, ReflectionInput, RefusedEvent,
};
pub use nodes::{EvidencedNode, NodeOrigin, NodePageQuery, NodeStore, TimelineItem};
pub use personas::{
    AVATAR_SIZE_MAX, Appearance, Avatar, FirstPersona, ListedPersona, PersonaRecord, PersonaStore,
};
pub use proactive::ProactiveStore;
pub use recall::{
    Corpus, CorpusSize, EdgeLimits, FillingEdge, IndexedMessage, IndexedNode, MessageOutline, NodeOutline,
    NodeQuery, PhraseCounter, PhraseCounts, PhraseHits, RecallStore, RowSelection, SpanMessages,
};
pub use reconciliation::{
    Counterpart, NewPair, OlderStatement, OpenPair, PAIR_ATTEMPTS_MAX, PairOutcome, PairQuestion,
    PairVerdict, ProposedVerdict, Reconciliation, ReconciliationCommit, ReconciliationInput,
    ReconciliationStore, WaitingPair,
};
pub use sessions::{SessionFilter, SessionStore};
pub use slow_cycle::{
    EntityToDescribe, ExpectationEnd, ExpectationOutcome, ProposedExpectation, ProposedIntention,
    ReflectionCandidate, SlowCycle, SlowCycleCommit, SlowCycleInput, SlowCycleReport, SlowCycleState,
    SlowCycleStore, TranscriptSummary,
};
pub use status::StatusStore;
pub use store::{Store, StoreError};
pub use traces::{PhaseTrace, TraceStore, TurnSummary, TurnTrace};
pub use turns::{FailedWork, TurnStore};
pub use users::{BindOutcome, ExternalIdentity, KnownUser, UserRecord, UserStore};
pub use vector_index::{StoredVector, VectorIndexStore};
