//! What the memory asks of the world: storage, vectors, a mind, time, identifiers.

mod clock;
mod embedder;
mod mind;
mod slow_cycle;
mod store;
mod ledger;
mod traces;
mod vectors;
mod forget;

pub use clock::{Clock, Ids};
pub use embedder::{EmbedError, Embedder, Embedding};
pub use forget::ForgetStore;
pub use ledger::LedgerStore;
pub use mind::{
    Clarification, EvidenceFailure, Extraction, ExtractionInput, MentionedEntity, Mind, MindError,
    MoodSignal, ProposedEvent, ProposedQuote, ProposedThought, Reflection, ReflectionInput, RefusedEvent,
};
pub use slow_cycle::{
    EntityToDescribe, ExpectationOutcome, ProposedExpectation, ProposedIntention, Reflectable,
    SettledExpectation, SlowCycle, SlowCycleCommit, SlowCycleInput, SlowCycleStanding, SlowCycleStore,
    SlowCycleWritten, TranscriptHead,
};
pub use store::{
    AliasHit, Captured, CommitOutcome, Corpus, CorpusSize, EntityStore, Evidential, ExtractionCommit,
    FailedAttempt, FillingEdge, IndexedMessage, IndexedNode, MentionMerge, MessageStore, NewEntity,
    NewMessage, NodeStore, PersonaRecord, PersonaStore, Phrase, PhraseHits, ReflectionCommit, SessionFilter,
    SessionStore, Store, StoreError, StoredVector, Supersession, TimelineItem, UserRecord,
};
pub use traces::{PhaseTrace, TraceStore, TurnHead, TurnTrace};
pub use vectors::{EmbeddingModel, VectorCoverage, VectorStore};
