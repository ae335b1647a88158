//! The ids of scopes, and the number of rows in each.

use std::collections::HashMap;

use memory::Scope;
use memory::ports::{Corpus, CorpusSize};
use parking_lot::RwLock;

use crate::engine::sql::{Connection, OptionalExtension, Result, params};

/// Maximum scopes whose ids are cached, at a hundred bytes each.
const NUMBERS_MAX: usize = 10_000;

/// Cached ids of scopes. An id never refers to another scope, but a scope that is deleted and created again gets
/// another.
#[derive(Default)]
pub(crate) struct KnownScopeNumbers(RwLock<KnownNumbers>);

#[derive(Default)]
struct KnownNumbers {
    /// Incremented when scopes are deleted, so that an id read before is not cached afterwards.
    generation: u64,
    by_scope: HashMap<Scope, i64>,
}

impl KnownScopeNumbers {
    /// The cached id of a scope, or else the generation for [`note`](Self::note).
    pub(crate) fn get(&self, scope: &Scope) -> (Option<i64>, u64) {
        let known = self.0.read();
        (known.by_scope.get(scope).copied(), known.generation)
    }

    /// Caches an id that was looked up after [`get`](Self::get) returned this generation.
    pub(crate) fn note(&self, scope: Scope, number: i64, generation: u64) {
        let mut known = self.0.write();
        if known.generation != generation {
            return;
        }
        if known.by_scope.len() >= NUMBERS_MAX {
            known.by_scope.clear();
        }
        known.by_scope.insert(scope, number);
    }

    /// Drops all ids, after a commit that has removed scopes.
    pub(crate) fn clear(&self) {
        let mut known = self.0.write();
        known.generation += 1;
        known.by_scope.clear();
    }
}

/// The scope's id; `None` if nothing was ever stored in it.
pub(crate) fn number(connection: &Connection, scope: &Scope) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT number FROM scopes WHERE persona_id = ?1 AND user_id = ?2")?
        .query_row(params![scope.persona.as_str(), scope.user.as_str()], |row| row.get(0))
        .optional()
}

/// The scope with an id.
pub(crate) fn scope_by_number(connection: &Connection, number: i64) -> Result<Scope> {
    connection
        .prepare_cached("SELECT persona_id, user_id FROM scopes WHERE number = ?1")?
        .query_row([number], |row| crate::rows::scope(row, 0))
}

/// The scope's id, created if needed. The persona and the user must exist.
pub(crate) fn number_or_new(connection: &Connection, scope: &Scope) -> Result<i64> {
    if let Some(number) = number(connection, scope)? {
        return Ok(number);
    }
    connection
        .prepare_cached("INSERT INTO scopes (persona_id, user_id) VALUES (?1, ?2) RETURNING number")?
        .query_row(params![scope.persona.as_str(), scope.user.as_str()], |row| row.get(0))
}

/// The scope's id, also if nothing was stored in it yet; `None` if the persona or the user is unknown.
pub(crate) fn number_if_known(connection: &Connection, scope: &Scope) -> Result<Option<i64>> {
    if let Some(number) = number(connection, scope)? {
        return Ok(Some(number));
    }
    let known: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM personas WHERE id = ?1) AND EXISTS (SELECT 1 FROM users WHERE id = ?2)",
        )?
        .query_row(params![scope.persona.as_str(), scope.user.as_str()], |row| row.get(0))?;
    if known { number_or_new(connection, scope).map(Some) } else { Ok(None) }
}

pub(crate) fn count_messages(connection: &Connection, scope: i64, more: usize) -> Result<()> {
    connection
        .prepare_cached("UPDATE scopes SET message_count = message_count + ?2 WHERE number = ?1")?
        .send(params![scope, more])
}

pub(crate) fn count_node(connection: &Connection, scope: i64) -> Result<()> {
    connection
        .prepare_cached("UPDATE scopes SET node_count = node_count + 1 WHERE number = ?1")?
        .send([scope])
}

/// Subtracts removed live rows.
pub(crate) fn subtract_counts(
    connection: &Connection,
    scope: i64,
    messages: usize,
    nodes: usize,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE scopes SET message_count = message_count - ?2, node_count = node_count - ?3 WHERE number = ?1",
        )?
        .execute(params![scope, messages, nodes])?;
    Ok(())
}

/// Number of live rows of a corpus.
pub(crate) fn size(connection: &Connection, scope: i64, corpus: Corpus) -> Result<CorpusSize> {
    let (messages, nodes) = live_row_counts(connection, scope)?;
    Ok(CorpusSize { documents: if corpus == Corpus::Messages { messages } else { nodes } })
}

/// Number of live messages, and of live nodes.
pub(crate) fn live_row_counts(connection: &Connection, scope: i64) -> Result<(u64, u64)> {
    connection
        .prepare_cached("SELECT message_count, node_count FROM scopes WHERE number = ?1")?
        .query_row([scope], |row| Ok((row.get(0)?, row.get(1)?)))
}
