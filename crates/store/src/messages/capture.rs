//! Capture: each message is stored before it is answered. Concurrent messages of users are stored together.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use memory::Scope;
use memory::identifiers::SessionId;
use memory::ledger::ReplyReceipt;
use memory::messages::{Message, Role};
use memory::ports::{CaptureStore, CapturedMessage, Corpus, NewMessage, StoreError};
use memory::sessions::{
    CloseTrigger, Session, SessionChoice, SessionPolicy, SessionStatus, choose_session, is_full,
};

use super::turns;
use crate::engine::failure::Failure;
use crate::engine::sql::{self, Connection, params};
use crate::engine::writer::{Batch, UnitOfWork};
use crate::forgetting::message_edits;
use crate::home_store::HomeStore;
use crate::rows::{StoredEnum, microseconds, round_to_microseconds};
use crate::{channels, ledger, scopes, sessions};

#[async_trait]
impl CaptureStore for HomeStore {
    async fn capture(
        &self,
        message: NewMessage,
        policy: SessionPolicy,
        receipt: Option<ReplyReceipt>,
    ) -> Result<CapturedMessage, StoreError> {
        match message.role {
            Role::User => self.write_batched(UserMessage { message, policy }).await,
            Role::Persona | Role::Other => {
                self.write(move |unit| capture(unit, &message, &policy, receipt.as_ref())).await
            }
        }
    }
}

/// A user's message to be stored.
struct UserMessage {
    message: NewMessage,
    policy: SessionPolicy,
}

impl Batch for UserMessage {
    type Output = CapturedMessage;
    const OPERATION: &str = "capture";

    fn run(unit: &mut UnitOfWork<'_>, items: &[&Self]) -> Result<Vec<CapturedMessage>, Failure> {
        let connection = unit.connection;
        let mut scopes = SessionState::load_each(connection, items)?;
        let mut placed = Vec::with_capacity(items.len());
        for UserMessage { message: new, policy } in items {
            let scope = scopes.get_mut(&new.scope).ok_or(sql::Error::QueryReturnedNoRows)?;
            placed.push(scope.place_message(connection, new, policy)?);
        }
        let rows = items.iter().zip(&placed).map(|(item, placed)| MessageRow {
            new: &item.message,
            scope: placed.scope,
            session: placed.session.id,
            place: placed.place,
        });
        let seqs = insert_each(connection, rows)?;
        let mut captured = Vec::with_capacity(items.len());
        for ((UserMessage { message: new, .. }, placed), seq) in items.iter().zip(placed).zip(seqs) {
            channels::write(connection, seq, new)?;
            unit.index_words(Corpus::Messages, seq, placed.scope, &new.terms);
            let message = stored_message(new, seq, placed.session.id);
            let opened = placed.is_new.then_some(placed.session);
            captured.push(CapturedMessage { message, opened, ended: placed.ended, replaced: None });
        }
        for scope in scopes.values() {
            scopes::count_messages(connection, scope.number, scope.captured)?;
        }
        Ok(captured)
    }
}

/// The part of a scope's state that the position of a message depends on, updated while more messages follow.
struct SessionState {
    number: i64,
    last_position: i64,
    /// Sessions by their channel.
    open: BTreeMap<String, Session>,
    captured: usize,
}

/// A message with its session and position.
struct PlacedMessage {
    scope: i64,
    place: i64,
    session: Session,
    is_new: bool,
    ended: Vec<Session>,
}

impl SessionState {
    /// Reads the state of each scope of the messages, with a fixed number of queries.
    fn load_each(
        connection: &Connection,
        items: &[&UserMessage],
    ) -> Result<BTreeMap<Scope, SessionState>, Failure> {
        let scopes: BTreeSet<&Scope> = items.iter().map(|item| &item.message.scope).collect();
        let keys = scopes.iter().map(|scope| [scope.persona.as_str(), scope.user.as_str()]);
        let numbers = "SELECT s.number, (SELECT coalesce(max(m.placed_at), 0) FROM recall_messages m WHERE m.scope = s.number)
             FROM scopes s WHERE s.persona_id = ?1 AND s.user_id = ?2";
        let found: Vec<Vec<(i64, i64)>> =
            connection.query_each(numbers, keys, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut states = BTreeMap::new();
        for (scope, found) in scopes.into_iter().zip(found) {
            let (number, last_position) = match found.first() {
                Some(found) => *found,
                None => (scopes::number_or_new(connection, scope)?, 0),
            };
            states.insert(
                scope.clone(),
                SessionState { number, last_position, open: BTreeMap::new(), captured: 0 },
            );
        }
        let channels: BTreeSet<(&Scope, &str)> =
            items.iter().map(|item| (&item.message.scope, item.message.channel_id.as_str())).collect();
        let keys = channels.iter().filter_map(|(scope, channel)| Some((states.get(scope)?.number, *channel)));
        let open = sessions::open_in_each(connection, keys.collect::<Vec<_>>())?;
        for session in open {
            if let Some(state) = states.get_mut(&session.scope) {
                state.open.insert(session.channel_id.clone(), session);
            }
        }
        Ok(states)
    }

    /// Assigns a message to its session, after ending one that is over.
    fn place_message(
        &mut self,
        connection: &Connection,
        new: &NewMessage,
        policy: &SessionPolicy,
    ) -> Result<PlacedMessage, Failure> {
        let open = self.open.remove(&new.channel_id);
        let mut ended = Vec::new();
        let current = match (choose_session(open.as_ref(), new.created_at, policy), open) {
            (SessionChoice::Continue, open) => open,
            (SessionChoice::CloseThenOpen(trigger), Some(open)) => {
                ended.push(sessions::end_session(connection, open, trigger)?);
                None
            }
            (SessionChoice::Open | SessionChoice::CloseThenOpen(_), _) => None,
        };
        let is_new = current.is_none();
        let session = match current {
            Some(session) => sessions::count_message(connection, session, new.token_count, new.created_at)?,
            None => sessions::begin(connection, self.number, new)?,
        };
        if let Some(turn) = new.turn_id {
            turns::await_reply(connection, turn, self.number, session.id, new)?;
        }
        self.open.insert(new.channel_id.clone(), session.clone());
        self.last_position = self.last_position.max(microseconds(new.created_at));
        self.captured += 1;
        Ok(PlacedMessage { scope: self.number, place: self.last_position, session, is_new, ended })
    }
}

/// Stores a message of the persona or of another speaker. A reply has a receipt.
pub(crate) fn capture(
    unit: &mut UnitOfWork<'_>,
    new: &NewMessage,
    policy: &SessionPolicy,
    receipt: Option<&ReplyReceipt>,
) -> Result<CapturedMessage, Failure> {
    let connection = unit.connection;
    let scope = scopes::number_or_new(connection, &new.scope)?;
    // Only a reply replaces earlier replies.
    let replaced = match (new.role, new.turn_id, receipt) {
        (Role::Persona, Some(turn), Some(_)) => {
            message_edits::replace_replies(unit, turn, scope, new.created_at)?
        }
        _ => None,
    };
    let current = match &replaced {
        Some((session, _)) => sessions::by_id(connection, *session)?,
        None => session_for_persona(connection, scope, new)?,
    };
    let is_new = current.is_none();
    let mut session = match current {
        Some(session) => sessions::count_message(connection, session, new.token_count, new.created_at)?,
        None => sessions::begin(connection, scope, new)?,
    };
    let place = microseconds(new.created_at).max(last_position(connection, scope)?);
    let seq = insert(connection, scope, session.id, new, place)?;
    channels::write(connection, seq, new)?;
    unit.index_words(Corpus::Messages, seq, scope, &new.terms);
    scopes::count_messages(connection, scope, 1)?;
    if let Some(receipt) = receipt {
        ledger::keep_receipt(connection, scope, receipt)?;
        turns::answer(connection, receipt.turn_id)?;
    }
    // A reply that reaches the maximum of a session ends it, as the turn is complete. A question that reaches it
    // still gets its reply.
    let mut ended = Vec::new();
    let open = session.status == SessionStatus::Open;
    if new.role == Role::Persona && open && is_full(session.message_count, session.total_tokens, policy) {
        session = sessions::end_session(connection, session, CloseTrigger::MaxLength)?;
        ended.push(session.clone());
    }
    let message = stored_message(new, seq, session.id);
    let replaced = replaced.map(|(_, withdrawn)| withdrawn);
    Ok(CapturedMessage { message, opened: is_new.then_some(session), ended, replaced })
}

/// The session of the persona's turn if it is open, else the channel's open one.
fn session_for_persona(
    connection: &Connection,
    scope: i64,
    new: &NewMessage,
) -> Result<Option<Session>, Failure> {
    if let Some(turn) = new.turn_id
        && let Some(session) = sessions::open_session_of_turn(connection, scope, turn)?
    {
        return Ok(Some(session));
    }
    Ok(sessions::open(connection, scope, &new.channel_id)?)
}

/// The highest position of a message in this scope. A new message gets at least this position, even if the clock went
/// back.
fn last_position(connection: &Connection, scope: i64) -> sql::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(placed_at), 0) FROM recall_messages WHERE scope = ?1")?
        .query_row([scope], |row| row.get(0))
}

/// A message's row, except for its number.
struct MessageRow<'a> {
    new: &'a NewMessage,
    scope: i64,
    session: SessionId,
    place: i64,
}

/// Inserts a message; returns its number.
pub(crate) fn insert(
    connection: &Connection,
    scope: i64,
    session: SessionId,
    new: &NewMessage,
    place: i64,
) -> sql::Result<i64> {
    let rows = [MessageRow { new, scope, session, place }];
    insert_each(connection, rows)?.into_iter().next().ok_or(sql::Error::QueryReturnedNoRows)
}

fn insert_each<'a>(
    connection: &Connection,
    rows: impl IntoIterator<Item = MessageRow<'a>>,
) -> sql::Result<Vec<i64>> {
    connection
        .prepare_cached(
            "INSERT INTO recall_messages (id, scope, session_id, turn_id, channel_id, role, token_count, day,
                 created_at, incomplete, content, terms, external_ref, placed_at, speaker)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .insert_each(rows, |MessageRow { new, scope, session, place }, insert| {
            insert(params![
                new.id.0.into_bytes(),
                scope,
                session.0.into_bytes(),
                new.turn_id.map(|turn| turn.0.into_bytes()),
                new.channel_id,
                new.role.as_str(),
                new.token_count,
                new.day.to_string(),
                microseconds(new.created_at),
                new.incomplete,
                new.content,
                new.terms,
                new.external_ref,
                place,
                new.speaker,
            ])
        })
}

fn stored_message(new: &NewMessage, seq: i64, session_id: SessionId) -> Message {
    Message {
        id: new.id,
        seq,
        scope: new.scope.clone(),
        session_id,
        turn_id: new.turn_id,
        channel_id: new.channel_id.clone(),
        role: new.role,
        speaker: new.speaker.clone(),
        content: new.content.clone(),
        token_count: new.token_count,
        day: new.day,
        created_at: round_to_microseconds(new.created_at),
        incomplete: new.incomplete,
        model: None,
    }
}
