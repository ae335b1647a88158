//! Events, thoughts, intentions and expectations, their evidence, and the entities that they name.

use memory::entities::fold_name;
use memory::text::index_terms;

use super::source::{SourceRow, each_row};
use super::talk::strings_of_list;
use super::{PythonHomeCopy, PythonHomeError};
use crate::engine::sql::params;
use crate::rows::{microseconds, to_json};

const KINDS: [&str; 4] = ["event", "thought", "intention", "expectation"];
const SUBJECTS: [&str; 3] = ["user", "persona", "shared"];
const ENTITY_KINDS: [&str; 5] = ["person", "place", "org", "pet", "other"];

impl PythonHomeCopy<'_> {
    pub(super) fn copy_nodes(&mut self) -> Result<(), PythonHomeError> {
        each_row(self.source, "concept_nodes", |row| {
            let kind = row.text_column("type").filter(|kind| KINDS.contains(kind));
            let (Some(scope), Some(kind), Some(id), false) =
                (self.scope_of(&row), kind, row.integer_column("id"), row.is_deleted())
            else {
                return self.count_skipped("deleted memories");
            };
            let at = row.time("created_at", self.zone).unwrap_or(self.now);
            let (start, end) =
                (row.time("event_time_start", self.zone), row.time("event_time_end", self.zone));
            let description = row.text_or_empty("description");
            let key = self.new_key(at);
            let seq = self
                .target
                .prepare_cached(
                    "INSERT INTO concept_nodes (id, scope, type, subject, emotional_impact, emotion_tags, relational_tags,
                         event_time_start, event_time_end, source_session_id, mention_count, access_count,
                         last_accessed_at, created_at, description, terms)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
                )?
                .insert(params![
                    key,
                    scope,
                    kind,
                    row.text_column("subject").filter(|subject| SUBJECTS.contains(subject)).unwrap_or("user"),
                    row.integer_column("emotional_impact").unwrap_or_default().clamp(-10, 10),
                    to_json(&strings_of_list(row.text_column("emotion_tags")))?,
                    to_json(&strings_of_list(row.text_column("relational_tags")))?,
                    start.or(end).map(microseconds),
                    end.filter(|end| start.is_some_and(|start| start <= *end)).map(microseconds),
                    row.text_column("source_session_id").and_then(|session| self.sessions.get(session)).copied(),
                    row.count("mention_count").max(1),
                    row.count("access_count"),
                    row.time("last_accessed_at", self.zone).map(microseconds),
                    microseconds(at),
                    description,
                    index_terms(description)
                ])?;
            self.evidence(&row, seq)?;
            self.nodes.insert(id, (seq, key));
            self.taken.nodes += 1;
            Ok(())
        })
    }

    /// The evidence of a memory. The Python program recorded turns, not quotes: each message of the user in them
    /// becomes evidence as a whole, so that the memory is erased with its messages.
    fn evidence(&self, row: &SourceRow, node: i64) -> Result<(), PythonHomeError> {
        let mut turns = strings_of_list(row.text_column("source_turn_ids"));
        turns.extend(row.owned_text("source_turn_id"));
        for (message, length) in turns.iter().filter_map(|turn| self.said_in_turn.get(turn)).flatten() {
            self.target.execute(
                "INSERT INTO node_evidence (node_seq, message_seq, span_start, span_end, quote)
                 SELECT ?1, seq, 0, ?3, content FROM recall_messages WHERE seq = ?2 ON CONFLICT DO NOTHING",
                params![node, message, *length as i64],
            )?;
        }
        Ok(())
    }

    /// Links between memories: replacements, and events that thoughts cite.
    pub(super) fn links(&mut self) -> Result<(), PythonHomeError> {
        each_row(self.source, "concept_nodes", |row| {
            let older = row.integer_column("id").and_then(|id| self.nodes.get(&id));
            let newer = row.integer_column("superseded_by_id").and_then(|id| self.nodes.get(&id));
            if let (Some((older, _)), Some((_, newer))) = (older, newer) {
                self.target.execute(
                    "UPDATE concept_nodes SET superseded_by = ?2 WHERE seq = ?1",
                    params![older, newer],
                )?;
            }
            Ok(())
        })?;
        each_row(self.source, "concept_node_filling", |row| {
            let node = |column: &str| row.integer_column(column).and_then(|id| self.nodes.get(&id));
            if let (Some((thought, _)), Some((event, _))) = (node("parent_id"), node("child_id")) {
                let at = row.time("created_at", self.zone).unwrap_or(self.now);
                self.target.execute(
                    "INSERT INTO concept_node_filling (thought_seq, event_seq, orphaned, created_at)
                     VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                    params![thought, event, row.is_true("orphaned"), microseconds(at)],
                )?;
            }
            Ok(())
        })
    }

    pub(super) fn entities(&mut self) -> Result<(), PythonHomeError> {
        let mut scopes = std::collections::HashMap::new();
        each_row(self.source, "entities", |row| {
            let (Some(scope), Some(id), false) =
                (self.scope_of(&row), row.integer_column("id"), row.is_deleted())
            else {
                return self.count_skipped("deleted entities");
            };
            let created_at = row.time("created_at", self.zone).unwrap_or(self.now);
            let updated_at = row.time("updated_at", self.zone).unwrap_or(created_at);
            let key = self.new_key(created_at);
            let name = row.text_or_empty("canonical_name");
            let status = row.text_column("merge_status").filter(|status| *status == "disambiguated");
            let description = row.owned_text("description").filter(|text| !text.trim().is_empty());
            self.target.execute(
                "INSERT INTO entities (id, scope, canonical_name, kind, description, owner_override, merge_status, created_at,
                     updated_at, described_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    key,
                    scope,
                    name,
                    row.text_column("kind").filter(|kind| ENTITY_KINDS.contains(kind)).unwrap_or("other"),
                    description,
                    row.is_true("owner_override"),
                    status.unwrap_or("confirmed"),
                    microseconds(created_at),
                    microseconds(updated_at),
                    description.as_ref().map(|_| microseconds(updated_at))
                ],
            )?;
            self.entities.insert(id, key);
            scopes.insert(id, scope);
            self.copy_alias(scope, key, name)?;
            self.taken.entities += 1;
            Ok(())
        })?;
        each_row(self.source, "entities", |row| {
            let own = row.integer_column("id").and_then(|id| self.entities.get(&id));
            let target = row.integer_column("merge_target_id").and_then(|id| self.entities.get(&id));
            if let (Some(own), Some(target), Some("uncertain")) =
                (own, target, row.text_column("merge_status"))
            {
                self.target.execute(
                    "UPDATE entities SET merge_status = 'uncertain', merge_target = ?2 WHERE id = ?1",
                    params![own, target],
                )?;
            }
            Ok(())
        })?;
        each_row(self.source, "entity_aliases", |row| {
            let Some(id) = row.integer_column("entity_id") else { return Ok(()) };
            if let (Some(key), Some(scope)) = (self.entities.get(&id), scopes.get(&id)) {
                self.copy_alias(*scope, *key, row.text_or_empty("alias"))?;
            }
            Ok(())
        })?;
        each_row(self.source, "concept_node_entities", |row| {
            let node = row.integer_column("node_id").and_then(|id| self.nodes.get(&id));
            let entity = row.integer_column("entity_id").and_then(|id| self.entities.get(&id));
            if let (Some((node, _)), Some(entity)) = (node, entity) {
                self.target.execute(
                    "INSERT INTO concept_node_entities (entity_id, node_seq) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                    params![entity, node],
                )?;
            }
            Ok(())
        })
    }

    fn copy_alias(&self, scope: i64, entity: super::RowKey, name: &str) -> Result<(), PythonHomeError> {
        let folded = fold_name(name);
        if !folded.is_empty() {
            self.target.execute(
                "INSERT INTO entity_aliases (scope, folded, name, entity_id) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                params![scope, folded, name, entity],
            )?;
        }
        Ok(())
    }
}
