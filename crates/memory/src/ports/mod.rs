//! What the memory asks of the world: storage, vectors, a mind, time, identifiers.

mod clock;
mod corrections;
mod embedder;
mod mind;
mod slow_cycle;
mod store;
mod recall;
mod edge_walk;
mod ledger;
mod traces;
mod vectors;
mod entities;
mod forget;
mod access;

pub use access::{ACTS_MAX, AccessStore};
pub use clock::{Clock, Ids};
pub use corrections::{CorrectionStore, Edited, MessageEdit, Remembered};
pub use edge_walk::{EdgeReach, EdgeWalk};
pub use embedder::{EmbedError, Embedder, Embedding};
pub use entities::{
    AliasHit, AuthoredEntity, EntityMentions, EntityStore, EntityVector, IdentityDoubt, LINKS_WEIGHED,
    NewEntity, SettledIdentity, UnembeddedEntity,
};
pub use forget::ForgetStore;
pub use ledger::LedgerStore;
pub use mind::{
    Clarification, EvidenceFailure, Extraction, ExtractionInput, MentionedEntity, Mind, MindError,
    MoodSignal, ProposedEvent, ProposedQuote, ProposedThought, Reflection, ReflectionInput, RefusedEvent,
};
pub use recall::{About, NodeOutline, RecallStore};
pub use slow_cycle::{
    EntityToDescribe, ExpectationOutcome, ProposedExpectation, ProposedIntention, Reflectable,
    SettledExpectation, SlowCycle, SlowCycleCommit, SlowCycleInput, SlowCycleStanding, SlowCycleStore,
    SlowCycleWritten, TranscriptHead,
};
pub use store::{
    Captured, CommitOutcome, Corpus, CorpusSize, Evidential, ExtractionCommit, FailedAttempt, FillingEdge,
    IndexedMessage, IndexedNode, MentionMerge, MessageStore, NewMessage, NodeStore, PersonaRecord,
    PersonaStore, Phrase, PhraseHits, ReflectionCommit, SessionFilter, SessionStore, Store, StoreError,
    StoredVector, Supersession, TimelineItem, UserRecord,
};
pub use traces::{PhaseTrace, TraceStore, TurnHead, TurnTrace};
pub use vectors::{EmbeddingModel, VectorCoverage, VectorStore};
