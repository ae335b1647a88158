//! The two commits of consolidation, and a person's decision about a refused memory.

use jiff::Timestamp;
use memory::Scope;
use memory::entities::{ChangedBy, EntityChange};
use memory::identifiers::{RejectedId, SessionId};
use memory::nodes::{NewNode, RejectedMemory};
use memory::ports::{CommitOutcome, ExtractionCommit, IdentityStatement, MentionMerge, ReflectionCommit};
use memory::sessions::{Session, SessionStatus};

use crate::corrections::undo;
use crate::engine::failure::Failure;
use crate::engine::sql::{self, Connection, OptionalExtension, params};
use crate::engine::writer::UnitOfWork;
use crate::entities::{self, entity_changes};
use crate::index::vectors;
use crate::nodes::new_nodes::{self, CommitOrigin};
use crate::people::moods;
use crate::rows::{microseconds, to_json};
use crate::sessions::reconciliation;
use crate::{scopes, sessions};

/// Writes an extraction. Deleted evidence is left out, and so are nodes that depended only on it.
pub(crate) fn commit_extraction(
    unit: &mut UnitOfWork<'_>,
    commit: &ExtractionCommit,
) -> Result<CommitOutcome, Failure> {
    let connection = unit.connection;
    let session = claimed_session(connection, commit.session_id, &commit.scope)?;
    if session.extracted {
        return Ok(CommitOutcome::AlreadyCommitted);
    }
    check_is_consolidating(&session)?;
    let origin = insert_origin(
        connection,
        commit.session_id,
        &commit.scope,
        commit.at,
        commit.fingerprint.as_deref(),
    )?;
    for node in &commit.nodes {
        new_nodes::insert_evidenced(unit, &origin, node)?;
    }
    for rejected in &commit.rejected {
        store_rejected_memory(connection, origin.scope, rejected)?;
    }
    for entity in &commit.entities {
        entities::insert(connection, origin.scope, entity, origin.model, commit.at)?;
    }
    for (entity, name, folded) in &commit.aliases {
        entities::add_alias(connection, origin.scope, *entity, name, folded, commit.at)?;
    }
    for (node, entity) in &commit.links {
        entities::link_entity(connection, origin.scope, *node, *entity)?;
    }
    for settled in &commit.identities {
        apply_identity_statement(connection, origin.scope, settled, commit.at)?;
    }
    for mention in &commit.mentions {
        merge_mention(connection, &origin, commit.session_id, mention)?;
    }
    for pair in &commit.pairs {
        reconciliation::insert(connection, origin.scope, pair)?;
    }
    if let Some(mood) = &commit.mood {
        moods::add(connection, origin.scope, commit.session_id, mood)?;
    }
    // Events are counted in the database, because those without remaining evidence were left out.
    connection
        .prepare_cached(
            "UPDATE sessions SET extracted = 1, trivial = ?2, summary = ?3,
                 extracted_events = (SELECT count(*) FROM concept_nodes
                                     WHERE source_session_id = ?1 AND type = 'event' AND deleted_at IS NULL)
             WHERE id = ?1",
        )?
        .execute(params![commit.session_id.0.into_bytes(), commit.trivial, commit.summary])?;
    Ok(CommitOutcome::Committed)
}

/// Writes a reflection. Thoughts whose events were all deleted are left out; a reflection without thoughts only marks
/// the session.
pub(crate) fn commit_reflection(
    unit: &mut UnitOfWork<'_>,
    commit: &ReflectionCommit,
) -> Result<CommitOutcome, Failure> {
    let connection = unit.connection;
    let session = claimed_session(connection, commit.session_id, &commit.scope)?;
    if session.reflected {
        return Ok(CommitOutcome::AlreadyCommitted);
    }
    check_is_consolidating(&session)?;
    let origin = insert_origin(
        connection,
        commit.session_id,
        &commit.scope,
        commit.at,
        commit.fingerprint.as_deref(),
    )?;
    let mut stored = false;
    for thought in &commit.thoughts {
        stored |= new_nodes::insert_filled(unit, &origin, thought)?.is_some();
    }
    if stored {
        connection
            .prepare_cached(
                "INSERT INTO reflections (id, scope, session_id, created_at) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                commit.id.0.into_bytes(),
                origin.scope,
                commit.session_id.0.into_bytes(),
                microseconds(commit.at)
            ])?;
    }
    connection
        .prepare_cached("UPDATE sessions SET reflected = 1 WHERE id = ?1")?
        .execute([commit.session_id.0.into_bytes()])?;
    Ok(CommitOutcome::Committed)
}

/// Records a person's decision; an approved node has the model of its vector. A second decision, or one about a
/// deleted memory, changes nothing.
pub(crate) fn decide_rejected(
    unit: &mut UnitOfWork<'_>,
    id: RejectedId,
    approved: Option<(&NewNode, Option<i64>)>,
    at: Timestamp,
) -> Result<CommitOutcome, Failure> {
    let waiting: Option<(i64, [u8; 16])> = unit
        .connection
        .prepare_cached(
            "SELECT scope, session_id FROM rejected_memories WHERE id = ?1 AND settled_at IS NULL",
        )?
        .query_row([id.0.into_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((scope, session)) = waiting else { return Ok(CommitOutcome::AlreadyCommitted) };
    let session_id = SessionId(uuid::Uuid::from_bytes(session));
    let insert = |(node, model): (&NewNode, _)| {
        new_nodes::insert_approved(
            unit,
            &CommitOrigin { scope, session_id: Some(session_id), at, model },
            node,
        )
    };
    let node = approved.map(insert).transpose()?;
    unit.connection
        .prepare_cached("UPDATE rejected_memories SET settled_at = ?2, approved_node = ?3 WHERE id = ?1")?
        .execute(params![id.0.into_bytes(), microseconds(at), node])?;
    Ok(CommitOutcome::Committed)
}

fn claimed_session(connection: &Connection, id: SessionId, scope: &Scope) -> Result<Session, Failure> {
    let session = sessions::by_id(connection, id)?.filter(|session| session.scope == *scope);
    session.ok_or_else(|| Failure::Refused(format!("session {id} does not exist in this scope")))
}

fn check_is_consolidating(session: &Session) -> Result<(), Failure> {
    if session.status == SessionStatus::Consolidating {
        return Ok(());
    }
    Err(Failure::Refused(format!("session {} is not being consolidated; nothing was written", session.id)))
}

fn insert_origin(
    connection: &Connection,
    session_id: SessionId,
    scope: &Scope,
    at: Timestamp,
    fingerprint: Option<&str>,
) -> Result<CommitOrigin, Failure> {
    let model = fingerprint.map(|fingerprint| vectors::model_or_new(connection, fingerprint)).transpose()?;
    let scope = scopes::number_or_new(connection, scope)?;
    Ok(CommitOrigin { scope, session_id: Some(session_id), at, model })
}

pub(crate) fn store_rejected_memory(
    connection: &Connection,
    scope: i64,
    rejected: &RejectedMemory,
) -> sql::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO rejected_memories (id, scope, session_id, description, emotional_impact, evidence, reason,
                 created_at, proposal)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
             WHERE NOT EXISTS (SELECT 1 FROM rejected_memories WHERE session_id = ?3 AND description = ?4
                                   AND (settled_at IS NOT NULL OR reason = ?7) AND created_at < ?8)",
        )?
        .execute(params![
            rejected.id.0.into_bytes(),
            scope,
            rejected.session_id.0.into_bytes(),
            rejected.description,
            rejected.emotional_impact,
            to_json(&rejected.evidence)?,
            rejected.reason,
            microseconds(rejected.created_at),
            to_json(&rejected.proposal)?,
        ])?;
    Ok(())
}

/// Applies a statement of the user about two entities. Nothing changes if one is deleted, or if it is so already.
fn apply_identity_statement(
    connection: &Connection,
    scope: i64,
    settled: &IdentityStatement,
    at: Timestamp,
) -> sql::Result<()> {
    let IdentityStatement { entity, other, same } = *settled;
    let change = if same { EntityChange::Merge { other } } else { EntityChange::Separate { other } };
    entity_changes::change(connection, scope, entity, &change, ChangedBy::Conversation, at)?;
    Ok(())
}

/// Counts a mention, if its quotes and the node that it repeats still exist.
fn merge_mention(
    connection: &Connection,
    origin: &CommitOrigin,
    session: SessionId,
    mention: &MentionMerge,
) -> sql::Result<()> {
    let Some(node) = new_nodes::number(connection, origin.scope, mention.node_id)? else { return Ok(()) };
    let evidence = new_nodes::quotes_still_in_messages(connection, origin.scope, &mention.merged.evidence)?;
    if evidence.is_empty() {
        return Ok(());
    }
    new_nodes::add_evidence(connection, node, &evidence)?;
    connection
        .prepare_cached("UPDATE concept_nodes SET mention_count = mention_count + 1 WHERE seq = ?1")?
        .execute([node])?;
    let merge = connection
        .prepare_cached(
            "INSERT INTO mention_merges (node_seq, session_id, description, created_at, merged_id, merged)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .insert(params![
            node,
            session.0.into_bytes(),
            mention.merged.description,
            microseconds(origin.at),
            mention.merged.id.0.into_bytes(),
            undo::merged_json(&mention.merged)?,
        ])?;
    let mut place = connection.prepare_cached(
        "INSERT INTO mention_evidence (merge_number, message_seq, span_start, span_end) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
    )?;
    for (message, quote) in &evidence {
        place.execute(params![merge, message, quote.start, quote.end])?;
    }
    connection
        .prepare_cached(
            "INSERT INTO node_changes (node_seq, kind, author, created_at, merge_number)
             VALUES (?1, 'mention_merge', 'extraction', ?2, ?3)",
        )?
        .execute(params![node, microseconds(origin.at), merge])?;
    reconciliation::reopen_pairs(connection, node)
}
