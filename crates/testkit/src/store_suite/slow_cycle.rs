//! Laws of phase G, and of the outcomes of expectations.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::entities::EntityKind;
use memory::forget::{ForgetMode, ForgetOutcome, ForgetRequest, Selection, ThoughtPolicy};
use memory::identifiers::{CycleId, NodeId};
use memory::ledger::TokenUsage;
use memory::nodes::{EventTime, NewNode, NodeKind, Subject};
use memory::ports::{
    ExpectationEnd, ExpectationOutcome, NewEntity, PhaseTrace, SlowCycleCommit, SlowCycleState, Store,
};
use serde_json::json;

use super::Outcome;
use super::stage::{MODEL, Stage, at};

impl Stage<'_> {
    /// Stores a cycle that read these nodes and wrote these.
    async fn run_cycle(
        &self,
        seconds: i64,
        read: &[NodeId],
        nodes: Vec<NewNode>,
    ) -> Result<SlowCycleCommit, Box<dyn std::error::Error>> {
        let (_, session) = self.claimed_session("led to a cycle", seconds).await?;
        self.store.commit_extraction(self.extraction(&session, seconds, Vec::new())).await?;
        self.store.finish_session(session.id, at(seconds)).await?;
        Ok(SlowCycleCommit {
            id: CycleId(self.id()),
            scope: self.scope.clone(),
            session_id: session.id,
            at: at(seconds),
            nodes,
            fingerprint: Some(MODEL.to_owned()),
            descriptions: Vec::new(),
            salient_questions: vec!["后来呢?".to_owned()],
            read: read.to_vec(),
            usage: TokenUsage { input_tokens: 700, output_tokens: 60, cached_tokens: 0 },
            outcome: "ok".to_owned(),
            transcript: Some(json!({"text": "a transcript"})),
            tombstones: 0,
        })
    }

    fn expectation(&self, description: &str, event: NodeId, due: Timestamp) -> NewNode {
        NewNode {
            kind: NodeKind::Expectation,
            event_time: Some(EventTime { start: due, end: None }),
            ..self.thought(description, &[event])
        }
    }

    async fn pending_expectations(&self) -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let found = self.store.nodes_about(&self.scope, NodeKind::Expectation, &[Subject::User], 10).await?;
        Ok(found.into_iter().map(|node| node.description).collect())
    }
}

/// A cycle stores its thoughts, its counts and its questions; the nodes that it read are counted.
pub async fn a_slow_cycle_is_counted(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let event = stage.remember("she moves to the sea", 10).await?;
    let foreign = NodeId(stage.id());
    assert_eq!(store.slow_cycle_progress(&stage.scope, at(0)).await?, SlowCycleState::default());
    for round in 0..3 {
        let open = store.events_to_reflect_on(&stage.scope, at(0), 3, 10).await?;
        let counted: Vec<_> = open.iter().map(|open| (open.node.id, open.cycles)).collect();
        assert_eq!(counted, [(event.id, round)]);
        let thought = stage.thought("she wants to hear the sea", &[event.id]);
        let floating = stage.thought("rests on nothing", &[foreign]);
        let seconds = 100 + i64::from(round) * 100;
        let commit = stage.run_cycle(seconds, &[event.id], vec![thought.clone(), floating]).await?;
        let written = store.commit_slow_cycle(commit.clone()).await?;
        assert_eq!(written.nodes, [thought.id]);
        let found = store.node(thought.id).await?.ok_or("the thought is not there")?;
        assert_eq!((found.node.source_session_id, found.filling), (None, vec![event.id]));
        assert_eq!(store.transcript(commit.id).await?, commit.transcript);
    }
    assert!(store.events_to_reflect_on(&stage.scope, at(0), 3, 10).await?.is_empty(), "read three times");
    assert!(store.events_to_reflect_on(&stage.scope, at(11), 9, 10).await?.is_empty(), "too old");
    assert!(store.events_to_reflect_on(&stage.other, at(0), 9, 10).await?.is_empty(), "another memory");
    let standing = SlowCycleState {
        last_at: Some(at(300)),
        cycles: 2,
        input_tokens: 1_400,
        output_tokens: 120,
        salient_questions: vec!["后来呢?".to_owned()],
        tombstones: 0,
    };
    assert_eq!(store.slow_cycle_progress(&stage.scope, at(200)).await?, standing);
    assert_eq!(store.slow_cycle_progress(&stage.other, at(0)).await?, SlowCycleState::default());
    assert_eq!(store.reflections_since(&stage.scope, at(0)).await?, [], "a cycle is no reflection");
    Ok(())
}

/// Transcripts are listed and expire; the counts stay.
pub async fn transcripts_expire_and_counts_stay(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let event = stage.remember("she moves to the sea", 10).await?;
    let first = stage.run_cycle(100, &[event.id], Vec::new()).await?;
    let second = SlowCycleCommit { transcript: None, ..stage.run_cycle(200, &[event.id], Vec::new()).await? };
    let third = stage.run_cycle(300, &[], Vec::new()).await?;
    for commit in [&first, &second, &third] {
        store.commit_slow_cycle(commit.clone()).await?;
    }
    let listed = store.transcripts(&stage.scope, None, 10).await?;
    let ids: Vec<_> = listed.iter().map(|head| (head.id, head.at)).collect();
    assert_eq!(ids, [(third.id, at(300)), (first.id, at(100))]);
    let behind = store.transcripts(&stage.scope, Some((listed[0].at, listed[0].id)), 10).await?;
    assert_eq!(behind.iter().map(|head| head.id).collect::<Vec<_>>(), [first.id]);
    assert!(store.transcripts(&stage.other, None, 10).await?.is_empty());
    assert_eq!(listed[0].size, 23, "its text in bytes");
    assert_eq!(store.drop_traces(at(250)).await?, 1);
    assert_eq!(store.transcript(first.id).await?, None);
    assert_eq!(store.transcripts(&stage.scope, None, 10).await?.len(), 1);
    assert_eq!(store.slow_cycle_progress(&stage.scope, at(0)).await?.cycles, 3);
    Ok(())
}

/// An expectation is settled once, is then no longer pending, and stays in the history.
pub async fn an_expectation_ends_once(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let event = stage.remember("she has an interview", 10).await?;
    let soon = stage.expectation("she tells of it", event.id, at(1_000));
    let late = stage.expectation("she moves", event.id, at(2_000));
    let commit = stage.run_cycle(100, &[event.id], vec![soon.clone(), late.clone()]).await?;
    store.commit_slow_cycle(commit).await?;
    assert_eq!(stage.pending_expectations().await?, ["she moves", "she tells of it"]);
    assert_eq!(store.expectation_end(soon.id).await?, None);

    let stated = stage.say("the interview went well", 500).await?;
    let fulfilled =
        ExpectationEnd { outcome: ExpectationOutcome::Fulfilled, by: Some(stated.id), at: at(500) };
    let ids = [soon.id, event.id, NodeId(stage.id())];
    assert!(store.settle_expectations(&stage.other, &ids, fulfilled).await?.is_empty(), "another memory");
    assert_eq!(store.settle_expectations(&stage.scope, &ids, fulfilled).await?, [soon.id]);
    assert!(store.settle_expectations(&stage.scope, &ids, fulfilled).await?.is_empty(), "once");
    assert_eq!(store.expectation_end(soon.id).await?, Some(fulfilled));
    assert_eq!(stage.pending_expectations().await?, ["she moves"]);
    let seqs = [stage.seq(soon.id).await?, stage.seq(late.id).await?];
    let current = store.nodes_numbered(&stage.scope, &seqs).await?;
    assert_eq!(current.len(), 1, "a settled one is out of recall");
    let history = store.nodes_before(&stage.scope, &[NodeKind::Expectation], None, 10).await?;
    assert_eq!(history.len(), 2, "and stays in history");

    assert_eq!(store.expire_expectations(at(2_000)).await?, 0, "its last moment is not over");
    assert_eq!(store.expire_expectations(at(2_001)).await?, 1);
    let expired = ExpectationEnd { outcome: ExpectationOutcome::Expired, by: None, at: at(2_001) };
    assert_eq!(store.expectation_end(late.id).await?, Some(expired));
    assert!(stage.pending_expectations().await?.is_empty());
    Ok(())
}

/// An entity with enough memories is described, and only from the scope that it belongs to.
pub async fn entities_are_described_from_their_memories(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (cat, town) = (stage.entity_id(), stage.entity_id());
    let mut events = Vec::new();
    for (index, text) in ["the cat is white", "the cat sleeps", "the cat jumps"].into_iter().enumerate() {
        let seconds = 10 + i64::try_from(index)? * 10;
        let (message, session) = stage.claimed_session(text, seconds).await?;
        let event = stage.event(text, &message);
        let mut commit = stage.extraction(&session, seconds, vec![event.clone()]);
        if index == 0 {
            commit.entities = vec![
                NewEntity::settled(cat, "小黑", EntityKind::Pet),
                NewEntity::settled(town, "Lisbon", EntityKind::Place),
            ];
            commit.links.push((event.id, town));
        }
        commit.links.push((event.id, cat));
        store.commit_extraction(commit).await?;
        store.finish_session(session.id, at(seconds)).await?;
        let due = store.entities_to_describe(&stage.scope, &[event.id], 3).await?;
        assert_eq!(due.len(), usize::from(index == 2), "three memories are needed");
        events.push(event.id);
    }
    let mut commit = stage.run_cycle(100, &events, Vec::new()).await?;
    commit.descriptions = vec![(cat, "一只白猫".to_owned()), (stage.entity_id(), "nobody".to_owned())];
    let written = store.commit_slow_cycle(commit).await?;
    let stated: Vec<_> =
        written.described.iter().map(|entity| (entity.id, entity.description.as_deref())).collect();
    assert_eq!(stated, [(cat, Some("一只白猫"))]);
    let described = store.describe_entity(&stage.scope, cat, "一只爱跳的白猫", at(200)).await?;
    let described = described.ok_or("it was left alone")?;
    assert_eq!((described.description.as_deref(), described.updated_at), (Some("一只爱跳的白猫"), at(200)));
    assert_eq!(store.describe_entity(&stage.other, cat, "else", at(200)).await?, None);
    Ok(())
}

/// Thoughts about a memory are erased together with its evidence, and a cycle that read it keeps only its counts.
pub async fn thoughts_about_withdrawn_memories_are_erased(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claimed_session("she moves to the sea", 10).await?;
    let event = stage.event("she moves to the sea", &message);
    store.commit_extraction(stage.extraction(&session, 10, vec![event.clone()])).await?;
    store.finish_session(session.id, at(12)).await?;
    let other = stage.remember("she has an interview", 20).await?;
    let expected = stage.expectation("she tells of the interview", other.id, at(9_000));
    let hoped = stage.expectation("she sends a shell", event.id, at(9_000));
    let kept = stage.run_cycle(100, &[event.id, other.id], vec![expected.clone(), hoped.clone()]).await?;
    store.commit_slow_cycle(kept.clone()).await?;
    let (stated, _) = stage.claimed_session("the interview went well", 200).await?;
    let by = ExpectationEnd { outcome: ExpectationOutcome::Fulfilled, by: Some(stated.id), at: at(200) };
    store.settle_expectations(&stage.scope, &[expected.id, hoped.id], by).await?;
    let thought = stage.thought("she longs for the sea", &[other.id]);
    let thinking = stage.run_cycle(300, &[event.id, other.id], vec![thought.clone()]).await?;

    store.withdraw_evidence(&[message.id], ThoughtPolicy::Recheck, at(400)).await?;
    assert_eq!(store.transcript(kept.id).await?, None, "it told of the sea");
    assert!(store.slow_cycle_progress(&stage.scope, at(0)).await?.salient_questions.is_empty());
    assert_eq!(store.node(hoped.id).await?, None, "it rested on nothing else");
    assert_eq!(store.expectation_end(hoped.id).await?, None);
    let written = store.commit_slow_cycle(thinking.clone()).await?;
    assert!(written.forgotten && written.nodes.is_empty());
    assert_eq!((store.node(thought.id).await?, store.transcript(thinking.id).await?), (None, None));

    assert_eq!(store.expectation_end(expected.id).await?, Some(by));
    store.withdraw_evidence(&[stated.id], ThoughtPolicy::Recheck, at(500)).await?;
    assert_eq!(store.expectation_end(expected.id).await?, None, "it is expected again");
    Ok(())
}

/// An erasure also removes derived thoughts, and a concurrent cycle stores only its counts.
pub async fn thoughts_about_erased_memories_are_erased(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let turn_id = stage.turn_id();
    let mut line = stage.user_line("her secret is the sea", 10);
    line.turn_id = Some(turn_id);
    let (message, session) = stage.claim_session_of(line).await?;
    let event = stage.event("her secret is the sea", &message);
    store.commit_extraction(stage.extraction(&session, 10, vec![event.clone()])).await?;
    store
        .store_phase_trace(
            session.id,
            PhaseTrace { phase: 'b', detail: json!({"secret": "sea"}), at: at(11) },
        )
        .await?;
    store.finish_session(session.id, at(12)).await?;
    let other = stage.remember("she likes tea", 20).await?;
    let thought = stage.thought("she keeps the sea to herself", &[event.id]);
    let kept = stage.run_cycle(100, &[event.id, other.id], vec![thought.clone()]).await?;
    store.commit_slow_cycle(kept.clone()).await?;
    let promise = NewNode { kind: NodeKind::Intention, ..stage.thought("we will have tea", &[other.id]) };
    let thinking = stage.run_cycle(200, &[event.id, other.id], vec![promise.clone()]).await?;

    let selection = Selection { messages: BTreeSet::from([message.id]), ..Selection::default() };
    let act =
        ForgetRequest { scope: stage.scope.clone(), selection, thoughts: ForgetMode::Cascade, at: at(1_000) };
    let ForgetOutcome::Done(forgotten) = store.forget(act, None, None).await? else {
        return Err("nothing was expected".into());
    };
    assert_eq!(forgotten.taken.thoughts, BTreeSet::from([thought.id]));
    assert!(forgotten.taken.counts.traces >= 1, "{:?}", forgotten.taken.counts);
    assert_eq!(store.transcript(kept.id).await?, None);
    assert!(store.phases(session.id).await?.is_empty());
    assert!(store.slow_cycle_progress(&stage.scope, at(0)).await?.salient_questions.is_empty());

    let written = store.commit_slow_cycle(thinking.clone()).await?;
    assert!(written.forgotten && written.nodes.is_empty());
    assert_eq!((store.node(promise.id).await?, store.transcript(thinking.id).await?), (None, None));
    let standing = store.slow_cycle_progress(&stage.scope, at(0)).await?;
    assert!(standing.cycles == 2 && standing.salient_questions.is_empty() && standing.tombstones > 0);
    let elsewhere = store.slow_cycle_progress(&stage.other, at(0)).await?;
    assert_eq!(elsewhere.tombstones, 0, "of another memory nothing was forgotten");
    let next = stage.run_cycle(300, &[other.id], vec![promise.clone()]).await?;
    let next = SlowCycleCommit { tombstones: standing.tombstones, ..next };
    assert_eq!(store.commit_slow_cycle(next).await?.nodes, [promise.id], "the next one is whole again");
    Ok(())
}
