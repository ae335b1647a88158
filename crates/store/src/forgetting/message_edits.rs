//! Edits of messages, and replies that replace others.

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

/// Index terms of a message, and its place.
struct StoredMessage {
    seq: i64,
    scope: i64,
    session: SessionId,
    token_count: u32,
    content: String,
    terms: String,
}

/// Gives a live message of the user new words. The same words again change nothing.
pub(crate) fn edit(
    unit: &mut UnitOfWork<'_>,
    edit: &MessageEdit,
) -> Result<Option<MessageEditResult>, Failure> {
    let connection = unit.connection;
    let Some(old) = stored(unit, edit.id, "user")? else { return Ok(None) };
    let mut withdrawn = Withdrawal::default();
    if old.content != edit.content {
        connection
            .prepare_cached(
                "INSERT INTO message_versions (message_seq, content, replaced_at) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![old.seq, old.content, microseconds(edit.at)])?;
        unit.unindex_words(Corpus::Messages, old.seq, old.scope, &old.terms);
        vectors::remove(connection, Corpus::Messages, old.seq)?;
        connection
            .prepare_cached(
                "UPDATE recall_messages SET content = ?2, terms = ?3, token_count = ?4 WHERE seq = ?1",
            )?
            .execute(params![old.seq, edit.content, edit.terms, edit.token_count])?;
        unit.index_words(Corpus::Messages, old.seq, old.scope, &edit.terms);
        connection
            .prepare_cached(
                "UPDATE sessions SET total_tokens = max(total_tokens - ?2 + ?3, 0) WHERE id = ?1",
            )?
            .execute(params![old.session.0.into_bytes(), old.token_count, edit.token_count])?;
        let mut going = old.removal();
        let changed = ChangedMessage {
            id: edit.id,
            session: old.session.0.into_bytes(),
            terms_before: Some(old.terms),
        };
        going.changed.insert(old.seq, changed);
        withdrawn = withdraw_words(unit, going, old.session, edit.at)?;
        reconciliation::remove_of_message(connection, old.seq)?;
        spans::follow_edit(connection, old.seq, &old.content, &edit.content)?;
    }
    let message = messages::by_id(connection, edit.id)?;
    Ok(message.map(|message| MessageEditResult { message, withdrawn }))
}

/// Removes the replies of a turn, with what they supported, before another reply is stored. Returns their session.
pub(crate) fn replace_replies(
    unit: &mut UnitOfWork<'_>,
    turn: TurnId,
    at: Timestamp,
) -> Result<Option<(SessionId, Withdrawal)>, Failure> {
    let connection = unit.connection;
    let replies: Vec<MessageId> = connection
        .prepare_cached(
            "SELECT id FROM recall_messages WHERE turn_id = ?1 AND role = 'persona' AND deleted_at IS NULL",
        )?
        .query_map([turn.0.into_bytes()], |row| rows::uuid(row, 0).map(MessageId))?
        .collect::<Result<_, _>>()?;
    let mut replaced: Option<(SessionId, RemovalSet)> = None;
    for id in replies {
        let Some(old) = stored(unit, id, "persona")? else { continue };
        let (_, going) = replaced.get_or_insert_with(|| (old.session, old.removal()));
        going.add_message(connection, old.seq)?;
        connection
            .prepare_cached(
                "UPDATE sessions SET message_count = max(message_count - 1, 0),
                     total_tokens = max(total_tokens - ?2, 0)
                 WHERE id = ?1",
            )?
            .execute(params![old.session.0.into_bytes(), old.token_count])?;
    }
    let Some((session, going)) = replaced else { return Ok(None) };
    Ok(Some((session, withdraw_words(unit, going, session, at)?)))
}

fn withdraw_words(
    unit: &mut UnitOfWork<'_>,
    going: RemovalSet,
    session: SessionId,
    at: Timestamp,
) -> Result<Withdrawal, Failure> {
    let mut withdrawn = withdraw::withdraw(unit, going, at)?;
    if withdraw::extract_again(unit.connection, session)? {
        withdrawn.sessions.push(session);
    }
    Ok(withdrawn)
}

impl StoredMessage {
    /// A removal after which the session is extracted again.
    fn removal(&self) -> RemovalSet {
        let mut going = RemovalSet::new(self.scope, LossReason::Edited, ThoughtPolicy::Recheck);
        going.again = Some(self.session.0.into_bytes());
        going
    }
}

fn stored(unit: &UnitOfWork<'_>, id: MessageId, role: &str) -> sql::Result<Option<StoredMessage>> {
    unit.connection
        .prepare_cached(
            "SELECT seq, scope, session_id, token_count, content, terms FROM recall_messages
             WHERE id = ?1 AND role = ?2 AND deleted_at IS NULL",
        )?
        .query_row(params![id.0.into_bytes(), role], |row| {
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
