//! Sessions, turns and messages.

use memory::text;

use super::source::each_row;
use super::{PythonHomeCopy, PythonHomeError};
use crate::engine::sql::params;
use crate::rows::microseconds;

const TRIGGERS: [&str; 5] = ["idle", "max_length", "explicit", "lifecycle", "catchup"];

impl PythonHomeCopy<'_> {
    /// Sessions: those with memories are closed; the others will be consolidated here.
    pub(super) fn sessions(&mut self) -> Result<(), PythonHomeError> {
        each_row(self.source, "sessions", |row| {
            let (Some(scope), Some(id), false) =
                (self.scope_of(&row), row.owned_text("id"), row.is_deleted())
            else {
                return self.count_skipped("deleted sessions");
            };
            let started_at = row.time("started_at", self.zone).unwrap_or(self.now);
            let last_at = row.time("last_message_at", self.zone).unwrap_or(started_at).max(started_at);
            let is_closed = row.text_column("status") == Some("closed") && row.is_true("extracted");
            let trigger = row.text_column("close_trigger").filter(|trigger| TRIGGERS.contains(trigger));
            let key = self.new_key(started_at);
            self.target.execute(
                "INSERT INTO sessions (id, scope, channel_id, status, message_count, total_tokens, first_message_at,
                     last_message_at, closed_at, close_trigger, extracted, reflected, trivial)
                 VALUES (?1, ?2, ?3, ?4, 0, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    key,
                    scope,
                    row.text_or_empty("channel_id"),
                    if is_closed { "closed" } else { "closing" },
                    microseconds(started_at),
                    microseconds(last_at),
                    row.time("closed_at", self.zone).map_or_else(
                        || is_closed.then(|| microseconds(last_at)),
                        |closed_at| Some(microseconds(closed_at))
                    ),
                    trigger.unwrap_or("catchup"),
                    is_closed || row.is_true("extracted_events"),
                    is_closed,
                    row.is_true("trivial")
                ],
            )?;
            self.sessions.insert(id, key);
            Ok(())
        })
    }

    pub(super) fn messages(&mut self) -> Result<(), PythonHomeError> {
        each_row(self.source, "recall_messages", |row| {
            let role = match row.text_or_empty("role") {
                "user" => "user",
                "persona" | "assistant" => "persona",
                _ => return self.count_skipped("messages of the program itself"),
            };
            let session = self.sessions.get(row.text_or_empty("session_id")).copied();
            let (Some(scope), Some(session), false) = (self.scope_of(&row), session, row.is_deleted()) else {
                return self.count_skipped("deleted messages");
            };
            let content = row.text_or_empty("content");
            if memory::capture::is_blank(content) {
                return self.count_skipped("messages without text");
            }
            let at = row.time("created_at", self.zone).unwrap_or(self.now);
            let turn = row.owned_text("turn_id").filter(|turn| !turn.is_empty());
            let turn_key = match &turn {
                Some(turn) => Some(self.turn(turn, (scope, session), row.text_or_empty("channel_id"), at)?),
                None => None,
            };
            let tokens = row.integer_column("token_count").filter(|count| *count > 0);
            let seq = self
                .target
                .prepare_cached(
                    "INSERT INTO recall_messages (id, scope, session_id, turn_id, channel_id, role, token_count, day,
                         created_at, incomplete, content, terms, placed_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10, ?11, ?9)",
                )?
                .insert(params![
                    self.new_key(at),
                    scope,
                    session,
                    turn_key,
                    row.text_or_empty("channel_id"),
                    role,
                    tokens.unwrap_or_else(|| i64::from(text::estimate_tokens(content))),
                    at.to_zoned(self.zone.clone()).date().to_string(),
                    microseconds(at),
                    content,
                    text::index_terms(content)
                ])?;
            if let (Some(turn), "user") = (turn, role) {
                self.said_in_turn.entry(turn).or_default().push((seq, content.chars().count()));
            }
            self.taken.messages += 1;
            Ok(())
        })
    }

    /// The answered turn with this id.
    fn turn(
        &mut self,
        turn: &str,
        (scope, session): (i64, super::RowKey),
        channel: &str,
        at: jiff::Timestamp,
    ) -> Result<super::RowKey, PythonHomeError> {
        if let Some(known) = self.turns.get(turn) {
            self.target.execute(
                "UPDATE turns SET last_message_at = max(last_message_at, ?2) WHERE id = ?1",
                params![known, microseconds(at)],
            )?;
            return Ok(*known);
        }
        let key = self.new_key(at);
        self.target.execute(
            "INSERT INTO turns (id, scope, session_id, channel_id, status, started_at, last_message_at)
             VALUES (?1, ?2, ?3, ?4, 'answered', ?5, ?5)",
            params![key, scope, session, channel, microseconds(at)],
        )?;
        self.turns.insert(turn.to_owned(), key);
        Ok(key)
    }
}

/// The strings of a JSON list; empty for anything else.
pub(super) fn strings_of_list(json: Option<&str>) -> Vec<String> {
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}
