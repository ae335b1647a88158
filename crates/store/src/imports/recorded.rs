//! Stored messages as an import finds them, and the texts that imports replaced.

use jiff::Timestamp;
use jiff::civil::Date;
use memory::identifiers::{MessageId, SessionId};
use memory::messages::{Message, MessageVersion, Role, VersionPlace};
use memory::ports::ImportedVersion;
use uuid::Uuid;

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows::{self, message_columns, microseconds};

macro_rules! replaced_columns {
    () => {
        "SELECT r.version, v.message_seq, r.digest, r.day, r.message_id, r.session_id, coalesce(v.role, m.role),
             coalesce(v.speaker, CASE WHEN v.role IS NULL THEN m.speaker END), v.content, v.said_at, v.model, v.replaced_at
         FROM replaced_messages r JOIN message_versions v ON v.number = r.version
             JOIN recall_messages m ON m.seq = v.message_seq"
    };
}

pub(super) struct RecordedMessage {
    pub(super) seq: i64,
    pub(super) message: Message,
    /// The import that began its session.
    pub(super) run: Option<i64>,
}

/// A text that was replaced.
pub(super) struct ReplacedText {
    /// Number of the version that the message became.
    pub(super) number: i64,
    /// The message that it is a version of.
    pub(super) message_seq: i64,
    pub(super) digest: Option<[u8; 16]>,
    pub(super) day: Date,
    pub(super) version: MessageVersion,
    /// The hidden message, and its session.
    pub(super) hidden: Option<(MessageId, SessionId)>,
}

/// Texts that imports replaced and that are now versions of this message, in the order of the replacements.
pub(super) fn texts_replaced_in(connection: &Connection, seq: i64) -> Result<Vec<ReplacedText>> {
    connection
        .prepare_cached(concat!(replaced_columns!(), " WHERE v.message_seq = ?1 ORDER BY r.version"))?
        .query_map([seq], read_replaced)?
        .collect()
}

/// Texts that a run replaced, in the order of the replacements.
pub(super) fn texts_replaced_by_run(
    connection: &Connection,
    run: i64,
    limit: u32,
) -> Result<Vec<ReplacedText>> {
    connection
        .prepare_cached(concat!(replaced_columns!(), " WHERE r.run = ?1 ORDER BY r.version LIMIT ?2"))?
        .query_map(params![run, limit], read_replaced)?
        .collect()
}

fn read_replaced(row: &Row<'_>) -> Result<ReplacedText> {
    let hidden: (Option<[u8; 16]>, Option<[u8; 16]>) = (row.get(4)?, row.get(5)?);
    Ok(ReplacedText {
        number: row.get(0)?,
        message_seq: row.get(1)?,
        digest: row.get(2)?,
        day: rows::read_date(row, 3)?,
        hidden: hidden
            .0
            .zip(hidden.1)
            .map(|(id, session)| (MessageId(Uuid::from_bytes(id)), SessionId(Uuid::from_bytes(session)))),
        version: MessageVersion {
            role: rows::read_enum::<Role>(row, 6)?,
            speaker: row.get(7)?,
            content: row.get(8)?,
            said_at: rows::optional_time(row, 9)?,
            model: row.get(10)?,
            replaced_at: rows::time(row, 11)?,
            place: VersionPlace::Alternative,
        },
    })
}

impl RecordedMessage {
    /// The text of the message as a version.
    pub(super) fn to_version(&self, replaced_at: Timestamp) -> MessageVersion {
        let Message { role, speaker, content, created_at, model, .. } = self.message.clone();
        let place = VersionPlace::Alternative;
        MessageVersion { role, speaker, content, said_at: Some(created_at), model, replaced_at, place }
    }

    /// True if its text is that of the version. Names of attached files appear only at the end of a shown text.
    pub(super) fn has_text_of(&self, other: &ImportedVersion) -> bool {
        let rest = self.message.content.strip_prefix(other.version.content.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("\n["))
    }
}

pub(super) fn message_by_seq(connection: &Connection, seq: i64) -> Result<Option<RecordedMessage>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            message_columns!(),
            ", c.import_run FROM recall_messages m JOIN scopes s ON s.number = m.scope
                 JOIN sessions c ON c.id = m.session_id
             WHERE m.seq = ?1 AND m.deleted_at IS NULL"
        ))?
        .query_row([seq], |row| {
            Ok(RecordedMessage {
                seq,
                message: rows::read_message(row)?,
                run: row.get(rows::FIRST_COLUMN_AFTER_MESSAGE)?,
            })
        })
        .optional()
}

/// The message after this one in its session.
pub(super) fn next_message(connection: &Connection, seq: i64) -> Result<Option<RecordedMessage>> {
    let next: Option<i64> = connection
        .prepare_cached(
            "SELECT n.seq FROM recall_messages m JOIN recall_messages n ON n.session_id = m.session_id
             WHERE m.seq = ?1 AND (n.placed_at, n.seq) > (m.placed_at, m.seq) AND n.deleted_at IS NULL
             ORDER BY n.placed_at, n.seq LIMIT 1",
        )?
        .query_row([seq], |row| row.get(0))
        .optional()?;
    next.map_or(Ok(None), |seq| message_by_seq(connection, seq))
}

/// Sets the time and the model of a message with a changed text.
pub(super) fn set_time_and_model(
    connection: &Connection,
    seq: i64,
    at: Timestamp,
    day: Date,
    model: Option<&str>,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE recall_messages SET created_at = ?2, placed_at = ?2, day = ?3, model = ?4 WHERE seq = ?1",
        )?
        .execute(params![seq, microseconds(at), day.to_string(), model])?;
    Ok(())
}
