//! Received positions and the outbox of channels to other platforms.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::UserId;
use memory::identifiers::MessageId;
use memory::messages::{Message, Role};
use memory::ports::{
    ChannelCounts, ChannelStore, ChannelWrite, DeliveryStep, NewMessage, OutgoingMessage, ReceivedPosition,
    StoreError,
};

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::home_store::HomeStore;
use crate::rows::{self, message_columns, microseconds};

#[async_trait]
impl ChannelStore for HomeStore {
    async fn sequence_position(&self, source: &str) -> Result<Option<i64>, StoreError> {
        let source = source.to_owned();
        self.read_statement(move |connection| {
            Ok(connection
                .prepare_cached("SELECT position FROM channel_positions WHERE channel_id = ?1")?
                .query_row([&source], |row| row.get(0))
                .optional()?)
        })
        .await
    }

    async fn set_sequence_position(&self, source: &str, number: i64) -> Result<(), StoreError> {
        let source = source.to_owned();
        self.write(move |unit| {
            unit.connection
                .prepare_cached(
                    "INSERT INTO channel_positions (channel_id, position) VALUES (?1, ?2)
                     ON CONFLICT (channel_id) DO UPDATE SET position = excluded.position",
                )?
                .execute(params![source, number])?;
            Ok(())
        })
        .await
    }

    async fn conversation_positions(&self, channel_id: &str) -> Result<Vec<(String, i64)>, StoreError> {
        let channel_id = channel_id.to_owned();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT conversation, max(number) FROM channel_received WHERE channel_id = ?1
                 GROUP BY conversation",
            )?;
            let positions = statement.query_map([&channel_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(positions.collect::<Result<_>>()?)
        })
        .await
    }

    async fn is_received(&self, channel_id: &str, position: &ReceivedPosition) -> Result<bool, StoreError> {
        let (channel_id, position) = (channel_id.to_owned(), position.clone());
        self.read(move |connection| Ok(is_received(connection, &channel_id, &position)?)).await
    }

    async fn advance_channel(&self, channel_id: &str, position: ReceivedPosition) -> Result<(), StoreError> {
        let channel_id = channel_id.to_owned();
        self.write(move |unit| Ok(advance_position(unit.connection, &channel_id, &position)?)).await
    }

    async fn message_by_external_ref(
        &self,
        channel_id: &str,
        external_ref: &str,
    ) -> Result<Option<Message>, StoreError> {
        let (channel_id, external_ref) = (channel_id.to_owned(), external_ref.to_owned());
        self.read_statement(move |connection| {
            Ok(connection
                .prepare_cached(concat!(
                    "SELECT ",
                    message_columns!(),
                    " FROM recall_messages m JOIN scopes s ON s.number = m.scope
                     WHERE m.channel_id = ?1 AND m.external_ref = ?2 AND m.deleted_at IS NULL
                     ORDER BY m.seq LIMIT 1"
                ))?
                .query_row([&channel_id, &external_ref], rows::read_message)
                .optional()?)
        })
        .await
    }

    async fn conversation_of(&self, channel_id: &str, user: &UserId) -> Result<Option<String>, StoreError> {
        let (channel_id, user) = (channel_id.to_owned(), user.clone());
        self.read_statement(move |connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT conversation FROM channel_conversations WHERE channel_id = ?1 AND user_id = ?2",
                )?
                .query_row([channel_id.as_str(), user.as_str()], |row| row.get(0))
                .optional()?)
        })
        .await
    }

    async fn admit_stranger_answer(
        &self,
        channel_id: &str,
        external_id: &str,
        at: Timestamp,
        not_since: Timestamp,
    ) -> Result<bool, StoreError> {
        let (channel_id, external_id) = (channel_id.to_owned(), external_id.to_owned());
        self.write(move |unit| {
            unit.connection
                .prepare_cached("DELETE FROM channel_strangers WHERE answered_at <= ?1")?
                .execute([microseconds(not_since)])?;
            let noted = unit
                .connection
                .prepare_cached(
                    "INSERT INTO channel_strangers (channel_id, external_id, answered_at) VALUES (?1, ?2, ?3)
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![channel_id, external_id, microseconds(at)])?;
            Ok(noted > 0)
        })
        .await
    }

    async fn outbox_due(
        &self,
        channel_id: &str,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutgoingMessage>, StoreError> {
        let channel_id = channel_id.to_owned();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT o.number, m.id, o.conversation, m.content, o.pieces_sent, o.sending, o.attempts, o.created_at,
                        (SELECT l.sent_as FROM channel_last_sent l
                         WHERE l.channel_id = o.channel_id AND l.conversation = o.conversation)
                 FROM channel_outbox o JOIN recall_messages m ON m.seq = o.message_seq
                 WHERE o.channel_id = ?1 AND o.state = 'waiting' AND o.next_at <= ?2 AND m.deleted_at IS NULL
                   AND NOT EXISTS (SELECT 1 FROM channel_outbox e WHERE e.channel_id = o.channel_id
                                   AND e.conversation = o.conversation AND e.state = 'waiting'
                                   AND e.number < o.number)
                 ORDER BY o.number LIMIT ?3",
            )?;
            let due = statement.query_map(params![channel_id, microseconds(now), limit], read_outgoing)?;
            Ok(due.collect::<Result<_>>()?)
        })
        .await
    }

    async fn outbox_next(&self, channel_id: &str) -> Result<Option<Timestamp>, StoreError> {
        let channel_id = channel_id.to_owned();
        self.read_statement(move |connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT min(o.next_at) FROM channel_outbox o WHERE o.channel_id = ?1 AND o.state = 'waiting'
                       AND NOT EXISTS (SELECT 1 FROM channel_outbox e WHERE e.channel_id = o.channel_id
                                       AND e.conversation = o.conversation AND e.state = 'waiting'
                                       AND e.number < o.number)",
                )?
                .query_row([&channel_id], |row| rows::optional_time(row, 0))?)
        })
        .await
    }

    async fn outbox_step(&self, number: i64, step: DeliveryStep) -> Result<(), StoreError> {
        self.write(move |unit| Ok(take_step(unit.connection, number, &step)?)).await
    }

    async fn retry_undeliverable(&self, channel_id: &str, now: Timestamp) -> Result<u64, StoreError> {
        let channel_id = channel_id.to_owned();
        self.write(move |unit| {
            let again = unit
                .connection
                .prepare_cached(
                    "UPDATE channel_outbox SET state = 'waiting', attempts = 0, created_at = ?2, next_at = ?2
                     WHERE channel_id = ?1 AND state = 'undeliverable'",
                )?
                .execute(params![channel_id, microseconds(now)])?;
            Ok(again as u64)
        })
        .await
    }

    async fn channel_counts(&self, channel_id: &str) -> Result<ChannelCounts, StoreError> {
        let channel_id = channel_id.to_owned();
        self.read(move |connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT (SELECT count(*) FROM channel_outbox WHERE channel_id = ?1 AND state = 'waiting'),
                            (SELECT count(*) FROM channel_outbox WHERE channel_id = ?1 AND state = 'undeliverable'),
                            (SELECT count(*) FROM external_identities WHERE channel_id = ?1),
                            (SELECT last_error FROM channel_outbox WHERE channel_id = ?1 AND state = 'undeliverable'
                             ORDER BY number DESC LIMIT 1)",
                )?
                .query_row([&channel_id], |row| {
                    Ok(ChannelCounts {
                        waiting: row.get(0)?,
                        undeliverable: row.get(1)?,
                        linked: row.get(2)?,
                        last_failure: row.get(3)?,
                    })
                })?)
        })
        .await
    }
}

/// Writes a captured message's data for its channel.
pub(crate) fn write(connection: &Connection, seq: i64, message: &NewMessage) -> Result<()> {
    match (&message.channel_write, message.role) {
        (Some(ChannelWrite::Received { reached_in, position }), Role::User) => {
            advance_position(connection, &message.channel_id, position)?;
            let Some(conversation) = reached_in else { return Ok(()) };
            connection
                .prepare_cached(
                    "INSERT INTO channel_conversations (channel_id, user_id, conversation) VALUES (?1, ?2, ?3)
                     ON CONFLICT (channel_id, user_id) DO UPDATE SET conversation = excluded.conversation",
                )?
                .execute([message.channel_id.as_str(), message.scope.user.as_str(), conversation])?;
        }
        (Some(ChannelWrite::Deliver { conversation }), Role::Persona) => {
            connection
                .prepare_cached(
                    "INSERT INTO channel_outbox (message_seq, channel_id, conversation, state, created_at, next_at)
                     VALUES (?1, ?2, ?3, 'waiting', ?4, ?4)",
                )?
                .execute(params![
                    seq,
                    message.channel_id,
                    conversation,
                    microseconds(message.created_at)
                ])?;
        }
        _ => {}
    }
    Ok(())
}

fn is_received(connection: &Connection, channel_id: &str, position: &ReceivedPosition) -> Result<bool> {
    match position {
        ReceivedPosition::Sequence { source, number } => connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM channel_positions WHERE channel_id = ?1 AND position >= ?2)",
            )?
            .query_row(params![source, number], |row| row.get(0)),
        ReceivedPosition::Conversation { conversation, number, overlap } => connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM channel_received
                                WHERE channel_id = ?1 AND conversation = ?2 AND (number = ?3 OR number > ?3 + ?4))",
            )?
            .query_row(params![channel_id, conversation, number, overlap], |row| row.get(0)),
    }
}

fn advance_position(connection: &Connection, channel_id: &str, position: &ReceivedPosition) -> Result<()> {
    match position {
        ReceivedPosition::Sequence { source, number } => {
            connection
                .prepare_cached(
                    "INSERT INTO channel_positions (channel_id, position) VALUES (?1, ?2)
                     ON CONFLICT (channel_id) DO UPDATE SET position = max(channel_positions.position, excluded.position)",
                )?
                .execute(params![source, number])?;
        }
        ReceivedPosition::Conversation { conversation, number, overlap } => {
            connection
                .prepare_cached(
                    "INSERT INTO channel_received (channel_id, conversation, number) VALUES (?1, ?2, ?3)
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![channel_id, conversation, number])?;
            connection
                .prepare_cached(
                    "DELETE FROM channel_received WHERE channel_id = ?1 AND conversation = ?2 AND number <
                         (SELECT max(number) FROM channel_received WHERE channel_id = ?1 AND conversation = ?2) - ?3",
                )?
                .execute(params![channel_id, conversation, overlap])?;
        }
    }
    Ok(())
}

fn take_step(connection: &Connection, number: i64, step: &DeliveryStep) -> Result<()> {
    match step {
        DeliveryStep::Sending(piece) => connection
            .prepare_cached("UPDATE channel_outbox SET sending = ?2 WHERE number = ?1")?
            .execute(params![number, piece])?,
        DeliveryStep::Sent { pieces, is_whole, sent_as } => {
            if let Some(sent_as) = sent_as {
                connection
                    .prepare_cached(
                        "INSERT INTO channel_last_sent (channel_id, conversation, sent_as)
                         SELECT channel_id, conversation, ?2 FROM channel_outbox WHERE number = ?1
                         ON CONFLICT (channel_id, conversation) DO UPDATE SET sent_as = excluded.sent_as",
                    )?
                    .execute(params![number, sent_as])?;
            }
            let state = if *is_whole { "sent" } else { "waiting" };
            connection
                .prepare_cached(
                    "UPDATE channel_outbox SET sending = NULL, pieces_sent = ?2, state = ?3, last_error = NULL
                     WHERE number = ?1",
                )?
                .execute(params![number, pieces, state])?
        }
        DeliveryStep::PutOff(next_at, error) => connection
            .prepare_cached(
                "UPDATE channel_outbox SET sending = NULL, attempts = attempts + 1, next_at = ?2, last_error = ?3
                 WHERE number = ?1",
            )?
            .execute(params![number, microseconds(*next_at), error])?,
        DeliveryStep::GivenUp(error) => connection
            .prepare_cached(
                "UPDATE channel_outbox SET sending = NULL, state = 'undeliverable', last_error = ?2
                 WHERE number = ?1",
            )?
            .execute(params![number, error])?,
    };
    Ok(())
}

fn read_outgoing(row: &Row<'_>) -> Result<OutgoingMessage> {
    Ok(OutgoingMessage {
        number: row.get(0)?,
        message_id: MessageId(rows::read_uuid(row, 1)?),
        conversation: row.get(2)?,
        text: row.get(3)?,
        pieces_sent: row.get(4)?,
        doubtful_piece: row.get(5)?,
        attempts: row.get(6)?,
        created_at: rows::time(row, 7)?,
        last_sent: row.get(8)?,
    })
}
