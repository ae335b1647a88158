//! Turns that a stop, an outage or a defect left without a reply: they are answered later, or marked as failed.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::TurnId;
use memory::messages::{Turn, TurnStatus};
use memory::ports::StoreError;

use crate::events::bodies::TurnFailed;
use crate::turns::Turns;

/// Pause after storage failed to update a turn. A full disk needs a person, which takes minutes.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(60);

/// Pause before a turn that the database interrupted is resumed. A restart or a failover takes seconds.
const PAUSE_AFTER_OUTAGE: Duration = Duration::from_secs(5);

/// Age from which a pending turn that no conversation knows counts as orphaned. Storing a message takes seconds, even
/// during a short outage of the database.
const ORPHANED_TURN_AGE_MIN: Duration = Duration::from_secs(120);

impl Turns {
    /// Answers turns that a crash interrupted, unless they are so old that a reply would be surprising.
    pub(crate) async fn recover_turns(self: &Arc<Self>) -> Result<(), StoreError> {
        let pending = self.core.store().pending_turns().await?;
        let unheard = self.transcribe_pending_messages(pending).await?;
        for turn in unheard.ready {
            self.recover_turn(turn).await?;
        }
        // Nobody waits for a reply to the other turns; their messages stay stored.
        self.transcribe_before_turn(None, unheard.other_notes);
        Ok(())
    }

    /// Answers pending turns that no conversation knows, such as one whose storage was never confirmed.
    pub(crate) async fn recover_orphaned_turns(self: &Arc<Self>) -> Result<(), StoreError> {
        let pending = self.core.store().pending_turns().await?;
        let now = self.core.clock().now();
        let is_old =
            |turn: &Turn| now.duration_since(turn.last_message_at).unsigned_abs() >= ORPHANED_TURN_AGE_MIN;
        let is_orphaned = |turn: &Turn| is_old(turn) && !self.conversations.is_active(&turn.scope);
        let mut orphaned = Vec::new();
        for turn in pending.into_iter().filter(is_orphaned) {
            // Its conversation may have ended it since the list was read.
            let turn = self.core.store().turn(turn.id).await?;
            orphaned.extend(turn.filter(|turn| turn.status == TurnStatus::Pending));
        }
        // Other notes may belong to messages that are being stored right now.
        for turn in self.transcribe_pending_messages(orphaned).await?.ready {
            self.recover_turn(turn).await?;
        }
        Ok(())
    }

    pub(crate) async fn recover_turn(self: &Arc<Self>, turn: Turn) -> Result<(), StoreError> {
        if self.is_fresh_enough(turn.last_message_at) {
            self.resume(turn.scope, turn.channel_id, turn.id);
            return Ok(());
        }
        let reason = "EchoVessel was not running when this was sent; retry to get a reply";
        self.core.store().fail_turn(turn.id, reason).await?;
        let messages = self.core.store().turn_messages(turn.id).await?;
        self.core.publish(
            &turn.scope,
            TurnFailed {
                turn_id: turn.id,
                source_channel_id: turn.channel_id,
                reason: reason.to_owned(),
                retryable: true,
                user_message_ids: messages.into_iter().map(|message| message.id).collect(),
            },
        );
        Ok(())
    }

    /// True if a stored turn is recent enough to be resumed after a crash.
    fn is_fresh_enough(&self, last_message_at: Timestamp) -> bool {
        let age = self.core.clock().now().duration_since(last_message_at);
        age.is_negative() || age.unsigned_abs() <= self.core.settings().answer_within
    }

    /// Resumes a turn that failed because the database was unreachable, as soon as the database answers. The turn is
    /// still pending.
    pub(crate) fn resume_after_outage(self: &Arc<Self>, scope: &Scope, turn: TurnId) {
        let turns = self.clone();
        let held = self.conversations.mark_turn_pending(scope);
        self.core.tasks.spawn(async move {
            let _held = held;
            loop {
                tokio::select! {
                    () = turns.core.clock().sleep(PAUSE_AFTER_OUTAGE) => {}
                    () = turns.core.stopping.cancelled() => return,
                }
                let Ok(turn) = turns.core.store().turn(turn).await else { continue };
                let Some(turn) = turn.filter(|turn| turn.status == TurnStatus::Pending) else { return };
                match turns.recover_turn(turn).await {
                    Ok(()) => return,
                    Err(error) => tracing::warn!(
                        "a turn interrupted by a database error is still waiting: \
                        {error}"
                    ),
                }
            }
        });
    }

    /// Marks the turn as failed. While storage refuses, the turn stays pending and its session open; so this is
    /// repeated until it succeeds or the program stops. Then the next start resumes the turn.
    pub(crate) async fn mark_failed(self: &Arc<Self>, scope: &Scope, turn: TurnId, reason: String) {
        let Err(error) = self.core.store().fail_turn(turn, &reason).await else { return };
        tracing::error!(%turn, "the failed turn could not be marked yet: {error}");
        let turns = self.clone();
        // Its sender was told that it failed, so it is not answered as an orphan meanwhile.
        let held = self.conversations.mark_turn_pending(scope);
        self.core.tasks.spawn(async move {
            let _held = held;
            loop {
                tokio::select! {
                    () = turns.core.clock().sleep(PAUSE_AFTER_FAILURE) => {}
                    () = turns.core.stopping.cancelled() => return,
                }
                if turns.core.store().fail_turn(turn, &reason).await.is_ok() {
                    return;
                }
            }
        });
    }
}
