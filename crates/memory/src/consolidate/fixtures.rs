//! Messages for the tests of this folder.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use jiff::civil::date;
use uuid::Uuid;

use crate::identifiers::{MessageId, SessionId};
use crate::messages::{Message, Role};
use crate::scope::{PersonaId, Scope, UserId};
use crate::text::estimate_tokens;

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A message of the user.
pub(super) fn user_says(text: &str) -> Message {
    message(Role::User, text)
}

/// A message of the persona.
pub(super) fn persona_says(text: &str) -> Message {
    message(Role::Persona, text)
}

fn message(role: Role, text: &str) -> Message {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Message {
        id: MessageId(Uuid::from_u128(u128::from(number))),
        seq: i64::try_from(number).unwrap(),
        scope: Scope::new(PersonaId::new("p").unwrap(), UserId::new("u").unwrap()),
        session_id: SessionId(Uuid::nil()),
        turn_id: None,
        channel_id: "c".to_owned(),
        role,
        content: text.to_owned(),
        token_count: estimate_tokens(text),
        day: date(2026, 1, 1),
        created_at: Timestamp::UNIX_EPOCH,
        incomplete: false,
    }
}
