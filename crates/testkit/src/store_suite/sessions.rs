//! Laws of sessions on their way to memory.

use memory::forget::{ForgetMode, ForgetRequest, Selection};
use memory::ports::{FailedAttempt, NewMessage, SessionFilter, Store};
use memory::sessions::{CloseTrigger, SessionStatus};

use super::Outcome;
use super::stage::{Stage, at, receipt};

/// Quiet sessions stay open while their user waits for a reply.
pub async fn quiet_sessions_end_unless_a_reply_is_due(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let on = |channel: &str, seconds| NewMessage {
        channel_id: channel.to_owned(),
        ..stage.user_line("hello", seconds)
    };
    let quiet = stage.capture(on("quiet", 0)).await?.message;
    let recent = stage.capture(on("recent", 100)).await?.message;
    let turn = stage.turn_id();
    let waiting = stage.capture(NewMessage { turn_id: Some(turn), ..on("waiting", 0) }).await?.message;

    let ended = store.end_quiet_sessions(at(100), CloseTrigger::Catchup).await?;
    assert_eq!(ended.iter().map(|session| session.id).collect::<Vec<_>>(), [quiet.session_id]);
    assert_eq!(ended[0].close_trigger, Some(CloseTrigger::Catchup));
    assert_eq!(ended[0].status, SessionStatus::Closing);
    store.fail_turn(turn, "no model").await?;
    let ended = store.end_quiet_sessions(at(100), CloseTrigger::Idle).await?;
    assert_eq!(ended.iter().map(|session| session.id).collect::<Vec<_>>(), [waiting.session_id]);
    assert_eq!(
        store.session(recent.session_id).await?.map(|session| session.status),
        Some(SessionStatus::Open)
    );
    Ok(())
}

/// Only open sessions can be ended.
pub async fn a_person_can_end_a_session(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let message = stage.say("goodbye", 0).await?;
    let ended = store.end_session(message.session_id, CloseTrigger::Explicit).await?.ok_or("it was open")?;
    assert_eq!((ended.status, ended.close_trigger), (SessionStatus::Closing, Some(CloseTrigger::Explicit)));
    assert_eq!(store.end_session(message.session_id, CloseTrigger::Idle).await?, None);
    let opened = stage.capture(stage.user_line("hello again", 1)).await?.opened;
    assert!(opened.is_some(), "the channel is free for a new session");
    assert_eq!(store.work_counts().await?, [1, 0]);
    Ok(())
}

/// Each waiting session is claimed by exactly one worker, the oldest first, none before its time.
pub async fn sessions_are_claimed_once_and_in_order(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    assert_eq!(store.claim_closing_session(at(0)).await?, None);
    let mut ids = Vec::new();
    for (channel, seconds) in [("second", 20), ("first", 10), ("third", 30)] {
        let line = NewMessage { channel_id: channel.to_owned(), ..stage.user_line("hello", seconds) };
        let session = stage.capture(line).await?.message.session_id;
        store.end_session(session, CloseTrigger::Explicit).await?;
        ids.push(session);
    }
    let first = store.claim_closing_session(at(40)).await?.ok_or("three wait")?;
    assert_eq!((first.id, first.status), (ids[1], SessionStatus::Consolidating));
    let again = FailedAttempt { session_id: first.id, error: "busy".to_owned(), retry_at: Some(at(100)) };
    let failed = store.record_failure(again).await?.ok_or("it was held")?;
    assert_eq!((failed.status, failed.attempts), (SessionStatus::Closing, 1));
    assert_eq!((failed.last_error.as_deref(), failed.retry_at), (Some("busy"), Some(at(100))));

    assert_eq!(store.claim_closing_session(at(99)).await?.map(|session| session.id), Some(ids[0]));
    assert_eq!(store.claim_closing_session(at(99)).await?.map(|session| session.id), Some(ids[2]));
    assert_eq!(store.claim_closing_session(at(99)).await?, None);
    assert_eq!(store.claim_closing_session(at(100)).await?.map(|session| session.id), Some(ids[1]));
    assert_eq!(store.work_counts().await?, [3, 0]);

    assert_eq!(store.release_claims().await?, 3);
    assert_eq!(store.claim_closing_session(at(100)).await?.map(|session| session.id), Some(ids[1]));
    let finished = store.finish_session(ids[1], at(200)).await?.ok_or("it was held")?;
    assert_eq!((finished.status, finished.closed_at), (SessionStatus::Closed, Some(at(200))));
    assert_eq!(store.finish_session(ids[0], at(200)).await?, None, "nobody holds it");
    assert_eq!(store.work_counts().await?, [2, 0]);
    Ok(())
}

/// A failed session stays visible until a person retries it.
pub async fn a_failed_session_can_be_retried(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (_, session) = stage.claimed_session("hello", 0).await?;
    let give_up = FailedAttempt { session_id: session.id, error: "no key".to_owned(), retry_at: None };
    let failed = store.record_failure(give_up.clone()).await?.ok_or("it was held")?;
    assert_eq!((failed.status, failed.attempts), (SessionStatus::Failed, 1));
    assert_eq!(store.record_failure(give_up).await?, None, "nobody holds it any more");
    assert_eq!(store.work_counts().await?, [0, 1]);
    assert_eq!(store.claim_closing_session(at(9_999)).await?, None);
    let said = store.session_messages(session.id).await?.pop().ok_or("it was said")?;
    let selection = Selection { messages: [said.id].into(), ..Selection::default() };
    let act =
        ForgetRequest { scope: stage.scope.clone(), selection, thoughts: ForgetMode::Orphan, at: at(9_000) };
    store.forget(act, None, None).await?;
    let cause = store.session(session.id).await?.and_then(|session| session.last_error).ok_or("no cause")?;
    assert!(!cause.contains("no key"), "it may hold words that were forgotten: {cause}");
    let retried = store.retry_session(session.id).await?.ok_or("it had failed")?;
    assert_eq!((retried.status, retried.attempts), (SessionStatus::Closing, 0));
    assert_eq!((retried.last_error, retried.retry_at), (None, None));
    assert_eq!(store.retry_session(session.id).await?, None);
    assert!(store.claim_closing_session(at(0)).await?.is_some());
    Ok(())
}

/// Sessions are listed newest first, by scope, by status, from a session on; and those with a summary.
pub async fn sessions_are_listed(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut ids = Vec::new();
    for number in 0..3 {
        let (_, session) = stage.claimed_session("talk", number * 10).await?;
        let mut commit = stage.extraction(&session, number * 10, Vec::new());
        commit.summary = (number != 1).then(|| format!("summary {number}"));
        store.commit_extraction(commit).await?;
        store.finish_session(session.id, at(number * 10 + 1)).await?;
        ids.push(session.id);
    }
    let turn = stage.turn_id();
    let open = NewMessage { scope: stage.other.clone(), turn_id: Some(turn), ..stage.user_line("hello", 5) };
    let open = stage.capture(open).await?.message;
    store
        .capture(
            NewMessage { scope: stage.other.clone(), turn_id: Some(turn), ..stage.reply("hi", 6) },
            stage.policy,
            Some(receipt(turn, 6)),
        )
        .await?;

    let list = async |filter: SessionFilter| -> Result<Vec<_>, memory::ports::StoreError> {
        Ok(store.sessions(filter).await?.iter().map(|session| session.id).collect::<Vec<_>>())
    };
    let all = SessionFilter { limit: 10, ..SessionFilter::default() };
    assert_eq!(list(all.clone()).await?, [ids[2], ids[1], open.session_id, ids[0]]);
    assert_eq!(list(SessionFilter { limit: 2, ..all.clone() }).await?, [ids[2], ids[1]]);
    let ours = SessionFilter { scope: Some(stage.scope.clone()), ..all.clone() };
    assert_eq!(list(ours.clone()).await?, [ids[2], ids[1], ids[0]]);
    assert_eq!(list(SessionFilter { before: Some(ids[1]), ..ours }).await?, [ids[0]]);
    assert_eq!(list(SessionFilter { before: Some(ids[1]), ..all.clone() }).await?, [open.session_id, ids[0]]);
    let of_status = SessionFilter { status: Some(SessionStatus::Open), ..all };
    assert_eq!(list(of_status).await?, [open.session_id]);

    let summarised = store.summarised_sessions(&stage.scope, 5).await?;
    let summaries: Vec<_> = summarised.iter().filter_map(|session| session.summary.as_deref()).collect();
    assert_eq!(summaries, ["summary 2", "summary 0"]);
    Ok(())
}
