//! Export: everything that is remembered, as one archive.

use std::io::Write;

use async_trait::async_trait;
use jiff::Timestamp;

use super::StoreError;
use crate::scope::PersonaId;

/// Counts of an archive's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchiveReport {
    /// Messages, with those that are marked as deleted.
    pub messages: u64,
    /// Events, thoughts, intentions and expectations.
    pub nodes: u64,
    /// Documents of the hub.
    pub documents: u64,
}

/// Writes a home into an archive.
#[async_trait]
pub trait ArchiveStore: Send + Sync {
    /// Writes one state of the memory of a persona, or of all, piece by piece to `out`; a zip file. Writing may block.
    async fn write_archive(
        &self,
        persona: Option<PersonaId>,
        at: Timestamp,
        out: Box<dyn Write + Send>,
    ) -> Result<ArchiveReport, StoreError>;
}
