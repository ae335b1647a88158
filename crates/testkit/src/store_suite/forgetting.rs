//! Laws of forgetting: what is removed with what, what stays, and that a preview is exact.

use memory::core_blocks::CoreBlockLabel;
use memory::entities::EntityKind;
use memory::forget::{ForgetMode, ForgetOutcome, ForgetRequest, ForgetResult, ForgetTarget, Selection};
use memory::identifiers::{EntityId, RejectedId};
use memory::messages::{Message, Role, TurnStatus};
use memory::mood::Mood;
use memory::nodes::{NewNode, NodeKind, Proposal, RejectedMemory, RejectedQuote};
use memory::ports::{CommitOutcome, Corpus, MentionMerge, NewEntity, NewMessage, Store, StoreError};
use memory::recall::{Candidate, CandidateKind};
use memory::sessions::{CloseTrigger, Session, SessionStatus};
use memory::text::index_terms;

use super::Outcome;
use super::stage::{MODEL, Stage, at, embedding, phrase, quote_all, receipt};
use crate::{pair, replace_waiting};

/// A request to forget in the stage's scope.
pub(super) fn act(stage: &Stage<'_>, selection: Selection, thoughts: ForgetMode) -> ForgetRequest {
    ForgetRequest { scope: stage.scope.clone(), selection, thoughts, at: at(1_000) }
}

pub(super) fn messages(messages: &[&Message]) -> Selection {
    Selection { messages: messages.iter().map(|message| message.id).collect(), ..Selection::default() }
}

pub(super) fn select_text(text: &str) -> Selection {
    Selection { text: Some(text.to_owned()), ..Selection::default() }
}

pub(super) async fn forget(
    stage: &Stage<'_>,
    selection: Selection,
    thoughts: ForgetMode,
) -> Result<ForgetResult, Box<dyn std::error::Error>> {
    let act = act(stage, selection, thoughts);
    let promised = stage.store.preview_forgetting(act.clone()).await?;
    let again = stage.store.preview_forgetting(act.clone()).await?;
    assert_eq!(promised, again, "a preview changes nothing");
    match stage.store.forget(act, None, None).await? {
        ForgetOutcome::Done(forgotten) => {
            assert_eq!(forgotten.taken, promised, "a preview promises what is done");
            Ok(*forgotten)
        }
        ForgetOutcome::Changed | ForgetOutcome::Nothing(_) => Err("nothing was expected".into()),
    }
}

/// A message with the terms of a real one.
fn spoken_line(stage: &Stage<'_>, content: &str, seconds: i64) -> NewMessage {
    NewMessage { terms: index_terms(content), ..stage.user_line(content, seconds) }
}

/// Messages of one session that is claimed for consolidation.
pub(super) async fn talk(
    stage: &Stage<'_>,
    lines: &[&str],
    seconds: i64,
) -> Result<(Vec<Message>, Session), Box<dyn std::error::Error>> {
    let mut said = Vec::new();
    for content in lines {
        said.push(stage.capture(spoken_line(stage, content, seconds)).await?.message);
    }
    stage.store.end_session(said[0].session_id, CloseTrigger::Explicit).await?;
    let session = stage.store.claim_closing_session(at(seconds)).await?.ok_or("nothing could be claimed")?;
    Ok((said, session))
}

pub(super) fn node_with_quotes(stage: &Stage<'_>, description: &str, quotes: &[&Message]) -> NewNode {
    let mut node = stage.event(description, quotes[0]);
    node.evidence = quotes.iter().map(|message| quote_all(message)).collect();
    node.terms = index_terms(description);
    node
}

/// Erasing a message erases memories without other evidence; thoughts about them stay, marked.
pub async fn erasing_a_message_erases_memories_without_other_evidence(store: &dyn Store) -> Outcome {
    delete_message_in_mode(store, ForgetMode::Orphan).await
}

/// Erasing a message erases memories without other evidence, and every thought about them.
pub async fn thoughts_are_erased_with_their_last_event(store: &dyn Store) -> Outcome {
    delete_message_in_mode(store, ForgetMode::Cascade).await
}

async fn delete_message_in_mode(store: &dyn Store, choice: ForgetMode) -> Outcome {
    let stage = Stage::set(store).await?;
    let (said, session) = talk(&stage, &["my cat is Coal", "it rains"], 0).await?;
    let [event, rain] =
        [node_with_quotes(&stage, "a cat, Coal", &[&said[0]]), node_with_quotes(&stage, "rain", &[&said[1]])];
    let mut commit = stage.extraction(&session, 1, vec![event.clone(), rain.clone()]);
    commit.summary = Some("about a cat".to_owned());
    commit.mood = Some(Mood::from_signal("warm", 6, Some("fond of the cat"), at(1)));
    store.commit_extraction(commit).await?;
    let thought = stage.thought("fond of animals", &[event.id]);
    let on_both = stage.thought("notices small things", &[event.id, rain.id]);
    let thoughts = vec![thought.clone(), on_both.clone()];
    store.commit_reflection(stage.reflection(&session, 2, thoughts)).await?;
    store.finish_session(session.id, at(3)).await?;
    store.put_message_vectors(MODEL, vec![(said[0].id, embedding([0.0, 1.0, 0.0]))]).await?;
    let (seq, before) = (stage.seq(event.id).await?, store.dependents(event.id).await?.ok_or("there")?);
    assert_eq!((before.scope.clone(), before.resting_on_it.len()), (stage.scope.clone(), 2));
    assert_eq!(before.evidence, [quote_all(&said[0])]);

    let done = forget(&stage, messages(&[&said[0]]), choice).await?;
    assert_eq!(done.taken.messages, [said[0].id].into());
    assert_eq!(done.taken.events, [event.id].into());
    assert_eq!((done.message_seqs.clone(), done.node_seqs.contains(&seq)), (vec![said[0].seq], true));
    assert_eq!((done.taken.counts.summaries, done.taken.counts.moods), (1, 1));
    assert_eq!(store.message(said[0].id).await?, None);
    assert_eq!(store.node(event.id).await?, None);
    assert_eq!(store.dependents(event.id).await?, None);
    assert!(store.node(rain.id).await?.is_some());
    let stays = choice == ForgetMode::Orphan;
    for id in [thought.id, on_both.id] {
        assert_eq!(store.node(id).await?.is_some(), stays, "{choice:?}");
        assert_eq!(done.taken.orphaned.contains(&id), stays);
        assert_eq!(done.taken.thoughts.contains(&id), !stays);
        if let Some(orphan) = store.dependents(id).await? {
            assert_eq!(orphan.orphaned, [event.id], "the link stays, marked");
        }
    }
    let nothing = |hits: Vec<memory::ports::PhraseHits>| hits.iter().all(|hits| hits.seqs.is_empty());
    for corpus in [Corpus::Messages, Corpus::Nodes] {
        assert!(nothing(store.phrase_hits(&stage.scope, corpus, &[phrase("coal")], 5).await?.1));
    }
    assert!(store.vectors_numbered(&stage.scope, Corpus::Nodes, MODEL, &[seq]).await?.is_empty());
    assert!(store.vectors_after(&stage.scope, Corpus::Messages, MODEL, 0, 5).await?.is_empty());
    let session = store.session(session.id).await?.ok_or("its row stays")?;
    assert_eq!((session.summary, session.message_count, session.extracted_events), (None, 1, 1));
    assert_eq!(store.mood(&stage.scope).await?, None);
    assert_eq!(store.phrase_hits(&stage.scope, Corpus::Messages, &[], 0).await?.0.documents, 1);

    let twice = forget(&stage, messages(&[&said[0]]), choice).await?;
    assert!(twice.taken.is_empty(), "what is gone can be forgotten again");
    forget(&stage, Selection { sessions: [session.id].into(), ..Selection::default() }, ForgetMode::Cascade)
        .await?;
    assert_eq!(store.phrase_hits(&stage.scope, Corpus::Messages, &[], 0).await?.0.documents, 0);
    assert_eq!(store.scope_of(ForgetTarget::Session(session.id)).await?, Some(stage.scope.clone()));
    Ok(())
}

/// An event with other evidence stays, without the erased quote and without its content.
pub async fn other_evidence_preserves_an_event(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (said, session) = talk(&stage, &["我养了一只猫", "它叫小黑", "猫很乖"], 0).await?;
    let named = node_with_quotes(&stage, "用户养了一只猫,叫小黑", &[&said[0], &said[1]]);
    let unquoted = node_with_quotes(&stage, "用户的小黑是猫", &[&said[0]]);
    let unchanged = node_with_quotes(&stage, "用户养猫", &[&said[0], &said[1]]);
    store
        .commit_extraction(stage.extraction(
            &session,
            1,
            vec![named.clone(), unquoted.clone(), unchanged.clone()],
        ))
        .await?;
    store.finish_session(session.id, at(2)).await?;

    let done = forget(&stage, messages(&[&said[1]]), ForgetMode::Orphan).await?;
    assert_eq!(done.taken.rewritten, [named.id, unquoted.id].into());
    for (id, description) in [
        (named.id, "用户说:「我养了一只猫」"),
        (unquoted.id, "用户说:「我养了一只猫」"),
        (unchanged.id, "用户养猫"),
    ] {
        let found = store.node(id).await?.ok_or("it is still proven")?;
        assert_eq!(
            (found.node.description.as_str(), found.evidence.as_slice()),
            (description, &[quote_all(&said[0])][..])
        );
    }
    let hits =
        store.phrase_hits(&stage.scope, Corpus::Nodes, &[phrase("小 黑"), phrase("养 了")], 5).await?.1;
    assert_eq!(hits.iter().map(|hits| hits.seqs.len()).collect::<Vec<_>>(), [0, 2]);
    let waiting: Vec<_> = store.nodes_without_vector(MODEL, 5).await?.iter().map(|node| node.id).collect();
    assert!(waiting.contains(&named.id), "its vector said the old text");

    forget(&stage, messages(&[&said[0]]), ForgetMode::Orphan).await?;
    assert_eq!(store.phrase_hits(&stage.scope, Corpus::Nodes, &[], 0).await?.0.documents, 0);
    Ok(())
}

/// A repeated mention preserves a memory without its first evidence, with the mention's text.
pub async fn a_mention_preserves_a_memory_without_its_first_evidence(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (first, session) = talk(&stage, &["I play chess with Ines"], 0).await?;
    let event = node_with_quotes(&stage, "The user plays chess with Ines", &[&first[0]]);
    store.commit_extraction(stage.extraction(&session, 1, vec![event.clone()])).await?;
    store.finish_session(session.id, at(1)).await?;
    let (again, session) = talk(&stage, &["chess again today"], 10).await?;
    let mut commit = stage.extraction(&session, 11, Vec::new());
    let description = "The user plays chess".to_owned();
    let merged = node_with_quotes(&stage, &description, &[&again[0]]);
    commit.mentions = vec![MentionMerge { node_id: event.id, merged }];
    store.commit_extraction(commit).await?;
    store.finish_session(session.id, at(12)).await?;
    assert_eq!(store.node(event.id).await?.map(|found| found.node.mention_count), Some(2));

    forget(&stage, messages(&[&first[0]]), ForgetMode::Cascade).await?;
    let found = store.node(event.id).await?.ok_or("it was said twice")?;
    assert_eq!((found.node.description.as_str(), found.node.mention_count), ("The user plays chess", 1));
    forget(&stage, messages(&[&again[0]]), ForgetMode::Cascade).await?;
    assert_eq!(store.node(event.id).await?, None);
    Ok(())
}

/// A name is removed with the last text that contains it, an entity with the last of its names.
pub async fn names_are_erased_with_the_last_text_that_contains_them(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (said, session) =
        talk(&stage, &["my cat Coal", "小黑 is what I call Coal", "Tom came by"], 0).await?;
    let (cat, tom) = (stage.entity_id(), stage.entity_id());
    let [event, visit] = [
        node_with_quotes(&stage, "a cat, Coal", &[&said[0]]),
        node_with_quotes(&stage, "Tom came", &[&said[2]]),
    ];
    let mut commit = stage.extraction(&session, 1, vec![event.clone(), visit.clone()]);
    let new = |id: EntityId, name: &str, kind| NewEntity::settled(id, name, kind);
    commit.entities = vec![new(cat, "小黑", EntityKind::Pet), new(tom, "Tom", EntityKind::Person)];
    commit.aliases = vec![(cat, "Coal".to_owned(), "coal".to_owned())];
    commit.links = vec![(event.id, cat), (visit.id, tom)];
    store.commit_extraction(commit).await?;
    store.finish_session(session.id, at(2)).await?;

    let done = forget(&stage, messages(&[&said[1]]), ForgetMode::Orphan).await?;
    assert_eq!((done.taken.counts.names, done.taken.entities.len()), (1, 0));
    let known = store.entities(&stage.scope, 5).await?;
    let entity = known.iter().find(|entity| entity.id == cat).ok_or("Coal is still spoken of")?;
    assert_eq!(
        (entity.canonical_name.as_str(), entity.aliases.as_slice()),
        ("Coal", &["Coal".to_owned()][..])
    );
    forget(&stage, Selection { nodes: [event.id].into(), ..Selection::default() }, ForgetMode::Orphan)
        .await?;
    assert!(
        store.entities(&stage.scope, 5).await?.iter().any(|entity| entity.id == cat),
        "a message names it"
    );
    let done = forget(&stage, messages(&[&said[0]]), ForgetMode::Orphan).await?;
    assert_eq!(done.taken.entities, [cat].into());

    let about_tom = Selection { entities: [tom].into(), ..Selection::default() };
    let done = forget(&stage, about_tom, ForgetMode::Cascade).await?;
    assert_eq!((done.taken.entities, done.taken.events), ([tom].into(), [visit.id].into()));
    assert_eq!(done.taken.left_messages, [said[2].id].into(), "what is left is said");
    assert_eq!(store.entities(&stage.scope, 5).await?, []);
    Ok(())
}

/// Erasing by text erases everything in the scope that contains it, in any spelling, and nothing in other scopes.
pub async fn a_text_is_erased_everywhere(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let theirs = NewMessage { scope: stage.other.clone(), ..spoken_line(&stage, "my ZEBRA too", 0) };
    let theirs = stage.capture(theirs).await?.message;
    let (said, session) = talk(&stage, &["I saw a Ｚｅｂｒａ", "and a horse"], 1).await?;
    let [seen, horse] = [
        node_with_quotes(&stage, "a zebra was seen", &[&said[1]]),
        node_with_quotes(&stage, "a horse", &[&said[1]]),
    ];
    let mut commit = stage.extraction(&session, 2, vec![seen.clone(), horse.clone()]);
    commit.summary = Some("zebras".to_owned());
    commit.rejected = vec![RejectedMemory {
        id: RejectedId(stage.id()),
        session_id: session.id,
        description: "The user owns a zebra".to_owned(),
        emotional_impact: None,
        evidence: vec![RejectedQuote { message_id: None, quote: "mine".to_owned() }],
        reason: "not said".to_owned(),
        created_at: at(2),
        proposal: Proposal::default(),
    }];
    store.commit_extraction(commit).await?;
    let replaced = pair(seen.id, horse.id);
    store.finish_session(session.id, at(3)).await?;
    let (_, second) = talk(&stage, &["nothing new"], 5).await?;
    let mut commit = stage.extraction(&second, 6, Vec::new());
    commit.pairs = vec![replaced];
    store.commit_extraction(commit).await?;
    replace_waiting(store, &second, at(6)).await?;
    store.finish_session(second.id, at(7)).await?;
    store.write_core_block(&stage.scope, CoreBlockLabel::User, "likes zebras", "owner", at(8)).await?;

    let done = forget(&stage, select_text("zebra"), ForgetMode::Cascade).await?;
    assert_eq!(done.taken.messages, [said[0].id].into());
    assert_eq!((done.taken.events.clone(), done.taken.rejected.len()), ([seen.id].into(), 1));
    assert_eq!(done.taken.revived, [horse.id].into(), "what it had replaced is current again");
    assert_eq!(done.taken.left_core_blocks, [CoreBlockLabel::User]);
    assert_eq!(store.core_blocks(&stage.scope).await?.user, "likes zebras", "a person's own words");
    assert_eq!(store.node(horse.id).await?.and_then(|found| found.node.superseded_by), None);
    assert!(store.rejected(&stage.scope, None, 5).await?.is_empty());
    assert_eq!(store.session(session.id).await?.and_then(|session| session.summary), None);
    assert_eq!(store.message(theirs.id).await?, Some(theirs), "other people's memory is not touched");
    assert!(forget(&stage, select_text("zebra"), ForgetMode::Cascade).await?.taken.is_empty());
    Ok(())
}

/// Results computed before an erasure are not committed after it; the session is resumed.
pub async fn an_erasure_releases_the_claim_of_a_session(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (said, session) = talk(&stage, &["my secret", "my cat"], 0).await?;
    let stale =
        stage.extraction(&session, 1, vec![node_with_quotes(&stage, "a cat and a secret", &[&said[1]])]);
    forget(&stage, messages(&[&said[0]]), ForgetMode::Orphan).await?;
    let refused = store.commit_extraction(stale).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    assert_eq!(store.scope_counts(&stage.scope).await?, [0, 1, 0, 0]);

    let again = store.claim_closing_session(at(2)).await?.ok_or("it waits again")?;
    assert_eq!((again.id, again.attempts, again.status), (session.id, 0, SessionStatus::Consolidating));
    assert_eq!(store.session_messages(session.id).await?, [said[1].clone()]);
    let fresh = stage.extraction(&again, 3, vec![node_with_quotes(&stage, "a cat", &[&said[1]])]);
    assert_eq!(store.commit_extraction(fresh).await?, CommitOutcome::Committed);
    store.finish_session(session.id, at(4)).await?;
    Ok(())
}

/// A turn is removed with its last message, a receipt with any message of its turn. Other receipts lose only the
/// text.
pub async fn receipts_and_turns_contain_no_erased_words(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (secret, turn, unanswered) = (stage.say("my secret", 0).await?, stage.turn_id(), stage.turn_id());
    let asked = NewMessage { turn_id: Some(turn), ..stage.user_line("what do you know?", 1) };
    let asked = stage.capture(asked).await?.message;
    let candidate = Candidate {
        id: secret.id.0,
        kind: CandidateKind::Message,
        type_name: "user".to_owned(),
        speaker: None,
        text: "my secret".to_owned(),
        created_at: at(0),
        said_at: None,
        total: 1.0,
        recency: None,
        relevance: None,
        vector_relevance: None,
        word_relevance: None,
        readable: None,
        impact: None,
        emotional_impact: None,
        relational_bonus: None,
        entity_anchor: None,
        parts: None,
        used: true,
        reason: "words".to_owned(),
        no_longer_current: None,
        denied: None,
    };
    let other = Candidate { id: stage.id(), text: "harmless".to_owned(), ..candidate.clone() };
    let mut proof = receipt(turn, 2);
    proof.used = vec![candidate, other.clone()];
    let reply = NewMessage { role: Role::Persona, turn_id: Some(turn), ..stage.user_line("a lot", 2) };
    let reply = store.capture(reply, stage.policy, Some(proof)).await?.message;
    let waiting = NewMessage { turn_id: Some(unanswered), ..stage.user_line("hello?", 3) };
    let waiting = stage.capture(waiting).await?.message;

    forget(&stage, messages(&[&secret]), ForgetMode::Orphan).await?;
    assert_eq!(store.receipt(turn).await?.map(|receipt| receipt.used), Some(vec![other]));
    forget(&stage, messages(&[&asked]), ForgetMode::Orphan).await?;
    assert_eq!(store.receipt(turn).await?, None);
    assert_eq!(store.turn(turn).await?.map(|turn| turn.status), Some(TurnStatus::Answered));
    let done = forget(&stage, messages(&[&reply, &waiting]), ForgetMode::Orphan).await?;
    assert_eq!(done.taken.turns, [turn, unanswered].into());
    assert_eq!(store.pending_turns().await?, []);
    Ok(())
}

/// Erasing a persona removes everything of it, for all its users. Another persona is not affected.
pub async fn a_reset_leaves_a_new_persona(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let event = stage.remember("user has a cat", 0).await?;
    store.write_core_block(&stage.scope, CoreBlockLabel::Persona, "I am Luna", "owner", at(1)).await?;
    stage.capture(NewMessage { scope: stage.other.clone(), ..stage.user_line("I am bob", 2) }).await?;
    let sol = memory::Scope::new(memory::PersonaId::new("sol")?, stage.scope.user.clone());
    store.ensure_persona(&sol.persona, "Sol", at(0)).await?;
    let kept =
        stage.capture(NewMessage { scope: sol.clone(), ..stage.user_line("to sol", 3) }).await?.message;

    let counts = store.reset_persona(&stage.scope.persona, "Luna", at(9)).await?.ok_or("it is there")?;
    assert_eq!((counts.users, counts.messages, counts.nodes, counts.core_blocks), (2, 2, 1, 1));
    for scope in [&stage.scope, &stage.other] {
        assert_eq!(store.scope_counts(scope).await?, [0, 0, 0, 0]);
        assert!(store.timeline(scope, None, 5).await?.is_empty());
        let hits = store.phrase_hits(scope, Corpus::Nodes, &[phrase("cat")], 5).await?.1;
        assert!(hits[0].seqs.is_empty());
    }
    assert_eq!(store.node(event.id).await?, None);
    assert_eq!(store.message(kept.id).await?, Some(kept));
    assert_eq!(store.reset_persona(&memory::PersonaId::new("nobody")?, "Nobody", at(9)).await?, None);
    stage.remember("user has a dog", 20).await?;
    assert_eq!(store.scope_counts(&stage.scope).await?, [0, 1, 1, 0], "life goes on");
    Ok(())
}

/// An edit of a core block can be forgotten; the block does not change.
pub async fn an_edit_of_a_core_block_can_be_forgotten(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    for (text, seconds) in [("too much", 1), ("enough", 2)] {
        store.write_core_block(&stage.scope, CoreBlockLabel::User, text, "owner", at(seconds)).await?;
    }
    let edits = store.core_block_appends(&stage.scope, CoreBlockLabel::User, None, 5).await?;
    assert_eq!(edits.iter().map(|edit| edit.content.as_str()).collect::<Vec<_>>(), ["enough", "too much"]);
    let first = edits[1].id;
    assert!(!store.forget_core_block_append(&stage.scope, CoreBlockLabel::Style, first).await?);
    assert!(!store.forget_core_block_append(&stage.other, CoreBlockLabel::User, first).await?);
    assert!(store.forget_core_block_append(&stage.scope, CoreBlockLabel::User, first).await?);
    assert!(!store.forget_core_block_append(&stage.scope, CoreBlockLabel::User, first).await?);
    assert_eq!(store.core_block_appends(&stage.scope, CoreBlockLabel::User, None, 5).await?, edits[..1]);
    assert_eq!(store.core_blocks(&stage.scope).await?.user, "enough");
    let kinds = [NodeKind::Event, NodeKind::Thought];
    assert!(store.nodes_before(&stage.scope, &kinds, None, 5).await?.is_empty());
    Ok(())
}
