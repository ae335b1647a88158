//! Implementation of the storage ports.
//!
//! [`HomeStore`] stores a home in one SQLite file, or in a database on a PostgreSQL server ([`ServerAddress`]). Its
//! guarantees are documented at the ports ([`memory::ports::Store`]); this is how it meets them:
//!
//! - **Durable on return.** One thread writes. It takes everything that is queued, runs each command in a savepoint
//!   of one transaction, and answers after the commit has reached the disk. Many callers share one flush.
//! - **Readers never wait for it.** A few threads read, each call from one snapshot.
//! - **Scopes are separate.** Each word in the full-text index has the id of its (persona, user), so neither the rows
//!   nor the frequencies of one memory depend on another.
//! - **Foreign files are not touched.** A file that is not ours, or of a newer version, is refused and left
//!   unchanged; before a migration the old state is copied.

mod engine;
mod home_store;
mod rows;
mod scopes;
mod faults;
mod ids;
mod index;
mod people;
mod access;
mod messages;
mod sessions;
mod imports;
mod nodes;
mod recall;
mod entities;
mod former_peers;
mod corrections;
mod slow_cycles;
mod proactive;
mod channels;
mod traces;
mod ledger;
mod status;
mod forgetting;
mod graph;
mod archive;
mod home_copy;
mod python_home;
mod hub;

pub use archive::{archived_tables, inspect_archive, read_archive};
pub use engine::{
    BackupReport, Check, DaemonEntry, DaemonState, HomeHolder, HomeState, MissedErasures, NewDaemon,
    SIDE_FILES, ServerAddress, SharedAccess, Standby, StoreOptions, back_up, database_files, examine_backup,
    home_state, move_into_place, remove_database_file,
};
#[cfg(feature = "faults")]
pub use faults::{Fault, Faults, without_faults};
pub use home_copy::{
    CopyProgress, CopyReport, CopySettings, HomeCounts, HomeDatabase, copy_home, count_home,
};
pub use home_store::HomeStore;
pub use python_home::{PythonHome, inspect_python_home, read_python_home};
#[cfg(feature = "faults")]
pub use sessions::recorded_commits::RecordedCommits;
