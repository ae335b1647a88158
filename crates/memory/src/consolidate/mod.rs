//! Consolidation: A trivial gate · B extract · C shock · D timer · E reflect · F close · G slow cycle.
//!
//! Each phase commits before the next begins and can be repeated: an interrupted session is claimed again and
//! continues after its last commit.

mod evidence;
mod echo;
mod assent;
mod attribution;
mod vocatives;
mod extract;
mod known;
mod entities;
mod event_time;
#[cfg(test)]
mod fixtures;
mod gate;
mod merge;
mod pairs;
mod patterns;
mod decisions;
mod reflect;
mod reask;
mod reconcile;
mod corrected_names;
mod slow_cycle;
mod slow_cycle_answer;
mod slow_cycle_input;
mod trace;

pub use decisions::{ReflectionDecision, SlowCycleDecision};
pub use evidence::evidence_for_quote;
pub use gate::{GateDecision, decide_gate};
pub use merge::{ComparedEvent, MERGE_COSINE_MIN, has_same_content};
pub use patterns::Patterns;
pub use reflect::{SHOCK_IMPACT, decide_reflection};
pub use slow_cycle::{SlowCycleSettings, decide_slow_cycle};

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::{FutureExt as _, join};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use self::reflect::ReflectionOutcome;
use crate::entities::Entity;
use crate::identifiers::{NodeId, SessionId};
use crate::mood::Mood;
use crate::nodes::NewNode;
use crate::ports::{
    Backoff, Clock, Embedder, Embedding, ExtractionCommit, FailedAttempt, IdGenerator, Mind, MindError,
    Store, StoreError,
};
use crate::recall::RecallSettings;
use crate::scope::Scope;
use crate::sessions::Session;
use crate::vector_index::VectorIndex;

/// Waits before a failed session is tried again, doubled up to 34 minutes. A model may be unavailable for hours, and
/// each attempt costs tokens.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(2048) };

/// Settings of consolidation that a person can change.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsolidateSettings {
    /// Fewer messages than this make a session short.
    pub trivial_message_count: usize,
    /// Fewer tokens than this make a session short.
    pub trivial_token_count: u64,
    /// Minimum distinct content terms of the user in a short session that still counts.
    pub trivial_user_terms: usize,
    /// Reflections in 24 hours at which no more are made.
    pub reflection_hard_gate_24h: usize,
    /// Retries of a session before its state is `failed`.
    pub max_retries: u32,
    /// Keywords beside the built-in ones that override the trivial gate.
    pub strong_emotion_words: Vec<String>,
    pub slow_cycle: SlowCycleSettings,
    /// True if a trace of each phase is stored.
    pub trace: bool,
}

impl Default for ConsolidateSettings {
    fn default() -> Self {
        Self {
            trivial_message_count: 3,
            trivial_token_count: 200,
            trivial_user_terms: 12,
            reflection_hard_gate_24h: 3,
            max_retries: 3,
            strong_emotion_words: Vec::new(),
            slow_cycle: SlowCycleSettings::default(),
            trace: true,
        }
    }
}

/// An event that is published after a consolidation commits.
#[derive(Clone, Debug)]
pub enum ConsolidationEvent {
    /// An event or intention was stored.
    Event {
        scope: Scope,
        /// The session that the event was extracted from.
        session_id: SessionId,
        node: Box<NewNode>,
        /// Last message of that session. For an imported session this is earlier than `at`.
        said_at: Timestamp,
        at: Timestamp,
    },
    /// An entity was named, for the first time or again.
    Entity {
        scope: Scope,
        entity: Box<Entity>,
    },
    Mood {
        scope: Scope,
        mood: Mood,
    },
    /// A thought was stored.
    Thought {
        scope: Scope,
        /// The session after which the thought was made.
        session_id: SessionId,
        /// True if that session was imported.
        is_imported: bool,
        node: Box<NewNode>,
        at: Timestamp,
    },
    /// The slow cycle stored a thought, an expectation or an intention.
    SlowThought {
        scope: Scope,
        node: Box<NewNode>,
        at: Timestamp,
    },
    /// The slow cycle described an entity.
    Described {
        scope: Scope,
        /// The entity, with its new description.
        entity: Box<Entity>,
    },
    /// A session was consolidated.
    Closed {
        session: Box<Session>,
        events: u32,
        /// Number of thoughts that resulted from the session.
        thoughts: u32,
    },
    /// A session failed permanently.
    Failed {
        /// The session, with its last error.
        session: Box<Session>,
    },
}

/// Why an attempt failed.
#[derive(Debug, thiserror::Error)]
pub enum ConsolidateError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model did not answer, or not in a usable form.
    #[error(transparent)]
    Mind(#[from] MindError),
    #[error("it was stopped by an internal error; the conversation is kept, and it can be retried")]
    Defect,
}

impl ConsolidateError {
    /// True if another attempt may succeed without a person's help.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Store(StoreError::Busy(_) | StoreError::Unwritable(_))
                | Self::Mind(MindError::Transient(_))
        )
    }

    /// The reason without the text of an endpoint, which may quote a person's message; that text is stored with the
    /// session only.
    fn log_description(&self) -> String {
        match self {
            Self::Mind(error) => error.log_description().to_owned(),
            error => error.to_string(),
        }
    }
}

/// Consolidates ended sessions into memory.
#[derive(Clone, Copy)]
pub struct Consolidator<'a> {
    pub store: &'a dyn Store,
    pub mind: &'a dyn Mind,
    /// Without an embedder, nodes are stored without vectors and found by their words.
    pub embedder: Option<&'a dyn Embedder>,
    /// The vectors of live nodes.
    pub index: &'a VectorIndex,
    pub clock: &'a dyn Clock,
    /// Ids of what is written.
    pub ids: &'a dyn IdGenerator,
    pub settings: &'a ConsolidateSettings,
    /// Settings for finding existing memories that a session repeats or replaces.
    pub recall: &'a RecallSettings,
    /// Receives an event for everything that is committed.
    pub formed: &'a (dyn Fn(ConsolidationEvent) + Send + Sync),
}

/// The two speakers, as the prompts name them.
#[derive(Clone, Debug)]
pub struct Participants {
    pub persona_name: String,
    pub zone: TimeZone,
}

impl Consolidator<'_> {
    /// Claims one session and consolidates it as far as possible; true if there was one. A failure is recorded with
    /// the session; only a failure to record that is an error.
    pub async fn consolidate_next<F, P>(&self, parties: F) -> Result<bool, StoreError>
    where
        F: FnOnce(Scope) -> P + Send,
        P: Future<Output = Result<Participants, StoreError>> + Send,
    {
        let Some(session) = self.store.claim_closing_session(self.clock.now()).await? else {
            return Ok(false);
        };
        let work = async {
            let parties = parties(session.scope.clone()).await?;
            self.consolidate(&session, &parties).await
        };
        // A session that triggers a defect must not stop the others.
        let outcome = without_panic(work).await.unwrap_or(Err(ConsolidateError::Defect));
        if let Err(error) = outcome {
            self.record_failure(&session, &error).await?;
        }
        Ok(true)
    }

    /// Runs the phases of a claimed session.
    pub async fn consolidate(
        &self,
        session: &Session,
        parties: &Participants,
    ) -> Result<(), ConsolidateError> {
        let mut trivial = session.trivial;
        let mut extraction = None;
        if !session.extracted {
            let messages = self.store.session_messages(session.id).await?;
            let worth = match decide_gate(&messages, self.settings) {
                GateDecision::Trivial if self.is_near_a_memory(session, &messages, parties).await? => {
                    GateDecision::Remembered
                }
                worth => worth,
            };
            trivial = worth == GateDecision::Trivial;
            let noted = self.note_phase(session.id, 'a', trace::gate_json(worth));
            if trivial {
                noted.await;
                self.store.commit_extraction(self.trivial_commit(session)).await?;
            } else {
                let ((), extracted) = join!(noted, self.extract(session, messages, parties));
                extraction = extracted?;
            }
        }
        let compared = self.reconcile(session, parties).await?;
        if let (Some(Value::Object(detail)), Some(compared)) = (&mut extraction, compared) {
            detail.insert("reconciliation".to_owned(), compared);
        }
        // The trace of a phase is stored while the next one runs, so that they share a flush to disk.
        let reflected = async {
            match trivial || session.reflected {
                true => Ok(ReflectionOutcome::default()),
                false => self.reflect(session, parties).await,
            }
        };
        let ((), reflected) = join!(self.note_if_any(session.id, 'b', extraction), reflected);
        let ReflectionOutcome { thoughts, trace: reflection } = reflected?;
        let closed = self.close(session, trivial, thoughts);
        let ((), closed) = join!(self.note_if_any(session.id, 'e', reflection), closed);
        let Some(closed) = closed? else { return Ok(()) };
        let slow_cycle = async {
            if !trivial {
                self.slow_cycle(session, parties).await;
            }
        };
        join!(self.note_phase(session.id, 'f', closed), slow_cycle);
        Ok(())
    }

    async fn note_if_any(&self, session: SessionId, phase: char, detail: Option<Value>) {
        if let Some(detail) = detail {
            self.note_phase(session, phase, detail).await;
        }
    }

    fn trivial_commit(&self, session: &Session) -> ExtractionCommit {
        ExtractionCommit {
            trivial: true,
            fingerprint: self.fingerprint(),
            ..ExtractionCommit::empty(session.id, session.scope.clone(), self.clock.now())
        }
    }

    /// Closes a session and returns its trace; `None` if another process closed it.
    async fn close(
        &self,
        session: &Session,
        trivial: bool,
        thoughts: u32,
    ) -> Result<Option<Value>, ConsolidateError> {
        let Some(closed) = self.store.finish_session(session.id, self.clock.now()).await? else {
            return Ok(None);
        };
        let (detail, events) =
            (trace::closed_session_json(trivial, closed.closed_at), closed.extracted_events);
        (self.formed)(ConsolidationEvent::Closed { session: Box::new(closed), events, thoughts });
        Ok(Some(detail))
    }

    async fn record_failure(&self, session: &Session, error: &ConsolidateError) -> Result<(), StoreError> {
        let attempts = session.attempts.saturating_add(1);
        let again = error.is_transient() && attempts <= self.settings.max_retries;
        let wait = BACKOFF.wait_after_failures(session.attempts);
        let retry_at = if again { self.clock.now().checked_add(wait).ok() } else { None };
        tracing::warn!(session = %session.id, attempts, retry = again, "consolidation failed: {}", error.log_description());
        let attempt = FailedAttempt { session_id: session.id, error: error.to_string(), retry_at };
        let recorded = self.store.record_failure(attempt).await?;
        if let Some(failed) = recorded.filter(|_| !again) {
            (self.formed)(ConsolidationEvent::Failed { session: Box::new(failed) });
        }
        Ok(())
    }

    /// The model of the vectors in a commit; `None` while it is unknown.
    fn fingerprint(&self) -> Option<String> {
        let fingerprint = self.embedder.map(|embedder| embedder.fingerprint().to_owned());
        fingerprint.filter(|fingerprint| !fingerprint.is_empty())
    }

    /// One embedding per text; empty without a model or if it fails. Then the nodes have no vectors for now.
    async fn embed(&self, texts: Vec<String>) -> Vec<Option<Embedding>> {
        let missing = vec![None; texts.len()];
        let Some(embedder) = self.embedder.filter(|_| !texts.is_empty()) else { return missing };
        match embedder.embed(&texts).await {
            Ok(embeddings) if embeddings.len() == texts.len() => embeddings.into_iter().map(Some).collect(),
            Ok(_) => missing,
            Err(error) => {
                tracing::warn!("memories are written without vectors for now: {error}");
                missing
            }
        }
    }

    fn new_node_id(&self, at: Timestamp) -> NodeId {
        NodeId(self.ids.next(at))
    }
}

/// The result of the work, or `None` if it panicked.
async fn without_panic<T>(work: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(work).catch_unwind().await.ok()
}
