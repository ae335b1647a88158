//! Texts that a message does not show.

use memory::identifiers::{MessageId, SessionId};
use memory::messages::MessageVersion;

use crate::engine::sql::{Connection, Result, Row, params};
use crate::rows::{self, StoredEnum as _, microseconds};

/// Other texts of the messages of a session, the oldest first.
pub(super) fn in_session(
    connection: &Connection,
    session: SessionId,
) -> Result<Vec<(MessageId, MessageVersion)>> {
    let version = |row: &Row<'_>| {
        let version = MessageVersion {
            role: rows::read_enum(row, 0)?,
            speaker: row.get(1)?,
            content: row.get(2)?,
            said_at: rows::optional_time(row, 3)?,
            model: row.get(4)?,
            replaced_at: rows::time(row, 5)?,
        };
        Ok((MessageId(rows::uuid(row, 6)?), version))
    };
    connection
        .prepare_cached(
            "SELECT coalesce(v.role, m.role), coalesce(v.speaker, CASE WHEN v.role IS NULL THEN m.speaker END), v.content,
                 v.said_at, v.model, v.replaced_at, m.id
             FROM recall_messages m JOIN message_versions v ON v.message_seq = m.seq
             WHERE m.session_id = ?1 AND v.content <> m.content AND m.deleted_at IS NULL ORDER BY v.number",
        )?
        .query_map([session.0.into_bytes()], version)?
        .collect()
}

/// Inserts a version of the message with this number; `import_run` is the import that adds it to a message of an earlier one.
/// Returns its number.
pub(crate) fn insert(
    connection: &Connection,
    seq: i64,
    version: &MessageVersion,
    import_run: Option<i64>,
) -> Result<i64> {
    connection
        .prepare_cached(
            "INSERT INTO message_versions (message_seq, content, replaced_at, role, speaker, model, said_at, import_run)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .insert(params![
            seq,
            version.content,
            microseconds(version.replaced_at),
            version.role.as_str(),
            version.speaker,
            version.model,
            version.said_at.map(microseconds),
            import_run,
        ])
}
