//! A user's request for a day without proactive messages.

use jiff::{SignedDuration, Timestamp};
use memory::UserId;
use memory::ports::StoreError;

use crate::core::RuntimeCore;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Time until which the user has muted proactive messages; `None` if that is over.
pub(crate) async fn muted_until(core: &RuntimeCore, user: &UserId) -> Result<Option<Timestamp>, StoreError> {
    let until = core.proactive().muted_until(user).await?;
    Ok(until.filter(|until| core.clock().now() < *until))
}

/// Mutes proactive messages to a user who asks for it in a message. The message is stored already.
pub(crate) async fn mute_for_a_day(core: &RuntimeCore, user: &UserId) {
    let until = core.clock().now().checked_add(DAY).unwrap_or(Timestamp::MAX);
    if let Err(error) = core.proactive().mute(user, Some(until)).await {
        tracing::error!("the mute of proactive messages could not be saved: {error}");
    }
}

/// True if the message asks for a day without proactive messages.
pub(crate) fn is_wish_for_quiet(content: &str) -> bool {
    let (command, bot) = content.trim().split_once('@').unwrap_or((content.trim(), ""));
    command.eq_ignore_ascii_case("/quiet") && !bot.contains(char::is_whitespace)
}
