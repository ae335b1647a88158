//! Phases C, D and E: decides about a reflection, and runs it.

use futures_util::{join, try_join};
use jiff::{SignedDuration, Timestamp};

use super::decisions::ReflectionDecision;
use super::{ConsolidateError, ConsolidationEvent, Consolidator, Participants, trace};
use crate::identifiers::ReflectionId;
use crate::nodes::{NewNode, Node, NodeKind};
use crate::ports::{CommitOutcome, ProposedThought, ReflectionCommit, ReflectionInput};
use crate::sessions::Session;
use crate::text;

/// Minimum |impact| of an event that forces a reflection (seed: SHOCK_IMPACT_THRESHOLD).
pub const SHOCK_IMPACT: u8 = 8;
/// Age of the last reflection after which the next is due (seed: TIMER_REFLECTION_HOURS); also the period of the
/// limit.
const REFLECTION_WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// Maximum events that one reflection reads, the newest first. With longer lists models summarise and no longer
/// notice what two events have in common.
const EVENTS_MAX: u32 = 30;
/// Number of newest events to search for those of a session that was extracted more than a day ago.
const RECENT_EVENTS_READ: u32 = 200;

/// Decides if a session leads to a reflection, in this order: limit, shock, timer. `runs` are the times of
/// reflections in the last 24 hours that stored a thought, `last` is the time of the last such reflection ever.
pub fn decide_reflection(
    now: Timestamp,
    runs: &[Timestamp],
    last: Option<Timestamp>,
    fresh_impacts: &[i8],
    hard_gate: usize,
) -> ReflectionDecision {
    let recent = runs.iter().filter(|run| now.duration_since(**run) <= REFLECTION_WINDOW).count();
    if recent >= hard_gate {
        return ReflectionDecision::HardGate;
    }
    if fresh_impacts.iter().any(|impact| impact.unsigned_abs() >= SHOCK_IMPACT) {
        return ReflectionDecision::Shock;
    }
    if is_timer_due(now, last) { ReflectionDecision::Timer } else { ReflectionDecision::NotDue }
}

fn is_timer_due(now: Timestamp, last: Option<Timestamp>) -> bool {
    last.is_none_or(|last| now.duration_since(last) > REFLECTION_WINDOW)
}

/// The result of a reflection.
#[derive(Default)]
pub(super) struct ReflectionOutcome {
    /// Number of thoughts that were stored.
    pub(super) thoughts: u32,
    /// The trace of phase E, if it is not stored yet.
    pub(super) trace: Option<serde_json::Value>,
}

impl Consolidator<'_> {
    /// Runs phase E: decides, asks and commits. The decision is committed too, so that a session is never reflected
    /// on twice.
    pub(super) async fn reflect(
        &self,
        session: &Session,
        parties: &Participants,
    ) -> Result<ReflectionOutcome, ConsolidateError> {
        let now = self.clock.now();
        let since = now.saturating_sub(REFLECTION_WINDOW).unwrap_or(Timestamp::MIN);
        let (mut events, runs, last) = try_join!(
            self.store.events_since(&session.scope, since, EVENTS_MAX),
            self.store.reflections_since(&session.scope, since),
            self.store.last_reflection(&session.scope),
        )?;
        self.add_own_events(session, &mut events).await?;
        let fresh: Vec<&Node> =
            events.iter().filter(|event| event.source_session_id == Some(session.id)).collect();
        let impacts: Vec<i8> = fresh.iter().map(|event| event.emotional_impact).collect();
        let hard_gate = self.settings.reflection_hard_gate_24h;
        let decision = decide_reflection(now, &runs, last, &impacts, hard_gate);
        // The decision is stored while the reflection runs, so that they share a flush to disk.
        let noted = async {
            join!(
                self.note_phase(session.id, 'c', trace::shock_json(&fresh)),
                self.note_phase(session.id, 'd', trace::timer_json(is_timer_due(now, last), runs.len())),
            )
        };
        let thought = self.reflect_if_due(session, parties, decision, &events);
        let (_, thought) = join!(noted, thought);
        let Some((thoughts, notes, at)) = thought? else { return Ok(ReflectionOutcome::default()) };
        let detail = trace::reflection_json(decision, &thoughts, &notes, now, at);
        let written = u32::try_from(thoughts.len()).unwrap_or(u32::MAX);
        for node in thoughts {
            (self.formed)(ConsolidationEvent::Thought {
                scope: session.scope.clone(),
                session_id: session.id,
                is_imported: session.is_imported(),
                node: Box::new(node),
                at,
            });
        }
        Ok(ReflectionOutcome { thoughts: written, trace: Some(detail) })
    }

    /// Asks the model if a reflection is due, and commits its thoughts, the trace and the time. `None` if another
    /// process has committed it.
    async fn reflect_if_due(
        &self,
        session: &Session,
        parties: &Participants,
        decision: ReflectionDecision,
        events: &[Node],
    ) -> Result<Option<(Vec<NewNode>, Vec<String>, Timestamp)>, ConsolidateError> {
        let (thoughts, notes) = if decision.asks_model() && !events.is_empty() {
            self.ask_for_thoughts(session, parties, events.to_vec()).await?
        } else {
            (Vec::new(), Vec::new())
        };
        let at = self.clock.now();
        let commit = ReflectionCommit {
            session_id: session.id,
            scope: session.scope.clone(),
            id: ReflectionId(self.ids.next(at)),
            at,
            thoughts: thoughts.clone(),
            fingerprint: self.fingerprint(),
        };
        let outcome = self.store.commit_reflection(commit).await?;
        Ok((outcome == CommitOutcome::Committed).then_some((thoughts, notes, at)))
    }

    /// Adds the events of a session whose reflection was delayed by more than a day.
    async fn add_own_events(
        &self,
        session: &Session,
        events: &mut Vec<Node>,
    ) -> Result<(), ConsolidateError> {
        let own = |event: &Node| event.source_session_id == Some(session.id);
        if session.extracted_events == 0 || events.iter().any(own) {
            return Ok(());
        }
        let newest =
            self.store.nodes_before(&session.scope, &[NodeKind::Event], None, RECENT_EVENTS_READ).await?;
        let missing = newest.into_iter().filter(own).rev();
        events.splice(0..0, missing);
        Ok(())
    }

    async fn ask_for_thoughts(
        &self,
        session: &Session,
        parties: &Participants,
        events: Vec<Node>,
    ) -> Result<(Vec<NewNode>, Vec<String>), ConsolidateError> {
        let known: Vec<_> = events.iter().map(|event| event.id).collect();
        let input = ReflectionInput {
            session_id: session.id,
            persona_name: parties.persona_name.clone(),
            core_blocks: self.store.core_blocks(&session.scope).await?,
            events,
            zone: parties.zone.clone(),
        };
        let answer = self.mind.reflect(input).await?;
        // The port promises only ids of the input, but a thought without evidence must not exist.
        let notes = answer.notes;
        let valid = |mut thought: ProposedThought| {
            thought.filling.retain(|id| known.contains(id));
            (!thought.filling.is_empty() && !thought.description.trim().is_empty()).then_some(thought)
        };
        let thoughts: Vec<_> = answer.thoughts.into_iter().filter_map(valid).take(2).collect();
        let texts = thoughts.iter().map(|thought| thought.description.clone()).collect();
        let embeddings = self.embed(texts).await;
        let at = self.clock.now();
        let node = |(thought, embedding): (ProposedThought, _)| NewNode {
            id: self.new_node_id(at),
            kind: NodeKind::Thought,
            terms: text::index_terms(&thought.description),
            description: thought.description,
            emotional_impact: thought.emotional_impact,
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            subject: thought.subject,
            event_time: None,
            evidence: Vec::new(),
            filling: thought.filling,
            embedding,
        };
        Ok((thoughts.into_iter().zip(embeddings).map(node).collect(), notes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours)
    }

    #[test]
    fn the_hard_gate_wins_over_a_shock() {
        let runs = [at(99), at(90), at(80)];
        assert_eq!(decide_reflection(at(100), &runs, Some(at(99)), &[-9], 3), ReflectionDecision::HardGate);
    }

    #[test]
    fn a_shock_does_not_wait_for_the_timer() {
        assert_eq!(decide_reflection(at(100), &[at(99)], Some(at(99)), &[8], 3), ReflectionDecision::Shock);
        assert_eq!(decide_reflection(at(100), &[at(99)], Some(at(99)), &[-8], 3), ReflectionDecision::Shock);
        assert_eq!(decide_reflection(at(100), &[at(99)], Some(at(99)), &[7], 3), ReflectionDecision::NotDue);
    }

    #[test]
    fn the_timer_is_due_after_24_hours_or_when_there_was_never_one() {
        assert_eq!(decide_reflection(at(100), &[], None, &[1], 3), ReflectionDecision::Timer);
        assert_eq!(decide_reflection(at(100), &[], Some(at(75)), &[1], 3), ReflectionDecision::Timer);
        assert_eq!(decide_reflection(at(100), &[at(76)], Some(at(76)), &[1], 3), ReflectionDecision::NotDue);
    }

    #[test]
    fn runs_older_than_the_window_do_not_count() {
        let runs = [at(10), at(20), at(30)];
        assert_eq!(decide_reflection(at(100), &runs, Some(at(30)), &[9], 3), ReflectionDecision::Shock);
    }
}
