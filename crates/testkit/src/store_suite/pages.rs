//! Laws of paged lists: each row once, in the order of the list, whatever else is stored.

use memory::core_blocks::CoreBlockLabel;
use memory::entities::EntityKind;
use memory::identifiers::{EntityId, RejectedId};
use memory::nodes::{NewNode, NodeKind, Proposal, RejectedMemory, Subject};
use memory::ports::{EntityPlace, IdentityDoubt, NewEntity, NodePageQuery, Store};

use super::Outcome;
use super::stage::{Stage, at};

/// Nodes are paged by kind and subject, each with its evidence.
pub async fn nodes_are_paged_by_subject(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claimed_session("we went to the sea", 0).await?;
    let subjects = [Subject::User, Subject::Shared, Subject::Persona, Subject::Shared, Subject::Shared];
    let events: Vec<NewNode> = (0..)
        .zip(subjects)
        .map(|(number, subject)| NewNode { subject, ..stage.event(&format!("event {number}"), &message) })
        .collect();
    let ids: Vec<_> = events.iter().map(|event| event.id).collect();
    store.commit_extraction(stage.extraction(&session, 1, events)).await?;
    let thought = stage.thought("they like the sea", &[ids[1], ids[0]]);
    let reflection = stage.reflection(&session, 2, vec![thought.clone()]);
    store.commit_reflection(reflection).await?;

    let query = |kind, subject, below, skip, limit| NodePageQuery { kind, subject, below, skip, limit };
    let mut seen = Vec::new();
    let mut below = None;
    loop {
        let asked = query(NodeKind::Event, Some(Subject::Shared), below, 0, 2);
        let (nodes, total) = store.node_page(&stage.scope, asked).await?;
        assert_eq!(total, 3, "of all pages");
        let Some(last) = nodes.last() else { break };
        below = Some(last.seq);
        seen.extend(nodes.into_iter().map(|node| node.id));
    }
    assert_eq!(seen, [ids[4], ids[3], ids[1]]);
    let (skipped, total) = store.node_page(&stage.scope, query(NodeKind::Event, None, None, 1, 2)).await?;
    assert_eq!((skipped.iter().map(|node| node.id).collect::<Vec<_>>(), total), (vec![ids[3], ids[2]], 5));
    let (thoughts, total) = store.node_page(&stage.scope, query(NodeKind::Thought, None, None, 0, 9)).await?;
    assert_eq!((thoughts[0].id, thoughts.len(), total), (thought.id, 1, 1));
    assert_eq!(
        store.node_page(&stage.other, query(NodeKind::Event, None, None, 0, 9)).await?,
        (Vec::new(), 0)
    );

    let event = store.node(ids[1]).await?.ok_or("it was written")?;
    let origins = store.node_origins(&[thoughts[0].seq, event.node.seq]).await?;
    let of_event = &origins[&event.node.seq];
    assert_eq!((&of_event.evidence, of_event.turn), (&event.evidence, message.turn_id));
    assert_eq!((of_event.said_at, of_event.is_imported), (Some(at(0)), false));
    let of_thought = &origins[&thoughts[0].seq];
    assert_eq!((&of_thought.filling[..], of_thought.evidence.len()), (&ids[..2], 0));
    Ok(())
}

/// Entities of uncertain identity come first, then the last changed; ties are broken by the id.
pub async fn entities_are_paged_with_the_open_ones_first(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (_, session) = stage.claimed_session("many people", 0).await?;
    let mut commit = stage.extraction(&session, 1, Vec::new());
    let names = ["Ines", "Kim", "Sam", "Tom"];
    let ids: Vec<EntityId> = names.iter().map(|_| stage.entity_id()).collect();
    let settled = names.iter().zip(&ids).map(|(name, id)| NewEntity::settled(*id, *name, EntityKind::Person));
    commit.entities = settled.collect();
    commit.entities[1].doubt = Some(IdentityDoubt::Perhaps(ids[0]));
    store.commit_extraction(commit).await?;
    let mut settled = [ids[0], ids[2], ids[3]];
    settled.sort_unstable_by(|a, b| b.cmp(a));
    let expected = [vec![ids[1]], settled.to_vec()].concat();
    for limit in 1..=5 {
        let (mut seen, mut below) = (Vec::new(), None);
        loop {
            let page = store.entity_page(&stage.scope, below, limit).await?;
            let Some(last) = page.last() else { break };
            below = Some(EntityPlace::from(last));
            seen.extend(page.into_iter().map(|entity| entity.id));
        }
        assert_eq!(seen, expected, "pages of {limit}");
    }
    assert_eq!(store.entity_page(&stage.other, None, 9).await?, []);
    Ok(())
}

/// Refused memories and edits of a core block continue after a position, also if rows have the same time.
pub async fn refused_memories_and_edits_are_paged(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (_, session) = stage.claimed_session("grandma died", 0).await?;
    let refused = |(number, seconds)| RejectedMemory {
        id: RejectedId(stage.id()),
        session_id: session.id,
        description: format!("user's grandmother died {number} years ago"),
        emotional_impact: None,
        evidence: Vec::new(),
        reason: "quote not found".to_owned(),
        created_at: at(seconds),
        proposal: Proposal::default(),
    };
    let mut all: Vec<RejectedMemory> = (0..).zip([1, 2, 2, 2, 3]).map(refused).collect();
    let mut commit = stage.extraction(&session, 3, Vec::new());
    commit.rejected.clone_from(&all);
    store.commit_extraction(commit).await?;
    all.sort_by_key(|refused| std::cmp::Reverse((refused.created_at, refused.id)));
    for behind in 0..all.len() {
        let place = (all[behind].created_at, all[behind].id);
        let next = &all[behind + 1..];
        assert_eq!(store.rejected(&stage.scope, Some(place), 2).await?, next[..next.len().min(2)]);
    }
    for text in ["a", "b", "c"] {
        store.write_core_block(&stage.scope, CoreBlockLabel::User, text, "owner", at(4)).await?;
    }
    let edits = store.core_block_appends(&stage.scope, CoreBlockLabel::User, None, 9).await?;
    let behind = store.core_block_appends(&stage.scope, CoreBlockLabel::User, Some(edits[0].id), 1).await?;
    assert_eq!(behind, edits[1..2]);
    Ok(())
}
