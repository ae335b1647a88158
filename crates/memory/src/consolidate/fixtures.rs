//! Messages and nodes for the tests of this folder.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use jiff::civil::date;
use uuid::Uuid;

use crate::identifiers::{MessageId, NodeId, SessionId};
use crate::messages::{Message, Role};
use crate::nodes::{Node, NodeKind, Subject};
use crate::scope::{PersonaId, Scope, UserId};
use crate::text::estimate_tokens;

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// A message of the user.
pub(super) fn user_says(text: &str) -> Message {
    message(Role::User, text)
}

/// A message of the persona.
pub(super) fn persona_says(text: &str) -> Message {
    message(Role::Persona, text)
}

fn message(role: Role, text: &str) -> Message {
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    Message {
        id: MessageId(Uuid::from_u128(u128::from(number))),
        seq: i64::try_from(number).unwrap(),
        scope: Scope::new(PersonaId::new("p").unwrap(), UserId::new("u").unwrap()),
        session_id: SessionId(Uuid::nil()),
        turn_id: None,
        channel_id: "c".to_owned(),
        role,
        speaker: None,
        model: None,
        content: text.to_owned(),
        token_count: estimate_tokens(text),
        day: date(2026, 1, 1),
        created_at: Timestamp::UNIX_EPOCH,
        incomplete: false,
    }
}

/// A node of this kind about the user.
pub(super) fn node_about_user(kind: NodeKind, description: &str) -> Node {
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    Node {
        id: NodeId(Uuid::from_u128(u128::from(number))),
        seq: i64::try_from(number).unwrap(),
        kind,
        description: description.to_owned(),
        emotional_impact: 0,
        emotion_tags: Vec::new(),
        relational_tags: Vec::new(),
        subject: Subject::User,
        event_time: None,
        source_session_id: None,
        mention_count: 1,
        superseded_by: None,
        pinned: false,
        access_count: 0,
        last_accessed_at: None,
        created_at: Timestamp::UNIX_EPOCH,
    }
}
