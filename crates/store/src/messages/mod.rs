//! L2: capture and the verbatim log.

mod capture;
mod failed_work;
pub(crate) mod turns;
pub(crate) mod outlines;
pub(crate) mod versions;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use async_trait::async_trait;
use memory::Scope;
use memory::identifiers::{MessageId, SessionId};
use memory::messages::{Message, MessageVersion};
use memory::ports::{Corpus, IndexedMessage, MessageStore, StoreError};

use crate::engine::sql::{self, Connection, OptionalExtension, Row, params};
use crate::home_store::HomeStore;
use crate::index::vectors;
use crate::rows::{self, message_columns};

pub(crate) use capture::{capture, insert};

#[async_trait]
impl MessageStore for HomeStore {
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
        self.read_statement(move |connection| Ok(by_id(connection, id)?)).await
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
        .query_row([id.0.into_bytes()], rows::read_message)
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
        .query_map([id.0.into_bytes()], rows::read_message)?
        .collect()
}

/// Messages newest first, by position: one recorded by an import today may be old.
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
        .query_map(params![scope, place.0, place.1, limit], rows::read_message)?
        .collect()
}

/// The position of the message with this number, or if it is deleted, of the one before it.
fn place_of(connection: &Connection, scope: i64, seq: i64) -> sql::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT placed_at FROM recall_messages WHERE scope = ?1 AND seq <= ?2 AND deleted_at IS NULL
             ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([scope, seq], |row| row.get(0))
        .optional()
}

pub(crate) fn messages_by_number(
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
        .query_map(params![rows::to_json(&seqs)?, scope], read_indexed_message)?
        .collect()
}

/// Query for each of the messages ?1 of a scope, with up to ?3 before it and ?4 after it in its session, in their
/// order.
const SURROUNDING_MESSAGES: &str = "
    SELECT m.seq, n.seq FROM json_each(?1) j CROSS JOIN recall_messages m ON m.seq = j.value
        CROSS JOIN recall_messages n ON n.session_id = m.session_id AND n.seq
        BETWEEN coalesce((SELECT min(seq) FROM (
            SELECT b.seq FROM recall_messages b
            WHERE b.session_id = m.session_id AND b.seq < m.seq AND b.deleted_at IS NULL
            ORDER BY b.seq DESC LIMIT ?3) AS earlier), m.seq)
        AND coalesce((SELECT max(seq) FROM (
            SELECT a.seq FROM recall_messages a
            WHERE a.session_id = m.session_id AND a.seq > m.seq AND a.deleted_at IS NULL
            ORDER BY a.seq LIMIT ?4) AS later), m.seq)
    WHERE m.scope = ?2 AND m.deleted_at IS NULL AND n.deleted_at IS NULL ORDER BY n.seq";

/// Each of the messages with its neighbours in its session.
pub(crate) fn neighbours(
    connection: &Connection,
    scope: i64,
    seqs: &[i64],
    before: u32,
    after: u32,
) -> sql::Result<Vec<(i64, Vec<IndexedMessage>)>> {
    let mut around: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let mut found = connection.prepare_cached(SURROUNDING_MESSAGES)?;
    let asked = params![rows::to_json(&seqs)?, scope, before, after];
    for pair in found.query_map(asked, |row| Ok((row.get(0)?, row.get(1)?)))? {
        let (seq, neighbour) = pair?;
        around.entry(seq).or_default().push(neighbour);
    }
    // Messages that were found together are often neighbours of one another, so each is read once.
    let wanted: BTreeSet<i64> = around.values().flatten().copied().collect();
    let wanted: Vec<i64> = wanted.into_iter().collect();
    let messages = messages_by_number(connection, scope, &wanted)?;
    let messages: HashMap<i64, IndexedMessage> =
        messages.into_iter().map(|message| (message.message.seq, message)).collect();
    // A deleted message has no neighbours, not even itself.
    let of_each = seqs.iter().filter_map(|seq| Some((*seq, around.get(seq)?)));
    let read = |around: &Vec<i64>| around.iter().filter_map(|seq| messages.get(seq).cloned()).collect();
    Ok(of_each.map(|(seq, around)| (seq, read(around))).collect())
}

/// Reads [`message_columns`], the terms and the readability.
fn read_indexed_message(row: &Row<'_>) -> sql::Result<IndexedMessage> {
    Ok(IndexedMessage {
        message: rows::read_message(row)?,
        terms: row.get(rows::FIRST_COLUMN_AFTER_MESSAGE)?,
        readability: row.get(rows::FIRST_COLUMN_AFTER_MESSAGE + 1)?,
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
    let seqs = vectors::rows_without_vector(connection, Corpus::Messages, fingerprint, limit)?;
    seqs.into_iter().map(|seq| statement.query_row([seq], rows::read_message)).collect()
}
