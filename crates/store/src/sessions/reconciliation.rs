//! Pairs of statements of which the newer one may replace the older one: waiting pairs, and the outcomes.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{MessageId, NodeId, SessionId};
use memory::nodes::{Evidence, Node};
use memory::ports::{
    Counterpart, NewPair, OlderStatement, OpenPair, PAIR_ATTEMPTS_MAX, PairOutcome, ReconciliationCommit,
    ReconciliationStore, StoreError, WaitingPair,
};

use crate::engine::failure::Failure;
use crate::engine::sql::{self, Connection, OptionalExtension, Result, Row, params};
use crate::engine::writer::UnitOfWork;
use crate::home_store::HomeStore;
use crate::nodes::new_nodes::{self, CommitOrigin};
use crate::rows::{self, microseconds, node_columns, to_json};
use crate::scopes;

/// Query for pairs whose older statement is current. `n` is the newer memory, `o` the older one, `m` the message of
/// an older statement without a memory.
macro_rules! pairs {
    ($columns:expr, $rest:expr) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM statement_pairs p JOIN concept_nodes n ON n.seq = p.newer_seq
                 LEFT JOIN concept_nodes o ON o.seq = p.older_seq
                 LEFT JOIN recall_messages m ON m.seq = p.message_seq
             WHERE p.scope = ?1 AND n.deleted_at IS NULL AND coalesce(o.deleted_at, m.deleted_at) IS NULL
                 AND o.superseded_by IS NULL",
            $rest
        )
    };
}

const WAITING_PAIRS: &str = pairs!(
    "p.number, p.newer_seq, p.older_seq, p.span_start, p.span_end, m.id, m.created_at,
     substr(m.content, p.span_start + 1, p.span_end - p.span_start)",
    " AND p.opened_at IS NULL AND (p.asked_with IS NULL OR p.asked_with <> ?2)
      ORDER BY p.attempts, p.number DESC LIMIT ?3"
);
const OPEN_PAIRS: &str = pairs!(
    "p.older_seq, p.newer_seq, p.opened_at",
    " AND n.superseded_by IS NULL AND p.opened_at IS NOT NULL AND p.number IN (
          SELECT a.number FROM json_each(?2) j CROSS JOIN statement_pairs a ON a.newer_seq = j.value
          UNION SELECT a.number FROM json_each(?2) j CROSS JOIN statement_pairs a ON a.older_seq = j.value
          UNION SELECT a.number FROM json_each(?3) j CROSS JOIN node_evidence e ON e.message_seq = j.value
              CROSS JOIN statement_pairs a ON a.newer_seq = e.node_seq
          UNION SELECT a.number FROM json_each(?3) j CROSS JOIN node_evidence e ON e.message_seq = j.value
              CROSS JOIN statement_pairs a ON a.older_seq = e.node_seq)
      ORDER BY p.number"
);

#[async_trait]
impl ReconciliationStore for HomeStore {
    async fn waiting_pairs(
        &self,
        scope: &Scope,
        session: SessionId,
        limit: u32,
    ) -> std::result::Result<Vec<WaitingPair>, StoreError> {
        self.read_scope(scope, move |connection, scope| Ok(waiting_pairs(connection, scope, session, limit)?))
            .await
    }

    async fn commit_reconciliation(
        &self,
        commit: ReconciliationCommit,
    ) -> std::result::Result<(), StoreError> {
        self.write(move |unit| {
            let scope = scopes::number_or_new(unit.connection, &commit.scope)?;
            for (pair, outcome) in &commit.outcomes {
                settle(unit, scope, *pair, outcome, &commit)?;
            }
            Ok(())
        })
        .await
    }

    async fn open_pairs(
        &self,
        scope: &Scope,
        nodes: &[i64],
        messages: &[i64],
    ) -> std::result::Result<Vec<OpenPair>, StoreError> {
        let (nodes, messages) = (nodes.to_vec(), messages.to_vec());
        self.read_scope(scope, move |connection, scope| {
            let mut statement = connection.prepare_cached(OPEN_PAIRS)?;
            let pairs = statement
                .query_map(params![scope, to_json(&nodes)?, to_json(&messages)?], |row| {
                    Ok((row.get::<i64>(0)?, row.get::<i64>(1)?, rows::time(row, 2)?))
                })?;
            let mut found = Vec::new();
            for pair in pairs {
                let (older, newer, opened_at) = pair?;
                let said_in = |node, is_newer| {
                    let said = evidence_of_node(connection, node)?;
                    Ok::<_, sql::Error>(said.into_iter().map(move |quote| (quote.message_id, is_newer)))
                };
                found.push(OpenPair {
                    messages: said_in(older, false)?.chain(said_in(newer, true)?).collect(),
                    older: node_numbered(connection, older)?,
                    newer: node_numbered(connection, newer)?,
                    opened_at,
                });
            }
            Ok(found)
        })
        .await
    }
}

fn waiting_pairs(
    connection: &Connection,
    scope: i64,
    session: SessionId,
    limit: u32,
) -> Result<Vec<WaitingPair>> {
    struct Stored {
        number: i64,
        newer: i64,
        older: Option<i64>,
        words: Option<(Evidence, Timestamp)>,
    }
    let stored = |row: &Row<'_>| {
        let words = rows::optional_uuid(row, 5)?.map(|id| {
            let (start, end, quote) = (row.get(3)?, row.get(4)?, row.get(7)?);
            Ok::<_, sql::Error>((
                Evidence { message_id: MessageId(id), quote, start, end },
                rows::time(row, 6)?,
            ))
        });
        Ok(Stored { number: row.get(0)?, newer: row.get(1)?, older: row.get(2)?, words: words.transpose()? })
    };
    let mut statement = connection.prepare_cached(WAITING_PAIRS)?;
    let found = statement.query_map(params![scope, session.0.into_bytes(), limit], stored)?;
    let mut pairs = Vec::new();
    for stored in found.collect::<Result<Vec<Stored>>>()? {
        let (older, older_at) = match (stored.older, stored.words) {
            (Some(older), _) => {
                let evidence = evidence_of_node(connection, older)?;
                let node = Box::new(node_numbered(connection, older)?);
                (OlderStatement::Node(node, evidence), said_at(connection, older)?)
            }
            (None, Some((words, at))) => (OlderStatement::Words(words), at),
            (None, None) => continue,
        };
        pairs.push(WaitingPair {
            number: stored.number,
            older,
            older_at,
            newer: Box::new(node_numbered(connection, stored.newer)?),
            newer_at: said_at(connection, stored.newer)?,
            newer_evidence: evidence_of_node(connection, stored.newer)?,
            newer_texts: texts_of_evidence(connection, stored.newer)?,
        });
    }
    Ok(pairs)
}

fn node_numbered(connection: &Connection, seq: i64) -> Result<Node> {
    connection
        .prepare_cached(concat!("SELECT ", node_columns!(), " FROM concept_nodes n WHERE n.seq = ?1"))?
        .query_row([seq], rows::read_node)
}

/// The quotes of a memory, the latest first.
fn evidence_of_node(connection: &Connection, node: i64) -> Result<Vec<Evidence>> {
    connection
        .prepare_cached(
            "SELECT e.quote, e.span_start, e.span_end, m.id
             FROM node_evidence e JOIN recall_messages m ON m.seq = e.message_seq
             WHERE e.node_seq = ?1 AND m.deleted_at IS NULL ORDER BY m.created_at DESC, m.seq DESC, e.span_start DESC",
        )?
        .query_map([node], rows::evidence)?
        .collect()
}

/// Texts that may contain the quotes of a memory.
fn texts_of_evidence(connection: &Connection, node: i64) -> Result<Vec<String>> {
    connection
        .prepare_cached(
            "SELECT m.content FROM recall_messages m
             WHERE m.deleted_at IS NULL AND m.seq IN (SELECT message_seq FROM node_evidence WHERE node_seq = ?1)
             UNION ALL SELECT n.description FROM concept_nodes n WHERE n.seq = ?1 AND EXISTS (
                 SELECT 1 FROM node_changes c WHERE c.node_seq = ?1 AND c.kind = 'correction' AND c.undone_at IS NULL)",
        )?
        .query_map([node], |row| row.get(0))?
        .collect()
}

/// Position of a statement: its time, its message and its offset. A person's own text comes after all messages of its
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    at: i64,
    message: i64,
    start: i64,
}

impl Position {
    /// Position of the last statement of a memory.
    fn of_node(connection: &Connection, node: i64) -> Result<Self> {
        connection
            .prepare_cached(
                "SELECT t.at, t.message, t.start FROM (
                     SELECT m.created_at AS at, m.seq AS message, e.span_start AS start
                     FROM node_evidence e JOIN recall_messages m ON m.seq = e.message_seq WHERE e.node_seq = ?1
                     UNION ALL SELECT c.created_at, 9223372036854775807, 0 FROM node_changes c
                     WHERE c.node_seq = ?1 AND c.kind = 'correction' AND c.undone_at IS NULL
                     UNION ALL SELECT n.created_at, 9223372036854775807, 0 FROM concept_nodes n
                     WHERE n.seq = ?1 AND NOT EXISTS (SELECT 1 FROM node_evidence e WHERE e.node_seq = ?1)) t
                 ORDER BY t.at DESC, t.message DESC, t.start DESC LIMIT 1",
            )?
            .query_row([node], |row| {
                Ok(Self { at: row.get(0)?, message: row.get(1)?, start: row.get(2)? })
            })
    }

    fn time(self) -> Result<Timestamp> {
        Timestamp::from_microsecond(self.at).map_err(|error| rows::unreadable_column(0, error))
    }
}

/// Time of a memory's statement: that of its newest quote, or of a person's correction.
pub(crate) fn said_at(connection: &Connection, node: i64) -> Result<Timestamp> {
    Position::of_node(connection, node)?.time()
}

/// Stores a pair, with the earlier statement as the older one, as an import may add old messages later. Pairs that
/// exist, or of which one statement is not current, are skipped.
pub(crate) fn insert(connection: &Connection, scope: i64, pair: &NewPair) -> Result<()> {
    let Some(node) = current_number(connection, scope, pair.node)? else { return Ok(()) };
    match &pair.other {
        Counterpart::Node(other) => {
            let Some(other) = current_number(connection, scope, *other)?.filter(|other| *other != node)
            else {
                return Ok(());
            };
            let is_later = Position::of_node(connection, node)? >= Position::of_node(connection, other)?;
            let (older, newer) = if is_later { (other, node) } else { (node, other) };
            connection
                .prepare_cached(
                    "INSERT INTO statement_pairs (scope, older_seq, newer_seq) SELECT ?1, ?2, ?3
                     WHERE NOT EXISTS (SELECT 1 FROM statement_pairs
                                       WHERE newer_seq = ?3 AND older_seq = ?2 OR newer_seq = ?2 AND older_seq = ?3)",
                )?
                .execute(params![scope, older, newer])?;
        }
        Counterpart::Words(words) => {
            for (message, words) in
                new_nodes::quotes_still_in_messages(connection, scope, std::slice::from_ref(words))?
            {
                connection
                    .prepare_cached(
                        "INSERT INTO statement_pairs (scope, newer_seq, message_seq, span_start, span_end)
                         VALUES (?1, ?2, ?3, ?4, ?5)",
                    )?
                    .execute(params![scope, node, message, words.start, words.end])?;
            }
        }
    }
    Ok(())
}

fn current_number(connection: &Connection, scope: i64, id: NodeId) -> Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT seq FROM concept_nodes
             WHERE id = ?1 AND scope = ?2 AND deleted_at IS NULL AND superseded_by IS NULL",
        )?
        .query_row(params![id.0.into_bytes(), scope], |row| row.get(0))
        .optional()
}

/// Updates the pairs of a memory that was mentioned again: they are ordered by time again, and undecided ones are
/// asked about with the new quote.
pub(crate) fn reopen_pairs(connection: &Connection, node: i64) -> Result<()> {
    let pairs: Vec<(i64, i64, i64)> = connection
        .prepare_cached(
            "SELECT number, older_seq, newer_seq FROM statement_pairs
             WHERE older_seq IS NOT NULL AND (older_seq = ?1 OR newer_seq = ?1)",
        )?
        .query_map([node], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_>>()?;
    for (number, older, newer) in pairs {
        let is_swapped = Position::of_node(connection, older)? > Position::of_node(connection, newer)?;
        let (older, newer) = if is_swapped { (newer, older) } else { (older, newer) };
        connection
            .prepare_cached(
                "UPDATE statement_pairs SET older_seq = ?2, newer_seq = ?3, attempts = 0, asked_with = NULL,
                     opened_at = NULL WHERE number = ?1",
            )?
            .execute([number, older, newer])?;
    }
    Ok(())
}

/// Removes the pairs of a memory, because a person has decided about it.
pub(crate) fn remove_of_node(connection: &Connection, node: i64) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM statement_pairs WHERE older_seq = ?1 OR newer_seq = ?1")?
        .execute([node])?;
    Ok(())
}

/// Removes pairs whose older statement is in a message that was edited.
pub(crate) fn remove_of_message(connection: &Connection, message: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM statement_pairs WHERE message_seq = ?1")?.execute([message])?;
    Ok(())
}

fn settle(
    unit: &mut UnitOfWork<'_>,
    scope: i64,
    pair: i64,
    outcome: &PairOutcome,
    commit: &ReconciliationCommit,
) -> std::result::Result<(), Failure> {
    let connection = unit.connection;
    let current = pairs!("p.older_seq, p.newer_seq", " AND p.number = ?2");
    let found: Option<(Option<i64>, i64)> = connection
        .prepare_cached(current)?
        .query_row(params![scope, pair], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (older, newer) = match (found, outcome) {
        (Some((older, newer)), PairOutcome::Replaced { .. }) => (older, newer),
        (Some((Some(_), _)), PairOutcome::Open) => {
            connection
                .prepare_cached("UPDATE statement_pairs SET opened_at = ?2 WHERE number = ?1")?
                .execute(params![pair, microseconds(commit.at)])?;
            return Ok(());
        }
        (Some(_), PairOutcome::Unanswered) => return Ok(count_attempt(connection, pair, commit.session_id)?),
        _ => return Ok(remove(connection, pair)?),
    };
    let PairOutcome::Replaced { is_mistaken, former, rest } = outcome else { return Ok(()) };
    let origin = |session_id| CommitOrigin { scope, session_id, at: commit.at, model: None };
    let older = match (older, former) {
        (Some(older), _) => Some(older),
        // Words of a message become a memory first, because only a memory can be marked as replaced.
        (None, Some(former)) => {
            let session = node_numbered(connection, newer)?.source_session_id;
            new_nodes::insert_evidenced(unit, &origin(session), former)?
        }
        (None, None) => None,
    };
    remove(connection, pair)?;
    let Some(older) = older else { return Ok(()) };
    let Some(change) = supersede_node(connection, older, newer, *is_mistaken, commit.at)? else {
        return Ok(());
    };
    if let Some(rest) = rest {
        let session = node_numbered(connection, older)?.source_session_id;
        if let Some(rest) = new_nodes::insert_evidenced(unit, &origin(session), rest)? {
            connection
                .prepare_cached(
                    "INSERT INTO concept_node_entities (entity_id, node_seq)
                     SELECT entity_id, ?2 FROM concept_node_entities WHERE node_seq = ?1",
                )?
                .execute([older, rest])?;
            connection
                .prepare_cached("UPDATE node_changes SET rest_seq = ?2 WHERE number = ?1")?
                .execute([change, rest])?;
        }
    }
    Ok(())
}

fn remove(connection: &Connection, pair: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM statement_pairs WHERE number = ?1")?.execute([pair])?;
    Ok(())
}

fn count_attempt(connection: &Connection, pair: i64, session: SessionId) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE statement_pairs SET attempts = attempts + 1, asked_with = ?2 WHERE number = ?1",
        )?
        .execute(params![pair, session.0.into_bytes()])?;
    connection
        .prepare_cached("DELETE FROM statement_pairs WHERE number = ?1 AND attempts >= ?2")?
        .execute(params![pair, PAIR_ATTEMPTS_MAX])?;
    Ok(())
}

/// Makes the older memory a former one; returns the number of the change. A memory never replaces itself, not even
/// through others.
fn supersede_node(
    connection: &Connection,
    older: i64,
    newer: i64,
    is_mistaken: bool,
    at: Timestamp,
) -> Result<Option<i64>> {
    if is_replaced_by(connection, newer, older)? {
        return Ok(None);
    }
    let changed = connection
        .prepare_cached(
            "UPDATE concept_nodes SET superseded_by = (SELECT id FROM concept_nodes WHERE seq = ?2)
             WHERE seq = ?1 AND superseded_by IS NULL",
        )?
        .execute([older, newer])?;
    if changed == 0 {
        return Ok(None);
    }
    connection
        .prepare_cached(
            "INSERT INTO node_changes (node_seq, kind, author, created_at, newer_seq, mistaken)
             VALUES (?1, 'supersession', 'extraction', ?2, ?3, ?4)",
        )?
        .insert(params![older, microseconds(at), newer, is_mistaken])
        .map(Some)
}

/// True if `to` replaced `from`, directly or through others.
fn is_replaced_by(connection: &Connection, from: i64, to: i64) -> Result<bool> {
    connection
        .prepare_cached(
            "WITH RECURSIVE line (seq) AS (
                 SELECT seq FROM concept_nodes WHERE seq = ?1
                 UNION SELECT n.seq FROM line l JOIN concept_nodes f ON f.seq = l.seq
                     JOIN concept_nodes n ON n.id = f.superseded_by)
             SELECT EXISTS (SELECT 1 FROM line WHERE seq = ?2)",
        )?
        .query_row([from, to], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plans::{empty_database, explain_plan};

    #[test]
    fn no_statement_scans_the_past() {
        let connection = empty_database();
        for statement in [WAITING_PAIRS, OPEN_PAIRS] {
            let plan = explain_plan(&connection, statement);
            assert_eq!(plan.matches("SCAN").count() - plan.matches("SCAN j").count(), 0, "{plan}");
        }
    }
}
