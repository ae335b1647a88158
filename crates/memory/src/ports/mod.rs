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
mod people;

pub use crate::text::Phrase;
pub use access::{ACTS_MAX, AccessStore};
pub use clock::{Clock, IdGenerator};
pub use corrections::{CorrectionStore, MessageEdit, MessageEditResult, UsedQuote};
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
pub use people::{Appearance, Avatar, BindOutcome, ExternalIdentity, KnownUser, PeopleStore};
pub use recall::{NodeOutline, NodeQuery, RecallStore};
pub use slow_cycle::{
    EntityToDescribe, ExpectationOutcome, ProposedExpectation, ProposedIntention, ReflectionCandidate,
    SettledExpectation, SlowCycle, SlowCycleCommit, SlowCycleInput, SlowCycleReport, SlowCycleState,
    SlowCycleStore, TranscriptSummary,
};
pub use store::{
    CapturedMessage, CommitOutcome, Corpus, CorpusSize, EvidencedNode, ExtractionCommit, FailedAttempt,
    FillingEdge, IndexedMessage, IndexedNode, MentionMerge, MessageStore, NewMessage, NodeStore,
    PersonaRecord, PersonaStore, PhraseHits, ReflectionCommit, SessionFilter, SessionStore, Store,
    StoreError, StoredVector, Supersession, TimelineItem, UserRecord,
};
pub use traces::{PhaseTrace, TraceStore, TurnSummary, TurnTrace};
pub use vectors::{EmbeddingModel, VectorCoverage, VectorStore};
