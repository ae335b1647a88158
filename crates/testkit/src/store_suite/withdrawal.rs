//! Laws of withdrawal: text that is edited or replaced, and what depends on it.

use std::collections::BTreeSet;

use memory::entities::EntityKind;
use memory::forget::{ForgetMode, ForgetRequest, ForgottenSpan, Selection, ThoughtPolicy};
use memory::identifiers::NodeId;
use memory::messages::{Message, TurnStatus};
use memory::nodes::{Evidence, NewNode};
use memory::ports::{Corpus, MessageEdit, NewEntity, NewMessage, Store};
use memory::sessions::{CloseTrigger, SessionStatus};

use super::Outcome;
use super::stage::{Stage, at, phrase, quote_all, receipt};
use crate::{pair, replace_waiting};

fn edit(message: &Message, content: &str, seconds: i64) -> MessageEdit {
    MessageEdit {
        id: message.id,
        content: content.to_owned(),
        terms: content.to_owned(),
        token_count: 3,
        at: at(seconds),
    }
}

/// The former text is not found any more, memories that depended on it are deleted, those that they had replaced are
/// current again, and the session is consolidated again.
pub async fn an_edit_erases_memories_of_the_earlier_text(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let older = stage.remember("user lives in Bonn", 0).await?;
    let (message, session) = stage.claimed_session("I moved to Ulm", 10).await?;
    let newer = stage.event("user lives in Ulm", &message);
    let mut commit = stage.extraction(&session, 11, vec![newer.clone()]);
    commit.pairs = vec![pair(newer.id, older.id)];
    commit.summary = Some("about a move to Ulm".to_owned());
    store.commit_extraction(commit).await?;
    replace_waiting(store, &session, at(11)).await?;
    let thoughts = vec![
        stage.thought("Ulm will be good", &[newer.id]),
        stage.thought("they move a lot", &[older.id, newer.id]),
    ];
    store.commit_reflection(stage.reflection(&session, 12, thoughts.clone())).await?;
    store.finish_session(session.id, at(13)).await?;
    let seq = stage.seq(newer.id).await?;

    let edited = store.edit_message(edit(&message, "I moved to Jena", 20)).await?.ok_or("it is there")?;
    assert_eq!((edited.message.id, edited.message.content.as_str()), (message.id, "I moved to Jena"));
    assert_eq!((edited.message.seq, edited.message.created_at), (message.seq, message.created_at));
    let gone: Vec<_> = edited.withdrawn.nodes.iter().map(|(id, _)| *id).collect();
    assert_eq!(gone, [newer.id, thoughts[0].id], "the thought that rests on nothing else goes too");
    assert_eq!(edited.withdrawn.revived, [older.id]);
    assert_eq!(edited.withdrawn.sessions, [session.id]);
    for id in gone {
        assert_eq!(store.node(id).await?, None);
    }
    let kept = store.node(thoughts[1].id).await?.ok_or("it has another event")?;
    assert_eq!(kept.filling, [older.id]);
    for word in ["Ulm", "Jena"] {
        let nodes = store.phrase_hits(&stage.scope, Corpus::Nodes, &[phrase(word)], 5).await?.1;
        assert!(nodes[0].seqs.is_empty(), "{word}");
        let messages = store.phrase_hits(&stage.scope, Corpus::Messages, &[phrase(word)], 5).await?.1;
        assert_eq!(messages[0].seqs.len(), usize::from(word == "Jena"));
    }
    assert!(
        store
            .vectors_numbered(&stage.scope, Corpus::Nodes, crate::store_suite::stage::MODEL, &[seq])
            .await?
            .is_empty()
    );
    assert_eq!(store.phrase_hits(&stage.scope, Corpus::Nodes, &[], 0).await?.0.documents, 2);
    let again = store.session(session.id).await?.ok_or("it is there")?;
    assert_eq!((again.status, again.extracted, again.reflected), (SessionStatus::Closing, false, false));
    assert_eq!((again.summary, again.total_tokens), (None, 3));
    assert_eq!(store.remembered_of_session(session.id).await?, []);
    assert_eq!(store.claim_closing_session(at(30)).await?.map(|session| session.id), Some(session.id));
    Ok(())
}

/// Only the user's own messages can be edited. An edit to the same text changes nothing. A worker loses its claim on
/// the session.
pub async fn an_edit_releases_the_claim_of_its_session(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claimed_session("I moved to Ulm", 0).await?;
    let same = store.edit_message(edit(&message, "I moved to Ulm", 1)).await?.ok_or("it is there")?;
    assert_eq!(same.withdrawn, memory::forget::Withdrawal::default());
    let event = stage.event("user lives in Ulm", &message);
    store.edit_message(edit(&message, "I moved to Jena", 2)).await?;
    let late = store.commit_extraction(stage.extraction(&session, 3, vec![event.clone()])).await;
    assert!(late.is_err(), "what was read before the edit is not written");
    let claimed = store.claim_closing_session(at(4)).await?.ok_or("it waits again")?;
    store.commit_extraction(stage.extraction(&claimed, 5, vec![event.clone()])).await?;
    assert_eq!(store.node(event.id).await?, None, "nor a quote that no longer stands there");
    let reply = stage.capture(stage.reply("good luck", 6)).await?.message;
    assert_eq!(store.edit_message(edit(&reply, "no", 7)).await?, None);
    Ok(())
}

/// A memory with other evidence stays, and so does one that a person corrected. Its mentions are one fewer.
pub async fn memories_with_other_evidence_stay(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (first, session) = stage.claimed_session("I play chess", 0).await?;
    let both = stage.event("user plays chess", &first);
    store.commit_extraction(stage.extraction(&session, 1, vec![both.clone()])).await?;
    store.finish_session(session.id, at(2)).await?;
    let (second, session) = stage.claimed_session("chess again", 10).await?;
    let merged = stage.event("user plays chess again", &second);
    let alone = stage.event("user is happy", &second);
    let mut commit = stage.extraction(&session, 11, vec![alone.clone()]);
    commit.mentions = vec![memory::ports::MentionMerge { node_id: both.id, merged }];
    store.commit_extraction(commit).await?;
    let withdrawn = store.withdraw_evidence(&[second.id], ThoughtPolicy::Orphan, at(20)).await?;
    assert_eq!(withdrawn.kept, [both.id]);
    assert_eq!(withdrawn.nodes.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [alone.id]);
    let left = store.node(both.id).await?.ok_or("it has its first words")?;
    assert_eq!((left.evidence.as_slice(), left.node.mention_count), (&[quote_all(&first)][..], 1));
    assert_eq!(store.undo_last_change(both.id, at(21)).await?, None, "the repetition is gone");

    let correction = memory::corrections::Correction {
        node_id: both.id,
        text: "user plays go".to_owned(),
        terms: "user plays go".to_owned(),
        relational_tags: Vec::new(),
        entities: Vec::new(),
        embedding: None,
        at: at(30),
    };
    store.correct_node(correction).await?;
    let withdrawn = store.withdraw_evidence(&[first.id], ThoughtPolicy::Cascade, at(31)).await?;
    assert_eq!((withdrawn.nodes.as_slice(), withdrawn.kept.as_slice()), (&[][..], &[both.id][..]));
    let history = store.node_history(both.id, 5).await?.ok_or("a person wrote it")?;
    let texts: Vec<_> = history.iter().map(|version| version.text.as_deref()).collect();
    assert_eq!(texts, [Some("user plays go"), None], "the text before it went with its words");
    assert_eq!(store.undo_last_change(both.id, at(32)).await?, None);
    Ok(())
}

/// Thoughts about erased events are erased or kept as the request says.
pub async fn thoughts_are_orphaned_or_deleted(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    for (place, thoughts) in
        [ThoughtPolicy::Orphan, ThoughtPolicy::Recheck, ThoughtPolicy::Cascade].into_iter().enumerate()
    {
        let seconds = 100 * i64::try_from(place)?;
        let (first, session) = stage.claimed_session("one", seconds).await?;
        let one = stage.event("one", &first);
        store.commit_extraction(stage.extraction(&session, seconds + 1, vec![one.clone()])).await?;
        store.finish_session(session.id, at(seconds + 2)).await?;
        let other = stage.remember("other", seconds + 10).await?.id;
        let alone = stage.thought("rests on one", &[one.id]);
        let both = stage.thought("rests on both", &[one.id, other]);
        let (_, later) = stage.claimed_session("x", seconds + 20).await?;
        store.commit_extraction(stage.extraction(&later, seconds + 21, Vec::new())).await?;
        store
            .commit_reflection(stage.reflection(&later, seconds + 22, vec![alone.clone(), both.clone()]))
            .await?;
        store.withdraw_evidence(&[first.id], thoughts, at(seconds + 30)).await?;
        let lives = async |id| store.node(id).await.map(|found| found.is_some());
        let expected = match thoughts {
            ThoughtPolicy::Orphan => (true, true),
            ThoughtPolicy::Recheck => (false, true),
            ThoughtPolicy::Cascade => (false, false),
        };
        assert_eq!((lives(alone.id).await?, lives(both.id).await?), expected, "{thoughts:?}");
    }
    Ok(())
}

/// A second reply replaces the first one in its session, and what depended on the first is erased.
pub async fn a_second_reply_replaces_the_first(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let turn = stage.turn_id();
    let said = |line: NewMessage| NewMessage { turn_id: Some(turn), ..line };
    let asked = stage.capture(said(stage.user_line("will you call?", 0))).await?.message;
    let policy = stage.policy;
    let first =
        store.capture(said(stage.reply("I promise to call", 1)), policy, Some(receipt(turn, 1))).await?;
    assert_eq!(first.replaced, None);
    assert_eq!(store.reopen_answered_turn(turn).await?.map(|turn| turn.status), Some(TurnStatus::Pending));
    assert_eq!(store.reopen_answered_turn(turn).await?, None, "it is being answered");
    store.fail_turn(turn, "no model").await?;
    let failed = store.turn(turn).await?.ok_or("it is there")?;
    assert_eq!(failed.status, TurnStatus::Answered, "the reply that it has still stands");

    store.end_session(asked.session_id, CloseTrigger::Explicit).await?;
    let session = store.claim_closing_session(at(5)).await?.ok_or("it has ended")?;
    let promise = NewNode {
        kind: memory::nodes::NodeKind::Intention,
        subject: memory::nodes::Subject::Persona,
        ..stage.event("will call", &first.message)
    };
    store.commit_extraction(stage.extraction(&session, 6, vec![promise.clone()])).await?;
    store.finish_session(session.id, at(7)).await?;
    store.reopen_answered_turn(turn).await?;
    let second =
        store.capture(said(stage.reply("I can't call", 10)), policy, Some(receipt(turn, 10))).await?;
    let replaced = second.replaced.ok_or("the first one gave way")?;
    assert_eq!(replaced.messages, [(first.message.id, first.message.seq)]);
    assert_eq!(replaced.nodes.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [promise.id]);
    assert_eq!(replaced.sessions, [session.id]);
    assert_eq!((second.message.session_id, second.opened, second.ended), (session.id, None, Vec::new()));
    let left: Vec<_> =
        store.session_messages(session.id).await?.into_iter().map(|message| message.content).collect();
    assert_eq!(left, ["will you call?", "I can't call"]);
    assert_eq!(store.phrase_hits(&stage.scope, Corpus::Messages, &[], 0).await?.0.documents, 2);
    let session = store.session(session.id).await?.ok_or("it is there")?;
    assert_eq!((session.message_count, session.total_tokens), (2, 20));
    assert_eq!(session.status, SessionStatus::Closing, "it becomes memory again");
    assert_eq!(store.turn(turn).await?.map(|turn| turn.status), Some(TurnStatus::Answered));
    Ok(())
}

/// A preview of several replaced replies names each thing that is erased with them once.
pub async fn replies_replaced_together_are_erased_with_their_memories(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let turn = stage.turn_id();
    let said = |line: NewMessage| NewMessage { turn_id: Some(turn), ..line };
    let asked = stage.capture(said(stage.user_line("who will come?", 0))).await?.message;
    let first = stage.capture(said(stage.reply("Ann and Ben will come", 1))).await?.message;
    let second = stage.capture(said(stage.reply("Cleo and Ben too", 2))).await?.message;
    store.end_session(asked.session_id, CloseTrigger::Explicit).await?;
    let session = store.claim_closing_session(at(3)).await?.ok_or("it has ended")?;
    let people = ["Ann", "Cleo"].map(|name| NewEntity::settled(stage.entity_id(), name, EntityKind::Person));
    let nodes = vec![
        stage.event("Ann will come", &first),
        stage.event("Cleo will come", &second),
        NewNode {
            evidence: vec![quote_all(&first), quote_all(&second)],
            ..stage.event("Ben will come", &first)
        },
    ];
    let mut commit = stage.extraction(&session, 4, nodes.clone());
    commit.links = nodes.iter().zip(&people).map(|(node, person)| (node.id, person.id)).collect();
    commit.entities = people.to_vec();
    store.commit_extraction(commit).await?;
    store.finish_session(session.id, at(5)).await?;
    store.reopen_answered_turn(turn).await?;
    let reply = said(stage.reply("nobody", 10));
    let replaced = store.capture(reply, stage.policy, Some(receipt(turn, 10))).await?.replaced;
    let replaced = replaced.ok_or("the replies gave way")?;
    assert_eq!(replaced.messages, [(first.id, first.seq), (second.id, second.seq)]);
    let gone: BTreeSet<_> = replaced.nodes.iter().map(|(id, _)| *id).collect();
    assert_eq!(gone, nodes.iter().map(|node| node.id).collect());
    assert_eq!(replaced.entities, people.map(|person| person.id));
    assert_eq!((replaced.kept.as_slice(), replaced.sessions.as_slice()), (&[][..], &[session.id][..]));
    Ok(())
}

/// Erasing finds former texts of messages and memories like present ones.
pub async fn erasing_includes_earlier_texts_of_a_message(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let said = stage.say("the word is zebra", 0).await?;
    store.edit_message(edit(&said, "the word is horse", 1)).await?;
    let event = stage.remember("user keeps a zebra", 10).await?;
    let correction = memory::corrections::Correction {
        node_id: event.id,
        text: "user keeps a horse".to_owned(),
        terms: "user keeps a horse".to_owned(),
        relational_tags: Vec::new(),
        entities: Vec::new(),
        embedding: None,
        at: at(20),
    };
    store.correct_node(correction).await?;
    let act = ForgetRequest {
        scope: stage.scope.clone(),
        selection: Selection { text: Some("zebra".to_owned()), ..Selection::default() },
        thoughts: ForgetMode::Cascade,
        at: at(30),
    };
    store.forget(act, None, None).await?;
    assert_eq!((store.message(said.id).await?, store.node(event.id).await?), (None, None));
    Ok(())
}

/// The spans of erased text in a message are recorded once each, moved by edits, and erased with it.
pub async fn forgetting_records_the_places_of_the_text(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let forget = async |selection| {
        let act =
            ForgetRequest { scope: stage.scope.clone(), selection, thoughts: ForgetMode::Orphan, at: at(25) };
        store.preview_forgetting(act.clone()).await?;
        store.forget(act, None, None).await
    };
    let (message, session) = stage.claimed_session("I keep a dog", 0).await?;
    let dog = stage.event("user keeps a dog", &message);
    store.commit_extraction(stage.extraction(&session, 1, vec![dog.clone()])).await?;
    store.finish_session(session.id, at(2)).await?;
    forget(Selection { nodes: [dog.id].into(), ..Selection::default() }).await?;
    assert_eq!(store.forgotten_spans(session.id).await?.len(), 1);
    forget(Selection { messages: [message.id].into(), ..Selection::default() }).await?;
    assert_eq!(store.forgotten_spans(session.id).await?, []);

    let (message, session) = stage.claimed_session("I keep a zebra. I like tea", 20).await?;
    let zebra = NewNode {
        evidence: vec![quote_part(&message, 0, 14)],
        ..stage.event("user keeps a zebra", &message)
    };
    let again =
        NewNode { evidence: vec![quote_part(&message, 0, 14)], ..stage.event("user has a zebra", &message) };
    let tea =
        NewNode { evidence: vec![quote_part(&message, 16, 26)], ..stage.event("user likes tea", &message) };
    let nodes = vec![zebra.clone(), again.clone(), tea.clone()];
    store.commit_extraction(stage.extraction(&session, 21, nodes)).await?;
    store.finish_session(session.id, at(22)).await?;
    assert_eq!(store.forgotten_spans(session.id).await?, []);
    forget(Selection { nodes: [zebra.id, again.id].into(), ..Selection::default() }).await?;
    let place = |start, end| ForgottenSpan { message_id: message.id, start, end };
    assert_eq!(store.forgotten_spans(session.id).await?, [place(0, 14)]);
    store.edit_message(edit(&message, "Well, I keep a zebra. I like coffee", 30)).await?;
    assert_eq!(store.forgotten_spans(session.id).await?, [place(6, 20)]);
    store.edit_message(edit(&message, "Well, I keep a horse", 31)).await?;
    assert_eq!(store.forgotten_spans(session.id).await?, []);
    Ok(())
}

/// Silenced spans are listed by message, with those of a reply that repeat them. An edit moves them, and another
/// memory with the same text does not undo it.
pub async fn silenced_words_are_known_by_message(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let turn = stage.turn_id();
    let said = |line: NewMessage| NewMessage { turn_id: Some(turn), ..line };
    let asked = stage.capture(said(stage.user_line("I keep a zebra. I like tea", 0))).await?.message;
    let answer = said(stage.reply("Tea is fine. You keep a zebra, really?", 1));
    let reply = store.capture(answer, stage.policy, Some(receipt(turn, 10))).await?.message;
    store.end_session(asked.session_id, CloseTrigger::Explicit).await?;
    let session = store.claim_closing_session(at(3)).await?.ok_or("it has ended")?;
    let zebra =
        NewNode { evidence: vec![quote_part(&asked, 0, 15)], ..stage.event("user keeps a zebra", &asked) };
    let again =
        NewNode { evidence: vec![quote_part(&asked, 0, 15)], ..stage.event("user has a zebra", &asked) };
    store.commit_extraction(stage.extraction(&session, 4, vec![zebra.clone(), again.clone()])).await?;
    store.finish_session(session.id, at(5)).await?;
    let forget = async |node: NodeId, silences| {
        let selection = Selection { nodes: [node].into(), silences, ..Selection::default() };
        let scope = stage.scope.clone();
        store
            .forget(ForgetRequest { scope, selection, thoughts: ForgetMode::Orphan, at: at(6) }, None, None)
            .await
    };
    let both = [reply.seq, asked.seq];
    let place = |message: &Message, start, end| ForgottenSpan { message_id: message.id, start, end };
    forget(zebra.id, true).await?;
    forget(again.id, false).await?;
    let silenced = [place(&reply, 13, 38), place(&asked, 0, 15)];
    assert_eq!(store.silenced_spans(&stage.scope, &both).await?, silenced);
    assert_eq!(store.silenced_spans(&stage.other, &both).await?, []);
    store.edit_message(edit(&asked, "Well. I keep a zebra. I like coffee", 30)).await?;
    assert_eq!(store.silenced_spans(&stage.scope, &[asked.seq]).await?, [place(&asked, 6, 21)]);
    Ok(())
}

fn quote_part(message: &Message, start: u32, end: u32) -> Evidence {
    let quote = message.content.chars().skip(start as usize).take((end - start) as usize).collect();
    Evidence { message_id: message.id, quote, start, end }
}

/// A memory with edited text is erased if its session is consolidated again, even if it quotes other text too. One
/// with evidence in another session is reduced to that.
pub async fn edited_text_is_removed_from_every_memory(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let cat = stage.say("I keep a cat", 0).await?;
    let (name, session) = stage.claimed_session("called coal", 1).await?;
    assert_eq!(cat.session_id, name.session_id);
    let event = stage.event("user keeps a cat called coal", &cat);
    store.commit_extraction(stage.extraction(&session, 2, vec![event.clone()])).await?;
    store.finish_session(session.id, at(3)).await?;
    let (later, session) = stage.claimed_session("the cat is old", 10).await?;
    let old = NewNode {
        evidence: vec![quote_all(&name), quote_all(&later)],
        ..stage.event("user says coal is old", &later)
    };
    store.commit_extraction(stage.extraction(&session, 11, vec![old.clone()])).await?;
    store.finish_session(session.id, at(12)).await?;
    let edited = store.edit_message(edit(&name, "called soot", 20)).await?.ok_or("it is there")?;
    let gone: Vec<_> = edited.withdrawn.nodes.iter().map(|(id, _)| *id).collect();
    assert_eq!(gone, [event.id], "its session is extracted again");
    let rewritten: Vec<_> = edited.withdrawn.rewritten.iter().map(|(id, _)| *id).collect();
    assert_eq!((rewritten.as_slice(), edited.withdrawn.kept.as_slice()), (&[old.id][..], &[old.id][..]));
    let left = store.node(old.id).await?.ok_or("the other talk proves it")?;
    assert_eq!(left.node.description, "The user said: “the cat is old”");
    for (word, stands) in [("coal", false), ("cat", true)] {
        let hits = store.phrase_hits(&stage.scope, Corpus::Nodes, &[phrase(word)], 5).await?.1;
        assert_eq!(!hits[0].seqs.is_empty(), stands, "{word}");
    }
    Ok(())
}

/// A bare yes is no evidence once its question is deleted, and the question is none without the yes.
pub async fn a_yes_is_withdrawn_with_its_question(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    for (place, deletes_yes) in [(0, true), (1, false)] {
        let seconds = 100 * place;
        let question = stage.capture(stage.reply("do you keep a dog?", seconds)).await?.message;
        let (yes, session) = stage.claimed_session("yes", seconds + 1).await?;
        let dog = NewNode {
            evidence: vec![quote_all(&question), quote_all(&yes)],
            ..stage.event("user keeps a dog", &yes)
        };
        store.commit_extraction(stage.extraction(&session, seconds + 2, vec![dog.clone()])).await?;
        store.finish_session(session.id, at(seconds + 3)).await?;
        let deleted = if deletes_yes { yes.id } else { question.id };
        let act = ForgetRequest {
            scope: stage.scope.clone(),
            selection: Selection { messages: [deleted].into(), ..Selection::default() },
            thoughts: ForgetMode::Orphan,
            at: at(seconds + 4),
        };
        let taken = store.preview_forgetting(act.clone()).await?;
        assert_eq!(taken.events, [dog.id].into());
        store.forget(act, None, None).await?;
        assert_eq!(store.node(dog.id).await?, None);
    }
    Ok(())
}
