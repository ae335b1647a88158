//! Requests of people about replies: repeat, replace or stop one.

use std::sync::Arc;

use memory::Scope;
use memory::identifiers::TurnId;
use memory::messages::{Turn, TurnStatus};
use memory::ports::StoreError;

use crate::turns::Turns;

/// Why a reply can't be replaced. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RegenerateError {
    /// There is no message yet, or no such turn.
    #[error("reply not found")]
    Unknown,
    /// A later message follows, so the reply can't be made again.
    #[error("only the last reply can be replaced; nothing was changed")]
    NotTheLast,
    /// The reply is still being written.
    #[error("the reply of this turn is in progress; stop it first, or wait")]
    BeingAnswered,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Turns {
    /// Requests a reply for a failed turn again. `None` if there is no such failed turn.
    pub async fn retry(self: &Arc<Self>, id: TurnId) -> Result<Option<Turn>, StoreError> {
        let reopened = self.core.store().reopen_turn(id).await?;
        if let Some(turn) = &reopened {
            self.resume(turn.scope.clone(), turn.channel_id.clone(), turn.id);
        }
        Ok(reopened)
    }

    /// Replaces the last reply of the scope: that of the turn, of the message's turn, or the last one. The earlier
    /// reply stays until the new one is stored. A turn without a reply is answered again.
    pub async fn regenerate(
        self: &Arc<Self>,
        scope: &Scope,
        turn: Option<TurnId>,
    ) -> Result<Turn, RegenerateError> {
        let store = self.core.store();
        let newest = store.messages_before(scope, None, 1).await?.pop().ok_or(RegenerateError::Unknown)?;
        let last = newest.turn_id;
        let id = turn.or(last).ok_or(RegenerateError::Unknown)?;
        let known = store.turn(id).await?.filter(|turn| turn.scope == *scope);
        let known = known.ok_or(RegenerateError::Unknown)?;
        if last != Some(id) {
            return Err(RegenerateError::NotTheLast);
        }
        let again = match known.status {
            TurnStatus::Answered => store.reopen_answered_turn(id).await?,
            TurnStatus::Failed => store.reopen_turn(id).await?,
            TurnStatus::Pending => None,
        };
        let again = again.ok_or(RegenerateError::BeingAnswered)?;
        self.resume(again.scope.clone(), again.channel_id.clone(), again.id);
        Ok(again)
    }

    /// Stops a turn: the text so far is stored as incomplete; a turn without text fails and can be requested again.
    /// True if it was being answered.
    pub async fn stop(&self, id: TurnId) -> Result<bool, StoreError> {
        let is_pending = async || {
            let turn = self.core.store().turn(id).await?;
            Ok::<_, StoreError>(turn.is_some_and(|turn| turn.status == TurnStatus::Pending))
        };
        if !is_pending().await? {
            return Ok(false);
        }
        self.stop_token(id).cancel();
        if !is_pending().await? {
            // It ended by itself meanwhile; a later turn with this id must not be stopped.
            self.remove_stop_token(id);
        }
        Ok(true)
    }
}
