//! The home of the Python EchoVessel: an empty home imports its `memory.db`, with new ids and all times in UTC.

mod source;
mod people;
mod talk;
mod nodes;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::ports::{IdGenerator, StoreError};

use crate::archive::index_words;
use crate::engine::connection::{open_for_reading, open_for_writing};
use crate::engine::failure::Failure;
use crate::engine::sql::{self, Connection};
use crate::engine::{StoreOptions, remove_database_file};
use source::{each_row, has_table};

/// The 16 bytes of an id.
type RowKey = [u8; 16];

/// Tables that only the Python program has together.
const PYTHON_TABLES: [&str; 4] = ["personas", "sessions", "recall_messages", "concept_node_filling"];

/// Counts of a Python home's content, or of what was copied from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonHome {
    pub messages: u64,
    /// Number of events, thoughts, intentions and expectations.
    pub nodes: u64,
    pub entities: u64,
    /// Number of calls to language models, in the cost ledger.
    pub calls: u64,
    /// Rows that are not copied, with their number.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// Why a Python home could not be read or copied.
#[derive(Debug, thiserror::Error)]
enum PythonHomeError {
    #[error(transparent)]
    Source(sql::Error),
    #[error(transparent)]
    Target(#[from] sql::Error),
}

/// Counts the content of a Python home; `None` if the path is neither its `memory.db` nor a folder with one.
pub fn inspect_python_home(path: &Path) -> Option<PythonHome> {
    let path = database_of(path)?;
    let connection = Connection::from(open_for_reading(&path, &StoreOptions::default()).ok()?);
    let is_its = PYTHON_TABLES.iter().all(|table| has_table(&connection, table).unwrap_or(false));
    if !is_its || has_table(&connection, "scopes").unwrap_or(true) {
        return None;
    }
    let mut home = PythonHome::default();
    for (table, count) in [
        ("recall_messages", &mut home.messages),
        ("concept_nodes", &mut home.nodes),
        ("entities", &mut home.entities),
        ("llm_calls", &mut home.calls),
    ] {
        each_row(&connection, table, |row| {
            *count += u64::from(!row.is_deleted());
            Ok(())
        })
        .ok()?;
    }
    Some(home)
}

/// The database at a path, or in a folder at that path.
fn database_of(path: &Path) -> Option<PathBuf> {
    let path = if path.is_dir() { path.join("memory.db") } else { path.to_owned() };
    let mut head = [0; 15];
    File::open(&path).ok()?.read_exact(&mut head).ok()?;
    (head == *b"SQLite format 3").then_some(path)
}

/// Creates a database from a Python home. Its local times are in `zone`. Texts are indexed again; the daemon computes
/// vectors.
///
/// # Errors
///
/// [`StoreError::Unusable`] if it can't be read, [`StoreError::Unwritable`] if the database can't be written. Nothing
/// is left at `database` then.
pub fn read_python_home(
    home: &Path,
    zone: &TimeZone,
    ids: &dyn IdGenerator,
    now: Timestamp,
    database: &Path,
) -> Result<PythonHome, StoreError> {
    if database.exists() {
        return Err(StoreError::Unwritable(format!("{} exists", database.display())));
    }
    let outcome = read_into(home, (zone, ids, now), database);
    if outcome.is_err() {
        let _removed = remove_database_file(database);
    }
    outcome
}

fn read_into(
    home: &Path,
    (zone, ids, now): (&TimeZone, &dyn IdGenerator, Timestamp),
    database: &Path,
) -> Result<PythonHome, StoreError> {
    let unusable = |reason: &dyn std::fmt::Display| {
        StoreError::Unusable(format!("{}: {reason}; nothing was changed", home.display()))
    };
    let path = database_of(home).ok_or_else(|| unusable(&"it holds no memory.db"))?;
    let source = open_for_reading(&path, &StoreOptions::default())
        .map_err(|_| unusable(&"its memory.db is damaged or can't be opened"))?;
    let source = Connection::from(source);
    let target = Connection::from(open_for_writing(database, &StoreOptions::default())?);
    let written = |error: sql::Error| Failure::from(error).into_write_error();
    target.execute_batch("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE;").map_err(written)?;
    let mut takeover = PythonHomeCopy {
        source: &source,
        target: &target,
        zone,
        ids,
        now,
        scopes: HashMap::new(),
        sessions: HashMap::new(),
        turns: HashMap::new(),
        said_in_turn: HashMap::new(),
        nodes: HashMap::new(),
        entities: HashMap::new(),
        taken: PythonHome::default(),
    };
    takeover.run().map_err(|error| match error {
        PythonHomeError::Source(error) => unusable(&error),
        PythonHomeError::Target(error) => written(error),
    })?;
    let taken = takeover.taken;
    let broken: u64 = target
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))
        .map_err(written)?;
    if broken > 0 {
        return Err(unusable(&format!("{broken} rows refer to missing rows")));
    }
    target.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE);").map_err(written)?;
    Ok(taken)
}

/// The copied rows, by their ids in the Python program.
struct PythonHomeCopy<'a> {
    source: &'a Connection,
    target: &'a Connection,
    zone: &'a TimeZone,
    ids: &'a dyn IdGenerator,
    /// Time for rows without one.
    now: Timestamp,
    /// Scopes by persona and user.
    scopes: HashMap<(String, String), i64>,
    sessions: HashMap<String, RowKey>,
    turns: HashMap<String, RowKey>,
    /// Number of a turn's messages of the user, and their total length in characters.
    said_in_turn: HashMap<String, Vec<(i64, usize)>>,
    nodes: HashMap<i64, (i64, RowKey)>,
    entities: HashMap<i64, RowKey>,
    taken: PythonHome,
}

impl PythonHomeCopy<'_> {
    fn run(&mut self) -> Result<(), PythonHomeError> {
        self.copy_people()?;
        self.core_blocks()?;
        self.sessions()?;
        self.messages()?;
        self.copy_nodes()?;
        self.links()?;
        self.entities()?;
        self.moods()?;
        self.copy_calls()?;
        self.count()?;
        Ok(index_words(self.target)?)
    }

    fn new_key(&self, at: Timestamp) -> RowKey {
        self.ids.next(at).into_bytes()
    }

    fn scope_of(&self, row: &source::SourceRow) -> Option<i64> {
        let key = (row.owned_text("persona_id")?, row.owned_text("user_id")?);
        self.scopes.get(&key).copied()
    }

    fn count_skipped(&mut self, what: &'static str) -> Result<(), PythonHomeError> {
        *self.taken.left_out.entry(what).or_default() += 1;
        Ok(())
    }

    /// Recounts scopes and sessions from the rows.
    fn count(&self) -> Result<(), PythonHomeError> {
        self.target.execute_batch(
            "UPDATE scopes SET
                 message_count = (SELECT count(*) FROM recall_messages m WHERE m.scope = scopes.number),
                 node_count = (SELECT count(*) FROM concept_nodes n WHERE n.scope = scopes.number);
             UPDATE sessions SET
                 message_count = (SELECT count(*) FROM recall_messages m WHERE m.session_id = sessions.id),
                 total_tokens = (SELECT coalesce(sum(token_count), 0) FROM recall_messages m WHERE m.session_id = sessions.id),
                 extracted_events = (SELECT count(*) FROM concept_nodes n
                                     WHERE n.source_session_id = sessions.id AND n.type = 'event');",
        )?;
        Ok(())
    }
}
