//! Laws of phase B: an extraction is stored once and completely.

use memory::entities::{EntityKind, MergeStatus};
use memory::identifiers::{MessageId, RejectedId};
use memory::mood::Mood;
use memory::nodes::{
    EventTime, NewNode, NodeKind, Proposal, RejectedMemory, RejectedQuote, RelationalTag, Subject,
};
use memory::ports::{CommitOutcome, Corpus, MentionMerge, NewEntity, Store, StoreError};

use super::Outcome;
use super::stage::{Stage, at, phrase, quote_all};
use crate::{pair, replace_waiting};

/// Everything exists after the commit, and a retry after a crash adds nothing.
pub async fn an_extraction_is_written_once(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claimed_session("my cat is named Coal", 0).await?;
    let event = NewNode {
        emotional_impact: -4,
        emotion_tags: vec!["fond".to_owned(), "温暖".to_owned()],
        relational_tags: vec![RelationalTag::IdentityBearing, RelationalTag::Commitment],
        subject: Subject::Shared,
        event_time: Some(EventTime { start: at(50), end: Some(at(60)) }),
        ..stage.event("user has a cat", &message)
    };
    let (cat, mood) = (stage.entity_id(), Mood::from_signal("curious", 7, Some("tender"), at(5)));
    let mut commit = stage.extraction(&session, 5, vec![event.clone()]);
    commit.entities = vec![NewEntity::settled(cat, "Coal", EntityKind::Pet)];
    commit.aliases = vec![(cat, "小黑".to_owned(), "小黑".to_owned())];
    commit.links = vec![(event.id, cat)];
    commit.mood = Some(mood.clone());
    commit.summary = Some("about a cat".to_owned());
    assert_eq!(store.commit_extraction(commit.clone()).await?, CommitOutcome::Committed);
    assert_eq!(store.commit_extraction(commit).await?, CommitOutcome::AlreadyCommitted);

    let found = store.node(event.id).await?.ok_or("the event is there")?;
    assert_eq!((found.evidence.as_slice(), found.filling.as_slice()), (&[quote_all(&message)][..], &[][..]));
    let node = found.node;
    assert_eq!((node.kind, node.description.as_str()), (NodeKind::Event, "user has a cat"));
    assert_eq!((node.emotional_impact, &node.emotion_tags), (-4, &event.emotion_tags));
    assert_eq!((&node.relational_tags, node.subject), (&event.relational_tags, Subject::Shared));
    assert_eq!((node.event_time, node.source_session_id), (event.event_time, Some(session.id)));
    assert_eq!((node.mention_count, node.superseded_by, node.pinned), (1, None, false));
    assert_eq!((node.access_count, node.created_at), (0, at(5)));

    assert_eq!(store.phrase_hits(&stage.scope, Corpus::Nodes, &[], 0).await?.0.documents, 1);
    let hits = store.phrase_hits(&stage.scope, Corpus::Nodes, &[phrase("cat")], 5).await?.1;
    assert_eq!((hits[0].document_frequency, hits[0].seqs.as_slice()), (1, &[node.seq][..]));
    assert_eq!(store.entities_of_nodes(&[event.id]).await?, [(event.id, cat)]);
    let [hit] = store
        .entities_named(&stage.scope, &["小黑".to_owned(), "rex".to_owned()])
        .await?
        .try_into()
        .map_err(|_| "one alias is known")?;
    assert_eq!((hit.folded.as_str(), hit.entity.id, hit.entity.kind), ("小黑", cat, EntityKind::Pet));
    assert_eq!(
        (hit.entity.aliases.as_slice(), hit.entity.merge_status),
        (&["Coal".to_owned(), "小黑".to_owned()][..], MergeStatus::Confirmed)
    );
    assert_eq!(store.entities(&stage.scope, 5).await?, [hit.entity]);
    assert_eq!(store.mood(&stage.scope).await?, Some(mood));
    assert_eq!(store.mood(&stage.other).await?, None);
    let session = store.session(session.id).await?.ok_or("the session is there")?;
    assert!(session.extracted && !session.trivial && !session.reflected);
    assert_eq!((session.extracted_events, session.summary.as_deref()), (1, Some("about a cat")));
    assert_eq!(store.scope_counts(&stage.scope).await?, [0, 1, 1, 0]);
    Ok(())
}

/// A worker whose claim was revoked writes nothing.
pub async fn an_extraction_needs_a_claim(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claimed_session("hello", 0).await?;
    store.release_claims().await?;
    let event = stage.event("a greeting", &message);
    let refused = store.commit_extraction(stage.extraction(&session, 1, vec![event.clone()])).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    assert_eq!(store.node(event.id).await?, None);

    store.claim_closing_session(at(0)).await?;
    let mut trivial = stage.extraction(&session, 1, Vec::new());
    trivial.trivial = true;
    assert_eq!(store.commit_extraction(trivial).await?, CommitOutcome::Committed);
    let session = store.session(session.id).await?.ok_or("the session is there")?;
    assert!(session.extracted && session.trivial);
    Ok(())
}

/// A quote of a missing message is dropped; a node that depends only on it is not written.
pub async fn missing_evidence_is_left_out(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claimed_session("one thing", 0).await?;
    let mut gone = quote_all(&message);
    gone.message_id = MessageId(stage.id());
    let mut half = stage.event("half proven", &message);
    half.evidence.push(gone.clone());
    let mut unproven = stage.event("unproven", &message);
    unproven.evidence = vec![gone];
    let somebody = stage.entity_id();
    let mut commit = stage.extraction(&session, 1, vec![half.clone(), unproven.clone()]);
    commit.entities = vec![NewEntity::settled(somebody, "Kim", EntityKind::Person)];
    commit.links = vec![(unproven.id, somebody), (half.id, stage.entity_id()), (half.id, somebody)];
    commit.pairs = vec![pair(unproven.id, half.id)];
    assert_eq!(store.commit_extraction(commit).await?, CommitOutcome::Committed);
    replace_waiting(store, &session, at(1)).await?;

    let half = store.node(half.id).await?.ok_or("it has a proof")?;
    assert_eq!(half.evidence, [quote_all(&message)]);
    assert_eq!(half.node.superseded_by, None, "what was not written replaces nothing");
    assert_eq!(store.node(unproven.id).await?, None);
    assert_eq!(store.entities_of_nodes(&[half.node.id, unproven.id]).await?, [(half.node.id, somebody)]);
    assert_eq!(store.session(session.id).await?.map(|session| session.extracted_events), Some(1));
    assert_eq!(store.phrase_hits(&stage.scope, Corpus::Nodes, &[], 0).await?.0.documents, 1);
    Ok(())
}

/// Of two statements the later one is current, whichever was extracted first.
pub async fn earlier_statements_never_replace_later_ones(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (said, session) = stage.claim_session_of(stage.user_line("I live in Porto", 5_000)).await?;
    let current = stage.event("lives in Porto", &said);
    store.commit_extraction(stage.extraction(&session, 5_000, vec![current.clone()])).await?;
    // An old chat, imported afterwards.
    let (said, session) = stage.claim_session_of(stage.user_line("I live in Hamburg", 100)).await?;
    let former = stage.event("lives in Hamburg", &said);
    let mut commit = stage.extraction(&session, 6_000, vec![former.clone()]);
    commit.pairs = vec![pair(former.id, current.id)];
    store.commit_extraction(commit).await?;
    replace_waiting(store, &session, at(6_000)).await?;
    let replaced_by = async |id| -> Result<_, Box<dyn std::error::Error>> {
        Ok(store.node(id).await?.ok_or("the node is not there")?.node.superseded_by)
    };
    assert_eq!(replaced_by(current.id).await?, None);
    assert_eq!(replaced_by(former.id).await?, Some(current.id));
    let (said, session) = stage.claim_session_of(stage.user_line("I live in Bern", 6_500)).await?;
    let later = stage.event("lives in Bern", &said);
    let mut commit = stage.extraction(&session, 6_600, vec![later.clone()]);
    commit.pairs = vec![pair(later.id, current.id)];
    store.commit_extraction(commit).await?;
    replace_waiting(store, &session, at(6_600)).await?;
    assert_eq!(replaced_by(current.id).await?, Some(later.id));
    assert_eq!(replaced_by(later.id).await?, None);
    Ok(())
}

/// The older node is excluded from recall and stays in the history and in the index.
pub async fn a_superseded_node_stays_in_history(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let older = stage.remember("user lives in Bonn", 0).await?;
    let (message, session) = stage.claimed_session("I moved to Ulm", 10).await?;
    let newer = stage.event("user lives in Ulm", &message);
    let mut commit = stage.extraction(&session, 11, vec![newer.clone()]);
    commit.pairs = vec![pair(newer.id, older.id)];
    store.commit_extraction(commit).await?;
    replace_waiting(store, &session, at(11)).await?;

    let (old, new) = (stage.seq(older.id).await?, stage.seq(newer.id).await?);
    assert_eq!(store.node(older.id).await?.and_then(|found| found.node.superseded_by), Some(newer.id));
    let current = store.nodes_numbered(&stage.scope, &[old, new]).await?;
    assert_eq!(current.iter().map(|found| found.node.seq).collect::<Vec<_>>(), [new]);
    assert_eq!((current[0].terms.as_str(), current[0].readability), ("user lives in Ulm", Some(0.75)));
    let history = store.nodes_before(&stage.scope, &[NodeKind::Event], None, 5).await?;
    assert_eq!(history.iter().map(|node| node.seq).collect::<Vec<_>>(), [new, old]);
    let about = store.nodes_about(&stage.scope, NodeKind::Event, &[Subject::User], 5).await?;
    assert_eq!(about.iter().map(|node| node.seq).collect::<Vec<_>>(), [new]);
    let hits = store.phrase_hits(&stage.scope, Corpus::Nodes, &[phrase("lives in")], 5).await?.1;
    assert_eq!((hits[0].document_frequency, hits[0].seqs.as_slice()), (2, &[new, old][..]));
    Ok(())
}

/// A repetition adds its quote and increments the count, but adds no node.
pub async fn a_merged_mention_is_counted(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let event = stage.remember("user plays chess", 0).await?;
    let (message, session) = stage.claimed_session("chess again", 10).await?;
    let mut gone = quote_all(&message);
    gone.message_id = MessageId(stage.id());
    let mention = |evidence| MentionMerge {
        node_id: event.id,
        merged: NewNode { evidence: vec![evidence], ..stage.event("user plays chess again", &message) },
    };
    let mut commit = stage.extraction(&session, 11, Vec::new());
    commit.mentions = vec![mention(quote_all(&message)), mention(gone)];
    store.commit_extraction(commit).await?;
    let found = store.node(event.id).await?.ok_or("it is there")?;
    assert_eq!(found.node.mention_count, 2, "words that are gone are no mention");
    assert_eq!(found.evidence.len(), 2);
    assert_eq!(found.node.created_at, at(0), "recency counts from the first time");
    Ok(())
}

/// Two entities never share a name within a scope; other scopes have their own.
pub async fn a_name_in_use_is_not_moved(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (first, second, theirs) = (stage.entity_id(), stage.entity_id(), stage.entity_id());
    let new = |id, name: &str| NewEntity::settled(id, name, EntityKind::Person);
    let (_, session) = stage.claimed_session("Tom", 0).await?;
    let mut commit = stage.extraction(&session, 1, Vec::new());
    commit.entities = vec![new(first, "Tom")];
    store.commit_extraction(commit).await?;
    let (_, session) = stage.claimed_session("Tom Brown", 10).await?;
    let mut commit = stage.extraction(&session, 11, Vec::new());
    commit.entities = vec![new(second, "TOM")];
    commit.aliases = vec![
        (second, "tom".to_owned(), "tom".to_owned()),
        (second, "Tom Brown".to_owned(), "tom brown".to_owned()),
        (stage.entity_id(), "Nobody".to_owned(), "nobody".to_owned()),
    ];
    store.commit_extraction(commit).await?;
    let line = memory::ports::NewMessage { scope: stage.other.clone(), ..stage.user_line("Tom", 20) };
    let (_, session) = stage.claim_session_of(line).await?;
    let mut commit = stage.extraction(&session, 21, Vec::new());
    commit.entities = vec![new(theirs, "Tom")];
    store.commit_extraction(commit).await?;

    let names = ["tom".to_owned(), "tom brown".to_owned(), "nobody".to_owned()];
    let ours = store.entities_named(&stage.scope, &names).await?;
    assert_eq!(ours.iter().map(|hit| hit.entity.id).collect::<Vec<_>>(), [first, second]);
    assert_eq!(ours[1].entity.aliases, ["TOM", "Tom Brown"], "its own name is always among them");
    let others = store.entities_named(&stage.other, &names).await?;
    assert_eq!(others.iter().map(|hit| hit.entity.id).collect::<Vec<_>>(), [theirs]);
    let changed: Vec<_> = store.entities(&stage.scope, 5).await?.iter().map(|entity| entity.id).collect();
    assert_eq!(changed, [second, first], "the last changed first");
    Ok(())
}

/// Refused proposals are listed until they are settled once.
pub async fn a_refused_memory_waits_for_a_person(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claimed_session("grandma died", 0).await?;
    let refused = |reason: &str, seconds| RejectedMemory {
        id: RejectedId(stage.id()),
        session_id: session.id,
        description: "user's grandmother died".to_owned(),
        emotional_impact: Some(-12.5),
        evidence: vec![RejectedQuote { message_id: Some(message.id), quote: "died".to_owned() }],
        reason: reason.to_owned(),
        created_at: at(seconds),
        proposal: Proposal { subject: Subject::Shared, ..Proposal::default() },
    };
    let (first, second) = (refused("impact out of range", 1), refused("quote not found", 2));
    let mut commit = stage.extraction(&session, 2, Vec::new());
    commit.rejected = vec![first.clone(), second.clone()];
    store.commit_extraction(commit).await?;
    assert_eq!(store.rejected(&stage.scope, None, 5).await?, [second.clone(), first.clone()]);
    assert!(store.rejected(&stage.other, None, 5).await?.is_empty());

    assert_eq!(store.decide_rejected(second.id, None, at(3)).await?, CommitOutcome::Committed);
    let mut approved = stage.event("user's grandmother died", &message);
    approved.evidence.clear();
    let outcome = store.decide_rejected(first.id, Some(approved.clone()), at(4)).await?;
    assert_eq!(outcome, CommitOutcome::Committed);
    assert!(store.rejected(&stage.scope, None, 5).await?.is_empty());
    let node = store.node(approved.id).await?.ok_or("the person's word is its evidence")?.node;
    assert_eq!((node.source_session_id, node.created_at), (Some(session.id), at(4)));
    let waiting: Vec<_> = store.nodes_without_vector("any", 5).await?.iter().map(|node| node.id).collect();
    assert_eq!(waiting, [approved.id]);
    let twice = store.decide_rejected(first.id, Some(stage.event("again", &message)), at(5)).await?;
    assert_eq!(twice, CommitOutcome::AlreadyCommitted);
    assert_eq!(store.phrase_hits(&stage.scope, Corpus::Nodes, &[], 0).await?.0.documents, 1);
    Ok(())
}
