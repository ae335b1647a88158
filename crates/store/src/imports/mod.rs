//! Import runs, their pages and skipped items.

mod changed;
mod documents;
mod forget;
mod outcome;
mod recorded;
mod replaced;

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::identifiers::{ImportId, RejectedId, SessionId};
use memory::messages::Role;
use memory::nodes::{Node, NodeKind, RejectedMemory};
use memory::ports::{
    Corpus, ImportMemories, ImportPage, ImportRun, ImportSkip, ImportStore, ImportedDocument,
    ImportedMessage, ImportedProposal, ImportedSession, NewImport, RecordedPage, Remembering,
    ReplacedMessages, StoreError,
};
use memory::sessions::{
    CloseTrigger, SAVED_MEMORIES_CHANNEL, Session, SessionChoice, SessionPolicy, choose_session, is_full,
};

use crate::engine::failure::Failure;
use crate::engine::sql::{self, Connection, OptionalExtension, Result, Row, params};
use crate::engine::writer::UnitOfWork;
use crate::forgetting::overwrite;
use crate::home_store::HomeStore;
use crate::rows::{self, StoredEnum, microseconds, saved_memories_channel};
use crate::sessions::commits;
use crate::{messages, scopes, sessions};

use replaced::MessageReplacer;

pub(crate) use forget::forget_names;

macro_rules! run_columns {
    () => {
        concat!(
            "SELECT r.id, s.persona_id, s.user_id, r.files, r.status, r.remembering, r.position, r.found, r.recorded,
                r.already_there, (SELECT count(*) FROM import_skips k WHERE k.run = r.number),
                (SELECT count(*) FROM sessions c WHERE c.import_run = r.number AND c.channel_id <> ",
            saved_memories_channel!(),
            "),
                (SELECT count(*) FROM sessions c WHERE c.import_run = r.number
                     AND c.status IN ('open', 'closing', 'consolidating')),
                r.created_at, r.finished_at, r.proposed, r.undated,
                (SELECT count(*) FROM import_documents d WHERE d.run = r.number)
         FROM import_runs r JOIN scopes s ON s.number = r.scope"
        )
    };
}
#[async_trait]
impl ImportStore for HomeStore {
    async fn begin_import(&self, new: NewImport) -> Result<ImportRun, StoreError> {
        self.write(move |unit| Ok(begin(unit.connection, &new)?)).await
    }

    async fn record_page(
        &self,
        id: ImportId,
        page: ImportPage,
        policy: SessionPolicy,
    ) -> Result<Option<RecordedPage>, StoreError> {
        self.write(move |unit| record(unit, id, &page, &policy)).await
    }

    async fn restore_replaced(
        &self,
        id: ImportId,
        limit: u32,
        at: Timestamp,
    ) -> Result<Option<ReplacedMessages>, StoreError> {
        self.write(move |unit| changed::restore(unit, id, limit, at)).await
    }

    async fn begin_documents(
        &self,
        id: ImportId,
        documents: Vec<ImportedDocument>,
    ) -> Result<Vec<ImportedDocument>, StoreError> {
        self.write(move |unit| Ok(documents::begin(unit.connection, id, &documents)?)).await
    }

    async fn import_documents(&self, id: ImportId) -> Result<Vec<String>, StoreError> {
        self.read(move |connection| Ok(documents::document_names(connection, id)?)).await
    }

    async fn finish_import(&self, id: ImportId, at: Timestamp) -> Result<Option<ImportRun>, StoreError> {
        self.write(move |unit| {
            let connection = unit.connection;
            connection.execute(
                "UPDATE sessions SET status = 'closing', close_trigger = 'idle'
                 WHERE status = 'open' AND import_run = (SELECT number FROM import_runs WHERE id = ?1)",
                [id.0.into_bytes()],
            )?;
            connection.execute(
                "UPDATE import_runs SET status = 'recorded', position = 'null', finished_at = ?2
                 WHERE id = ?1 AND status = 'recording'",
                params![id.0.into_bytes(), microseconds(at)],
            )?;
            Ok(by_id(connection, id)?)
        })
        .await
    }

    async fn import_run(&self, id: ImportId) -> Result<Option<ImportRun>, StoreError> {
        self.read(move |connection| Ok(by_id(connection, id)?)).await
    }

    async fn import_runs(&self) -> Result<Vec<ImportRun>, StoreError> {
        self.read(move |connection| {
            let mut statement =
                connection.prepare_cached(concat!(run_columns!(), " ORDER BY r.number DESC"))?;
            let runs = statement.query_map([], run)?.collect::<Result<_>>();
            Ok(runs?)
        })
        .await
    }

    async fn import_skips(&self, id: ImportId, limit: u32) -> Result<Vec<ImportSkip>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT k.place, k.reason FROM import_runs r JOIN import_skips k ON k.run = r.number
                 WHERE r.id = ?1 ORDER BY k.number LIMIT ?2",
            )?;
            let skip = |row: &Row<'_>| Ok(ImportSkip { place: row.get(0)?, reason: row.get(1)? });
            let skips = statement.query_map(params![id.0.into_bytes(), limit], skip)?.collect::<Result<_>>();
            Ok(skips?)
        })
        .await
    }

    async fn import_memories(&self, id: ImportId) -> Result<ImportMemories, StoreError> {
        self.read(move |connection| Ok(outcome::count_memories(connection, id)?)).await
    }

    async fn imported_sessions(
        &self,
        id: ImportId,
        from: u64,
        limit: u32,
    ) -> Result<Vec<ImportedSession>, StoreError> {
        self.read(move |connection| Ok(outcome::sessions(connection, id, from, limit)?)).await
    }

    async fn imported_nodes(
        &self,
        id: ImportId,
        kinds: &[NodeKind],
        limit: u32,
    ) -> Result<Vec<Node>, StoreError> {
        let kinds: BTreeSet<NodeKind> = kinds.iter().copied().collect();
        self.read(move |connection| Ok(outcome::imported_nodes(connection, id, &kinds, limit)?)).await
    }

    async fn waiting_proposals(&self, id: ImportId) -> Result<Vec<RejectedId>, StoreError> {
        self.read(move |connection| Ok(outcome::waiting_proposals(connection, id)?)).await
    }

    async fn set_remembering(
        &self,
        id: ImportId,
        remembering: Remembering,
    ) -> Result<Option<ImportRun>, StoreError> {
        self.write(move |unit| {
            unit.connection.execute(
                "UPDATE import_runs SET remembering = ?2 WHERE id = ?1",
                params![id.0.into_bytes(), remembering.as_str()],
            )?;
            Ok(by_id(unit.connection, id)?)
        })
        .await
    }

    async fn import_sessions(&self, id: ImportId) -> Result<Vec<SessionId>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT c.id FROM import_runs r JOIN sessions c ON c.import_run = r.number
                 WHERE r.id = ?1 ORDER BY c.first_message_at, c.id",
            )?;
            let found =
                statement.query_map([id.0.into_bytes()], |row| Ok(SessionId(rows::read_uuid(row, 0)?)))?;
            Ok(found.collect::<Result<_>>()?)
        })
        .await
    }

    async fn delete_import(&self, id: ImportId) -> Result<bool, StoreError> {
        self.write(move |unit| {
            unit.connection.execute(
                "DELETE FROM sessions
                 WHERE import_run = (SELECT number FROM import_runs WHERE id = ?1)
                   AND NOT EXISTS (SELECT 1 FROM recall_messages m WHERE m.session_id = sessions.id)",
                [id.0.into_bytes()],
            )?;
            let deleted = unit.connection.execute(
                "DELETE FROM import_runs WHERE id = ?1
                   AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.import_run = import_runs.number)",
                [id.0.into_bytes()],
            )?;
            if deleted > 0 {
                overwrite::mark_overwriting_due(unit.connection)?;
            }
            Ok(deleted > 0)
        })
        .await
    }
}

fn run(row: &Row<'_>) -> Result<ImportRun> {
    Ok(ImportRun {
        run_id: ImportId(rows::read_uuid(row, 0)?),
        scope: rows::scope(row, 1)?,
        files: rows::read_json(row, 3)?,
        status: rows::read_enum(row, 4)?,
        remembering: rows::read_enum(row, 5)?,
        position: row.get(6)?,
        found: row.get(7)?,
        recorded: row.get(8)?,
        already_there: row.get(9)?,
        skipped: row.get(10)?,
        sessions: row.get(11)?,
        sessions_waiting: row.get(12)?,
        created_at: rows::time(row, 13)?,
        finished_at: rows::optional_time(row, 14)?,
        proposed: row.get(15)?,
        undated: row.get(16)?,
        documents: row.get(17)?,
    })
}

fn by_id(connection: &Connection, id: ImportId) -> Result<Option<ImportRun>> {
    connection
        .prepare_cached(concat!(run_columns!(), " WHERE r.id = ?1"))?
        .query_row([id.0.into_bytes()], run)
        .optional()
}

fn begin(connection: &Connection, new: &NewImport) -> Result<ImportRun> {
    let scope = scopes::number_or_new(connection, &new.scope)?;
    let cut_off: Option<[u8; 16]> = connection
        .prepare_cached(
            "SELECT id FROM import_runs WHERE digest = ?1 AND scope = ?2 AND status = 'recording'
             ORDER BY number DESC LIMIT 1",
        )?
        .query_row(params![new.digest, scope], |row| row.get(0))
        .optional()?;
    let id = match cut_off {
        Some(id) => ImportId(uuid::Uuid::from_bytes(id)),
        None => {
            connection.execute(
                "INSERT INTO import_runs (id, scope, digest, files, status, remembering, position, created_at)
                 VALUES (?1, ?2, ?3, ?4, 'recording', ?5, 'null', ?6)",
                params![
                    new.id.0.into_bytes(),
                    scope,
                    new.digest,
                    rows::to_json(&new.files)?,
                    new.remembering.as_str(),
                    microseconds(new.at),
                ],
            )?;
            new.id
        }
    };
    by_id(connection, id)?.ok_or(sql::Error::QueryReturnedNoRows)
}

fn record(
    unit: &mut UnitOfWork<'_>,
    id: ImportId,
    page: &ImportPage,
    policy: &SessionPolicy,
) -> Result<Option<RecordedPage>, Failure> {
    let connection = unit.connection;
    let found: Option<(i64, i64)> = connection
        .prepare_cached("SELECT number, scope FROM import_runs WHERE id = ?1 AND status = 'recording'")?
        .query_row([id.0.into_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((run, scope)) = found else { return Ok(None) };
    let (mut recorded, mut already_there) = (0_u64, 0_u64);
    let mut replacing = MessageReplacer::new(run, scope, page.at);
    for imported in &page.messages {
        let is_new = match replacing.settle(unit, imported)? {
            Some(is_new) => is_new,
            None => {
                let seq = insert_message(unit, run, scope, imported, policy)?;
                replacing.insert_versions(unit, seq, imported)?;
                true
            }
        };
        *(if is_new { &mut recorded } else { &mut already_there }) += 1;
    }
    let replaced = replacing.finish(unit)?;
    let mut proposed = 0_u64;
    for proposal in &page.proposals {
        match record_proposal(connection, run, scope, proposal)? {
            true => proposed += 1,
            false => already_there += 1,
        }
    }
    let mut keep =
        connection.prepare_cached("INSERT INTO import_skips (run, place, reason) VALUES (?1, ?2, ?3)")?;
    for skip in &page.skips {
        keep.execute(params![run, skip.place, skip.reason])?;
    }
    connection
        .prepare_cached(
            "UPDATE import_runs SET position = ?2, found = found + ?3, recorded = recorded + ?4,
                 already_there = already_there + ?5, proposed = proposed + ?6,
                 undated = undated + ?7
             WHERE number = ?1",
        )?
        .execute(params![
            run,
            page.position,
            (page.messages.len() + page.proposals.len() + page.skips.len()) as u64
                + page.documents
                + page.documents_there,
            recorded,
            already_there + page.documents_there,
            proposed,
            page.undated
        ])?;
    Ok(by_id(connection, id)?.map(|run| RecordedPage { run, replaced }))
}

/// Stores a proposal; false if an earlier import proposed it. A person's decision about it stays valid.
fn record_proposal(
    connection: &Connection,
    run: i64,
    scope: i64,
    proposal: &ImportedProposal,
) -> Result<bool, Failure> {
    let ImportedProposal { memory, at } = proposal;
    let is_there: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM sessions c JOIN rejected_memories j ON j.session_id = c.id
                 WHERE c.scope = ?1 AND c.channel_id = ?2 AND j.description = ?3)",
        )?
        .query_row(params![scope, SAVED_MEMORIES_CHANNEL, memory.description], |row| row.get(0))?;
    if is_there {
        return Ok(false);
    }
    let at = microseconds(*at);
    let known: Option<[u8; 16]> = connection
        .prepare_cached(
            "SELECT id FROM sessions WHERE import_run = ?1 AND channel_id = ?2 AND last_message_at = ?3",
        )?
        .query_row(params![run, SAVED_MEMORIES_CHANNEL, at], |row| row.get(0))
        .optional()?;
    let session = known.unwrap_or(memory.session_id.0.into_bytes());
    if known.is_none() {
        connection
            .prepare_cached(
                "INSERT INTO sessions (id, scope, channel_id, status, message_count, total_tokens, first_message_at,
                     last_message_at, closed_at, extracted, reflected, import_run)
                 VALUES (?1, ?2, ?3, 'closed', 0, 0, ?4, ?4, ?4, 1, 1, ?5)",
            )?
            .execute(params![session, scope, SAVED_MEMORIES_CHANNEL, at, run])?;
    }
    let memory = RejectedMemory { session_id: SessionId(uuid::Uuid::from_bytes(session)), ..memory.clone() };
    commits::store_rejected_memory(connection, scope, &memory)?;
    Ok(true)
}

/// Inserts a new imported message. Returns its number.
fn insert_message(
    unit: &mut UnitOfWork<'_>,
    run: i64,
    scope: i64,
    imported: &ImportedMessage,
    policy: &SessionPolicy,
) -> Result<i64, Failure> {
    let connection = unit.connection;
    let new = &imported.message;
    let session = session_for(connection, run, scope, imported, policy)?;
    let seq = messages::insert(connection, scope, session.id, new, microseconds(new.created_at))?;
    unit.index_words(Corpus::Messages, seq, scope, &new.terms);
    scopes::count_messages(connection, scope, 1)?;
    connection
        .prepare_cached("INSERT INTO imported_messages (scope, digest, message_seq) VALUES (?1, ?2, ?3)")?
        .execute(params![scope, imported.digest, seq])?;
    if imported.model.is_some() {
        connection
            .prepare_cached("UPDATE recall_messages SET model = ?2 WHERE seq = ?1")?
            .execute(params![seq, imported.model])?;
    }
    if new.role == Role::Persona && is_full(session.message_count, session.total_tokens, policy) {
        sessions::end_session(connection, session, CloseTrigger::MaxLength)?;
    }
    Ok(seq)
}

/// The session for a message, divided like live ones: a user's message after the policy's silence or maximum length
/// begins another; the persona's goes into the open one.
fn session_for(
    connection: &Connection,
    run: i64,
    scope: i64,
    imported: &ImportedMessage,
    policy: &SessionPolicy,
) -> Result<Session> {
    let new = &imported.message;
    let open = sessions::open(connection, scope, &new.channel_id)?;
    let placement = match (new.role, &open) {
        (Role::Persona, Some(_)) => SessionChoice::Continue,
        _ => choose_session(open.as_ref(), new.created_at, policy),
    };
    match (placement, open) {
        (SessionChoice::Continue, Some(session)) => {
            return sessions::count_message(connection, session, new.token_count, new.created_at);
        }
        (SessionChoice::CloseThenOpen(trigger), Some(session)) => {
            sessions::end_session(connection, session, trigger)?;
        }
        (SessionChoice::Open | SessionChoice::Continue | SessionChoice::CloseThenOpen(_), _) => {}
    }
    let session = sessions::begin(connection, scope, new)?;
    connection
        .prepare_cached("UPDATE sessions SET import_run = ?2, title = ?3 WHERE id = ?1")?
        .execute(params![session.id.0.into_bytes(), run, imported.title])?;
    Ok(session)
}
