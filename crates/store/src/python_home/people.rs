//! Personas, users, their core blocks, moods, and the ledger of costs.

use std::collections::BTreeMap;

use memory::mood::Mood;
use memory::{PersonaId, UserId};
use serde_json::Value;

use super::source::{SourceRow, each_row, time_of};
use super::{PythonHomeCopy, PythonHomeError};
use crate::engine::sql::params;
use crate::rows::{microseconds, to_json};

/// Maximum length of a core block, in characters, as in the home that is written.
const BLOCK_LENGTH_MAX: usize = 5_000;
/// Columns that have the same name and meaning in both programs.
const FACTS: [&str; 15] = [
    "full_name",
    "gender",
    "birth_date",
    "ethnicity",
    "nationality",
    "native_language",
    "locale_region",
    "education_level",
    "occupation",
    "occupation_field",
    "location",
    "timezone",
    "relationship_status",
    "life_stage",
    "health_status",
];

/// Persona, user if the block belongs to one, and label in this program.
type BlockKey = (String, Option<String>, &'static str);

impl PythonHomeCopy<'_> {
    pub(super) fn copy_people(&mut self) -> Result<(), PythonHomeError> {
        let (mut personas, mut users) = (Vec::new(), Vec::new());
        each_row(self.source, "personas", |row| {
            let created_at = row.time("created_at", self.zone).unwrap_or(self.now);
            let id = row.text_or_empty("id");
            if row.is_deleted() || PersonaId::new(id).is_err() {
                return self.count_skipped("personas that are deleted or have an invalid id");
            }
            self.target.execute(
                "INSERT INTO personas (id, display_name, created_at) VALUES (?1, ?2, ?3)",
                params![id, row.text_column("display_name").unwrap_or(id), microseconds(created_at)],
            )?;
            for fact in FACTS {
                self.target.execute(
                    &format!("UPDATE personas SET {fact} = ?2 WHERE id = ?1"),
                    params![id, row.owned_text(fact).filter(|value| !value.trim().is_empty())],
                )?;
            }
            personas.push(id.to_owned());
            Ok(())
        })?;
        each_row(self.source, "users", |row| {
            let created_at = row.time("created_at", self.zone).unwrap_or(self.now);
            let id = row.text_or_empty("id");
            if row.is_deleted() || UserId::new(id).is_err() {
                return self.count_skipped("users who are deleted or have an invalid id");
            }
            self.target.execute(
                "INSERT INTO users (id, display_name, timezone, created_at) VALUES (?1, ?2, ?3, ?4)",
                params![
                    id,
                    row.owned_text("display_name"),
                    row.owned_text("timezone"),
                    microseconds(created_at)
                ],
            )?;
            users.push(id.to_owned());
            Ok(())
        })?;
        each_row(self.source, "external_identities", |row| {
            let created_at = row.time("created_at", self.zone).unwrap_or(self.now);
            let user = row.text_or_empty("internal_user_id");
            if users.iter().any(|known| known == user) {
                self.target.execute(
                    "INSERT INTO external_identities (channel_id, external_id, user_id, created_at)
                     VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                    params![
                        row.text_or_empty("channel_id"),
                        row.text_or_empty("external_id"),
                        user,
                        microseconds(created_at)
                    ],
                )?;
            }
            Ok(())
        })?;
        for persona in &personas {
            for user in &users {
                let number = self.scopes.len() as i64 + 1;
                self.target.execute(
                    "INSERT INTO scopes (number, persona_id, user_id) VALUES (?1, ?2, ?3)",
                    params![number, persona.as_str(), user.as_str()],
                )?;
                self.scopes.insert((persona.clone(), user.clone()), number);
            }
        }
        Ok(())
    }

    /// Core blocks. Those named `self` and `relationship` in earlier versions are added to the blocks of persona and
    /// user while there is room.
    pub(super) fn core_blocks(&mut self) -> Result<(), PythonHomeError> {
        let mut blocks: BTreeMap<BlockKey, (String, i64, String, i64)> = BTreeMap::new();
        each_row(self.source, "core_blocks", |row| {
            let (label, content) = (row.text_or_empty("label"), row.text_or_empty("content").trim());
            let updated_at = microseconds(row.time("updated_at", self.zone).unwrap_or(self.now));
            let label = match label {
                "persona" | "self" => "persona",
                "style" => "style",
                "user" | "relationship" => "user",
                _ => return self.count_skipped("core blocks that this program does not have"),
            };
            let user =
                row.owned_text("user_id").or_else(|| Some("self".to_owned())).filter(|_| label == "user");
            let persona = row.text_or_empty("persona_id").to_owned();
            if content.is_empty() || row.is_deleted() || !self.is_known(&persona, user.as_deref()) {
                return Ok(());
            }
            let by = row.text_column("last_edited_by").unwrap_or("import").to_owned();
            let (text, ..) =
                blocks.entry((persona, user, label)).or_insert((String::new(), 1, by, updated_at));
            let joined = if text.is_empty() { content.to_owned() } else { format!("{text}\n\n{content}") };
            if joined.chars().count() <= BLOCK_LENGTH_MAX {
                *text = joined;
            } else {
                self.count_skipped("core blocks that are too long to be combined")?;
            }
            Ok(())
        })?;
        for ((persona, user, label), (text, version, by, updated_at)) in blocks {
            self.target.execute(
                "INSERT INTO core_blocks (persona_id, user_id, label, content, version, last_edited_by, updated_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![persona, user, label, text, version, by, updated_at],
            )?;
        }
        each_row(self.source, "core_block_appends", |row| {
            let (persona, user) = (row.text_or_empty("persona_id"), row.owned_text("user_id"));
            if self.is_known(persona, user.as_deref()) {
                let at = row.time("created_at", self.zone).unwrap_or(self.now);
                self.target.execute(
                    "INSERT INTO core_block_appends (persona_id, user_id, label, content, version, edited_by, created_at)
                     VALUES (?1, ?2, ?3, ?4, 1, 'import', ?5)",
                    params![
                        persona,
                        user,
                        row.text_or_empty("label"),
                        row.text_or_empty("content"),
                        microseconds(at)
                    ],
                )?;
            }
            Ok(())
        })
    }

    fn is_known(&self, persona: &str, user: Option<&str>) -> bool {
        self.scopes.keys().any(|(known, of)| known == persona && user.is_none_or(|user| user == of))
    }

    /// Moods: the Python program had one per persona; it is copied to each user.
    pub(super) fn moods(&mut self) -> Result<(), PythonHomeError> {
        each_row(self.source, "personas", |row| {
            let Some(mood) = self.mood(&row) else { return Ok(()) };
            let persona = row.text_or_empty("id");
            for (_, scope) in self.scopes.iter().filter(|((known, _), _)| known == persona) {
                self.target.execute(
                    "INSERT INTO mood_history (scope, felt_at, episodic_state) VALUES (?1, ?2, ?3)",
                    params![scope, microseconds(mood.updated_at), to_json(&mood)?],
                )?;
            }
            Ok(())
        })
    }

    fn mood(&self, row: &SourceRow) -> Option<Mood> {
        let state: Value = serde_json::from_str(row.text_column("episodic_state")?).ok()?;
        Some(Mood {
            mood: state["mood"].as_str()?.to_owned(),
            energy: u8::try_from(state["energy"].as_u64()?.min(10)).ok()?,
            last_user_signal: state["last_user_signal"].as_str().map(str::to_owned),
            updated_at: time_of(state["updated_at"].as_str()?, self.zone)?,
        })
    }

    pub(super) fn copy_calls(&mut self) -> Result<(), PythonHomeError> {
        each_row(self.source, "llm_calls", |row| {
            let tier = match row.text_or_empty("tier") {
                "small" | "fast" => "small",
                "large" | "main" => "large",
                _ => "medium",
            };
            self.target.execute(
                "INSERT INTO llm_calls (at, task, tier, provider, model, input_tokens, output_tokens, cached_tokens,
                     latency_ms, outcome, turn_id, cost_usd)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, 'ok', ?9, ?10)",
                params![
                    microseconds(row.time("timestamp", self.zone).unwrap_or(self.now)),
                    row.text_column("feature").unwrap_or("unknown"),
                    tier,
                    row.text_or_empty("provider"),
                    row.text_or_empty("model"),
                    row.count("tokens_in"),
                    row.count("tokens_out"),
                    row.count("cache_read_input_tokens"),
                    row.text_column("turn_id").and_then(|turn| self.turns.get(turn)).copied(),
                    row.real_column("cost_usd")
                ],
            )?;
            self.taken.calls += 1;
            Ok(())
        })
    }
}
