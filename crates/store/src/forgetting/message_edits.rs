//! Edits of messages, and replies that replace others.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::forget::{LossReason, ThoughtPolicy, Withdrawal};
use memory::identifiers::{MessageId, SessionId, TurnId};
use memory::ports::{Corpus, MessageEdit, MessageEditResult};
use uuid::Uuid;

use crate::engine::failure::Failure;
use crate::engine::sql::{self, OptionalExtension, params};
use crate::engine::writer::UnitOfWork;
use crate::forgetting::removal::{ChangedMessage, RemovalSet};
use crate::forgetting::{spans, withdraw};
use crate::index::vectors;
use crate::messages;
use crate::rows::{self, microseconds};
use crate::sessions::reconciliation;

/// Index terms of a message, and its position.
struct StoredMessage {
    seq: i64,
    scope: i64,
    session: SessionId,
    token_count: u32,
    content: String,
    terms: String,
}

/// Changed and removed messages of a scope. Memories that depend on their texts are withdrawn for all of them at
/// once, because each withdrawal reads everything that the scope knows.
pub(crate) struct MessageChanges {
    going: RemovalSet,
    sessions: BTreeSet<SessionId>,
    /// Numbers, with the former and the new texts.
    reworded: Vec<(i64, String, String)>,
}

impl MessageChanges {
    pub(crate) fn new(scope: i64) -> Self {
        let going = RemovalSet::new(scope, LossReason::Edited, ThoughtPolicy::Recheck);
        Self { going, sessions: BTreeSet::new(), reworded: Vec::new() }
    }

    /// True if this message is changed or removed.
    pub(crate) fn has(&self, seq: i64) -> bool {
        self.going.changed.contains_key(&seq) || self.going.messages.contains_key(&seq)
    }

    /// Replaces the text of a message. The caller stores the former one as a version.
    pub(crate) fn replace_text(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        id: MessageId,
        content: &str,
        terms: &str,
        token_count: u32,
    ) -> sql::Result<()> {
        let connection = unit.connection;
        let Some(old) = find_message(unit, id)? else { return Ok(()) };
        unit.unindex_words(Corpus::Messages, old.seq, old.scope, &old.terms);
        vectors::remove(connection, Corpus::Messages, old.seq)?;
        connection
            .prepare_cached(
                "UPDATE recall_messages SET content = ?2, terms = ?3, token_count = ?4 WHERE seq = ?1",
            )?
            .execute(params![old.seq, content, terms, token_count])?;
        unit.index_words(Corpus::Messages, old.seq, old.scope, terms);
        connection
            .prepare_cached(
                "UPDATE sessions SET total_tokens = max(total_tokens - ?2 + ?3, 0) WHERE id = ?1",
            )?
            .execute(params![old.session.0.into_bytes(), old.token_count, token_count])?;
        self.reworded.push((old.seq, old.content, content.to_owned()));
        self.extract_again(old.session);
        let session = old.session.0.into_bytes();
        let changed = ChangedMessage { id, session, terms_before: Some(old.terms) };
        self.going.changed.insert(old.seq, changed);
        Ok(())
    }

    /// Adds a message to those that are removed at the end.
    pub(crate) fn remove(&mut self, unit: &UnitOfWork<'_>, id: MessageId) -> sql::Result<Option<SessionId>> {
        let connection = unit.connection;
        let Some(old) = find_message(unit, id)? else { return Ok(None) };
        self.going.add_message(connection, old.seq)?;
        connection
            .prepare_cached(
                "UPDATE sessions SET message_count = max(message_count - 1, 0),
                     total_tokens = max(total_tokens - ?2, 0)
                 WHERE id = ?1",
            )?
            .execute(params![old.session.0.into_bytes(), old.token_count])?;
        self.extract_again(old.session);
        Ok(Some(old.session))
    }

    /// Adds a session to those that are extracted again, because its texts have changed.
    pub(crate) fn extract_again(&mut self, session: SessionId) {
        self.sessions.insert(session);
        self.going.again.insert(session.0.into_bytes());
    }

    pub(crate) fn finish(self, unit: &mut UnitOfWork<'_>, at: Timestamp) -> Result<Withdrawal, Failure> {
        let mut withdrawn = Withdrawal::default();
        if !self.going.changed.is_empty() || !self.going.messages.is_empty() {
            withdrawn = withdraw::withdraw(unit, self.going, at)?;
        }
        for (seq, before, after) in &self.reworded {
            reconciliation::remove_of_message(unit.connection, *seq)?;
            spans::follow_edit(unit.connection, *seq, before, after)?;
        }
        for session in self.sessions {
            if withdraw::extract_again(unit.connection, session)? {
                withdrawn.sessions.push(session);
            }
        }
        Ok(withdrawn)
    }
}

/// Replaces the text of a user's message. The same text again changes nothing.
pub(crate) fn edit(
    unit: &mut UnitOfWork<'_>,
    edit: &MessageEdit,
) -> Result<Option<MessageEditResult>, Failure> {
    let connection = unit.connection;
    let found: Option<(i64, i64, String)> = connection
        .prepare_cached(
            "SELECT seq, scope, content FROM recall_messages WHERE id = ?1 AND role = 'user' AND deleted_at IS NULL",
        )?
        .query_row([edit.id.0.into_bytes()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((seq, scope, before)) = found else { return Ok(None) };
    let mut changes = MessageChanges::new(scope);
    if before != edit.content {
        connection
            .prepare_cached(
                "INSERT INTO message_versions (message_seq, content, replaced_at) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![seq, before, microseconds(edit.at)])?;
        changes.replace_text(unit, edit.id, &edit.content, &edit.terms, edit.token_count)?;
    }
    let withdrawn = changes.finish(unit, edit.at)?;
    let message = messages::by_id(connection, edit.id)?;
    Ok(message.map(|message| MessageEditResult { message, withdrawn }))
}

/// Removes the replies of a turn, with the memories that they supported, before another reply is stored. Returns
/// their session.
pub(crate) fn replace_replies(
    unit: &mut UnitOfWork<'_>,
    turn: TurnId,
    scope: i64,
    at: Timestamp,
) -> Result<Option<(SessionId, Withdrawal)>, Failure> {
    let replies: Vec<MessageId> = unit
        .connection
        .prepare_cached(
            "SELECT id FROM recall_messages WHERE turn_id = ?1 AND role = 'persona' AND deleted_at IS NULL",
        )?
        .query_map([turn.0.into_bytes()], |row| rows::read_uuid(row, 0).map(MessageId))?
        .collect::<Result<_, _>>()?;
    let mut changes = MessageChanges::new(scope);
    let mut replaced = None;
    for id in replies {
        replaced = replaced.or(changes.remove(unit, id)?);
    }
    let Some(session) = replaced else { return Ok(None) };
    Ok(Some((session, changes.finish(unit, at)?)))
}

fn find_message(unit: &UnitOfWork<'_>, id: MessageId) -> sql::Result<Option<StoredMessage>> {
    unit.connection
        .prepare_cached(
            "SELECT seq, scope, session_id, token_count, content, terms FROM recall_messages
             WHERE id = ?1 AND deleted_at IS NULL",
        )?
        .query_row([id.0.into_bytes()], |row| {
            Ok(StoredMessage {
                seq: row.get(0)?,
                scope: row.get(1)?,
                session: SessionId(Uuid::from_bytes(row.get(2)?)),
                token_count: row.get(3)?,
                content: row.get(4)?,
                terms: row.get(5)?,
            })
        })
        .optional()
}
