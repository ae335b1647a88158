//! Phase G: thinking between sessions. Writes thoughts, expectations, promises that the persona has made already,
//! questions for the next cycle and descriptions of entities. It never writes a core block, never schedules and never
//! acts; if it fails, its session stays closed.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::decisions::SlowCycleDecision;
use super::slow_cycle_answer::{CheckedCycle, check_answer};
use super::slow_cycle_input::cut_to_tokens;
use super::{ConsolidationEvent, Consolidator, Participants, SHOCK_IMPACT, trace, without_panic};
use crate::identifiers::{CycleId, SessionId};
use crate::ledger::TokenUsage;
use crate::nodes::{NewNode, Node, NodeKind, RelationalTag, Subject};
use crate::ports::{
    EntityToDescribe, MindError, ReflectionCandidate, SlowCycle, SlowCycleCommit, SlowCycleInput,
    SlowCycleState, StoreError,
};
use crate::sessions::Session;
use crate::text;

/// Maximum questions of one cycle: an answer of the wrong form is asked for once more.
const CALLS_PER_CYCLE: u64 = 2;
/// Period before a cycle whose events it reads. A week has each weekday once, so that habits show.
const CYCLE_PERIOD: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Maximum cycles that read the same event, so that later ones are read at all.
const CYCLES_PER_EVENT: u32 = 3;
/// Maximum events that one cycle reads, the newest first. It is the limit of a reflection, for the same reason.
const EVENTS_MAX: u32 = 30;
/// Maximum thoughts that a cycle reads, the newest first. It should continue them, not repeat them.
const THOUGHTS_MAX: u32 = 5;
/// Maximum pending expectations and open promises that a cycle is shown, so that it does not repeat them.
const OPEN_ITEMS_MAX: u32 = 10;
/// Minimum memories of an entity before it is described. One or two events describe themselves.
const LINKED_EVENTS_MIN: u32 = 3;
/// Maximum entities that one cycle describes: each adds its memories to the one prompt.
const ENTITIES_MAX: usize = 3;
/// Maximum memories for a description, the newest first. The old description, which covers the earlier ones, is given
/// too.
const EVENTS_PER_ENTITY: u32 = 6;

/// Outcome of a cycle with an answer.
const OUTCOME_OK: &str = "ok";
/// Outcome of a cycle without an answer. The reason is in the session's trace, which can be forgotten.
const OUTCOME_FAILED: &str = "failed";

/// Settings of the slow cycle that a person can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowCycleSettings {
    pub enabled: bool,
    /// Minimum time between two cycles of a scope; a shock or a correction waives it.
    pub cool_down: Duration,
    /// Cycles of a scope in a day.
    pub cycles_per_day: u32,
    /// Tokens sent for a scope in a day.
    pub input_tokens_per_day: u64,
    /// Tokens received for a scope in a day.
    pub output_tokens_per_day: u64,
    /// Tokens sent with one question of a cycle.
    pub input_tokens_per_cycle: u32,
    /// Tokens received for one question of a cycle.
    pub output_tokens_per_cycle: u32,
}

impl Default for SlowCycleSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            cool_down: Duration::from_secs(30 * 60),
            cycles_per_day: 36,
            input_tokens_per_day: 150_000,
            output_tokens_per_day: 30_000,
            input_tokens_per_cycle: 8_000,
            output_tokens_per_cycle: 1_000,
        }
    }
}

/// Decides if a slow cycle runs. `urgent`: a new shock or correction waives the cool-down. `fresh`: some event was in
/// no cycle yet. A cycle counts with its maximum, so that the limits of the day are never exceeded.
pub fn decide_slow_cycle(
    now: Timestamp,
    standing: &SlowCycleState,
    urgent: bool,
    fresh: bool,
    settings: &SlowCycleSettings,
) -> SlowCycleDecision {
    if !settings.enabled {
        return SlowCycleDecision::Disabled;
    }
    if !fresh {
        return SlowCycleDecision::NothingNew;
    }
    let rested = standing.last_at.is_none_or(|last| {
        let since = now.duration_since(last);
        // A clock that went backwards does not delay it for long.
        since.is_negative() || since.unsigned_abs() >= settings.cool_down
    });
    if !rested && !urgent {
        return SlowCycleDecision::CoolingDown;
    }
    if standing.cycles >= settings.cycles_per_day {
        return SlowCycleDecision::CyclesSpent;
    }
    let fits = |taken: u64, per_call: u32, limit: u64| {
        taken.saturating_add(CALLS_PER_CYCLE * u64::from(per_call)) <= limit
    };
    if !fits(standing.input_tokens, settings.input_tokens_per_cycle, settings.input_tokens_per_day) {
        return SlowCycleDecision::InputSpent;
    }
    if !fits(standing.output_tokens, settings.output_tokens_per_cycle, settings.output_tokens_per_day) {
        return SlowCycleDecision::OutputSpent;
    }
    SlowCycleDecision::Runs
}

/// A slow cycle in progress.
#[derive(Clone, Copy)]
struct RunningCycle<'a> {
    session: &'a Session,
    input: &'a SlowCycleInput,
    started: Timestamp,
    /// Number of deletions in this memory before the cycle read its input.
    tombstones: u64,
}

/// True if an event waives the cool-down.
fn is_urgent(event: &Node) -> bool {
    event.emotional_impact.unsigned_abs() >= SHOCK_IMPACT
        || event.relational_tags.contains(&RelationalTag::Correction)
}

impl Consolidator<'_> {
    /// Runs a slow cycle after a closed session, if the limits allow it. Failures are logged and recorded in the
    /// trace.
    pub(super) async fn slow_cycle(&self, session: &Session, parties: &Participants) {
        let outcome = without_panic(self.try_slow_cycle(session, parties)).await;
        match outcome {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                tracing::warn!(session = %session.id, "this slow cycle was skipped: {error}");
            }
            None => {
                tracing::error!(session = %session.id, "the slow cycle panicked; the session is closed")
            }
        }
    }

    async fn try_slow_cycle(&self, session: &Session, parties: &Participants) -> Result<(), StoreError> {
        let started = self.clock.now();
        let settings = &self.settings.slow_cycle;
        let midnight = started.to_zoned(parties.zone.clone()).start_of_day();
        let today = midnight.map_or(started, |midnight| midnight.timestamp());
        let standing = self.store.slow_cycle_progress(&session.scope, today).await?;
        let since = started.saturating_sub(CYCLE_PERIOD).unwrap_or(Timestamp::MIN);
        let events =
            self.store.events_to_reflect_on(&session.scope, since, CYCLES_PER_EVENT, EVENTS_MAX).await?;
        let fresh = events.iter().any(|event| event.cycles == 0);
        let own = |event: &&ReflectionCandidate| event.node.source_session_id == Some(session.id);
        let urgent = events.iter().filter(own).any(|event| is_urgent(&event.node));
        let decision = decide_slow_cycle(started, &standing, urgent, fresh, settings);
        if decision != SlowCycleDecision::Runs {
            self.note_phase(session.id, 'g', trace::slow_cycle_skipped(decision, started)).await;
            return Ok(());
        }
        let events = events.into_iter().map(|event| event.node).collect();
        let tombstones = standing.tombstones;
        let input = self.read_input(session, parties, standing, events).await?;
        let cycle = RunningCycle { session, input: &input, started, tombstones };
        match self.mind.think_slowly(input.clone()).await {
            Ok(answer) => self.commit_cycle(cycle, answer).await,
            Err(error) => self.store_cycle_failure(cycle, &error).await,
        }
    }

    /// Reads the input of a cycle, within its limit of tokens.
    async fn read_input(
        &self,
        session: &Session,
        parties: &Participants,
        standing: SlowCycleState,
        events: Vec<Node>,
    ) -> Result<SlowCycleInput, StoreError> {
        let (scope, settings) = (&session.scope, &self.settings.slow_cycle);
        let now = self.clock.now();
        let everybody = [Subject::User, Subject::Persona, Subject::Shared];
        let ids: Vec<_> = events.iter().map(|event| event.id).collect();
        let mut entities = Vec::new();
        for entity in self.store.entities_to_describe(scope, &ids, LINKED_EVENTS_MIN).await? {
            if entities.len() == ENTITIES_MAX {
                break;
            }
            let seqs = self.store.nodes_linked_to(scope, &[entity.id], EVENTS_PER_ENTITY).await?;
            let linked = self.store.nodes_numbered(scope, &seqs).await?;
            let events = linked.into_iter().map(|indexed| indexed.node).collect();
            entities.push(EntityToDescribe { entity, events });
        }
        let input = SlowCycleInput {
            session_id: session.id,
            persona_name: parties.persona_name.clone(),
            core_blocks: self.store.core_blocks(scope).await?,
            now,
            zone: parties.zone.clone(),
            elapsed: standing.last_at.map(|last| now.duration_since(last)),
            events,
            thoughts: self.store.nodes_about(scope, NodeKind::Thought, &everybody, THOUGHTS_MAX).await?,
            expectations: self
                .store
                .nodes_about(scope, NodeKind::Expectation, &everybody, OPEN_ITEMS_MAX)
                .await?,
            salient_questions: standing.salient_questions,
            entities,
            answer_tokens: settings.output_tokens_per_cycle,
        };
        Ok(cut_to_tokens(input, settings.input_tokens_per_cycle))
    }

    async fn commit_cycle(&self, cycle: RunningCycle<'_>, answer: SlowCycle) -> Result<(), StoreError> {
        let RunningCycle { session, input, started, .. } = cycle;
        let promises = self
            .store
            .nodes_about(&session.scope, NodeKind::Intention, &[Subject::Persona], OPEN_ITEMS_MAX)
            .await?;
        let mut voiced = Vec::new();
        for event in &input.events {
            if self.is_voiced_commitment(event).await? {
                voiced.push(event.id);
            }
        }
        let usage = answer.usage;
        let at = self.clock.now();
        let sifted = check_answer(answer, input, &promises, &voiced, at);
        let texts = sifted.nodes.iter().map(|node| node.description.clone()).collect();
        let embeddings = self.embed(texts).await;
        let id = CycleId(self.ids.next(at));
        let nodes: Vec<NewNode> = sifted
            .nodes
            .iter()
            .zip(embeddings)
            .map(|(proposed, embedding)| NewNode {
                id: self.new_node_id(at),
                terms: text::index_terms(&proposed.description),
                embedding,
                ..proposed.clone()
            })
            .collect();
        let transcript =
            self.settings.trace.then(|| trace::transcript_json(&session.scope, input, &sifted, &nodes));
        let CheckedCycle { descriptions, salient_questions, notes, .. } = sifted;
        let dropped = notes.len();
        let commit = SlowCycleCommit {
            nodes: nodes.clone(),
            descriptions,
            salient_questions,
            usage,
            transcript,
            ..self.empty_commit(id, cycle, at)
        };
        let written = self.store.commit_slow_cycle(commit).await?;
        let kept: Vec<NewNode> = nodes.into_iter().filter(|node| written.nodes.contains(&node.id)).collect();
        let error = written.forgotten.then_some("something was erased meanwhile, so nothing was kept of it");
        // Dropped text is only in the transcript, which is written with the results.
        let detail = trace::slow_cycle_ran(id, &kept, dropped, error, started);
        self.note_phase(session.id, 'g', detail).await;
        for node in kept {
            (self.formed)(ConsolidationEvent::SlowThought {
                scope: session.scope.clone(),
                node: Box::new(node),
                at,
            });
        }
        for entity in written.described {
            (self.formed)(ConsolidationEvent::Described {
                scope: session.scope.clone(),
                entity: Box::new(entity),
            });
        }
        Ok(())
    }

    /// Stores a failed cycle. It counts like any other, so that a broken model is not asked again and again.
    async fn store_cycle_failure(
        &self,
        cycle: RunningCycle<'_>,
        error: &MindError,
    ) -> Result<(), StoreError> {
        let RunningCycle { session, input, started, .. } = cycle;
        tracing::warn!(session = %session.id, "the slow cycle has no answer: {}", error.log_description());
        let at = self.clock.now();
        let id = CycleId(self.ids.next(at));
        let input_tokens = u64::from(self.settings.slow_cycle.input_tokens_per_cycle);
        let commit = SlowCycleCommit {
            // Events without an answer do not count as thought about.
            read: Vec::new(),
            usage: TokenUsage { input_tokens, ..TokenUsage::default() },
            outcome: OUTCOME_FAILED.to_owned(),
            salient_questions: input.salient_questions.clone(),
            ..self.empty_commit(id, cycle, at)
        };
        self.store.commit_slow_cycle(commit).await?;
        let error = error.to_string();
        self.note_phase(session.id, 'g', trace::slow_cycle_ran(id, &[], 0, Some(&error), started)).await;
        Ok(())
    }

    fn empty_commit(&self, id: CycleId, cycle: RunningCycle<'_>, at: Timestamp) -> SlowCycleCommit {
        let RunningCycle { session, input, tombstones, .. } = cycle;
        SlowCycleCommit {
            id,
            scope: session.scope.clone(),
            session_id: session.id,
            at,
            nodes: Vec::new(),
            fingerprint: self.embedder.map(|embedder| embedder.fingerprint().to_owned()),
            descriptions: Vec::new(),
            salient_questions: Vec::new(),
            read: input.events.iter().map(|event| event.id).collect(),
            usage: TokenUsage::default(),
            outcome: OUTCOME_OK.to_owned(),
            transcript: None,
            tombstones,
        }
    }

    /// True if the persona itself made a commitment in a memory: it is a promise of its own, or quotes its words of
    /// commitment.
    async fn is_voiced_commitment(&self, node: &Node) -> Result<bool, StoreError> {
        if node.kind == NodeKind::Intention {
            return Ok(node.subject == Subject::Persona);
        }
        if !node.relational_tags.contains(&RelationalTag::Commitment) {
            return Ok(false);
        }
        let Some(found) = self.store.node(node.id).await? else { return Ok(false) };
        for evidence in
            found.evidence.iter().filter(|evidence| super::evidence::is_commitment(&evidence.quote))
        {
            let message = self.store.message(evidence.message_id).await?;
            if message.is_some_and(|message| message.role == crate::messages::Role::Persona) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Stores the trace of a phase, if traces are stored. A failure to do so has no other effect.
    pub(super) async fn note_phase(&self, session: SessionId, phase: char, detail: serde_json::Value) {
        if !self.settings.trace {
            return;
        }
        let phase = crate::ports::PhaseTrace { phase, detail, at: self.clock.now() };
        if let Err(error) = self.store.store_phase_trace(session, phase).await {
            tracing::warn!(%session, "the trace of a phase is missing: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    fn decide(standing: &SlowCycleState, urgent: bool) -> SlowCycleDecision {
        decide_slow_cycle(at(1_000), standing, urgent, true, &SlowCycleSettings::default())
    }

    #[test]
    fn it_pauses_half_an_hour_except_after_a_shock_or_a_correction() {
        let last = |minutes| SlowCycleState { last_at: Some(at(minutes)), ..SlowCycleState::default() };
        assert_eq!(decide(&SlowCycleState::default(), false), SlowCycleDecision::Runs);
        assert_eq!(decide(&last(970), false), SlowCycleDecision::Runs);
        assert_eq!(decide(&last(971), false), SlowCycleDecision::CoolingDown);
        assert_eq!(decide(&last(999), true), SlowCycleDecision::Runs);
        assert_eq!(decide(&last(1_001), false), SlowCycleDecision::Runs, "a clock that went backwards");
    }

    #[test]
    fn no_cycle_can_pass_a_limit_of_the_day_not_even_an_urgent_one() {
        let standing = |cycles, input_tokens, output_tokens| SlowCycleState {
            cycles,
            input_tokens,
            output_tokens,
            ..SlowCycleState::default()
        };
        assert_eq!(decide(&standing(35, 134_000, 28_000), true), SlowCycleDecision::Runs);
        assert_eq!(decide(&standing(36, 0, 0), true), SlowCycleDecision::CyclesSpent);
        assert_eq!(decide(&standing(0, 134_001, 0), true), SlowCycleDecision::InputSpent);
        assert_eq!(decide(&standing(0, 0, 28_001), true), SlowCycleDecision::OutputSpent);
    }

    #[test]
    fn it_can_be_switched_off_and_needs_something_new() {
        let standing = SlowCycleState::default();
        let settings = SlowCycleSettings { enabled: false, ..SlowCycleSettings::default() };
        assert_eq!(decide_slow_cycle(at(0), &standing, true, true, &settings), SlowCycleDecision::Disabled);
        let settings = SlowCycleSettings::default();
        assert_eq!(
            decide_slow_cycle(at(0), &standing, true, false, &settings),
            SlowCycleDecision::NothingNew
        );
    }
}
