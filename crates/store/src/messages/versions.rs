//! Versions: texts that a message does not show.

use std::collections::BTreeMap;

use memory::identifiers::{MessageId, SessionId};
use memory::messages::{MessageVersion, VersionPlace};

use crate::engine::sql::{Connection, Result, Row, params};
use crate::rows::{self, StoredEnum as _, microseconds};

/// A version with its number, and that of the one that it follows.
struct NumberedVersion {
    number: i64,
    follows: Option<i64>,
    message: MessageId,
    version: MessageVersion,
}

/// Versions of the messages in a session, the oldest first.
pub(super) fn in_session(
    connection: &Connection,
    session: SessionId,
) -> Result<BTreeMap<MessageId, Vec<MessageVersion>>> {
    let version = |row: &Row<'_>| {
        let version = MessageVersion {
            role: rows::read_enum(row, 0)?,
            speaker: row.get(1)?,
            content: row.get(2)?,
            said_at: rows::optional_time(row, 3)?,
            model: row.get(4)?,
            replaced_at: rows::time(row, 5)?,
            place: VersionPlace::Alternative,
        };
        let message = MessageId(rows::read_uuid(row, 6)?);
        Ok(NumberedVersion { number: row.get(7)?, follows: row.get(8)?, message, version })
    };
    let mut by_message: BTreeMap<MessageId, Vec<MessageVersion>> = BTreeMap::new();
    let mut index_of: BTreeMap<i64, usize> = BTreeMap::new();
    let mut statement = connection
        .prepare_cached(
            "SELECT coalesce(v.role, m.role), coalesce(v.speaker, CASE WHEN v.role IS NULL THEN m.speaker END), v.content,
                 v.said_at, v.model, v.replaced_at, m.id, v.number, v.follows
             FROM recall_messages m JOIN message_versions v ON v.message_seq = m.seq
             WHERE m.session_id = ?1 AND v.content <> m.content AND m.deleted_at IS NULL ORDER BY v.number",
        )?;
    for found in statement.query_map([session.0.into_bytes()], version)? {
        let NumberedVersion { number, follows, message, mut version } = found?;
        let versions = by_message.entry(message).or_default();
        // A version that follows the shown text follows the message.
        version.place = match follows {
            None => VersionPlace::Alternative,
            Some(followed) => index_of
                .get(&followed)
                .map_or(VersionPlace::AfterMessage, |index| VersionPlace::AfterVersion(*index)),
        };
        index_of.insert(number, versions.len());
        versions.push(version);
    }
    Ok(by_message)
}

/// Stores what a version follows: the number of another version, 0 for the message itself.
pub(crate) fn set_followed_version(connection: &Connection, number: i64, followed: i64) -> Result<()> {
    connection
        .prepare_cached("UPDATE message_versions SET follows = ?2 WHERE number = ?1")?
        .execute([number, followed])?;
    Ok(())
}

/// Inserts a version of the message with this number; `import_run` is the import that adds it to a message of an
/// earlier one. Returns its number.
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
