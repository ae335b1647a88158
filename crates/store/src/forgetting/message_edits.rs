//! A message of the user gets new words; a reply gives way to another one.

use jiff::Timestamp;
use memory::forget::{ThoughtPolicy, Withdrawal};
use memory::identifiers::{MessageId, SessionId, TurnId};
use memory::ports::{Corpus, MessageEdit, MessageEditResult};
use rusqlite::{OptionalExtension, params};
use uuid::Uuid;

use crate::engine::failure::Failure;
use crate::engine::writer::UnitOfWork;
use crate::forgetting::withdraw::{self, ChangedMessage};
use crate::index::vectors;
use crate::rows::microseconds;
use crate::{forgetting, messages, scopes};

/// What the index knows of a message, and where it belongs.
struct Stored {
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
        withdrawn = withdraw_words(unit, &old, Some(old.terms.clone()), edit.id, edit.at)?;
        forgetting::follow_edit(connection, old.seq, &old.content, &edit.content)?;
    }
    let message = messages::by_id(connection, edit.id)?;
    Ok(message.map(|message| MessageEditResult { message, withdrawn }))
}

/// Takes the replies of a turn away, with what rested on them, to make room for another one. Gives the session that
/// they were in.
pub(crate) fn replace_replies(
    unit: &mut UnitOfWork<'_>,
    turn: TurnId,
    at: Timestamp,
) -> Result<Option<(SessionId, Withdrawal)>, Failure> {
    let replies: Vec<MessageId> = unit
        .connection
        .prepare_cached(
            "SELECT id FROM recall_messages WHERE turn_id = ?1 AND role = 'persona' AND deleted_at IS NULL",
        )?
        .query_map([turn.0.into_bytes()], |row| crate::rows::uuid(row, 0).map(MessageId))?
        .collect::<Result<_, _>>()?;
    let mut replaced: Option<(SessionId, Withdrawal)> = None;
    for id in replies {
        let Some(old) = stored(unit, id, "persona")? else { continue };
        let mut withdrawn = withdraw_words(unit, &old, None, id, at)?;
        unit.unindex_words(Corpus::Messages, old.seq, old.scope, &old.terms);
        unit.connection.prepare_cached("DELETE FROM recall_messages WHERE seq = ?1")?.execute([old.seq])?;
        scopes::uncount_message(unit.connection, old.scope)?;
        unit.connection
            .prepare_cached(
                "UPDATE sessions SET message_count = max(message_count - 1, 0),
                     total_tokens = max(total_tokens - ?2, 0)
                 WHERE id = ?1",
            )?
            .execute(params![old.session.0.into_bytes(), old.token_count])?;
        withdrawn.messages.push((id, old.seq));
        match &mut replaced {
            Some((_, all)) => all.append(withdrawn),
            None => replaced = Some((old.session, withdrawn)),
        }
    }
    Ok(replaced)
}

fn withdraw_words(
    unit: &mut UnitOfWork<'_>,
    old: &Stored,
    terms_before: Option<String>,
    id: MessageId,
    at: Timestamp,
) -> Result<Withdrawal, Failure> {
    let unsaid = ChangedMessage { message: old.seq, terms_before };
    let again = Some(old.session);
    let mut withdrawn = withdraw::evidence_of(unit, &[unsaid], again, ThoughtPolicy::Recheck, at)?;
    withdraw::forget_in_receipts(unit.connection, old.scope, id.0)?;
    if withdraw::extract_again(unit.connection, old.session)? {
        withdrawn.sessions.push(old.session);
    }
    Ok(withdrawn)
}

fn stored(unit: &UnitOfWork<'_>, id: MessageId, role: &str) -> rusqlite::Result<Option<Stored>> {
    unit.connection
        .prepare_cached(
            "SELECT seq, scope, session_id, token_count, content, terms FROM recall_messages
             WHERE id = ?1 AND role = ?2 AND deleted_at IS NULL",
        )?
        .query_row(params![id.0.into_bytes(), role], |row| {
            Ok(Stored {
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
