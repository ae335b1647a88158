//! Finds traces of replies, sessions and slow cycles that quote forgotten text.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use hub::daily::without_tags;
use memory::Scope;
use memory::forget::{ForgetSummary, LossReason, ThoughtPolicy};
use memory::text;
use serde_json::Value;
use uuid::Uuid;

use super::names::ForgottenNames;
use super::remains::losing_sessions;
use super::removal::{RemovalSet, RowKey};
use crate::engine::sql::{Connection, Result, params};
use crate::rows::column;
use crate::scopes;

/// Consecutive words that a trace shares with a text when it quotes it. A shorter sentence must match as a whole.
const QUOTE_LENGTH: usize = 6;

/// Erased texts, ids, sessions and turns, as traces may quote them.
#[derive(Default)]
pub(super) struct ErasedTexts {
    quotes: HashSet<u64>,
    lengths: BTreeSet<usize>,
    ids: HashSet<Uuid>,
    sessions: BTreeSet<RowKey>,
    turns: BTreeSet<RowKey>,
    /// Time before which a turn that ended can't contain the lost texts; `None` if any turn may.
    oldest_removed_at: Option<i64>,
}

impl ErasedTexts {
    /// Reads the texts that will be erased, before they are.
    pub(super) fn read(connection: &Connection, going: &RemovalSet, names: &ForgottenNames) -> Result<Self> {
        let messages = going.messages_removed_as_evidence().into_values().map(|id| id.0);
        let nodes = going.nodes.values().map(|node| node.id.0);
        let mut lost = Self {
            quotes: HashSet::new(),
            lengths: BTreeSet::new(),
            ids: messages.chain(nodes).collect(),
            turns: going.messages.values().filter_map(|message| message.turn).collect(),
            sessions: losing_sessions(going),
            oldest_removed_at: oldest_removed_at(connection, going)?,
        };
        for text in removed_texts(connection, going, names, &lost.sessions)? {
            lost.add(&text);
        }
        Ok(lost)
    }

    fn add(&mut self, text: &str) {
        let sentences = text.split(['.', '!', '?', ';', '\n', '。', '！', '？', '；', '…']);
        for part in sentences.chain([text]) {
            let words = folded_words(part);
            let length = words.len().min(QUOTE_LENGTH);
            // One word of a longer text is not a quote of it.
            if length == 0 || (length == 1 && part.len() < text.len()) {
                continue;
            }
            self.lengths.insert(length);
            self.quotes.extend(words.windows(length).map(digest_of_words));
        }
    }

    fn is_in_text(&self, text: &str) -> bool {
        let words = folded_words(text);
        let is_lost = |window: &[String]| self.quotes.contains(&digest_of_words(window));
        self.lengths.iter().any(|length| words.windows(*length).any(is_lost))
            || Uuid::parse_str(text).is_ok_and(|id| self.ids.contains(&id))
    }

    fn is_in_value(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.is_in_text(text),
            Value::Array(items) => items.iter().any(|item| self.is_in_value(item)),
            Value::Object(fields) => fields.values().any(|field| self.is_in_value(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

fn digest_of_words(words: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

/// The words of a text, folded; each character of an unspaced script counts as a word.
fn folded_words(text: &str) -> Vec<String> {
    let folded = text::fold(text);
    let mut words = Vec::new();
    let mut word = String::new();
    for character in folded.chars() {
        let is_alone = text::is_unspaced(character);
        if (is_alone || !character.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if is_alone {
            words.push(character.to_string());
        } else if character.is_alphanumeric() {
            word.push(character);
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// All removed texts, and texts derived from them.
fn removed_texts(
    connection: &Connection,
    going: &RemovalSet,
    names: &ForgottenNames,
    sessions: &BTreeSet<RowKey>,
) -> Result<Vec<String>> {
    let messages = going.messages.values().map(|message| message.content.clone());
    let nodes = going.nodes.values().map(|node| node.description.clone());
    let rewritten = going.rewritten.values().map(|rewritten| rewritten.before.clone());
    let mut texts: Vec<String> = messages.chain(nodes).chain(rewritten).collect();
    let versions = "SELECT content FROM message_versions WHERE message_seq = ?1";
    for seq in going.messages.keys() {
        texts.extend(column::<String>(connection, versions, seq)?);
    }
    let changes = "SELECT description FROM node_changes WHERE node_seq = ?1 AND description IS NOT NULL";
    for seq in going.nodes.keys().chain(going.rewritten.keys()) {
        texts.extend(column::<String>(connection, changes, seq)?);
    }
    let mentions = "SELECT description FROM mention_merges WHERE number = ?1 AND description IS NOT NULL";
    for number in &going.mentions {
        texts.extend(column::<String>(connection, mentions, number)?);
    }
    for (select, keys) in [
        ("SELECT description FROM rejected_memories WHERE id = ?1", &going.rejected),
        ("SELECT canonical_name FROM entities WHERE id = ?1", &names.entities),
        ("SELECT name FROM entity_aliases WHERE entity_id = ?1", &names.entities),
        ("SELECT description FROM entities WHERE id = ?1 AND description IS NOT NULL", &names.entities),
        ("SELECT description FROM entities WHERE id = ?1 AND description IS NOT NULL", &names.undescribed),
    ] {
        for key in keys {
            texts.extend(column::<String>(connection, select, key)?);
        }
    }
    for alias in &names.aliases {
        texts.extend(column::<String>(
            connection,
            "SELECT name FROM entity_aliases WHERE number = ?1",
            alias,
        )?);
    }
    for session in sessions {
        let summary = "SELECT summary FROM sessions WHERE id = ?1 AND summary IS NOT NULL";
        texts.extend(column::<String>(connection, summary, session)?);
        let signal = "SELECT json_extract(episodic_state, '$.last_user_signal') FROM mood_history
                      WHERE session_id = ?1 AND json_extract(episodic_state, '$.last_user_signal') IS NOT NULL";
        texts.extend(column::<String>(connection, signal, session)?);
    }
    Ok(texts)
}

/// Creation time of the oldest erased row.
fn oldest_removed_at(connection: &Connection, going: &RemovalSet) -> Result<Option<i64>> {
    if going.text.is_some() || !going.entities.is_empty() || !going.rejected.is_empty() {
        return Ok(None);
    }
    let messages = going.messages.keys().chain(going.changed.keys());
    let mut first = None;
    for (select, seqs) in [
        ("SELECT created_at FROM recall_messages WHERE seq = ?1", messages.collect::<Vec<_>>()),
        (
            "SELECT created_at FROM concept_nodes WHERE seq = ?1",
            going.nodes.keys().chain(going.rewritten.keys()).collect(),
        ),
    ] {
        for seq in seqs {
            for at in column::<i64>(connection, select, seq)? {
                first = Some(first.map_or(at, |first: i64| first.min(at)));
            }
        }
    }
    Ok(first)
}

/// Removes traces, transcripts of slow cycles and their questions that quote lost text, and traces of turns whose
/// messages are removed. If documents changed, also traces of replies that read a roll-up, because these use other
/// words. If nothing else is removed, only those that contain the text.
pub(super) fn clear_traces(
    connection: &Connection,
    going: &RemovalSet,
    lost: &ErasedTexts,
    taken: &mut ForgetSummary,
) -> Result<()> {
    let is_losing = if going.is_forgotten() { !taken.is_empty() } else { going.changes_nodes() };
    for (select, clear) in [
        (
            "SELECT turn_id, detail, finished_at FROM turn_details WHERE scope = ?1",
            "DELETE FROM turn_details WHERE turn_id = ?1",
        ),
        (
            "SELECT id, '[' || salient_questions || ',' || coalesce(transcript, 'null') || ']', NULL
             FROM slow_cycles
             WHERE scope = ?1 AND (transcript IS NOT NULL OR salient_questions <> '[]')",
            "UPDATE slow_cycles SET transcript = NULL, salient_questions = '[]' WHERE id = ?1",
        ),
    ] {
        let kept: Vec<(RowKey, String, Option<i64>)> = connection
            .prepare_cached(select)?
            .query_map([going.scope], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_>>()?;
        // JSON puts a backslash before a quotation mark, so a text with one is assumed to be everywhere.
        let escaped = going.text.as_ref().is_some_and(|text| text.contains(['"', '\\']));
        for (key, detail, ended) in kept {
            let is_earlier = ended.zip(lost.oldest_removed_at).is_some_and(|(ended, known)| ended < known);
            let quotes = is_losing
                && (lost.sessions.contains(&key)
                    || lost.turns.contains(&key)
                    || !is_earlier && quotes_erased_texts(&detail, lost, taken.counts.documents > 0));
            if quotes || escaped || going.is_part_of(&detail) {
                if !going.is_preview {
                    connection.prepare_cached(clear)?.execute([key])?;
                }
                taken.counts.traces += 1;
            }
        }
    }
    clear_session_traces(connection, going, lost, taken, is_losing)
}

/// Removes traces that quote lines erased from documents, and those of replies that read a roll-up.
pub(crate) fn clear_traces_quoting(
    connection: &Connection,
    scope: &Scope,
    lines: &BTreeSet<String>,
) -> Result<()> {
    let Some(number) = scopes::number_if_known(connection, scope)? else { return Ok(()) };
    let going = RemovalSet::new(number, LossReason::Forgotten, ThoughtPolicy::Recheck);
    let mut lost = ErasedTexts::default();
    lines.iter().for_each(|line| lost.add(&without_tags(line)));
    let mut taken = ForgetSummary::default();
    taken.counts.documents = 1;
    clear_traces(connection, &going, &lost, &mut taken)
}

/// Removes steps of traces of sessions. A session that loses words or events loses all of them, because their numbers
/// and verdicts depend on those. Other sessions lose only steps that quote lost text.
fn clear_session_traces(
    connection: &Connection,
    going: &RemovalSet,
    lost: &ErasedTexts,
    taken: &mut ForgetSummary,
    is_losing: bool,
) -> Result<()> {
    let kept: Vec<(RowKey, String, String)> = connection
        .prepare_cached("SELECT session_id, phase, detail FROM session_traces WHERE scope = ?1")?
        .query_map([going.scope], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_>>()?;
    let escaped = going.text.as_ref().is_some_and(|text| text.contains(['"', '\\']));
    let mut delete =
        connection.prepare_cached("DELETE FROM session_traces WHERE session_id = ?1 AND phase = ?2")?;
    for (session, phase, detail) in kept {
        let quotes =
            is_losing && (lost.sessions.contains(&session) || quotes_erased_texts(&detail, lost, false));
        if quotes || escaped || going.is_part_of(&detail) {
            if !going.is_preview {
                delete.execute(params![session, phase])?;
            }
            taken.counts.traces += 1;
        }
    }
    Ok(())
}

fn quotes_erased_texts(detail: &str, lost: &ErasedTexts, documents_changed: bool) -> bool {
    let Ok(detail) = serde_json::from_str::<Value>(detail) else { return true };
    let has = |name: &str| detail[name].as_array().is_some_and(|items| !items.is_empty());
    documents_changed && (has("periods") || has("related_documents")) || lost.is_in_value(&detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn erased_texts(texts: &[&str]) -> ErasedTexts {
        let mut lost = ErasedTexts::default();
        texts.iter().for_each(|text| lost.add(text));
        lost
    }

    #[test]
    fn a_quote_is_a_run_of_words_or_a_whole_sentence() {
        let lost =
            erased_texts(&["My sister moved to Porto with her two children. She cried.", "我奶奶昨天去世了"]);
        for text in ["them: my Sister moved to\n Porto with…", "\"She cried\"", "她说我奶奶昨天去世"]
        {
            assert!(lost.is_in_text(text), "{text}");
        }
        for text in ["my sister moved", "porto", "she laughed", "奶奶"] {
            assert!(!lost.is_in_text(text), "{text}");
        }
    }
}
