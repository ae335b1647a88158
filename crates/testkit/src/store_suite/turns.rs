//! Laws of turns: no message of the user stays without a reply or a reason.

use memory::messages::TurnStatus;
use memory::ports::{NewMessage, Store};

use super::Outcome;
use super::stage::{Stage, at, receipt};

/// The user's message makes a turn pending; the receipt of the reply, in the same transaction, makes it answered.
pub async fn a_turn_is_pending_until_its_receipt(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let turn_id = stage.turn_id();
    let turn = Some(turn_id);
    stage.capture(NewMessage { turn_id: turn, ..stage.user_line("a", 1) }).await?;
    stage.capture(NewMessage { turn_id: turn, ..stage.user_line("b", 2) }).await?;
    let [pending] = store.pending_turns().await?.try_into().map_err(|_| "one turn is pending")?;
    assert_eq!((pending.id, pending.status), (turn_id, TurnStatus::Pending));
    assert_eq!((pending.started_at, pending.last_message_at), (at(1), at(2)));
    assert_eq!((&pending.scope, pending.channel_id.as_str()), (&stage.scope, "web"));

    stage.capture(NewMessage { turn_id: turn, ..stage.reply("half an answer", 3) }).await?;
    assert_eq!(store.pending_turns().await?.len(), 1, "without a receipt the turn goes on");
    let reply = NewMessage { turn_id: turn, ..stage.reply("answer", 4) };
    store.capture(reply, stage.policy, Some(receipt(turn_id, 4))).await?;
    assert_eq!(store.turn(turn_id).await?.map(|turn| turn.status), Some(TurnStatus::Answered));
    assert_eq!(store.receipt(turn_id).await?, Some(receipt(turn_id, 4)));
    assert_eq!(store.scope_of_receipt(turn_id).await?.as_ref(), Some(&stage.scope));
    assert!(store.pending_turns().await?.is_empty());
    assert_eq!(store.receipt(stage.turn_id()).await?, None);
    assert_eq!(store.scope_of_receipt(stage.turn_id()).await?, None);
    Ok(())
}

/// A failure stores its reason until somebody retries.
pub async fn a_failed_turn_can_be_reopened(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (first, second) = (stage.turn_id(), stage.turn_id());
    for (turn, seconds) in [(second, 1), (first, 0)] {
        stage.capture(NewMessage { turn_id: Some(turn), ..stage.user_line("question", seconds) }).await?;
    }
    let pending: Vec<_> = store.pending_turns().await?.iter().map(|turn| turn.id).collect();
    assert_eq!(pending, [first, second], "oldest first");
    assert_eq!(store.reopen_turn(first).await?, None, "it has not failed");
    store.fail_turn(first, "the model is down").await?;
    let failed = store.turn(first).await?.ok_or("the turn is there")?;
    assert_eq!((failed.status, failed.reason.as_deref()), (TurnStatus::Failed, Some("the model is down")));
    assert_eq!(store.pending_turns().await?.len(), 1);
    let reopened = store.reopen_turn(first).await?.ok_or("it was reopened")?;
    assert_eq!((reopened.status, reopened.reason), (TurnStatus::Pending, None));

    let reply = NewMessage { turn_id: Some(first), ..stage.reply("answer", 4) };
    store.capture(reply, stage.policy, Some(receipt(first, 4))).await?;
    store.fail_turn(first, "too late").await?;
    assert_eq!(store.turn(first).await?.map(|turn| turn.status), Some(TurnStatus::Answered));
    Ok(())
}
