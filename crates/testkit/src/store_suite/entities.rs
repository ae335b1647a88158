//! Laws of L5: identities by similarity, by the user's statement and by a person, and undoing them.

use memory::entities::{
    ChangedBy, Entity, EntityChange, EntityChanged, EntityKind, EntityUndone, MergeStatus,
};
use memory::forget::{ForgetMode, Selection};
use memory::identifiers::{EntityId, NodeId};
use memory::nodes::NewNode;
use memory::ports::{
    AuthoredEntity, IdentityDoubt, IdentityStatement, NewEntity, Store, TimelineItem, UnembeddedEntity,
};

use super::Outcome;
use super::forgetting::{forget, messages, node_with_quotes, talk};
use super::stage::{MODEL, Stage, at, embedding};

/// Stores entities from a session of their own, each with one event about it.
async fn name_entities(
    stage: &Stage<'_>,
    entities: Vec<NewEntity>,
    seconds: i64,
) -> Result<Vec<NodeId>, Box<dyn std::error::Error>> {
    let (message, session) = stage.claimed_session("people", seconds).await?;
    let events: Vec<NewNode> =
        entities.iter().map(|entity| stage.event(&entity.canonical_name, &message)).collect();
    let ids: Vec<NodeId> = events.iter().map(|event| event.id).collect();
    let mut commit = stage.extraction(&session, seconds, events);
    commit.links = ids.iter().copied().zip(entities.iter().map(|entity| entity.id)).collect();
    commit.entities = entities;
    stage.store.commit_extraction(commit).await?;
    stage.store.finish_session(session.id, at(seconds)).await?;
    Ok(ids)
}

fn new_person(stage: &Stage<'_>, name: &str) -> NewEntity {
    NewEntity::settled(stage.entity_id(), name, EntityKind::Person)
}

async fn change(
    stage: &Stage<'_>,
    id: EntityId,
    change: EntityChange,
    seconds: i64,
) -> Result<Vec<Entity>, Box<dyn std::error::Error>> {
    match stage.store.change_entity(&stage.scope, id, change, ChangedBy::Owner, at(seconds)).await? {
        EntityChanged::Changed(entities) => Ok(entities),
        other => Err(format!("it was not changed: {other:?}").into()),
    }
}

async fn undo(stage: &Stage<'_>, id: EntityId) -> Result<&'static str, Box<dyn std::error::Error>> {
    match stage.store.undo_entity_change(&stage.scope, id).await? {
        EntityUndone::Undone { change, .. } => Ok(change),
        other => Err(format!("it was not undone: {other:?}").into()),
    }
}

async fn all_entities(stage: &Stage<'_>) -> Result<Vec<Entity>, Box<dyn std::error::Error>> {
    let mut entities = stage.store.entities(&stage.scope, 100).await?;
    entities.sort_by_key(|entity| entity.id);
    Ok(entities)
}

/// A merge preserves every name, link and description; undoing it restores both exactly.
pub async fn a_merge_loses_nothing_and_is_undone_exactly(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (ines, cousin, kim) =
        (new_person(&stage, "Ines"), new_person(&stage, "my cousin"), new_person(&stage, "Kim"));
    let ids = [ines.id, cousin.id, kim.id];
    let nodes = name_entities(&stage, vec![ines, cousin, kim], 0).await?;
    store.describe_entity(&stage.scope, ids[1], "lives in Porto", at(1)).await?.ok_or("nobody owns it")?;
    let before = all_entities(&stage).await?;

    let merged = change(&stage, ids[1], EntityChange::Merge { other: ids[0] }, 10).await?;
    assert_eq!(merged.iter().map(|entity| entity.id).collect::<Vec<_>>(), [ids[0], ids[1]]);
    assert_eq!(merged[0].aliases, ["Ines", "my cousin"]);
    assert_eq!(merged[0].description.as_deref(), Some("lives in Porto"), "it has none of its own");
    assert_eq!(store.entity(&stage.scope, ids[1]).await?, None);
    assert_eq!(all_entities(&stage).await?.len(), 2);
    let hits = store.entities_named(&stage.scope, &["my cousin".to_owned()]).await?;
    assert_eq!((hits[0].entity.id, hits[0].named), (ids[0], ids[1]));
    let mut linked = vec![stage.seq(nodes[1]).await?, stage.seq(nodes[0]).await?];
    linked.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(store.nodes_linked_to(&stage.scope, &[ids[0]], 9).await?, linked);
    assert_eq!(store.entities_of_nodes(&[nodes[1]]).await?, [(nodes[1], ids[0])]);
    let mentions = store.entity_mentions(&stage.scope, &[ids[0]]).await?;
    assert_eq!((mentions[0].events, mentions[0].last_at), (2, Some(at(0))));

    change(&stage, ids[0], EntityChange::Merge { other: ids[2] }, 20).await?;
    assert_eq!(all_entities(&stage).await?[0].aliases, ["Kim", "Ines", "my cousin"]);
    assert!(matches!(
        store
            .change_entity(
                &stage.scope,
                ids[0],
                EntityChange::Merge { other: ids[2] },
                ChangedBy::Owner,
                at(21)
            )
            .await?,
        EntityChanged::NotThere
    ));
    assert!(matches!(store.undo_entity_change(&stage.scope, ids[1]).await?, EntityUndone::ChangedSince));
    assert_eq!(undo(&stage, ids[2]).await?, "merge");
    assert_eq!(undo(&stage, ids[1]).await?, "merge", "also by the one that was merged in");
    assert_eq!(all_entities(&stage).await?, before);
    assert_eq!(store.nodes_linked_to(&stage.scope, &[ids[0]], 9).await?, [stage.seq(nodes[0]).await?]);
    assert_eq!(store.undo_entity_change(&stage.scope, ids[0]).await?, EntityUndone::NothingToUndo);
    assert_eq!(store.undo_entity_change(&stage.other, ids[0]).await?, EntityUndone::NotThere);
    Ok(())
}

/// Two settled entities are merged as asked, an uncertain one always becomes part of the settled one.
pub async fn defect_07_merging_two_settled_entities_has_an_effect(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (anna, ana) = (new_person(&stage, "Anna"), new_person(&stage, "Ana"));
    let doubtful = NewEntity { doubt: Some(IdentityDoubt::Perhaps(anna.id)), ..new_person(&stage, "Annie") };
    let ids = [anna.id, ana.id, doubtful.id];
    name_entities(&stage, vec![anna, ana, doubtful], 0).await?;
    let merged = change(&stage, ids[0], EntityChange::Merge { other: ids[1] }, 1).await?;
    assert_eq!((merged[0].id, merged[0].merge_status), (ids[1], MergeStatus::Confirmed));
    let [(uncertain, other)] =
        store.entities_in_doubt(&stage.scope, None, 9).await?.try_into().map_err(|_| "one is open")?;
    assert_eq!((uncertain.id, other.id), (ids[2], ids[1]), "the question follows whom it is about");
    let merged = change(&stage, ids[1], EntityChange::Merge { other: ids[2] }, 2).await?;
    assert_eq!((merged[0].id, merged[1].id), (ids[1], ids[2]));
    assert_eq!(all_entities(&stage).await?.len(), 1);
    assert!(store.entities_in_doubt(&stage.scope, None, 9).await?.is_empty());
    Ok(())
}

/// A similar name is stored as a merge that can be undone, a doubtful one as a question for the user.
pub async fn doubts_are_resolved(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (sam, tim) = (new_person(&stage, "Sam"), new_person(&stage, "Tim"));
    let ids = [sam.id, tim.id];
    name_entities(&stage, vec![sam, tim], 0).await?;
    let samantha =
        NewEntity { doubt: Some(IdentityDoubt::Perhaps(ids[0])), ..new_person(&stage, "Samantha") };
    let timmy = NewEntity { doubt: Some(IdentityDoubt::Same(ids[1])), ..new_person(&stage, "Timmy") };
    let (samantha_id, timmy_id) = (samantha.id, timmy.id);
    let nodes = name_entities(&stage, vec![samantha, timmy], 10).await?;
    assert_eq!(store.entity(&stage.scope, timmy_id).await?, None);
    assert_eq!(store.entities_of_nodes(&[nodes[1]]).await?, [(nodes[1], ids[1])]);
    assert!(store.entities_in_doubt(&stage.scope, Some(&[ids[1]]), 9).await?.is_empty());
    for side in [ids[0], samantha_id] {
        let pairs = store.entities_in_doubt(&stage.scope, Some(&[side]), 9).await?;
        assert_eq!(pairs.iter().map(|(a, b)| (a.id, b.id)).collect::<Vec<_>>(), [(samantha_id, ids[0])]);
        assert_eq!(pairs[0].0.merge_status, MergeStatus::Uncertain);
    }

    let settle = |entity, other, same| IdentityStatement { entity, other, same };
    let (_, session) = stage.claimed_session("Sam is short for Samantha, Timmy is another boy", 20).await?;
    let mut commit = stage.extraction(&session, 20, Vec::new());
    commit.identities = vec![settle(ids[0], samantha_id, true), settle(timmy_id, ids[1], false)];
    store.commit_extraction(commit).await?;
    let sam = store.entity(&stage.scope, ids[0]).await?.ok_or("the settled one stays")?;
    assert_eq!((sam.aliases.len(), sam.merge_status), (2, MergeStatus::Confirmed));
    for (id, status) in [(ids[1], MergeStatus::Confirmed), (timmy_id, MergeStatus::Disambiguated)] {
        let entity = store.entity(&stage.scope, id).await?.ok_or("both are there")?;
        assert_eq!(
            (entity.merge_status, entity.merge_target),
            (status, None),
            "the settled one stays as it was"
        );
        assert_eq!(entity.aliases.len(), 1);
    }
    assert_eq!(undo(&stage, timmy_id).await?, "separate");
    assert_eq!(store.entity(&stage.scope, timmy_id).await?, None, "they are one again");
    assert_eq!(undo(&stage, timmy_id).await?, "merge");
    assert!(store.entity(&stage.scope, timmy_id).await?.is_some());
    Ok(())
}

/// A person names and describes; nobody else overwrites a person's text.
pub async fn an_owner_names_and_describes(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let scope = &stage.scope;
    let new = AuthoredEntity {
        id: stage.entity_id(),
        canonical_name: "小黑".to_owned(),
        kind: EntityKind::Pet,
        description: None,
        aliases: vec!["黑黑".to_owned(), " ".to_owned()],
    };
    let id = new.id;
    let created = store.create_entity(scope, new.clone(), at(0)).await?;
    assert!(matches!(&created, EntityChanged::Changed(entities) if entities[0].aliases == ["小黑", "黑黑"]));
    let again = AuthoredEntity { id: stage.entity_id(), canonical_name: "黑黑".to_owned(), ..new.clone() };
    assert!(
        matches!(store.create_entity(scope, again, at(0)).await?, EntityChanged::NameTaken(by) if by.id == id)
    );
    let namesake = AuthoredEntity {
        id: stage.entity_id(),
        kind: EntityKind::Person,
        description: Some("a colleague".to_owned()),
        ..new
    };
    let colleague = namesake.id;
    store.create_entity(scope, namesake, at(1)).await?;
    let both = store.entities_named(scope, &["小黑".to_owned()]).await?;
    assert_eq!(both.iter().map(|hit| hit.entity.id).collect::<Vec<_>>(), [id, colleague]);
    assert!(both[1].entity.owner_override);
    assert_eq!(store.describe_entity(scope, colleague, "a machine's word", at(2)).await?, None);
    assert_eq!(store.describe_entity(&stage.other, id, "of somebody else", at(2)).await?, None);

    let described = store.describe_entity(scope, id, "a white cat", at(3)).await?.ok_or("nobody owns it")?;
    assert_eq!((described.description.as_deref(), described.owner_override), (Some("a white cat"), false));
    let before = all_entities(&stage).await?;
    let owned =
        change(&stage, id, EntityChange::Describe { description: "my old cat".to_owned() }, 4).await?;
    assert_eq!((owned[0].description.as_deref(), owned[0].owner_override), (Some("my old cat"), true));
    let listed = store.timeline(scope, None, 9).await?;
    assert!(listed.iter().any(|(time, item)| {
        *time == at(4) && matches!(item, TimelineItem::EntityDescribed(entity) if entity.id == id)
    }));
    let renamed = change(&stage, id, EntityChange::Rename { name: "Blackie".to_owned() }, 5).await?;
    assert_eq!((renamed[0].canonical_name.as_str(), renamed[0].aliases.len()), ("Blackie", 3));
    let taken = EntityChange::Rename { name: "ＢＬＡＣＫＩＥ".to_owned() };
    change(&stage, colleague, taken, 6).await?;
    assert_eq!(undo(&stage, colleague).await?, "rename");
    assert_eq!(undo(&stage, id).await?, "rename");
    assert_eq!(undo(&stage, id).await?, "describe");
    assert_eq!(all_entities(&stage).await?, before);
    Ok(())
}

/// A vector is removed when its text changes, and can be stored again.
pub async fn entity_vectors_follow_their_text(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let scope = &stage.scope;
    let with_vector = NewEntity { embedding: Some(embedding([0.0, 1.0, 0.0])), ..new_person(&stage, "Ines") };
    let (ines, kim) = (with_vector.id, new_person(&stage, "Kim"));
    let kim_id = kim.id;
    name_entities(&stage, vec![with_vector, kim], 0).await?;
    let vectors = store.entity_vectors(scope, MODEL).await?;
    assert_eq!(vectors.iter().map(|vector| vector.entity_id).collect::<Vec<_>>(), [ines]);
    assert_eq!(vectors[0].embedding, embedding([0.0, 1.0, 0.0]));
    assert!(store.entity_vectors(scope, "another").await?.is_empty());
    assert!(store.entity_vectors(&stage.other, MODEL).await?.is_empty());
    assert_eq!(store.entities_without_vector("another", 9).await?.len(), 2);
    let waiting = store.entities_without_vector(MODEL, 9).await?;
    assert_eq!(waiting.iter().map(|entity| entity.id).collect::<Vec<_>>(), [kim_id]);

    store.describe_entity(scope, ines, "a cousin", at(1)).await?;
    assert!(store.entity_vectors(scope, MODEL).await?.is_empty());
    let stale = UnembeddedEntity { id: ines, canonical_name: "Ines".to_owned(), description: None };
    let fresh = UnembeddedEntity { description: Some("a cousin".to_owned()), ..stale.clone() };
    let put = |entity| store.put_entity_vectors(MODEL, vec![(entity, embedding([0.0, 0.0, 1.0]))]);
    put(stale).await?;
    assert!(store.entity_vectors(scope, MODEL).await?.is_empty(), "it is of an older text");
    put(fresh).await?;
    change(&stage, ines, EntityChange::Merge { other: kim_id }, 2).await?;
    let vectors = store.entity_vectors(scope, MODEL).await?;
    assert_eq!(vectors.iter().map(|vector| vector.entity_id).collect::<Vec<_>>(), [kim_id], "a name of hers");
    change(&stage, kim_id, EntityChange::Rename { name: "Kimberly".to_owned() }, 3).await?;
    assert_eq!(store.entities_without_vector(MODEL, 9).await?.len(), 1);
    Ok(())
}

/// For an entity with many memories, the newest are returned and those of the highest impact among the older ones.
pub async fn of_many_links_the_newest_and_the_heaviest_are_returned(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let kim = new_person(&stage, "Kim");
    let kim_id = kim.id;
    let (message, session) = stage.claimed_session("Kim, for years", 0).await?;
    let impacts = [1, -9, 2, 3, 1, 1, 2, 1];
    let event = |impact: &i8| NewNode { emotional_impact: *impact, ..stage.event("Kim again", &message) };
    let events: Vec<NewNode> = impacts.iter().map(event).collect();
    let ids: Vec<NodeId> = events.iter().map(|event| event.id).collect();
    let mut commit = stage.extraction(&session, 1, events);
    commit.entities = vec![kim];
    commit.links = ids.iter().map(|id| (*id, kim_id)).collect();
    store.commit_extraction(commit).await?;
    let mut expected = Vec::new();
    for place in [7, 6, 3, 1] {
        expected.push(stage.seq(ids[place]).await?);
    }
    assert_eq!(store.nodes_linked_to(&stage.scope, &[kim_id], 4).await?, expected);
    Ok(())
}

/// Erasing an entity erases those merged into it; if only one name is erased, texts with another name stay.
pub async fn erasing_an_entity_includes_those_merged_into_it(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (said, session) = talk(&stage, &["Ines came", "my cousin Nena came", "Tom came"], 0).await?;
    let [ines, nena] = [stage.entity_id(), stage.entity_id()];
    let visits = [
        node_with_quotes(&stage, "Ines came", &[&said[0]]),
        node_with_quotes(&stage, "Nena came", &[&said[1]]),
    ];
    let mut commit = stage.extraction(&session, 1, visits.to_vec());
    let new = |id: EntityId, name: &str| NewEntity::settled(id, name, EntityKind::Person);
    commit.entities = vec![new(ines, "Ines"), new(nena, "Nena")];
    commit.links = vec![(visits[0].id, ines), (visits[1].id, nena)];
    store.commit_extraction(commit).await?;
    store.finish_session(session.id, at(2)).await?;
    let merge = EntityChange::Merge { other: ines };
    store.change_entity(&stage.scope, nena, merge, ChangedBy::Owner, at(3)).await?;

    let done = forget(&stage, messages(&[&said[0]]), ForgetMode::Cascade).await?;
    assert_eq!(done.taken.entities, [ines].into());
    let left = store.entities(&stage.scope, 5).await?;
    assert_eq!(left.iter().map(|entity| entity.id).collect::<Vec<_>>(), [nena], "she is spoken of as Nena");

    let tom = stage.entity_id();
    let (_, session) = talk(&stage, &["Tom came"], 10).await?;
    let mut commit = stage.extraction(&session, 11, Vec::new());
    commit.entities = vec![new(tom, "Tom")];
    store.commit_extraction(commit).await?;
    store.finish_session(session.id, at(12)).await?;
    let merge = EntityChange::Merge { other: nena };
    store.change_entity(&stage.scope, tom, merge, ChangedBy::Owner, at(13)).await?;
    let both = Selection { entities: [nena].into(), ..Selection::default() };
    let done = forget(&stage, both, ForgetMode::Cascade).await?;
    assert_eq!(done.taken.entities, [nena, tom].into());
    assert_eq!(store.entities(&stage.scope, 5).await?, []);
    Ok(())
}
