//! An index of changes by the words that a text may use for their former value. It is in memory, so that a reply does
//! not read the changes of years, and contains only keys of words. A change that was deleted or undone may still be
//! in it; it is then not found in the database.

use std::collections::{BTreeSet, HashMap, HashSet};

use memory::corrections::{ReplacedQuery, ValueWords, WordKey};
use memory::entities::fold_name;
use memory::identifiers::{EntityId, SessionId};
use parking_lot::Mutex;

use crate::engine::sql::{Connection, Result, params};
use crate::rows::{self, to_json};

/// Maximum scopes in the cache. Beyond it, the cache is emptied and filled again on demand.
const SCOPES_MAX: usize = 256;
/// Number of row numbers below the highest known one that are read again. On a server, a row with a higher number may
/// be committed before one with a lower number.
const REREAD_NUMBERS: i64 = 64;

const CHANGE_NUMBERS: &str = "SELECT change FROM replaced_values WHERE scope = ?1 AND change > ?2";
/// Each text with the one that replaced it directly: later replacements don't change the words by which it is found.
/// Other changes of the same nodes are included, since a person's text for a replaced node is the text of that node.
const CHANGE_TEXTS: &str = "
    SELECT o.number, coalesce(o.description, n.description), o.entities, n.seq, CASE o.kind
        WHEN 'supersession' THEN (SELECT w.description FROM concept_nodes w WHERE w.seq = o.newer_seq)
        ELSE coalesce(
            (SELECT l.description FROM node_changes l
             WHERE l.node_seq = o.node_seq AND l.kind = 'correction' AND l.undone_at IS NULL AND l.number > o.number
             ORDER BY l.number LIMIT 1),
            n.description) END, n.source_session_id
    FROM json_each(?1) j CROSS JOIN node_changes c ON c.number = j.value
        CROSS JOIN node_changes o ON o.node_seq = c.node_seq CROSS JOIN concept_nodes n ON n.seq = o.node_seq
    WHERE o.kind <> 'mention_merge' AND o.undone_at IS NULL";

/// Changes by the keys of their words, for every scope in use.
#[derive(Default)]
pub(crate) struct ChangesByWord {
    /// By the id of the scope. Not locked while changes are read: two readers may read the same ones, and adding
    /// twice has no effect.
    scopes: Mutex<HashMap<i64, Changes>>,
}

#[derive(Default)]
struct Changes {
    /// The last [`REREAD_NUMBERS`] known numbers; older ones are not requested again.
    known: HashSet<i64>,
    greatest: i64,
    by_key: HashMap<WordKey, BTreeSet<i64>>,
    /// Changes that any text may state.
    without_key: BTreeSet<i64>,
    /// Changes without a name, which a summary may word differently: by the session of the node.
    nameless: HashMap<SessionId, BTreeSet<i64>>,
}

/// A change with the words of the replaced value.
struct ChangeWords {
    number: i64,
    session: Option<SessionId>,
    words: ValueWords,
}

impl ChangesByWord {
    /// Numbers of the changes whose former value one of the texts, or the summary of one of the sessions, may state.
    pub(super) fn changes_for(
        &self,
        connection: &Connection,
        scope: i64,
        about: &ReplacedQuery,
    ) -> Result<BTreeSet<i64>> {
        let fresh = self.scopes.lock().get(&scope).map_or(0, |changes| changes.greatest - REREAD_NUMBERS);
        let numbers: Vec<i64> = connection
            .prepare_cached(CHANGE_NUMBERS)?
            .query_map(params![scope, fresh], |row| row.get(0))?
            .collect::<Result<_>>()?;
        let unknown: Vec<i64> = {
            let scopes = self.scopes.lock();
            let known = scopes.get(&scope).map(|changes| &changes.known);
            numbers.into_iter().filter(|number| known.is_none_or(|known| !known.contains(number))).collect()
        };
        let read = read(connection, &unknown)?;
        let mut scopes = self.scopes.lock();
        if scopes.len() >= SCOPES_MAX && !scopes.contains_key(&scope) {
            scopes.clear();
        }
        let changes = scopes.entry(scope).or_default();
        changes.add(&unknown, read);
        Ok(changes.matching_nodes(about))
    }
}

impl Changes {
    fn add(&mut self, numbers: &[i64], read: Vec<ChangeWords>) {
        self.greatest = numbers.iter().copied().fold(self.greatest, i64::max);
        self.known.extend(numbers);
        let late = self.greatest - REREAD_NUMBERS;
        self.known.retain(|number| *number > late);
        for ChangeWords { number, session, words } in read {
            if let Some(session) = session.filter(|_| words.has_no_name()) {
                self.nameless.entry(session).or_default().insert(number);
            }
            for key in words.word_keys() {
                let changes = match key {
                    Some(key) => self.by_key.entry(key).or_default(),
                    None => &mut self.without_key,
                };
                changes.insert(number);
            }
        }
    }

    fn matching_nodes(&self, about: &ReplacedQuery) -> BTreeSet<i64> {
        let keys: HashSet<WordKey> =
            about.texts.iter().flat_map(|text| WordKey::keys_in_text(&fold_name(text))).collect();
        let said = keys.iter().filter_map(|key| self.by_key.get(key)).flatten();
        let nameless = about.sessions.iter().filter_map(|session| self.nameless.get(session)).flatten();
        said.chain(nameless).chain(&self.without_key).copied().collect()
    }
}

fn read(connection: &Connection, numbers: &[i64]) -> Result<Vec<ChangeWords>> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(CHANGE_TEXTS)?;
    let mut found = statement.query([to_json(&numbers)?])?;
    let mut read = Vec::with_capacity(numbers.len());
    while let Some(row) = &found.next()? {
        let (former, newer): (String, Option<String>) = (row.get(1)?, row.get(4)?);
        let entities: Option<String> = row.get(2)?;
        let entities: Option<Vec<_>> = entities.map(|_| rows::read_json(row, 2)).transpose()?;
        let names = names_of_node(connection, row.get(3)?, entities.as_deref())?;
        let names = names.iter().map(String::as_str);
        let (words, _) = ValueWords::from_both_values(&former, newer.as_deref().unwrap_or_default(), names);
        let session = rows::optional_uuid(row, 5)?.map(SessionId);
        read.push(ChangeWords { number: row.get(0)?, session, words });
    }
    Ok(read)
}

/// The names of the entities that a text is about.
pub(super) fn names_of_node(
    connection: &Connection,
    node: i64,
    entities: Option<&[EntityId]>,
) -> Result<Vec<String>> {
    let Some(entities) = entities else {
        return connection
            .prepare_cached(
                "SELECT a.name FROM concept_node_entities l JOIN entity_aliases a ON a.entity_id = l.entity_id
                 WHERE l.node_seq = ?1",
            )?
            .query_map([node], |row| row.get(0))?
            .collect();
    };
    let mut aliases = connection.prepare_cached("SELECT name FROM entity_aliases WHERE entity_id = ?1")?;
    let mut names = Vec::new();
    for entity in entities {
        for name in aliases.query_map([entity.0.into_bytes()], |row| row.get(0))? {
            names.push(name?);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plans::{empty_database, explain_plan};

    #[test]
    fn no_statement_scans_the_past() {
        let connection = empty_database();
        for statement in [CHANGE_NUMBERS, CHANGE_TEXTS] {
            let plan = explain_plan(&connection, statement);
            assert_eq!(plan.matches("SCAN").count() - plan.matches("SCAN j").count(), 0, "{plan}");
        }
    }
}
