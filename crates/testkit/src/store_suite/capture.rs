//! Laws of L2: where a message is stored, and that it can be read.

use memory::messages::Role;
use memory::ports::{NewMessage, Store};
use memory::sessions::{CloseTrigger, SessionStatus};

use super::Outcome;
use super::stage::{Stage, at};

/// Messages are stored verbatim, and their session counts them.
pub async fn a_message_is_read_back_unchanged(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let line = NewMessage { incomplete: true, ..stage.user_line("  Ｈéllo 小黑\n\u{0}’", 1) };
    let captured = stage.capture(line.clone()).await?;
    let message = captured.message;
    assert_eq!(message.content, line.content);
    assert_eq!((message.id, message.scope.clone()), (line.id, line.scope.clone()));
    assert_eq!((message.day, message.created_at, message.incomplete), (line.day, at(1), true));
    let opened = captured.opened.ok_or("a session was opened")?;
    assert_eq!((opened.id, opened.status), (line.session_id_if_new, SessionStatus::Open));
    assert_eq!((opened.message_count, opened.total_tokens), (1, 10));

    assert_eq!(store.message(line.id).await?, Some(message.clone()));
    assert_eq!(store.session_messages(opened.id).await?, std::slice::from_ref(&message));
    assert_eq!(store.session(opened.id).await?, Some(opened.clone()));

    let second = stage.capture(stage.reply("hi", 2)).await?;
    assert!(second.opened.is_none() && second.ended.is_empty());
    assert!(second.message.seq > message.seq);
    let session = store.session(opened.id).await?.ok_or("the session is there")?;
    assert_eq!((session.message_count, session.total_tokens, session.last_message_at), (2, 20, at(2)));
    assert_eq!(session.first_message_at, at(1));
    Ok(())
}

/// A message of another speaker has their name. A name without that role, or the role without a name, is refused.
pub async fn a_message_of_another_person_keeps_their_name(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let tom = Some("Tom 汤姆".to_owned());
    let line = NewMessage { role: Role::Other, speaker: tom.clone(), ..stage.user_line("I quit my job", 1) };
    let captured = stage.capture(line.clone()).await?.message;
    assert_eq!((captured.role, &captured.speaker), (Role::Other, &tom));
    assert_eq!(store.message(line.id).await?, Some(captured.clone()));
    assert_eq!(store.session_messages(captured.session_id).await?, [captured]);
    for (role, speaker) in [(Role::User, tom), (Role::Other, None)] {
        assert!(stage.capture(NewMessage { role, speaker, ..stage.user_line("no", 2) }).await.is_err());
    }
    Ok(())
}

/// A message after a long silence opens a session; the old one waits for consolidation.
pub async fn silence_ends_a_session(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let first = stage.say("one", 0).await?;
    let same = stage.say("two", 1_800).await?;
    assert_eq!(same.session_id, first.session_id, "exactly the allowed silence does not end it");
    let next = stage.capture(stage.user_line("three", 1_800 + 1_801)).await?;
    assert_ne!(next.message.session_id, first.session_id);
    assert!(next.opened.is_some());
    let [ended] = next.ended.as_slice() else { return Err("one session was ended".into()) };
    assert_eq!((ended.id, ended.status), (first.session_id, SessionStatus::Closing));
    assert_eq!(ended.close_trigger, Some(CloseTrigger::Idle));
    assert_eq!(store.session(ended.id).await?.as_ref(), Some(ended));

    let earlier = stage.say("the clock went back", 0).await?;
    assert_eq!(earlier.session_id, next.message.session_id);
    Ok(())
}

/// The user's message that reaches the maximum of a session still gets its reply in it; a reply that reaches it ends
/// the session.
pub async fn length_ends_a_session(store: &dyn Store) -> Outcome {
    let mut stage = Stage::set(store).await?;
    stage.policy.max_messages = 3;
    stage.policy.max_tokens = 1_000;
    let first = stage.say("one", 0).await?;
    stage.say("two", 1).await?;
    assert!(stage.capture(stage.user_line("three", 2)).await?.ended.is_empty());
    let reply = stage.capture(stage.reply("answer", 3)).await?;
    assert_eq!(reply.message.session_id, first.session_id);
    assert_eq!(reply.ended.first().map(|session| session.id), Some(first.session_id));
    assert_eq!(reply.ended.first().and_then(|session| session.close_trigger), Some(CloseTrigger::MaxLength));

    let second = stage.capture(NewMessage { token_count: 1_000, ..stage.user_line("long", 4) }).await?;
    assert!(second.opened.is_some());
    let third = stage.capture(stage.user_line("next", 5)).await?;
    assert_eq!(third.ended.first().map(|session| session.id), Some(second.message.session_id));
    assert!(third.opened.is_some());
    Ok(())
}

/// At most one session is open per (persona, user, channel).
pub async fn each_channel_has_its_own_open_session(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let web = stage.say("on the web", 0).await?;
    let chat = NewMessage { channel_id: "discord:1".to_owned(), ..stage.user_line("elsewhere", 1) };
    let chat = stage.capture(chat).await?.message;
    let bob = NewMessage { scope: stage.other.clone(), ..stage.user_line("somebody else", 2) };
    let bob = stage.capture(bob).await?.message;
    let again = stage.say("on the web again", 3).await?;
    assert_ne!(web.session_id, chat.session_id);
    assert_ne!(web.session_id, bob.session_id);
    assert_eq!(web.session_id, again.session_id);
    Ok(())
}

/// A reply belongs to the session of its question while that is open; otherwise a new one opens.
pub async fn a_reply_is_stored_on_the_channel_of_its_turn(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let turn_id = Some(stage.turn_id());
    let question = stage.capture(NewMessage { turn_id, ..stage.user_line("question", 0) }).await?.message;
    let elsewhere = NewMessage { turn_id, channel_id: "voice".to_owned(), ..stage.reply("answer", 4_000) };
    let late = stage.capture(elsewhere).await?;
    assert_eq!(late.message.session_id, question.session_id, "late, from another channel, but of this turn");
    store.end_session(question.session_id, CloseTrigger::Explicit).await?;
    let later = stage.capture(NewMessage { turn_id, ..stage.reply("more", 4_001) }).await?;
    assert!(later.opened.is_some());
    assert_ne!(later.message.session_id, question.session_id);
    let unasked = stage.capture(stage.reply("by the way", 9_999)).await?;
    assert_eq!(unasked.message.session_id, later.message.session_id);
    assert_eq!(unasked.message.role, Role::Persona);
    let of_turn: Vec<_> = store.turn_messages(turn_id.ok_or("")?).await?.iter().map(|m| m.id).collect();
    assert_eq!(of_turn, [question.id, late.message.id, later.message.id]);
    assert_eq!(store.turn_external_ref(turn_id.ok_or("")?).await?, None, "no line of it has a name");
    let named = |name: Option<&str>, seconds| NewMessage {
        turn_id,
        external_ref: name.map(str::to_owned),
        ..stage.user_line("named", seconds)
    };
    for (name, seconds) in [(Some("c-1"), 10_000), (Some("c-2"), 10_001), (None, 10_002)] {
        stage.capture(named(name, seconds)).await?;
    }
    let last = store.turn_external_ref(turn_id.ok_or("")?).await?;
    assert_eq!(last.as_deref(), Some("c-2"), "the last that has a name");
    Ok(())
}

/// Reads of the recent window, of rows by number, and of their neighbours.
pub async fn the_log_is_read_backwards(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut said = Vec::new();
    for number in 0..6 {
        said.push(stage.say(&format!("line {number}"), number).await?);
    }
    let other = stage
        .capture(NewMessage { scope: stage.other.clone(), ..stage.user_line("not ours", 7) })
        .await?
        .message;
    said.push(stage.say("after a pause", 10_000).await?);

    let newest = store.messages_before(&stage.scope, None, 2).await?;
    assert_eq!(newest, [said[6].clone(), said[5].clone()]);
    let before = store.messages_before(&stage.scope, Some(said[2].seq), 10).await?;
    assert_eq!(before, [said[1].clone(), said[0].clone()]);

    let numbered = store.messages_numbered(&stage.scope, &[said[3].seq, other.seq, 9_999]).await?;
    let [only] = numbered.as_slice() else { return Err("one row of this scope was asked for".into()) };
    assert_eq!((&only.message, only.terms.as_str(), only.readability), (&said[3], "line 3", None));

    let asked = [said[5].seq, other.seq, said[1].seq];
    let around = store.neighbours(&stage.scope, &asked, 2, 3).await?;
    let seqs = |at: usize| around[at].1.iter().map(|indexed| indexed.message.seq).collect::<Vec<_>>();
    assert_eq!(around.iter().map(|found| found.0).collect::<Vec<_>>(), [said[5].seq, said[1].seq]);
    assert_eq!(seqs(0), [said[3].seq, said[4].seq, said[5].seq], "never beyond the session");
    assert_eq!(seqs(1), [said[0].seq, said[1].seq, said[2].seq, said[3].seq, said[4].seq]);
    Ok(())
}
