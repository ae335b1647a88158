//! What the memory asks of the world: storage, vectors, a mind, time, identifiers.

mod clock;
mod corrections;
mod embedder;
mod mind;
mod store;
mod recall;
mod edge_walk;
mod vectors;
mod forget;
mod access;

pub use access::{ACTS_MAX, AccessStore};
pub use clock::{Clock, Ids};
pub use corrections::{CorrectionStore, Edited, MessageEdit, Remembered};
pub use edge_walk::{EdgeReach, EdgeWalk};
pub use embedder::{EmbedError, Embedder, Embedding};
pub use forget::ForgetStore;
pub use mind::{
    Clarification, EvidenceFailure, Extraction, ExtractionInput, MentionedEntity, Mind, MindError,
    MoodSignal, ProposedEvent, ProposedQuote, ProposedThought, Reflection, ReflectionInput, RefusedEvent,
};
pub use recall::{About, NodeOutline, RecallStore};
pub use store::{
    AliasHit, AuthoredEntity, Captured, CommitOutcome, Corpus, CorpusSize, EntityMentions, EntityStore,
    EntityVector, Evidential, ExtractionCommit, FailedAttempt, FillingEdge, IdentityDoubt, IndexedMessage,
    IndexedNode, LINKS_WEIGHED, LedgerStore, MentionMerge, MessageStore, NewEntity, NewMessage, NodeStore,
    PersonaRecord, PersonaStore, Phrase, PhraseHits, ReflectionCommit, SessionFilter, SessionStore,
    SettledIdentity, Store, StoreError, StoredVector, Supersession, TimelineItem, UnembeddedEntity,
    UserRecord,
};
pub use vectors::{EmbeddingModel, VectorCoverage, VectorStore};
