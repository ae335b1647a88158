//! Replies to commands, which need no model.

use jiff::tz::TimeZone;
use memory::Scope;
use memory::messages::Message;
use memory::ports::StoreError;

use crate::core::RuntimeCore;
use crate::events::bodies::Token;
use crate::proactive::quiet::{is_wish_for_quiet, muted_until};
use crate::turns::conversations::ReadyTurn;
use crate::turns::turn_event::TurnEvent;

/// The reply to a message that is a command to mute proactive messages: until when. `None` for other messages, or if
/// the command fails.
pub(crate) async fn reply_to_command(
    core: &RuntimeCore,
    scope: &Scope,
    burst: &[Message],
    zone: &TimeZone,
) -> Result<Option<String>, StoreError> {
    let is_command = matches!(burst, [only] if is_wish_for_quiet(&only.content));
    let until = if is_command { muted_until(core, &scope.user).await? } else { None };
    Ok(until.map(|until| {
        let until = until.to_zoned(zone.clone());
        format!(
            "Until {} I write only when you write to me. 到{}为止，我只在你找我时才写。",
            until.strftime("%-d %b, %H:%M"),
            until.strftime("%-m月%-d日%H:%M"),
        )
    }))
}

/// Sends a text to all listeners of the turn; returns it.
pub(crate) fn publish_line(core: &RuntimeCore, turn: &ReadyTurn, text: String) -> String {
    core.publish(&turn.scope, Token::new(turn.turn_id, turn.channel_id.clone(), text.clone()));
    turn.notify_channel(TurnEvent::Delta(text.clone()));
    text
}
