//! Messages that a later export has with another text, or no longer shows: after a swipe, an edit, another reply. A
//! message that replaces one of an earlier import changes its text; one that has become a version is hidden. The
//! former texts become versions, and [`super::changed`] restores them when the later import is undone.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::ports::{ImportedMessage, ImportedVersion, NewMessage, ReplacedMessages};

use super::changed::ChangedTexts;
use super::recorded::{RecordedMessage, message_by_seq, next_message};
use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::engine::writer::UnitOfWork;
use crate::messages::versions;
use crate::rows;

/// Changes that the pages of a run make to messages of earlier imports.
pub(super) struct MessageReplacer {
    texts: ChangedTexts,
    /// The preceding message of the page if it was stored before, and its channel.
    previous: Option<(i64, String)>,
}

impl MessageReplacer {
    pub(super) fn new(run: i64, scope: i64, at: Timestamp) -> Self {
        Self { texts: ChangedTexts::new(run, scope, at), previous: None }
    }

    /// Compares a message with earlier imports and updates the stored one if needed. True if its text is new; `None`
    /// if no earlier import has the message, so that it must be inserted.
    pub(super) fn settle(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        imported: &ImportedMessage,
    ) -> std::result::Result<Option<bool>, Failure> {
        let connection = unit.connection;
        let known = self.message_by_digest(connection, &imported.digest)?;
        let (shown, is_new) = match known {
            Some(shown) if is_same_text(&shown.message.content, &imported.message.content) => (shown, false),
            Some(shown) if self.shows_alternative(connection, &shown, imported)? => {
                if !self.texts.restore_earlier_text(unit, &shown, imported)? {
                    self.texts.replace_text(unit, &shown, imported, None)?;
                }
                (shown, false)
            }
            Some(shown) if self.is_later_text(connection, &shown, imported)? => {
                self.texts.replace_text(unit, &shown, imported, None)?;
                (shown, true)
            }
            // An older export, or a text that a person changed here.
            Some(shown) => (shown, false),
            None => match self.message_by_place(connection, imported)? {
                Some(shown) => {
                    self.texts.replace_text(unit, &shown, imported, Some(imported.digest))?;
                    (shown, true)
                }
                None => return Ok(None),
            },
        };
        self.add_versions(unit, shown.seq, imported)?;
        self.previous = Some((shown.seq, imported.message.channel_id.clone()));
        Ok(Some(is_new))
    }

    /// Adds the versions of an inserted message.
    pub(super) fn insert_versions(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        seq: i64,
        imported: &ImportedMessage,
    ) -> std::result::Result<(), Failure> {
        let mut numbers = BTreeMap::from([(imported.digest, 0)]);
        for other in &imported.not_shown {
            let version = versions::insert(unit.connection, seq, &other.version, None)?;
            insert_version(unit.connection, &mut numbers, version, other)?;
            self.withdraw_message(unit, seq, version, (imported, other))?;
        }
        // No message of an earlier import follows one that this import inserted.
        self.previous = None;
        Ok(())
    }

    /// Ends a page: memories that depended on the former texts are withdrawn.
    pub(super) fn finish(self, unit: &mut UnitOfWork<'_>) -> std::result::Result<ReplacedMessages, Failure> {
        self.texts.finish(unit)
    }

    /// Adds missing versions of an existing message.
    fn add_versions(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        seq: i64,
        imported: &ImportedMessage,
    ) -> std::result::Result<(), Failure> {
        let mut numbers = BTreeMap::from([(imported.digest, 0)]);
        for other in &imported.not_shown {
            let connection = unit.connection;
            let there = "SELECT number FROM message_versions WHERE message_seq = ?1 AND content = ?2 LIMIT 1";
            let there: Option<i64> = connection
                .prepare_cached(there)?
                .query_row(params![seq, other.version.content], |row| row.get(0))
                .optional()?;
            let version = match there {
                Some(version) => version,
                // Its branch follows the message.
                None if message_by_seq(connection, seq)?.is_some_and(|shown| shown.has_text_of(other)) => {
                    numbers.insert(other.digest, 0);
                    continue;
                }
                None => versions::insert(connection, seq, &other.version, Some(self.texts.run))?,
            };
            insert_version(connection, &mut numbers, version, other)?;
            self.withdraw_message(unit, seq, version, (imported, other))?;
        }
        Ok(())
    }

    /// True if the message may be changed: another import recorded it in this conversation, and this one has not
    /// changed it yet. Equal ids within one file are left alone, and so are copies of a conversation that continue
    /// differently.
    fn is_open(&self, connection: &Connection, shown: &RecordedMessage, new: &NewMessage) -> Result<bool> {
        if shown.run.is_none_or(|run| run == self.texts.run)
            || self.texts.has(shown.seq)
            || shown.message.channel_id != new.channel_id
        {
            return Ok(false);
        }
        let is_replaced: bool = connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM message_versions v JOIN replaced_messages r ON r.version = v.number
                     WHERE v.message_seq = ?1 AND r.run = ?2 AND r.message_id IS NULL)",
            )?
            .query_row([shown.seq, self.texts.run], |row| row.get(0))?;
        Ok(!is_replaced)
    }

    /// True if the stored text is one that the export lists as a version of the imported message.
    fn shows_alternative(
        &self,
        connection: &Connection,
        shown: &RecordedMessage,
        imported: &ImportedMessage,
    ) -> Result<bool> {
        let is_version = imported.alternative_versions().any(|other| shown.has_text_of(other));
        Ok(is_version && self.is_open(connection, shown, &imported.message)?)
    }

    /// True if the text is new under the message's id: it was edited in the other program.
    fn is_later_text(
        &self,
        connection: &Connection,
        shown: &RecordedMessage,
        imported: &ImportedMessage,
    ) -> Result<bool> {
        let new = &imported.message;
        if !imported.has_id
            || shown.message.role != new.role
            || !self.is_open(connection, shown, &imported.message)?
        {
            return Ok(false);
        }
        let was_there =
            "SELECT EXISTS (SELECT 1 FROM message_versions WHERE message_seq = ?1 AND content = ?2)";
        let was_there: bool = connection
            .prepare_cached(was_there)?
            .query_row(params![shown.seq, new.content], |row| row.get(0))?;
        Ok(!was_there)
    }

    /// The message of an earlier import that a new one replaces: one of its versions, or in a format without ids, the
    /// message at the same position and time.
    fn message_by_place(
        &self,
        connection: &Connection,
        imported: &ImportedMessage,
    ) -> Result<Option<RecordedMessage>> {
        let new = &imported.message;
        for other in imported.alternative_versions() {
            if let Some(shown) = self.message_by_digest(connection, &other.digest)?
                && shown.has_text_of(other)
                && shown.message.role == new.role
                && self.is_open(connection, &shown, new)?
            {
                return Ok(Some(shown));
            }
        }
        let Some((previous, _)) = self.previous.as_ref().filter(|(_, channel)| *channel == new.channel_id)
        else {
            return Ok(None);
        };
        let Some(next) = next_message(connection, *previous)? else { return Ok(None) };
        let is_same_place = next.message.role == new.role
            && next.message.speaker == new.speaker
            && (imported.alternative_versions().any(|other| next.has_text_of(other))
                || !imported.has_id
                    && is_finer_than_a_minute(new.created_at)
                    && next.message.created_at == rows::round_to_microseconds(new.created_at));
        Ok(Some(next)
            .filter(|_| is_same_place)
            .filter(|next| self.is_open(connection, next, new).unwrap_or(false)))
    }

    /// Hides a message that has become a version. Its own versions are moved too.
    fn withdraw_message(
        &mut self,
        unit: &mut UnitOfWork<'_>,
        seq: i64,
        version: i64,
        (imported, other): (&ImportedMessage, &ImportedVersion),
    ) -> std::result::Result<(), Failure> {
        let connection = unit.connection;
        let Some(shown) = self.message_by_digest(connection, &other.digest)? else { return Ok(()) };
        if shown.seq == seq
            || !shown.has_text_of(other)
            || !self.is_open(connection, &shown, &imported.message)?
        {
            return Ok(());
        }
        self.texts.hide_message(unit, &shown, (seq, version), other.digest)?;
        Ok(())
    }

    /// The message with this digest, or the one that it is a version of.
    fn message_by_digest(
        &self,
        connection: &Connection,
        digest: &[u8; 16],
    ) -> Result<Option<RecordedMessage>> {
        let seq: Option<i64> = connection
            .prepare_cached("SELECT message_seq FROM imported_messages WHERE scope = ?1 AND digest = ?2")?
            .query_row(params![self.texts.scope, digest], |row| row.get(0))
            .optional()?;
        seq.map_or(Ok(None), |seq| message_by_seq(connection, seq))
    }
}

/// True if the texts are equal, ignoring lines with names of files, which depend on the export's options.
fn is_same_text(one: &str, other: &str) -> bool {
    fn words(text: &str) -> &str {
        let mut words = text;
        while let Some((before, last)) = words.rsplit_once('\n')
            && is_file_line(last)
        {
            words = before;
        }
        if is_file_line(words) { "" } else { words }
    }
    one == other || words(one) == words(other)
}

/// True for a line that import adds for an attached file, such as `[image: cat.jpg]`.
fn is_file_line(line: &str) -> bool {
    let inner = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
    let kind = inner.map(|inner| inner.split_once(": ").map_or(inner, |(kind, _)| kind));
    matches!(kind, Some("image" | "video" | "audio" | "sticker" | "file"))
}

/// True if a time is precise enough to distinguish messages. In formats without seconds, all messages of a minute
/// have the same time.
fn is_finer_than_a_minute(at: Timestamp) -> bool {
    at.as_second() % 60 != 0 || at.subsec_nanosecond() != 0
}

/// Stores what a version follows, and the version's number by its digest.
fn insert_version(
    connection: &Connection,
    numbers: &mut BTreeMap<[u8; 16], i64>,
    version: i64,
    other: &ImportedVersion,
) -> Result<()> {
    numbers.insert(other.digest, version);
    match other.follows.and_then(|digest| numbers.get(&digest)) {
        Some(followed) => versions::set_followed_version(connection, version, *followed),
        None => Ok(()),
    }
}
