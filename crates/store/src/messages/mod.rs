//! L2: capture and the verbatim log.

pub(crate) mod turns;
pub(crate) mod outlines;
pub(crate) mod versions;

use std::collections::BTreeMap;

use async_trait::async_trait;
use memory::Scope;
use memory::identifiers::{MessageId, SessionId};
use memory::ledger::ReplyReceipt;
use memory::messages::{Message, MessageVersion, Role};
use memory::ports::{
    CaptureStore, CapturedMessage, Corpus, IndexedMessage, MessageStore, NewMessage, StoreError,
};
use memory::sessions::{
    CloseTrigger, Placement, Session, SessionPolicy, SessionStatus, choose_session, is_full,
};

use crate::engine::SqliteStore;
use crate::engine::failure::Failure;
use crate::engine::sql::{self, Connection, OptionalExtension, Row, params};
use crate::engine::writer::UnitOfWork;
use crate::forgetting::message_edits;
use crate::index::vectors;
use crate::rows::{self, StoredEnum, as_stored, message_columns, microseconds};
use crate::{channels, ledger, scopes, sessions};

#[async_trait]
impl MessageStore for SqliteStore {
    async fn messages_before(
        &self,
        scope: &Scope,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Message>, StoreError> {
        self.read_scope(scope, move |connection, scope| Ok(before_number(connection, scope, before, limit)?))
            .await
    }

    async fn session_messages(&self, id: SessionId) -> Result<Vec<Message>, StoreError> {
        self.read(move |connection| Ok(messages_of_session(connection, id)?)).await
    }

    async fn message_versions(
        &self,
        session: SessionId,
    ) -> Result<BTreeMap<MessageId, Vec<MessageVersion>>, StoreError> {
        self.read(move |connection| Ok(versions::in_session(connection, session)?)).await
    }

    async fn message(&self, id: MessageId) -> Result<Option<Message>, StoreError> {
        self.read(move |connection| Ok(by_id(connection, id)?)).await
    }
}

#[async_trait]
impl CaptureStore for SqliteStore {
    async fn capture(
        &self,
        message: NewMessage,
        policy: SessionPolicy,
        receipt: Option<ReplyReceipt>,
    ) -> Result<CapturedMessage, StoreError> {
        self.write(move |unit| capture(unit, &message, &policy, receipt.as_ref())).await
    }
}

pub(crate) fn capture(
    unit: &mut UnitOfWork<'_>,
    new: &NewMessage,
    policy: &SessionPolicy,
    receipt: Option<&ReplyReceipt>,
) -> Result<CapturedMessage, Failure> {
    let connection = unit.connection;
    let scope = scopes::number_or_new(connection, &new.scope)?;
    let mut ended = Vec::new();
    // Only a reply has a receipt: what else the persona says in a turn replaces nothing.
    let replaced = match (new.role, new.turn_id, receipt) {
        (Role::Persona, Some(turn), Some(_)) => {
            message_edits::replace_replies(unit, turn, scope, new.created_at)?
        }
        _ => None,
    };
    let current = match (new.role, &replaced) {
        (Role::User, _) => session_for_user(connection, scope, new, policy, &mut ended)?,
        (Role::Persona | Role::Other, Some((session, _))) => sessions::by_id(connection, *session)?,
        (Role::Persona | Role::Other, None) => session_for_persona(connection, scope, new)?,
    };
    let is_new = current.is_none();
    let mut session = match current {
        Some(session) => sessions::extend(connection, session, new.token_count, new.created_at)?,
        None => sessions::begin(connection, scope, new)?,
    };
    if let (Role::User, Some(turn)) = (new.role, new.turn_id) {
        turns::await_reply(connection, turn, scope, session.id, new)?;
    }
    let place = microseconds(new.created_at).max(last_place(connection, scope)?);
    let seq = insert(connection, scope, session.id, new, place)?;
    channels::write(connection, seq, new)?;
    unit.index_words(Corpus::Messages, seq, scope, &new.terms);
    scopes::count_message(connection, scope)?;
    if let Some(receipt) = receipt {
        ledger::keep_receipt(connection, scope, receipt)?;
        turns::answer(connection, receipt.turn_id)?;
    }
    // The reply that fills a session ends it: the turn is complete. A question that fills it still gets its reply.
    let open = session.status == SessionStatus::Open;
    if new.role == Role::Persona && open && is_full(session.message_count, session.total_tokens, policy) {
        session = sessions::end(connection, session, CloseTrigger::MaxLength)?;
        ended.push(session.clone());
    }
    let message = stored(new, seq, session.id);
    let replaced = replaced.map(|(_, withdrawn)| withdrawn);
    Ok(CapturedMessage { message, opened: is_new.then_some(session), ended, replaced })
}

/// The open session that takes the user's message, after one that is over was ended.
fn session_for_user(
    connection: &Connection,
    scope: i64,
    new: &NewMessage,
    policy: &SessionPolicy,
    ended: &mut Vec<Session>,
) -> Result<Option<Session>, Failure> {
    let open = sessions::open(connection, scope, &new.channel_id)?;
    match (choose_session(open.as_ref(), new.created_at, policy), open) {
        (Placement::Continue, open) => Ok(open),
        (Placement::CloseThenOpen(trigger), Some(open)) => {
            ended.push(sessions::end(connection, open, trigger)?);
            Ok(None)
        }
        (Placement::Open | Placement::CloseThenOpen(_), _) => Ok(None),
    }
}

/// The session of the persona's turn while it is open, else the open one of the channel.
fn session_for_persona(
    connection: &Connection,
    scope: i64,
    new: &NewMessage,
) -> Result<Option<Session>, Failure> {
    if let Some(turn) = new.turn_id
        && let Some(session) = sessions::open_of_turn(connection, scope, turn)?
    {
        return Ok(Some(session));
    }
    Ok(sessions::open(connection, scope, &new.channel_id)?)
}

pub(crate) fn insert(
    connection: &Connection,
    scope: i64,
    session: SessionId,
    new: &NewMessage,
    place: i64,
) -> sql::Result<i64> {
    connection
        .prepare_cached(
            "INSERT INTO recall_messages (id, scope, session_id, turn_id, channel_id, role, token_count, day,
                 created_at, incomplete, content, terms, external_ref, placed_at, speaker)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .insert(params![
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
}

/// The largest place of a message in this scope. A new message gets this place or a later one, also if the clock went back.
fn last_place(connection: &Connection, scope: i64) -> sql::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(placed_at), 0) FROM recall_messages WHERE scope = ?1")?
        .query_row([scope], |row| row.get(0))
}

fn stored(new: &NewMessage, seq: i64, session_id: SessionId) -> Message {
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
        created_at: as_stored(new.created_at),
        incomplete: new.incomplete,
        model: None,
    }
}

/// The number of a live message.
pub(crate) fn number(connection: &Connection, id: MessageId) -> sql::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT seq FROM recall_messages WHERE id = ?1 AND deleted_at IS NULL")?
        .query_row([id.0.into_bytes()], |row| row.get(0))
        .optional()
}

pub(crate) fn by_id(connection: &Connection, id: MessageId) -> sql::Result<Option<Message>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            message_columns!(),
            " FROM recall_messages m JOIN scopes s ON s.number = m.scope
             WHERE m.id = ?1 AND m.deleted_at IS NULL"
        ))?
        .query_row([id.0.into_bytes()], rows::message)
        .optional()
}

fn messages_of_session(connection: &Connection, id: SessionId) -> sql::Result<Vec<Message>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            message_columns!(),
            " FROM recall_messages m JOIN scopes s ON s.number = m.scope
             WHERE m.session_id = ?1 AND m.deleted_at IS NULL ORDER BY m.seq"
        ))?
        .query_map([id.0.into_bytes()], rows::message)?
        .collect()
}

/// Newest first, by their places: what an import recorded today may be old.
fn before_number(
    connection: &Connection,
    scope: i64,
    before: Option<i64>,
    limit: u32,
) -> sql::Result<Vec<Message>> {
    let place = match before {
        None => (i64::MAX, i64::MAX),
        Some(before) => match place_of(connection, scope, before)? {
            Some(place) => (place, before),
            None => return Ok(Vec::new()),
        },
    };
    connection
        .prepare_cached(concat!(
            "SELECT ",
            message_columns!(),
            " FROM recall_messages m JOIN scopes s ON s.number = m.scope
             WHERE m.scope = ?1 AND (m.placed_at, m.seq) < (?2, ?3) AND m.deleted_at IS NULL
             ORDER BY m.placed_at DESC, m.seq DESC LIMIT ?4"
        ))?
        .query_map(params![scope, place.0, place.1, limit], rows::message)?
        .collect()
}

/// The place of the message of this number; if it is gone, of the one before it.
fn place_of(connection: &Connection, scope: i64, seq: i64) -> sql::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT placed_at FROM recall_messages WHERE scope = ?1 AND seq <= ?2 AND deleted_at IS NULL
             ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([scope, seq], |row| row.get(0))
        .optional()
}

pub(crate) fn numbered(
    connection: &Connection,
    scope: i64,
    seqs: &[i64],
) -> sql::Result<Vec<IndexedMessage>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            message_columns!(),
            ", m.terms, v.readability
             FROM json_each(?1) j CROSS JOIN recall_messages m ON m.seq = j.value
                 CROSS JOIN scopes s ON s.number = m.scope
                 LEFT JOIN message_vectors v INDEXED BY message_vectors_readability
                 ON v.seq = m.seq AND v.embedding_model = m.embedding_model
             WHERE m.scope = ?2 AND m.deleted_at IS NULL"
        ))?
        .query_map(params![rows::to_json(&seqs)?, scope], indexed)?
        .collect()
}

pub(crate) fn neighbours(
    connection: &Connection,
    scope: i64,
    seqs: &[i64],
    before: u32,
    after: u32,
) -> sql::Result<Vec<(i64, Vec<IndexedMessage>)>> {
    let mut session_of = connection.prepare_cached(
        "SELECT session_id FROM recall_messages WHERE seq = ?1 AND scope = ?2 AND deleted_at IS NULL",
    )?;
    let mut earlier = connection.prepare_cached(concat!(
        "SELECT ",
        message_columns!(),
        ", m.terms, v.readability
         FROM recall_messages m JOIN scopes s ON s.number = m.scope
             LEFT JOIN message_vectors v INDEXED BY message_vectors_readability
                 ON v.seq = m.seq AND v.embedding_model = m.embedding_model
         WHERE m.session_id = ?1 AND m.seq <= ?2 AND m.deleted_at IS NULL ORDER BY m.seq DESC LIMIT ?3"
    ))?;
    let mut later = connection.prepare_cached(concat!(
        "SELECT ",
        message_columns!(),
        ", m.terms, v.readability
         FROM recall_messages m JOIN scopes s ON s.number = m.scope
             LEFT JOIN message_vectors v INDEXED BY message_vectors_readability
                 ON v.seq = m.seq AND v.embedding_model = m.embedding_model
         WHERE m.session_id = ?1 AND m.seq > ?2 AND m.deleted_at IS NULL ORDER BY m.seq LIMIT ?3"
    ))?;
    let mut found = Vec::with_capacity(seqs.len());
    for seq in seqs {
        let session: Option<[u8; 16]> =
            session_of.query_row(params![seq, scope], |row| row.get(0)).optional()?;
        let Some(session) = session else { continue };
        let up_to_it = earlier.query_map(params![session, seq, i64::from(before) + 1], indexed)?;
        let mut messages: Vec<IndexedMessage> = up_to_it.collect::<Result<_, _>>()?;
        messages.reverse();
        for message in later.query_map(params![session, seq, after], indexed)? {
            messages.push(message?);
        }
        found.push((*seq, messages));
    }
    Ok(found)
}

/// Reads [`message_columns`], the terms and the readability.
fn indexed(row: &Row<'_>) -> sql::Result<IndexedMessage> {
    Ok(IndexedMessage {
        message: rows::message(row)?,
        terms: row.get(rows::AFTER_MESSAGE)?,
        readability: row.get(rows::AFTER_MESSAGE + 1)?,
    })
}

pub(crate) fn without_vector(
    connection: &Connection,
    fingerprint: &str,
    limit: u32,
) -> sql::Result<Vec<Message>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        message_columns!(),
        " FROM recall_messages m JOIN scopes s ON s.number = m.scope WHERE m.seq = ?1"
    ))?;
    let seqs = vectors::missing(connection, Corpus::Messages, fingerprint, limit)?;
    seqs.into_iter().map(|seq| statement.query_row([seq], rows::message)).collect()
}
