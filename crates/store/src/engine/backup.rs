//! Copies of a home's database, and erasures since a copy was made.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use memory::Scope;
use memory::forget::Selection;
use memory::identifiers::{EntityId, MessageId, NodeId, SessionId};
use memory::ports::StoreError;
use memory::scope::{PersonaId, UserId};

use crate::engine::connection::{inspect_existing, open_for_maintenance, open_for_reading, overwrite_words};
use crate::engine::database_file::{move_into_place, remove_database_file};
use crate::engine::failure::Failure;
use crate::engine::sql::{self, Connection, params};
use crate::engine::{StoreOptions, check, migrate, run_blocking};
use crate::home_store::HomeStore;
use crate::hub;
use crate::rows;

/// Counts of a backup's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// Size of the file in bytes.
    pub bytes: u64,
    pub messages: u64,
    /// Number of events, thoughts, intentions and expectations in it.
    pub nodes: u64,
}

/// Erasures in a home that an older copy of it does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissedErasures {
    /// Selections to erase in the copy, by scope.
    pub selections: Vec<(Scope, Selection)>,
    /// Receipts that the copy does not have.
    pub receipts: u64,
}

/// Copies the database to `target`, even if another process uses it. The copy has the state at its beginning. The
/// file gets its name once it is complete and checked; an older one is replaced.
///
/// # Errors
///
/// [`StoreError::Unusable`] if the database is damaged or not ours, [`StoreError::Unwritable`] if the copy can't be
/// written. Then nothing new is left at `target`.
pub fn back_up(source: &Path, target: &Path) -> Result<BackupReport, StoreError> {
    refuse_empty(source)?;
    let connection = open_for_reading(source, &StoreOptions::default())?;
    migrate::check(&connection, source, migrate::MIGRATIONS)?;
    // Takes the snapshot that all steps of the copy read, so that concurrent writes do not restart it.
    let read = |error: rusqlite::Error| Failure::from(error).into_read_error();
    connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;").map_err(read)?;
    let fresh = target.with_extension("new");
    remove_database_file(&fresh)
        .map_err(|error| StoreError::Unwritable(format!("{}: {error}", fresh.display())))?;
    migrate::back_up(&connection, &fresh)?;
    let verified = overwrite_words_in(&fresh).and_then(|()| examine_backup(&fresh));
    let report = match verified {
        Ok(report) => report,
        Err(error) => {
            // The copy is useless; the source shows why.
            let _removed = remove_database_file(&fresh);
            return Err(error);
        }
    };
    move_into_place(&fresh, target)
        .map_err(|error| StoreError::Unwritable(format!("{}: {error}", target.display())))?;
    Ok(report)
}

/// Overwrites words in a copy whose erasure is not complete in the original.
fn overwrite_words_in(copy: &Path) -> Result<(), StoreError> {
    let connection = open_for_maintenance(copy, &StoreOptions::default())?;
    let overwrite = || {
        connection.execute_batch("PRAGMA secure_delete = ON")?;
        overwrite_words(&connection)
    };
    overwrite().map_err(|error: rusqlite::Error| Failure::from(error).into_write_error())
}

/// Checks a whole copy: it must be ours, of a supported schema, and undamaged. Changes nothing.
pub fn examine_backup(path: &Path) -> Result<BackupReport, StoreError> {
    refuse_empty(path)?;
    let connection = open_for_reading(path, &StoreOptions::default())?;
    migrate::check(&connection, path, migrate::MIGRATIONS)?;
    let read = |error: rusqlite::Error| Failure::from(error).into_read_error();
    let complaints = check::integrity_errors(&connection).map_err(read)?;
    if let Some(first) = complaints.first() {
        return Err(StoreError::Unusable(format!("{} is damaged: {first}", path.display())));
    }
    let count = |statement| connection.query_row(statement, [], |row| row.get::<_, u64>(0)).map_err(read);
    Ok(BackupReport {
        bytes: fs::metadata(path).map_or(0, |file| file.len()),
        messages: count("SELECT count(*) FROM recall_messages WHERE deleted_at IS NULL")?,
        nodes: count("SELECT count(*) FROM concept_nodes WHERE deleted_at IS NULL")?,
    })
}

fn refuse_empty(path: &Path) -> Result<(), StoreError> {
    match inspect_existing(path)? {
        false => Ok(()),
        true => Err(StoreError::Unusable(format!("{} is empty", path.display()))),
    }
}

impl HomeStore {
    /// Erasures in the database at `newer` whose rows this older copy still has. Also copies the receipts that are
    /// missing here. A selection's ids may name rows that do not exist here.
    pub async fn missed_erasures(&self, newer: &Path) -> Result<MissedErasures, StoreError> {
        let options = StoreOptions::default();
        let newer = newer.to_owned();
        let (erased, names, receipts, parts) = run_blocking(move || {
            let connection = open_for_reading(&newer, &options)?.into();
            let read = |error: sql::Error| Failure::from(error).into_read_error();
            Ok((
                read_tombstones(&connection).map_err(read)?,
                hub::erased_names::all_digests(&connection).map_err(read)?,
                read_receipts(&connection).map_err(read)?,
                receipt_parts(&connection).map_err(read)?,
            ))
        })
        .await?;
        self.write(move |unit| {
            let mut missed = MissedErasures::default();
            let mut selections: BTreeMap<(String, String), Selection> = BTreeMap::new();
            let mut is_here = unit
                .connection
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM tombstones WHERE kind = ?1 AND id = ?2)")?;
            for Tombstone { kind, id, persona, user } in &erased {
                if is_here.query_row(params![kind, id.into_bytes()], |row| row.get(0))? {
                    continue;
                }
                let selection = selections.entry((persona.clone(), user.clone())).or_default();
                match kind.as_str() {
                    "message" => _ = selection.messages.insert(MessageId(*id)),
                    "node" => _ = selection.nodes.insert(NodeId(*id)),
                    "entity" => _ = selection.entities.insert(EntityId(*id)),
                    "session" => _ = selection.sessions.insert(SessionId(*id)),
                    // Turns and refused memories are removed with their messages.
                    _ => {}
                }
            }
            for (scope, name) in hub::erased_names::documents_with(unit.connection, &names)? {
                let scope = (scope.persona.as_str().to_owned(), scope.user.as_str().to_owned());
                selections.entry(scope).or_default().documents.insert(name.to_string());
            }
            for receipt in &receipts {
                missed.receipts += unit.connection.execute(
                    "INSERT OR IGNORE INTO erasure_receipts (id, persona_id, user_id, created_at, receipt)
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![receipt.0, receipt.1, receipt.2, receipt.3, receipt.4],
                )? as u64;
            }
            for (receipt, number, taken) in &parts {
                unit.connection.execute(
                    "INSERT OR IGNORE INTO erasure_parts (receipt_id, number, taken) VALUES (?1, ?2, ?3)",
                    params![receipt, number, taken],
                )?;
            }
            let scoped = |((persona, user), selection): ((String, String), Selection)| {
                let scope = Scope { persona: PersonaId::new(persona).ok()?, user: UserId::new(user).ok()? };
                Some((scope, selection))
            };
            missed.selections = selections.into_iter().filter_map(scoped).collect();
            Ok(missed)
        })
        .await
    }
}

struct Tombstone {
    kind: String,
    id: uuid::Uuid,
    persona: String,
    user: String,
}

fn read_tombstones(connection: &Connection) -> sql::Result<Vec<Tombstone>> {
    connection
        .prepare_cached(
            "SELECT t.kind, t.id, s.persona_id, s.user_id FROM tombstones t JOIN scopes s ON s.number = t.scope
             ORDER BY t.forgotten_at",
        )?
        .query_map([], |row| {
            Ok(Tombstone { kind: row.get(0)?, id: rows::read_uuid(row, 1)?, persona: row.get(2)?, user: row.get(3)? })
        })?
        .collect()
}

/// The parts of receipts, by id of the receipt and number. Databases of earlier versions have none.
fn receipt_parts(connection: &Connection) -> sql::Result<Vec<(Vec<u8>, i64, String)>> {
    let known = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'erasure_parts')";
    if !connection.query_row(known, [], |row| row.get(0))? {
        return Ok(Vec::new());
    }
    connection
        .prepare_cached("SELECT receipt_id, number, taken FROM erasure_parts ORDER BY receipt_id, number")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}

type StoredReceipt = (Vec<u8>, String, String, i64, String);

fn read_receipts(connection: &Connection) -> sql::Result<Vec<StoredReceipt>> {
    connection
        .prepare_cached(
            "SELECT id, persona_id, user_id, created_at, receipt FROM erasure_receipts ORDER BY created_at",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?
        .collect()
}
