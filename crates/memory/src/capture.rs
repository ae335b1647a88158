//! L2 capture: a message is stored verbatim before anything else is done with it.

use jiff::tz::TimeZone;

use crate::identifiers::{MessageId, SessionId, TurnId};
use crate::ledger::ReplyReceipt;
use crate::messages::{MESSAGE_LENGTH_MAX, Role};
use crate::ports::{CapturedMessage, ChannelWrite, Clock, IdGenerator, NewMessage, Store, StoreError};
use crate::scope::Scope;
use crate::sessions::SessionPolicy;
use crate::text;

/// A message to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageInput {
    /// The id, if it was assigned before; otherwise the message gets a new one.
    pub id: Option<MessageId>,
    pub scope: Scope,
    pub channel_id: String,
    /// The message's turn; `None` for a message that the persona sends proactively.
    pub turn_id: Option<TurnId>,
    pub role: Role,
    /// The text, exactly as written.
    pub content: String,
    /// True if the model was interrupted before the end.
    pub incomplete: bool,
    /// The client's own id of the message.
    pub external_ref: Option<String>,
    /// A write to the channel's outbox or position, in the same transaction.
    pub channel_write: Option<ChannelWrite>,
}

/// Why a message was not stored. Nothing was written.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CaptureError {
    /// The message has no visible text.
    #[error("the message is empty; nothing was written")]
    Empty,
    #[error("the message has {length} characters; the limit is {MESSAGE_LENGTH_MAX}. Nothing was written")]
    TooLong {
        /// The message's length in characters.
        length: usize,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Stores messages: each one is durable when the call returns.
#[derive(Clone, Copy)]
pub struct Recorder<'a> {
    pub store: &'a dyn Store,
    pub clock: &'a dyn Clock,
    pub ids: &'a dyn IdGenerator,
    pub policy: SessionPolicy,
}

/// Refuses messages that can't be stored, before queue space is reserved or anything is written.
pub fn check(content: &str) -> Result<(), CaptureError> {
    if is_blank(content) {
        return Err(CaptureError::Empty);
    }
    let length = content.chars().count();
    if length > MESSAGE_LENGTH_MAX {
        return Err(CaptureError::TooLong { length });
    }
    Ok(())
}

/// True if the text has no visible character.
pub fn is_blank(content: &str) -> bool {
    content.chars().all(is_unseen)
}

/// True for white space and invisible characters: joiners, marks of direction, controls.
fn is_unseen(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

impl Recorder<'_> {
    /// Stores the message with its session's counters, its terms and its turn in one transaction, and returns once it
    /// is durable. `zone` is the user's and determines the day. A reply includes its receipt, which settles the turn.
    pub async fn capture(
        &self,
        line: MessageInput,
        zone: &TimeZone,
        receipt: Option<ReplyReceipt>,
    ) -> Result<CapturedMessage, CaptureError> {
        // A reply may be longer than a user's message; it was already streamed, so all of it is stored.
        if line.role == Role::User {
            check(&line.content)?;
        }
        Ok(self.store.capture(self.new_message(line, zone), self.policy, receipt).await?)
    }

    /// The message as it will be stored: with its ids, terms and day.
    pub fn new_message(&self, line: MessageInput, zone: &TimeZone) -> NewMessage {
        let now = self.clock.now();
        NewMessage {
            id: line.id.unwrap_or_else(|| MessageId(self.ids.next(now))),
            session_id_if_new: SessionId(self.ids.next(now)),
            token_count: text::estimate_tokens(&line.content),
            terms: text::index_terms(&line.content),
            day: now.to_zoned(zone.clone()).date(),
            created_at: now,
            scope: line.scope,
            channel_id: line.channel_id,
            turn_id: line.turn_id,
            role: line.role,
            // Other speakers only occur in imports.
            speaker: None,
            content: line.content,
            incomplete: line.incomplete,
            external_ref: line.external_ref,
            channel_write: line.channel_write,
        }
    }
}
