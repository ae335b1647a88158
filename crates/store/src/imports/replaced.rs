//! Messages that a later export shows with another text, or not at all: after a swipe, an edit, another reply. A message that
//! takes the place of one of an earlier import replaces its text; one that is only a version now is not shown any more. What
//! was there is a version, and [`restore`] brings it back when the later import is taken back.

use jiff::Timestamp;
use jiff::civil::Date;
use memory::identifiers::{ImportId, MessageId, SessionId};
use memory::messages::{Message, MessageVersion, Role};
use memory::ports::{Corpus, ImportedMessage, ImportedVersion, NewMessage, ReplacedMessages};
use memory::text;

use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::engine::writer::UnitOfWork;
use crate::forgetting::message_edits::MessageChanges;
use crate::messages::versions;
use crate::rows::{self, message_columns, microseconds};
use crate::{messages, scopes};

macro_rules! replaced_columns {
    () => {
        "SELECT r.version, v.message_seq, r.digest, r.day, r.message_id, r.session_id, coalesce(v.role, m.role),
             coalesce(v.speaker, CASE WHEN v.role IS NULL THEN m.speaker END), v.content, v.said_at, v.model, v.replaced_at
         FROM replaced_messages r JOIN message_versions v ON v.number = r.version
             JOIN recall_messages m ON m.seq = v.message_seq"
    };
}
/// Changes that the pages of a run make to messages of earlier imports.
pub(super) struct Replacing {
    run: i64,
    scope: i64,
    at: Timestamp,
    changes: MessageChanges,
    reworded: Vec<MessageId>,
    removed: Vec<(MessageId, String)>,
    /// The last message of the page that is in the memory now, and its channel.
    previous: Option<(i64, String)>,
}

/// A message of the memory.
struct Shown {
    seq: i64,
    message: Message,
    /// The import that began its session.
    run: Option<i64>,
}

impl Replacing {
    pub(super) fn new(run: i64, scope: i64, at: Timestamp) -> Self {
        let changes = MessageChanges::new(scope);
        Self { run, scope, at, changes, reworded: Vec::new(), removed: Vec::new(), previous: None }
    }

    /// Settles a message that the memory has in some form. Returns whether its text is new to the memory; `None` if it is to be
    /// inserted.
    pub(super) fn settle(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        imported: &ImportedMessage,
    ) -> std::result::Result<Option<bool>, Failure> {
        let connection = unit.connection;
        let known = self.of_digest(connection, &imported.digest)?;
        let (shown, is_new) = match known {
            Some(shown) if shown.message.content == imported.message.content => (shown, false),
            Some(shown) if self.shows_alternative(connection, &shown, imported)? => {
                if !self.put_back(unit, &shown, imported)? {
                    self.reword(unit, &shown, imported, None)?;
                }
                (shown, false)
            }
            Some(shown) if self.is_later_text(connection, &shown, imported)? => {
                self.reword(unit, &shown, imported, None)?;
                (shown, true)
            }
            // An older export, or a text that a person changed here.
            Some(shown) => (shown, false),
            None => match self.of_place(connection, imported)? {
                Some(shown) => {
                    self.reword(unit, &shown, imported, Some(imported.digest))?;
                    (shown, true)
                }
                None => return Ok(None),
            },
        };
        self.add_versions(unit, shown.seq, imported)?;
        self.previous = Some((shown.seq, imported.message.channel_id.clone()));
        Ok(Some(is_new))
    }

    /// Adds the versions of a message that was inserted.
    pub(super) fn inserted(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        seq: i64,
        imported: &ImportedMessage,
    ) -> std::result::Result<(), Failure> {
        for other in &imported.not_shown {
            let version = versions::insert(unit.connection, seq, &other.version, None)?;
            self.take_out(unit, seq, version, other)?;
        }
        self.previous = Some((seq, imported.message.channel_id.clone()));
        Ok(())
    }

    /// Commits the changes of a page.
    pub(super) fn finish(self, unit: &mut UnitOfWork<'_>) -> std::result::Result<ReplacedMessages, Failure> {
        let withdrawn = self.changes.finish(unit, self.at)?;
        let mut reworded = Vec::with_capacity(self.reworded.len());
        for id in self.reworded {
            reworded.extend(messages::by_id(unit.connection, id)?);
        }
        Ok(ReplacedMessages { reworded, removed: self.removed, withdrawn })
    }

    /// Adds versions to a message that was there, those that it has not.
    fn add_versions(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        seq: i64,
        imported: &ImportedMessage,
    ) -> std::result::Result<(), Failure> {
        for other in &imported.not_shown {
            let connection = unit.connection;
            let there = "SELECT number FROM message_versions WHERE message_seq = ?1 AND content = ?2 LIMIT 1";
            let there: Option<i64> = connection
                .prepare_cached(there)?
                .query_row(params![seq, other.version.content], |row| row.get(0))
                .optional()?;
            let version = match there {
                Some(version) => version,
                None if shown(connection, seq)?.is_some_and(|shown| shown.shows(other)) => continue,
                None => versions::insert(connection, seq, &other.version, Some(self.run))?,
            };
            self.take_out(unit, seq, version, other)?;
        }
        Ok(())
    }

    /// True if the message may be changed: another import brought it, and this one has not touched it yet. Equal ids in one file
    /// are its own matter.
    fn is_open(&self, connection: &Connection, shown: &Shown) -> Result<bool> {
        if shown.run.is_none_or(|run| run == self.run) || self.changes.has(shown.seq) {
            return Ok(false);
        }
        let is_replaced: bool = connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM message_versions v JOIN replaced_messages r ON r.version = v.number
                     WHERE v.message_seq = ?1 AND r.run = ?2 AND r.message_id IS NULL)",
            )?
            .query_row([shown.seq, self.run], |row| row.get(0))?;
        Ok(!is_replaced)
    }

    /// True if the message shows what the export calls a version of the imported one.
    fn shows_alternative(
        &self,
        connection: &Connection,
        shown: &Shown,
        imported: &ImportedMessage,
    ) -> Result<bool> {
        let is_version = imported.alternatives().any(|other| shown.shows(other));
        Ok(is_version && self.is_open(connection, shown)?)
    }

    /// True if the text under the message's id is one that the memory has never had: it was edited there.
    fn is_later_text(
        &self,
        connection: &Connection,
        shown: &Shown,
        imported: &ImportedMessage,
    ) -> Result<bool> {
        let new = &imported.message;
        if !imported.has_id || shown.message.role != new.role || !self.is_open(connection, shown)? {
            return Ok(false);
        }
        let was_there =
            "SELECT EXISTS (SELECT 1 FROM message_versions WHERE message_seq = ?1 AND content = ?2)";
        let was_there: bool = connection
            .prepare_cached(was_there)?
            .query_row(params![shown.seq, new.content], |row| row.get(0))?;
        Ok(!was_there)
    }

    /// The message of an earlier import whose place a new one takes: a version of it, or, in a format without ids, the message
    /// that stood there at the same time.
    fn of_place(&self, connection: &Connection, imported: &ImportedMessage) -> Result<Option<Shown>> {
        let new = &imported.message;
        for other in imported.alternatives() {
            if let Some(shown) = self.of_digest(connection, &other.digest)?
                && shown.shows(other)
                && shown.message.role == new.role
                && self.is_open(connection, &shown)?
            {
                return Ok(Some(shown));
            }
        }
        let Some((previous, _)) = self.previous.as_ref().filter(|(_, channel)| *channel == new.channel_id)
        else {
            return Ok(None);
        };
        let Some(next) = next_in_session(connection, *previous)? else { return Ok(None) };
        let is_same_place = next.message.role == new.role
            && next.message.speaker == new.speaker
            && (imported.alternatives().any(|other| next.shows(other))
                || !imported.has_id && next.message.created_at == rows::as_stored(new.created_at));
        Ok(Some(next)
            .filter(|_| is_same_place)
            .filter(|next| self.is_open(connection, next).unwrap_or(false)))
    }

    /// Gives a message the imported text; the one before becomes a version.
    fn reword(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        shown: &Shown,
        imported: &ImportedMessage,
        digest: Option<[u8; 16]>,
    ) -> Result<()> {
        let (connection, old, new) = (unit.connection, &shown.message, &imported.message);
        let version = versions::insert(connection, shown.seq, &shown.version(self.at), Some(self.run))?;
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
        self.changes.reword(unit, old.id, &new.content, &new.terms, new.token_count)?;
        place(connection, shown.seq, new.created_at, new.day, imported.model.as_deref())?;
        self.reworded.push(old.id);
        Ok(())
    }

    /// Gives a message the text back that an earlier import replaced, with the branch that followed it. False if none replaced
    /// this text.
    fn put_back(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        shown: &Shown,
        imported: &ImportedMessage,
    ) -> std::result::Result<bool, Failure> {
        let replaced = replaced_of_message(unit.connection, shown.seq)?;
        let is_text = |replaced: &&Replaced| {
            replaced.hidden.is_none() && replaced.version.content == imported.message.content
        };
        if !replaced.iter().any(|replaced| is_text(&replaced)) {
            return Ok(false);
        }
        versions::insert(unit.connection, shown.seq, &shown.version(self.at), Some(self.run))?;
        for replaced in replaced.iter().filter(|replaced| replaced.hidden.is_some() || is_text(replaced)) {
            self.restore(unit, replaced, Restored::ByExport)?;
        }
        Ok(true)
    }

    /// Takes a message out of the conversation that is a version now. Its own versions come along.
    fn take_out(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        seq: i64,
        version: i64,
        other: &ImportedVersion,
    ) -> std::result::Result<(), Failure> {
        let connection = unit.connection;
        let Some(shown) = self.of_digest(connection, &other.digest)? else { return Ok(()) };
        if shown.seq == seq || !shown.shows(other) || !self.is_open(connection, &shown)? {
            return Ok(());
        }
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
                other.digest,
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
        replaced: &Replaced,
        why: Restored,
    ) -> std::result::Result<(), Failure> {
        match replaced.hidden {
            None => self.restore_text(unit, replaced, why)?,
            Some((id, session)) => self.restore_message(unit, replaced, id, session)?,
        }
        let connection = unit.connection;
        connection
            .prepare_cached("DELETE FROM replaced_messages WHERE version = ?1")?
            .execute([replaced.number])?;
        // A version that came with the message itself stays one.
        connection
            .prepare_cached("DELETE FROM message_versions WHERE number = ?1 AND import_run IS NOT NULL")?
            .execute([replaced.number])?;
        Ok(())
    }

    fn restore_text(&mut self, unit: &mut UnitOfWork<'_>, replaced: &Replaced, why: Restored) -> Result<()> {
        let connection = unit.connection;
        let Some(Shown { message, .. }) = shown(connection, replaced.message_seq)? else { return Ok(()) };
        let version = &replaced.version;
        let terms = text::index_terms(&version.content);
        let tokens = text::estimate_tokens(&version.content);
        self.changes.reword(unit, message.id, &version.content, &terms, tokens)?;
        let said_at = version.said_at.unwrap_or(message.created_at);
        place(connection, replaced.message_seq, said_at, replaced.day, version.model.as_deref())?;
        if let (Some(digest), Restored::ByUndo) = (replaced.digest, why) {
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
        replaced: &Replaced,
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
            scope: scopes::of_number(connection, self.scope)?,
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
        scopes::count_message(connection, self.scope)?;
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

    /// The message that stands for this digest: the one itself, or the one that it is a version of.
    fn of_digest(&self, connection: &Connection, digest: &[u8; 16]) -> Result<Option<Shown>> {
        let seq: Option<i64> = connection
            .prepare_cached("SELECT message_seq FROM imported_messages WHERE scope = ?1 AND digest = ?2")?
            .query_row(params![self.scope, digest], |row| row.get(0))
            .optional()?;
        seq.map_or(Ok(None), |seq| shown(connection, seq))
    }
}

/// Why a text is shown again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Restored {
    /// The import that replaced it is taken back.
    ByUndo,
    /// A later export shows it.
    ByExport,
}

/// A text that was replaced.
struct Replaced {
    /// Number of its version.
    number: i64,
    /// The message whose version it is.
    message_seq: i64,
    digest: Option<[u8; 16]>,
    day: Date,
    version: MessageVersion,
    /// The message that is not shown any more, and its session.
    hidden: Option<(MessageId, SessionId)>,
}

/// Brings back what a run replaced, at most `limit` texts. `None` if nothing is left to bring back.
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
    let replaced = unit
        .connection
        .prepare_cached(concat!(replaced_columns!(), " WHERE r.run = ?1 ORDER BY r.version LIMIT ?2"))?
        .query_map(params![run, limit], replaced)?
        .collect::<Result<Vec<_>>>()?;
    if replaced.is_empty() {
        return Ok(None);
    }
    let mut replacing = Replacing::new(run, scope, at);
    for replaced in &replaced {
        replacing.restore(unit, replaced, Restored::ByUndo)?;
    }
    replacing.finish(unit).map(Some)
}

fn replaced_of_message(connection: &Connection, seq: i64) -> Result<Vec<Replaced>> {
    connection
        .prepare_cached(concat!(replaced_columns!(), " WHERE v.message_seq = ?1 ORDER BY r.version"))?
        .query_map([seq], replaced)?
        .collect()
}

fn replaced(row: &Row<'_>) -> Result<Replaced> {
    let hidden: (Option<[u8; 16]>, Option<[u8; 16]>) = (row.get(4)?, row.get(5)?);
    Ok(Replaced {
        number: row.get(0)?,
        message_seq: row.get(1)?,
        digest: row.get(2)?,
        day: rows::date(row, 3)?,
        hidden: hidden.0.zip(hidden.1).map(|(id, session)| {
            (MessageId(uuid::Uuid::from_bytes(id)), SessionId(uuid::Uuid::from_bytes(session)))
        }),
        version: MessageVersion {
            role: rows::read_enum::<Role>(row, 6)?,
            speaker: row.get(7)?,
            content: row.get(8)?,
            said_at: rows::optional_time(row, 9)?,
            model: row.get(10)?,
            replaced_at: rows::time(row, 11)?,
        },
    })
}

impl Shown {
    /// Its text as a version.
    fn version(&self, replaced_at: Timestamp) -> MessageVersion {
        let Message { role, speaker, content, created_at, model, .. } = self.message.clone();
        MessageVersion { role, speaker, content, said_at: Some(created_at), model, replaced_at }
    }

    /// True if its text is this version's. Files that came with it are named at the end of a shown text only.
    fn shows(&self, other: &ImportedVersion) -> bool {
        let rest = self.message.content.strip_prefix(other.version.content.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("\n["))
    }
}

fn shown(connection: &Connection, seq: i64) -> Result<Option<Shown>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            message_columns!(),
            ", c.import_run FROM recall_messages m JOIN scopes s ON s.number = m.scope
                 JOIN sessions c ON c.id = m.session_id
             WHERE m.seq = ?1 AND m.deleted_at IS NULL"
        ))?
        .query_row([seq], |row| {
            Ok(Shown { seq, message: rows::message(row)?, run: row.get(rows::AFTER_MESSAGE)? })
        })
        .optional()
}

/// The message after this one in its session.
fn next_in_session(connection: &Connection, seq: i64) -> Result<Option<Shown>> {
    let next: Option<i64> = connection
        .prepare_cached(
            "SELECT n.seq FROM recall_messages m JOIN recall_messages n ON n.session_id = m.session_id
             WHERE m.seq = ?1 AND (n.placed_at, n.seq) > (m.placed_at, m.seq) AND n.deleted_at IS NULL
             ORDER BY n.placed_at, n.seq LIMIT 1",
        )?
        .query_row([seq], |row| row.get(0))
        .optional()?;
    next.map_or(Ok(None), |seq| shown(connection, seq))
}

/// Sets the time and the model of a message whose text has changed.
fn place(connection: &Connection, seq: i64, at: Timestamp, day: Date, model: Option<&str>) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE recall_messages SET created_at = ?2, placed_at = ?2, day = ?3, model = ?4 WHERE seq = ?1",
        )?
        .execute(params![seq, microseconds(at), day.to_string(), model])?;
    Ok(())
}
