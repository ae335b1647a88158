//! What was really committed, told by the database itself in the same transaction, whatever the caller was told.

use jiff::Timestamp;
use memory::identifiers::SessionId;
use memory::ports::StoreError;

use crate::engine::sql::{Result, Row};
use crate::engine::writer::UnitOfWork;
use crate::home_store::HomeStore;
use crate::rows;

/// Commits of a store since [`HomeStore::record_commits`], in their order.
#[derive(Clone, Debug, Default)]
pub struct RecordedCommits {
    /// The session of each extraction.
    pub extractions: Vec<SessionId>,
    /// Number of the scope and time of each reflection with a thought.
    pub reflections: Vec<(i64, Timestamp)>,
}

impl HomeStore {
    /// Begins to record commits. Only for a home in a file; the record ends with the writing connection.
    pub async fn record_commits(&self) -> std::result::Result<(), StoreError> {
        let begin = "CREATE TEMP TABLE recorded_extractions (session_id BLOB NOT NULL);
             CREATE TEMP TABLE recorded_reflections (scope INTEGER NOT NULL, created_at INTEGER NOT NULL);
             CREATE TEMP TRIGGER record_extraction AFTER UPDATE OF extracted ON main.sessions WHEN new.extracted
             BEGIN INSERT INTO recorded_extractions VALUES (new.id); END;
             CREATE TEMP TRIGGER record_reflection AFTER INSERT ON main.reflections
             BEGIN INSERT INTO recorded_reflections VALUES (new.scope, new.created_at); END;";
        self.writer.run(move |unit| Ok(unit.connection.execute_batch(begin)?)).await
    }

    /// The commits so far, after all writes that were requested before.
    pub async fn recorded_commits(&self) -> std::result::Result<RecordedCommits, StoreError> {
        let read = |unit: &mut UnitOfWork<'_>| {
            let prepare = |query| unit.connection.prepare_cached(query);
            let session = |row: &Row<'_>| Ok(SessionId(rows::read_uuid(row, 0)?));
            let reflection = |row: &Row<'_>| Ok((row.get(0)?, rows::time(row, 1)?));
            Ok(RecordedCommits {
                extractions: prepare("SELECT session_id FROM recorded_extractions ORDER BY rowid")?
                    .query_map([], session)?
                    .collect::<Result<_>>()?,
                reflections: prepare("SELECT scope, created_at FROM recorded_reflections ORDER BY rowid")?
                    .query_map([], reflection)?
                    .collect::<Result<_>>()?,
            })
        };
        self.writer.run(read).await
    }
}
