//! The engines: one writing connection, a few reading ones, migrations, the integrity check. SQLite stores a home in
//! one file, PostgreSQL in a database on a server.

pub(crate) mod sql;
pub(crate) mod postgres;
pub(crate) mod connection;
pub(crate) mod migrate;
pub(crate) mod writer;
pub(crate) mod options;
pub(crate) mod readers;
mod database_file;
mod queue;
pub(crate) mod failure;
pub(crate) mod check;
pub(crate) mod schema;
mod backup;
#[cfg(test)]
pub(crate) mod plans;
#[cfg(test)]
mod statements;

use memory::ports::StoreError;

pub use backup::{BackupReport, MissedErasures, back_up, examine_backup};
pub use check::Check;
pub use database_file::{SIDE_FILES, database_files, move_into_place, remove_database_file};
pub use options::StoreOptions;
pub use postgres::{
    DaemonEntry, DaemonState, HomeHolder, HomeState, NewDaemon, ServerAddress, SharedAccess, Standby,
    home_state,
};

/// Runs blocking work on a thread for it.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let ended = |error| StoreError::Failed(format!("the work did not end: {error}"));
    tokio::task::spawn_blocking(work).await.map_err(ended)?
}
