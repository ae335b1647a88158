//! Laws of phase E, its edges, and the timeline.

use memory::entities::EntityKind;
use memory::identifiers::NodeId;
use memory::mood::Mood;
use memory::ports::{CommitOutcome, EdgeLimits, FillingEdge, NewEntity, NewMessage, Store, TimelineItem};

use super::Outcome;
use super::stage::{Stage, at};

/// Thoughts are stored with the events that they cite, and the reflection is counted.
pub async fn a_reflection_is_written_once(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let event = stage.remember("user was promoted", 0).await?;
    let (_, session) = stage.claimed_session("and I'm glad", 10).await?;
    let thought = stage.thought("user is proud", &[event.id, NodeId(stage.id())]);
    let baseless = stage.thought("nothing speaks for this", &[NodeId(stage.id())]);
    let commit = stage.reflection(&session, 20, vec![thought.clone(), baseless.clone()]);
    assert_eq!(store.commit_reflection(commit.clone()).await?, CommitOutcome::Committed);
    assert_eq!(store.commit_reflection(commit).await?, CommitOutcome::AlreadyCommitted);

    let found = store.node(thought.id).await?.ok_or("the thought is there")?;
    assert_eq!((found.filling.as_slice(), found.node.source_session_id), (&[event.id][..], Some(session.id)));
    assert_eq!(store.node(baseless.id).await?, None);
    assert_eq!(store.last_reflection(&stage.scope).await?, Some(at(20)));
    assert_eq!(store.reflections_since(&stage.scope, at(20)).await?, [at(20)]);
    assert!(store.reflections_since(&stage.scope, at(21)).await?.is_empty());
    assert_eq!(store.last_reflection(&stage.other).await?, None);
    assert_eq!(store.scope_counts(&stage.scope).await?, [0, 2, 1, 1]);
    stage.capture(NewMessage { scope: stage.other.clone(), ..stage.user_line("of another", 1) }).await?;
    assert_eq!(store.total_counts().await?, [0, 3, 1, 1], "of all users together");
    assert_eq!(store.session(session.id).await?.map(|session| session.reflected), Some(true));
    Ok(())
}

/// A reflection without thoughts is settled, but not counted.
pub async fn a_reflection_without_thoughts_only_records_its_time(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (_, session) = stage.claimed_session("hello", 0).await?;
    let baseless = stage.thought("nothing speaks for this", &[NodeId(stage.id())]);
    store.commit_reflection(stage.reflection(&session, 1, vec![baseless])).await?;
    assert_eq!(store.session(session.id).await?.map(|session| session.reflected), Some(true));
    assert_eq!(store.last_reflection(&stage.scope).await?, None);
    assert!(store.reflections_since(&stage.scope, at(0)).await?.is_empty());
    Ok(())
}

/// Edges are found from either end, each once.
pub async fn edges_join_thoughts_and_their_events(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (first, second) = (stage.remember("one", 0).await?, stage.remember("two", 10).await?);
    let (_, session) = stage.claimed_session("three", 20).await?;
    let thought = stage.thought("both belong together", &[first.id, second.id]);
    store.commit_reflection(stage.reflection(&session, 30, vec![thought.clone()])).await?;
    let (one, two, parent) =
        (stage.seq(first.id).await?, stage.seq(second.id).await?, stage.seq(thought.id).await?);
    let reach = |edges_max| EdgeLimits { rounds: 1, nodes_max: 9, edges_max };
    let edge = |event_seq| FillingEdge { thought_seq: parent, event_seq, created_at: at(30) };
    assert_eq!(store.edges_around(&stage.scope, &[one], reach(9)).await?, [edge(one)]);
    let mut all = store.edges_around(&stage.scope, &[parent, one, two], reach(9)).await?;
    all.sort_by_key(|edge| edge.event_seq);
    assert_eq!(all, [edge(one), edge(two)]);
    assert_eq!(store.edges_around(&stage.scope, &[parent], reach(1)).await?.len(), 1);
    assert!(store.edges_around(&stage.other, &[parent, one], reach(9)).await?.is_empty());

    let around = async |scope, rounds, nodes_max| {
        store.edges_around(scope, &[one], EdgeLimits { rounds, nodes_max, edges_max: 9 }).await
    };
    assert_eq!(around(&stage.scope, 1, 9).await?, [edge(one)]);
    assert_eq!(around(&stage.scope, 2, 9).await?, [edge(one), edge(two)], "two is found through its thought");
    assert!(around(&stage.scope, 2, 0).await?.is_empty());
    assert!(around(&stage.other, 2, 9).await?.is_empty());
    Ok(())
}

/// Nodes, entities, closed sessions and the mood, newest first.
pub async fn the_timeline_is_merged(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claimed_session("Rex the dog", 0).await?;
    let event = stage.event("user has a dog", &message);
    let dog = NewEntity::settled(stage.entity_id(), "Rex", EntityKind::Pet);
    let mut commit = stage.extraction(&session, 10, vec![event.clone()]);
    commit.entities = vec![dog.clone()];
    commit.mood = Some(Mood::from_signal("glad", 6, None, at(11)));
    store.commit_extraction(commit).await?;
    let thought = stage.thought("user likes animals", &[event.id]);
    store.commit_reflection(stage.reflection(&session, 20, vec![thought.clone()])).await?;
    store.finish_session(session.id, at(30)).await?;
    stage.say("a new session, still open", 40).await?;

    let timeline = store.timeline(&stage.scope, None, 10).await?;
    let listed: Vec<_> = timeline.iter().map(|(time, item)| (*time, item_name(item))).collect();
    let expected = [
        (at(30), "closed with 1 events and 1 thoughts".to_owned()),
        (at(20), "user likes animals".to_owned()),
        (at(11), "glad".to_owned()),
        (at(10), "user has a dog".to_owned()),
        (at(10), "Rex".to_owned()),
    ];
    assert_eq!(listed, expected);
    let older = store.timeline(&stage.scope, Some(at(20)), 1).await?;
    assert_eq!(older.iter().map(|(_, item)| item_name(item)).collect::<Vec<_>>(), ["glad"]);
    assert!(store.timeline(&stage.other, None, 10).await?.is_empty());
    Ok(())
}

fn item_name(item: &TimelineItem) -> String {
    match item {
        TimelineItem::Node(node) => node.description.clone(),
        TimelineItem::Entity(entity) => entity.canonical_name.clone(),
        TimelineItem::EntityDescribed(entity) => format!("{} described", entity.canonical_name),
        TimelineItem::SessionClosed { events, thoughts, .. } => {
            format!("closed with {events} events and {thoughts} thoughts")
        }
        TimelineItem::Mood(shift) => shift.mood.mood.clone(),
    }
}
