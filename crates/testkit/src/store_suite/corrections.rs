//! Laws of corrections and undoing them.

use memory::corrections::{Approval, Author, ChangeKind, Correction, ReplacedQuery, VersionKind};
use memory::entities::EntityKind;
use memory::identifiers::RejectedId;
use memory::nodes::{NewNode, NodeKind, Proposal, RejectedMemory, RelationalTag};
use memory::ports::{CommitOutcome, Corpus, MentionMerge, NewEntity, Store};

use super::Outcome;
use super::stage::{MODEL, Stage, at, embedding, phrase, quote_all};
use crate::{pair, replace_waiting};

fn correction(node: &NewNode, text: &str, seconds: i64) -> Correction {
    Correction {
        node_id: node.id,
        text: text.to_owned(),
        terms: text.to_owned(),
        relational_tags: vec![RelationalTag::Correction],
        entities: Vec::new(),
        embedding: None,
        at: at(seconds),
    }
}

/// A new text is found at once by words and by vectors, and the former one no longer. The former one stays in the
/// history and can be restored.
pub async fn a_correction_stores_the_old_text_and_can_be_undone(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let event = stage.remember("user has a cat", 0).await?;
    let seq = stage.seq(event.id).await?;
    assert_eq!(store.scope_of_node(event.id).await?, Some(stage.scope.clone()));
    let mut first = correction(&event, "user has a dog", 10);
    first.embedding = Some((MODEL.to_owned(), embedding([0.0, 1.0, 0.0])));
    let node = store.correct_node(first).await?.ok_or("it is there")?;
    assert_eq!((node.id, node.description.as_str(), node.seq), (event.id, "user has a dog", seq));
    assert_eq!(node.relational_tags, [RelationalTag::Correction]);
    let found = async |word: &str| -> Result<Vec<i64>, Box<dyn std::error::Error>> {
        Ok(store.phrase_hits(&stage.scope, Corpus::Nodes, &[phrase(word)], 5).await?.1.remove(0).seqs)
    };
    assert_eq!((found("dog").await?, found("cat").await?), (vec![seq], vec![]));
    let vectors = store.vectors_numbered(&stage.scope, Corpus::Nodes, MODEL, &[seq]).await?;
    assert_eq!(vectors[0].vector, [0.0, 1.0, 0.0]);

    store.correct_node(correction(&event, "user has a horse", 20)).await?;
    assert!(store.vectors_numbered(&stage.scope, Corpus::Nodes, MODEL, &[seq]).await?.is_empty());
    let waiting: Vec<_> = store.nodes_without_vector(MODEL, 5).await?.iter().map(|node| node.id).collect();
    assert_eq!(waiting, [event.id], "the vector is made afterwards");

    let history = store.node_history(event.id, 10).await?.ok_or("it is there")?;
    let listed: Vec<_> =
        history.iter().map(|version| (version.text.as_deref(), version.by, version.change)).collect();
    assert_eq!(
        listed,
        [
            (Some("user has a horse"), Author::Person, VersionKind::Correction),
            (Some("user has a dog"), Author::Person, VersionKind::Correction),
            (Some("user has a cat"), Author::Extraction, VersionKind::Written),
        ]
    );
    assert_eq!((history[0].at, history[0].replaced_at), (at(20), None));
    assert_eq!((history[2].replaced_at, history[2].evidence.len()), (Some(at(10)), 1));

    for (text, left) in [("user has a dog", 3), ("user has a cat", 3)] {
        let undone = store.undo_last_change(event.id, at(30)).await?.ok_or("something was changed")?;
        assert_eq!((undone.kind, undone.node.description.as_str()), (ChangeKind::Correction, text));
        assert_eq!(store.node_history(event.id, 10).await?.map(|history| history.len()), Some(left));
    }
    assert_eq!(store.undo_last_change(event.id, at(40)).await?, None);
    let back = store.node(event.id).await?.ok_or("it is there")?;
    assert_eq!((back.node.relational_tags, back.evidence.len()), (event.relational_tags, 1));
    assert_eq!(
        (found("cat").await?, found("dog").await?, found("horse").await?),
        (vec![seq], vec![], vec![])
    );
    Ok(())
}

/// Replaced values are found by the words of a text, also after later changes and undos.
pub async fn texts_find_replaced_values_that_they_state(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let cat = stage.remember("The user's cat is called Mochi", 0).await?;
    let colour = stage.remember("用户最喜欢的颜色是绿色", 5).await?;
    let found = async |text: &str| -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let query = ReplacedQuery { texts: vec![text.to_owned()], ..ReplacedQuery::default() };
        let values = store.replaced_values(&stage.scope, &query).await?.values;
        Ok(values.into_iter().map(|value| value.text).collect())
    };
    let mochi = "how is Mochi today?";
    assert_eq!(found(mochi).await?, Vec::<String>::new());
    store.correct_node(correction(&cat, "The user's cat is called Snow", 10)).await?;
    store.correct_node(correction(&colour, "用户最喜欢的颜色是蓝色", 11)).await?;
    assert_eq!(found(mochi).await?, ["The user's cat is called Mochi"]);
    assert_eq!(found("他说绿色的颜色好看").await?, ["用户最喜欢的颜色是绿色"]);
    assert_eq!(found("it rained").await?, Vec::<String>::new());

    // Changed again, changed back, and undone.
    store.correct_node(correction(&cat, "The user's cat is called Bean", 12)).await?;
    assert_eq!(found("Snow and Mochi").await?.len(), 2);
    store.undo_last_change(cat.id, at(13)).await?.ok_or("it was corrected")?;
    assert_eq!(found("Snow and Mochi").await?, ["The user's cat is called Mochi"]);
    store.correct_node(correction(&cat, "The user's cat is called Mochi", 14)).await?;
    assert_eq!(found("Snow and Mochi").await?, ["The user's cat is called Snow"]);
    store.undo_last_change(cat.id, at(15)).await?.ok_or("it was corrected")?;
    assert_eq!(found("Snow and Mochi").await?, ["The user's cat is called Mochi"]);

    // However many later changes were undone.
    for turn in 0..80 {
        store.correct_node(correction(&colour, "用户最喜欢的颜色是红色", 16 + 2 * turn)).await?;
        assert_eq!(found("他说蓝色的颜色好看").await?, ["用户最喜欢的颜色是蓝色"]);
        store.undo_last_change(colour.id, at(17 + 2 * turn)).await?.ok_or("it was corrected")?;
    }
    assert_eq!(found(mochi).await?, ["The user's cat is called Mochi"]);
    Ok(())
}

/// A node can be pinned and unpinned; a missing one can't be pinned.
pub async fn a_pin_is_set_and_removed(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let event = stage.remember("user has a cat", 0).await?;
    for pinned in [true, false] {
        assert_eq!(store.pin_node(event.id, pinned).await?.map(|node| node.pinned), Some(pinned));
    }
    let nobody = memory::identifiers::NodeId(stage.id());
    assert_eq!(store.pin_node(nobody, true).await?, None);
    assert_eq!(store.scope_of_node(nobody).await?, None);
    assert_eq!(store.node_history(nobody, 5).await?, None);
    assert_eq!(store.undo_last_change(nobody, at(1)).await?, None);
    Ok(())
}

/// Undoing a merge restores both memories, each with its own quotes.
pub async fn undoing_a_merge_restores_both_memories(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let older = stage.remember("user plays chess", 0).await?;
    let before = store.node(older.id).await?.ok_or("it is there")?;
    let cat = stage.entity_id();
    let (message, session) = stage.claimed_session("chess again", 10).await?;
    let merged = NewNode { emotional_impact: -2, ..stage.event("user plays chess again", &message) };
    let mut commit = stage.extraction(&session, 11, Vec::new());
    commit.entities = vec![NewEntity::settled(cat, "Coal", EntityKind::Pet)];
    commit.links = vec![(older.id, cat)];
    commit.mentions = vec![MentionMerge { node_id: older.id, merged: merged.clone() }];
    store.commit_extraction(commit).await?;
    store.finish_session(session.id, at(12)).await?;
    let history = store.node_history(older.id, 10).await?.ok_or("it is there")?;
    let listed: Vec<_> = history.iter().map(|version| (version.change, version.text.as_deref())).collect();
    assert_eq!(
        listed,
        [
            (VersionKind::MentionMerge, Some("user plays chess again")),
            (VersionKind::Written, Some("user plays chess")),
        ]
    );
    assert_eq!(history[0].evidence, [quote_all(&message)]);
    assert_eq!(history[1].evidence, before.evidence);

    let undone = store.undo_last_change(older.id, at(20)).await?.ok_or("it was merged")?;
    assert_eq!(undone.kind, ChangeKind::MentionMerge);
    let again = store.node(older.id).await?.ok_or("it is there")?;
    assert_eq!(again, before, "as if nothing had been merged");
    let restored = store.node(merged.id).await?.ok_or("it has its id back")?;
    assert_eq!(undone.restored, Some(restored.node.clone()));
    assert_eq!(
        (restored.node.description.as_str(), restored.node.emotional_impact),
        ("user plays chess again", -2)
    );
    assert_eq!(
        (restored.evidence.as_slice(), restored.node.created_at),
        (&[quote_all(&message)][..], at(11))
    );
    assert_eq!(restored.node.source_session_id, Some(session.id));
    assert_eq!(store.entities_of_nodes(&[merged.id]).await?, [(merged.id, cat)]);
    assert_eq!(store.phrase_hits(&stage.scope, Corpus::Nodes, &[], 0).await?.0.documents, 2);
    assert_eq!(store.undo_last_change(older.id, at(21)).await?, None);
    Ok(())
}

/// Both memories become current again, whichever of them is named. No memory replaces itself, directly or through
/// others.
pub async fn a_supersession_can_be_undone_and_never_forms_a_cycle(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut line: Vec<NewNode> = Vec::new();
    for (number, text) in ["user lives in Bonn", "user lives in Ulm", "user lives in Jena"].iter().enumerate()
    {
        let seconds = 100 * i64::try_from(number)?;
        let (message, session) = stage.claimed_session(text, seconds).await?;
        let node = stage.event(text, &message);
        let mut commit = stage.extraction(&session, seconds + 1, vec![node.clone()]);
        if let Some(older) = line.last() {
            commit.pairs = vec![pair(node.id, older.id), pair(older.id, node.id), pair(node.id, node.id)];
            // Through other memories.
            commit.pairs.push(pair(line[0].id, node.id));
        }
        store.commit_extraction(commit).await?;
        replace_waiting(store, &session, at(seconds + 1)).await?;
        store.finish_session(session.id, at(seconds + 2)).await?;
        line.push(node);
    }
    let [bonn, ulm, jena] = [line[0].id, line[1].id, line[2].id];
    let by = async |id| store.node(id).await.map(|found| found.and_then(|found| found.node.superseded_by));
    assert_eq!((by(bonn).await?, by(ulm).await?, by(jena).await?), (Some(ulm), Some(jena), None));
    for asked in [bonn, ulm, jena] {
        let history = store.node_history(asked, 10).await?.ok_or("it is there")?;
        let listed: Vec<_> = history.iter().map(|version| (version.node_id, version.superseded_by)).collect();
        assert_eq!(listed, [(jena, None), (ulm, Some(jena)), (bonn, Some(ulm))]);
        assert_eq!(history[1].replaced_at, Some(at(201)));
    }
    let undone = store.undo_last_change(jena, at(300)).await?.ok_or("it replaced one")?;
    assert_eq!((undone.kind, undone.restored.map(|node| node.id)), (ChangeKind::Supersession, Some(ulm)));
    assert_eq!((by(bonn).await?, by(ulm).await?, by(jena).await?), (Some(ulm), None, None));
    let undone = store.undo_last_change(bonn, at(301)).await?.ok_or("it was replaced")?;
    assert_eq!(undone.restored.map(|node| node.id), Some(bonn));
    assert_eq!(by(bonn).await?, None);
    for id in [bonn, ulm, jena] {
        assert_eq!(store.undo_last_change(id, at(302)).await?, None);
    }
    Ok(())
}

/// An approved memory is written once, with all its parts.
pub async fn an_approved_memory_is_written_whole(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claimed_session("grandma died", 0).await?;
    let anna = stage.entity_id();
    let refused = RejectedMemory {
        id: RejectedId(stage.id()),
        session_id: session.id,
        description: "user's grandmother Anna died".to_owned(),
        emotional_impact: Some(-12.0),
        evidence: Vec::new(),
        reason: "beyond the scale".to_owned(),
        created_at: at(1),
        proposal: Proposal { emotion_tags: vec!["grief".to_owned()], ..Proposal::default() },
    };
    let mut commit = stage.extraction(&session, 2, Vec::new());
    commit.rejected = vec![refused.clone()];
    commit.entities = vec![NewEntity::settled(anna, "Anna", EntityKind::Person)];
    store.commit_extraction(commit).await?;
    let pending = store.rejected_memory(refused.id).await?.ok_or("it waits")?;
    assert_eq!(
        (pending.scope, pending.memory, pending.settled),
        (stage.scope.clone(), refused.clone(), false)
    );

    let node = NewNode { kind: NodeKind::Event, ..stage.event("user's grandmother Anna died", &message) };
    let approval = Approval {
        id: refused.id,
        node: node.clone(),
        fingerprint: Some(MODEL.to_owned()),
        entities: vec![anna],
        at: at(3),
    };
    assert_eq!(store.approve_rejected(approval.clone()).await?, CommitOutcome::Committed);
    assert_eq!(store.approve_rejected(approval).await?, CommitOutcome::AlreadyCommitted);
    let seq = stage.seq(node.id).await?;
    assert_eq!(store.vectors_numbered(&stage.scope, Corpus::Nodes, MODEL, &[seq]).await?.len(), 1);
    assert_eq!(store.entities_of_nodes(&[node.id]).await?, [(node.id, anna)]);
    assert_eq!(store.rejected_memory(refused.id).await?.map(|pending| pending.settled), Some(true));
    let history = store.node_history(node.id, 5).await?.ok_or("it is there")?;
    assert_eq!((history[0].change, history[0].by), (VersionKind::Approval, Author::Person));
    Ok(())
}
