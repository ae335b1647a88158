//! Archives: a home's memory as one zip file of JSON Lines, Markdown and pictures, and creating a home from one.
//!
//! A kind of rows is a table; its fields are the columns. `docs/book/archive.md` documents the format.

mod tables;
mod values;
mod write;
mod read;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::PersonaId;
use memory::ports::{ArchiveReport, ArchiveStore, StoreError};
use serde::{Deserialize, Serialize};

pub(crate) use read::index_words;
pub use read::{inspect_archive, read_archive};
pub use tables::archived_tables;
use write::write_archive;

use crate::engine::run_blocking;
use crate::home_copy::{HomeDatabase, begin_reading};
use crate::home_store::HomeStore;

/// Format name in the manifest.
const FORMAT: &str = "echovessel-archive";
/// Version of the format. A reader accepts this one and earlier ones.
const VERSION: u32 = 1;
const MANIFEST: &str = "manifest.json";

/// The manifest of an archive: `manifest.json`, its last entry.
#[derive(Debug, Deserialize, Serialize)]
struct Manifest {
    format: String,
    version: u32,
    /// Number of the last migration, whose schema the columns have.
    schema: i32,
    created_at: String,
    /// The only persona in it; `None` for all.
    persona_id: Option<String>,
    files: Vec<ManifestFile>,
}

#[derive(Debug, Deserialize, Serialize)]
struct ManifestFile {
    name: String,
    /// Number of rows of a `.jsonl`; 1 for other files.
    count: u64,
    bytes: u64,
    sha256: String,
}

#[async_trait]
impl ArchiveStore for HomeStore {
    async fn write_archive(
        &self,
        persona: Option<PersonaId>,
        at: Timestamp,
        out: Box<dyn std::io::Write + Send>,
    ) -> Result<ArchiveReport, StoreError> {
        let database = match &self.address {
            Some(address) => HomeDatabase::Server(address.clone()),
            None => HomeDatabase::File(self.path.clone()),
        };
        run_blocking(move || write_archive(&begin_reading(&database, false)?, persona.as_ref(), at, out))
            .await
    }
}
