//! Port for exporting the whole memory as one archive.

use std::io::Write;

use async_trait::async_trait;
use jiff::Timestamp;

use super::StoreError;
use crate::scope::PersonaId;

/// Counts of an archive's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchiveReport {
    /// Messages, including those that are marked as deleted.
    pub messages: u64,
    /// Events, thoughts, intentions and expectations.
    pub nodes: u64,
    /// Documents of the hub.
    pub documents: u64,
}

/// Writes a home into an archive.
#[async_trait]
pub trait ArchiveStore: Send + Sync {
    /// Writes one consistent state of the memory of a persona, or of all, to `out` as a zip file. Writing may block.
    async fn write_archive(
        &self,
        persona: Option<PersonaId>,
        at: Timestamp,
        out: Box<dyn Write + Send>,
    ) -> Result<ArchiveReport, StoreError>;
}
