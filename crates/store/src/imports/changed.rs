//! Texts of recorded messages that an import changes, and undoing that.

use jiff::Timestamp;
use memory::identifiers::{ImportId, MessageId, SessionId};
use memory::ports::{Corpus, ImportedMessage, NewMessage, ReplacedMessages};
use memory::text;

use super::recorded::{
    RecordedMessage, ReplacedText, message_by_seq, set_time_and_model, texts_replaced_by_run,
    texts_replaced_in,
};
use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::engine::writer::UnitOfWork;
use crate::forgetting::message_edits::MessageChanges;
use crate::messages::versions;
use crate::rows::microseconds;
use crate::{messages, scopes};

/// Changes of a run to messages of earlier imports, committed by [`ChangedTexts::finish`].
pub(super) struct ChangedTexts {
    pub(super) run: i64,
    pub(super) scope: i64,
    at: Timestamp,
    changes: MessageChanges,
    reworded: Vec<MessageId>,
    removed: Vec<(MessageId, String)>,
}

/// Why a former text is restored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RestoreReason {
    /// The import that replaced the text is being undone.
    ByUndo,
    /// A later export has the text again.
    ByExport,
}

impl ChangedTexts {
    pub(super) fn new(run: i64, scope: i64, at: Timestamp) -> Self {
        let changes = MessageChanges::new(scope);
        Self { run, scope, at, changes, reworded: Vec::new(), removed: Vec::new() }
    }

    /// True if this message was changed.
    pub(super) fn has(&self, seq: i64) -> bool {
        self.changes.has(seq)
    }

    /// Withdraws memories that depended on the former texts.
    pub(super) fn finish(self, unit: &mut UnitOfWork<'_>) -> std::result::Result<ReplacedMessages, Failure> {
        let withdrawn = self.changes.finish(unit, self.at)?;
        let mut reworded = Vec::with_capacity(self.reworded.len());
        for id in self.reworded {
            reworded.extend(messages::by_id(unit.connection, id)?);
        }
        Ok(ReplacedMessages { reworded, removed: self.removed, withdrawn })
    }

    /// Replaces a message's text by the imported one; the former text becomes a version.
    pub(super) fn replace_text(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        shown: &RecordedMessage,
        imported: &ImportedMessage,
        digest: Option<[u8; 16]>,
    ) -> Result<()> {
        let (connection, old, new) = (unit.connection, &shown.message, &imported.message);
        let version = versions::insert(connection, shown.seq, &shown.to_version(self.at), Some(self.run))?;
        connection
            .prepare_cached(
                "INSERT INTO replaced_messages (version, run, digest, day) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![version, self.run, digest, old.day.to_string()])?;
        if let Some(digest) = digest {
            connection
                .prepare_cached(
                    "INSERT INTO imported_messages (scope, digest, message_seq) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![self.scope, digest, shown.seq])?;
        }
        self.changes.replace_text(unit, old.id, &new.content, &new.terms, new.token_count)?;
        set_time_and_model(connection, shown.seq, new.created_at, new.day, imported.model.as_deref())?;
        self.reworded.push(old.id);
        Ok(())
    }

    /// Restores the text that an earlier import replaced, and the branch after it. False if no import replaced this
    /// text.
    pub(super) fn restore_earlier_text(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        shown: &RecordedMessage,
        imported: &ImportedMessage,
    ) -> std::result::Result<bool, Failure> {
        let replaced = texts_replaced_in(unit.connection, shown.seq)?;
        let is_text = |replaced: &&ReplacedText| {
            replaced.hidden.is_none() && replaced.version.content == imported.message.content
        };
        if !replaced.iter().any(|replaced| is_text(&replaced)) {
            return Ok(false);
        }
        versions::insert(unit.connection, shown.seq, &shown.to_version(self.at), Some(self.run))?;
        for replaced in replaced.iter().filter(|replaced| replaced.hidden.is_some() || is_text(replaced)) {
            self.restore(unit, replaced, RestoreReason::ByExport)?;
        }
        Ok(true)
    }

    /// Hides a message that has become a version of another one: of the message with this number, as the version with
    /// this number. Its own versions are moved too.
    pub(super) fn hide_message(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        shown: &RecordedMessage,
        (seq, version): (i64, i64),
        digest: [u8; 16],
    ) -> Result<()> {
        let connection = unit.connection;
        let old = &shown.message;
        let id = old.id.0.into_bytes();
        connection
            .prepare_cached(
                "UPDATE message_versions SET message_seq = ?2, taken_from = coalesce(taken_from, ?3)
                 WHERE message_seq = ?1",
            )?
            .execute(params![shown.seq, seq, id])?;
        connection
            .prepare_cached(
                "DELETE FROM replaced_messages
                 WHERE version IN (SELECT number FROM message_versions WHERE message_seq = ?1 AND taken_from = ?2)",
            )?
            .execute(params![seq, id])?;
        connection
            .prepare_cached("UPDATE message_versions SET content = ?2, said_at = ?3 WHERE number = ?1")?
            .execute(params![version, old.content, microseconds(old.created_at)])?;
        connection
            .prepare_cached(
                "INSERT INTO replaced_messages (version, run, digest, day, message_id, session_id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                version,
                self.run,
                digest,
                old.day.to_string(),
                id,
                old.session_id.0.into_bytes()
            ])?;
        connection
            .prepare_cached("UPDATE imported_messages SET message_seq = ?2 WHERE message_seq = ?1")?
            .execute([shown.seq, seq])?;
        self.changes.remove(unit, old.id)?;
        self.removed.push((old.id, old.channel_id.clone()));
        Ok(())
    }

    fn restore(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        replaced: &ReplacedText,
        why: RestoreReason,
    ) -> std::result::Result<(), Failure> {
        match replaced.hidden {
            None => self.restore_text(unit, replaced, why)?,
            Some((id, session)) => self.restore_message(unit, replaced, id, session)?,
        }
        let connection = unit.connection;
        connection
            .prepare_cached("DELETE FROM replaced_messages WHERE version = ?1")?
            .execute([replaced.number])?;
        // A version that was imported with the message stays a version.
        connection
            .prepare_cached("DELETE FROM message_versions WHERE number = ?1 AND import_run IS NOT NULL")?
            .execute([replaced.number])?;
        Ok(())
    }

    fn restore_text(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        replaced: &ReplacedText,
        why: RestoreReason,
    ) -> Result<()> {
        let connection = unit.connection;
        let Some(RecordedMessage { message, .. }) = message_by_seq(connection, replaced.message_seq)? else {
            return Ok(());
        };
        let version = &replaced.version;
        let is_replaced_again = why == RestoreReason::ByUndo
            && move_replaced_text(connection, replaced, version.said_at.unwrap_or(message.created_at))?;
        if !is_replaced_again {
            let terms = text::index_terms(&version.content);
            let tokens = text::estimate_tokens(&version.content);
            self.changes.replace_text(unit, message.id, &version.content, &terms, tokens)?;
            let said_at = version.said_at.unwrap_or(message.created_at);
            let model = version.model.as_deref();
            set_time_and_model(connection, replaced.message_seq, said_at, replaced.day, model)?;
        }
        if let (Some(digest), RestoreReason::ByUndo) = (replaced.digest, why) {
            connection
                .prepare_cached("DELETE FROM imported_messages WHERE scope = ?1 AND digest = ?2")?
                .execute(params![self.scope, digest])?;
        }
        self.reworded.push(message.id);
        Ok(())
    }

    fn restore_message(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        replaced: &ReplacedText,
        id: MessageId,
        session: SessionId,
    ) -> Result<()> {
        let connection = unit.connection;
        let version = &replaced.version;
        let channel: Option<String> = connection
            .prepare_cached("SELECT channel_id FROM sessions WHERE id = ?1")?
            .query_row([session.0.into_bytes()], |row| row.get(0))
            .optional()?;
        let (Some(channel_id), Some(said_at)) = (channel, version.said_at) else { return Ok(()) };
        let new = NewMessage {
            id,
            session_id_if_new: session,
            scope: scopes::scope_by_number(connection, self.scope)?,
            channel_id,
            turn_id: None,
            role: version.role,
            speaker: version.speaker.clone(),
            terms: text::index_terms(&version.content),
            token_count: text::estimate_tokens(&version.content),
            day: replaced.day,
            created_at: said_at,
            content: version.content.clone(),
            incomplete: false,
            external_ref: None,
            channel_write: None,
        };
        let seq = messages::insert(connection, self.scope, session, &new, microseconds(said_at))?;
        unit.index_words(Corpus::Messages, seq, self.scope, &new.terms);
        scopes::count_messages(connection, self.scope, 1)?;
        connection
            .prepare_cached("UPDATE recall_messages SET model = ?2 WHERE seq = ?1")?
            .execute(params![seq, version.model])?;
        connection
            .prepare_cached(
                "UPDATE sessions SET message_count = message_count + 1, total_tokens = total_tokens + ?2 WHERE id = ?1",
            )?
            .execute(params![session.0.into_bytes(), new.token_count])?;
        connection
            .prepare_cached(
                "UPDATE message_versions SET message_seq = ?2, taken_from = NULL
                 WHERE message_seq = ?1 AND taken_from = ?3",
            )?
            .execute(params![replaced.message_seq, seq, id.0.into_bytes()])?;
        connection
            .prepare_cached("UPDATE imported_messages SET message_seq = ?3 WHERE scope = ?1 AND digest = ?2")?
            .execute(params![self.scope, replaced.digest, seq])?;
        self.changes.extract_again(session);
        self.reworded.push(id);
        Ok(())
    }
}

/// If the replacement of this text was itself replaced, by a later import or a person, moves the text to its place
/// among the versions; the shown text stays. False if it is shown.
fn move_replaced_text(connection: &Connection, replaced: &ReplacedText, said_at: Timestamp) -> Result<bool> {
    let later: Option<i64> = connection
        .prepare_cached(
            "SELECT v.number FROM message_versions v LEFT JOIN replaced_messages r ON r.version = v.number
             WHERE v.message_seq = ?1 AND v.number > ?2 AND v.taken_from IS NULL
                 AND (v.role IS NULL OR r.version IS NOT NULL AND r.message_id IS NULL)
             ORDER BY v.number LIMIT 1",
        )?
        .query_row([replaced.message_seq, replaced.number], |row| row.get(0))
        .optional()?;
    let Some(later) = later else { return Ok(false) };
    connection
        .prepare_cached(
            "UPDATE message_versions SET content = ?2, said_at = ?3, model = ?4 WHERE number = ?1",
        )?
        .execute(params![later, replaced.version.content, microseconds(said_at), replaced.version.model])?;
    connection
        .prepare_cached("UPDATE replaced_messages SET day = ?2 WHERE version = ?1")?
        .execute(params![later, replaced.day.to_string()])?;
    Ok(true)
}

/// Restores texts that a run replaced, at most `limit`. `None` if nothing is left.
pub(super) fn restore(
    unit: &mut UnitOfWork<'_>,
    id: ImportId,
    limit: u32,
    at: Timestamp,
) -> std::result::Result<Option<ReplacedMessages>, Failure> {
    let found: Option<(i64, i64)> = unit
        .connection
        .prepare_cached("SELECT number, scope FROM import_runs WHERE id = ?1")?
        .query_row([id.0.into_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((run, scope)) = found else { return Ok(None) };
    let replaced = texts_replaced_by_run(unit.connection, run, limit)?;
    if replaced.is_empty() {
        return Ok(None);
    }
    let mut texts = ChangedTexts::new(run, scope, at);
    for replaced in &replaced {
        texts.restore(unit, replaced, RestoreReason::ByUndo)?;
    }
    texts.finish(unit).map(Some)
}
