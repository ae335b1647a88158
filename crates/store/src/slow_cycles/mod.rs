//! Runs of the slow cycle: the state for its limits, its input and its results.

pub(crate) mod expectations;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::entities::Entity;
use memory::identifiers::{CycleId, NodeId};
use memory::ports::{
    ExpectationEnd, ReflectionCandidate, SlowCycleCommit, SlowCycleReport, SlowCycleState, SlowCycleStore,
    StoreError, TranscriptSummary,
};
use serde_json::Value;

use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::engine::writer::UnitOfWork;
use crate::entities::{entity_changes, entity_queries};
use crate::home_store::HomeStore;
use crate::index::vectors;
use crate::nodes::new_nodes::{self, CommitOrigin};
use crate::rows::{self, microseconds, node_columns, to_json};
use crate::scopes;

/// Query for the transcripts of a scope, after a position.
pub(crate) const TRANSCRIPTS: &str =
    "SELECT id, created_at, length(CAST(transcript AS BLOB)) FROM slow_cycles
     WHERE scope = ?1 AND transcript IS NOT NULL AND (created_at, id) < (?2, ?3)
     ORDER BY created_at DESC, id DESC LIMIT ?4";

#[async_trait]
impl SlowCycleStore for HomeStore {
    async fn slow_cycle_progress(
        &self,
        scope: &Scope,
        since: Timestamp,
    ) -> Result<SlowCycleState, StoreError> {
        self.read_scope(scope, move |connection, scope| Ok(slow_cycle_state(connection, scope, since)?)).await
    }

    async fn events_to_reflect_on(
        &self,
        scope: &Scope,
        since: Timestamp,
        cycles_max: u32,
        limit: u32,
    ) -> Result<Vec<ReflectionCandidate>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(to_reflect_on(connection, scope, since, cycles_max, limit)?)
        })
        .await
    }

    async fn entities_to_describe(
        &self,
        scope: &Scope,
        nodes: &[NodeId],
        linked_min: u32,
    ) -> Result<Vec<Entity>, StoreError> {
        let nodes = nodes.to_vec();
        self.read_scope(scope, move |connection, scope| {
            Ok(to_describe(connection, scope, &nodes, linked_min)?)
        })
        .await
    }

    async fn commit_slow_cycle(&self, commit: SlowCycleCommit) -> Result<SlowCycleReport, StoreError> {
        self.write(move |unit| write(unit, &commit)).await
    }

    async fn settle_expectations(
        &self,
        scope: &Scope,
        ids: &[NodeId],
        settled: ExpectationEnd,
    ) -> Result<Vec<NodeId>, StoreError> {
        let (scope, ids) = (scope.clone(), ids.to_vec());
        self.write(move |unit| match scopes::number(unit.connection, &scope)? {
            Some(scope) => Ok(expectations::settle(unit.connection, scope, &ids, &settled)?),
            None => Ok(Vec::new()),
        })
        .await
    }

    async fn expire_expectations(&self, now: Timestamp) -> Result<u32, StoreError> {
        self.write(move |unit| Ok(expectations::expire_expectations(unit.connection, now)?)).await
    }

    async fn expectation_end(&self, id: NodeId) -> Result<Option<ExpectationEnd>, StoreError> {
        self.read(move |connection| Ok(expectations::expectation_end(connection, id)?)).await
    }

    async fn transcripts(
        &self,
        scope: &Scope,
        before: Option<(Timestamp, CycleId)>,
        limit: u32,
    ) -> Result<Vec<TranscriptSummary>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            let (at, id) = rows::place_of(before.map(|(at, CycleId(id))| (at, id)));
            let mut statement = connection.prepare_cached(TRANSCRIPTS)?;
            let heads = statement.query_map(params![scope, at, id, limit], |row| {
                Ok(TranscriptSummary {
                    id: CycleId(rows::read_uuid(row, 0)?),
                    at: rows::time(row, 1)?,
                    size: row.get(2)?,
                })
            })?;
            Ok(heads.collect::<Result<_>>()?)
        })
        .await
    }

    async fn transcript(&self, id: CycleId) -> Result<Option<Value>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT transcript FROM slow_cycles WHERE id = ?1 AND transcript IS NOT NULL",
            )?;
            Ok(statement.query_row([id.0.into_bytes()], |row| rows::read_json(row, 0)).optional()?)
        })
        .await
    }
}

fn slow_cycle_state(connection: &Connection, scope: i64, since: Timestamp) -> Result<SlowCycleState> {
    let (cycles, input_tokens, output_tokens) = connection
        .prepare_cached(
            "SELECT count(*), CAST(total(input_tokens) AS INTEGER), CAST(total(output_tokens) AS INTEGER)
             FROM slow_cycles WHERE scope = ?1 AND created_at >= ?2",
        )?
        .query_row(params![scope, microseconds(since)], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    // Questions that depend on deleted rows are not asked any more.
    let last: Option<(Timestamp, Vec<String>)> = connection
        .prepare_cached(
            "SELECT c.created_at,
                    CASE WHEN EXISTS (SELECT 1 FROM slow_cycle_events r JOIN concept_nodes n ON n.seq = r.node_seq
                                      WHERE r.cycle_id = c.id AND n.deleted_at IS NOT NULL)
                         THEN '[]' ELSE c.salient_questions END
             FROM slow_cycles c WHERE c.scope = ?1 ORDER BY c.created_at DESC, c.id DESC LIMIT 1",
        )?
        .query_row([scope], |row| Ok((rows::time(row, 0)?, rows::read_json(row, 1)?)))
        .optional()?;
    let (last_at, salient_questions) = last.map_or((None, Vec::new()), |(at, asked)| (Some(at), asked));
    let tombstones = count_tombstones(connection, scope)?;
    Ok(SlowCycleState { last_at, cycles, input_tokens, output_tokens, salient_questions, tombstones })
}

/// Number of erased rows of a memory. It never decreases while the memory exists.
fn count_tombstones(connection: &Connection, scope: i64) -> Result<u64> {
    connection
        .prepare_cached("SELECT count(*) FROM tombstones WHERE scope = ?1")?
        .query_row([scope], |row| row.get(0))
}

fn to_reflect_on(
    connection: &Connection,
    scope: i64,
    since: Timestamp,
    cycles_max: u32,
    limit: u32,
) -> Result<Vec<ReflectionCandidate>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        node_columns!(),
        ", (SELECT count(*) FROM slow_cycle_events r WHERE r.node_seq = n.seq) AS cycles
         FROM concept_nodes n
         WHERE n.scope = ?1 AND n.created_at >= ?2 AND n.deleted_at IS NULL AND n.superseded_by IS NULL
           AND (n.type = 'event' OR n.type = 'intention' AND n.source_session_id IS NOT NULL)
           AND (SELECT count(*) FROM slow_cycle_events r WHERE r.node_seq = n.seq) < ?3
         ORDER BY n.created_at DESC, n.seq DESC LIMIT ?4"
    ))?;
    let newest_first =
        statement.query_map(params![scope, microseconds(since), cycles_max, limit], |row| {
            Ok(ReflectionCandidate {
                node: rows::read_node(row)?,
                cycles: row.get(rows::FIRST_COLUMN_AFTER_NODE)?,
            })
        })?;
    let mut found: Vec<ReflectionCandidate> = newest_first.collect::<Result<_>>()?;
    found.reverse();
    Ok(found)
}

fn to_describe(
    connection: &Connection,
    scope: i64,
    nodes: &[NodeId],
    linked_min: u32,
) -> Result<Vec<Entity>> {
    let mut found: Vec<Entity> = Vec::new();
    // The newest node first, as its entities are described first.
    for node in nodes.iter().rev() {
        for (_, id) in entity_queries::entities_of_nodes(connection, &[*node])? {
            if found.iter().any(|known| known.id == id) {
                continue;
            }
            let spoken_of = entity_queries::count_mentions(connection, scope, &[id])?;
            if spoken_of.iter().any(|mentions| mentions.events >= u64::from(linked_min)) {
                let entity = entity_queries::by_id(connection, scope, id)?;
                found.extend(entity.filter(|entity| !entity.owner_override));
            }
        }
    }
    Ok(found)
}

/// Writes a cycle. Nodes without a live event are left out.
fn write(unit: &mut UnitOfWork<'_>, commit: &SlowCycleCommit) -> Result<SlowCycleReport, Failure> {
    let connection = unit.connection;
    let scope = scopes::number_or_new(connection, &commit.scope)?;
    let fingerprint = commit.fingerprint.as_deref();
    let model = fingerprint.map(|fingerprint| vectors::model_or_new(connection, fingerprint)).transpose()?;
    let numbers = commit.read.iter().map(|id| new_nodes::number(connection, scope, *id));
    // A memory that lost its evidence leaves no tombstone, but no longer exists.
    let withdrawn = numbers.collect::<Result<Vec<_>>>()?.contains(&None);
    let forgotten = withdrawn || count_tombstones(connection, scope)? != commit.tombstones;
    let (asked, answered) = match forgotten {
        true => (&[][..], None),
        false => (commit.salient_questions.as_slice(), commit.transcript.as_ref()),
    };
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "INSERT INTO slow_cycles (id, scope, session_id, created_at, input_tokens, output_tokens, outcome,
                 salient_questions, transcript)
             VALUES (?1, ?2, (SELECT id FROM sessions WHERE id = ?3), ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            commit.id.0.into_bytes(),
            scope,
            commit.session_id.0.into_bytes(),
            microseconds(commit.at),
            whole(commit.usage.input_tokens),
            whole(commit.usage.output_tokens),
            commit.outcome,
            to_json(&asked)?,
            answered.map(to_json).transpose()?,
        ])?;
    if forgotten {
        return Ok(SlowCycleReport { forgotten, ..SlowCycleReport::default() });
    }
    let mut read = connection.prepare_cached(
        "INSERT INTO slow_cycle_events (cycle_id, node_seq) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    )?;
    for id in &commit.read {
        if let Some(seq) = new_nodes::number(connection, scope, *id)? {
            read.execute(params![commit.id.0.into_bytes(), seq])?;
        }
    }
    drop(read);
    let origin = CommitOrigin { scope, session_id: None, at: commit.at, model };
    let mut written = SlowCycleReport::default();
    for node in &commit.nodes {
        if new_nodes::insert_filled(unit, &origin, node)?.is_some() {
            written.nodes.push(node.id);
        }
    }
    for (id, description) in &commit.descriptions {
        written.described.extend(entity_changes::describe(connection, scope, *id, description, commit.at)?);
    }
    Ok(written)
}
