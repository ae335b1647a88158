//! The shared self: a persona's identity and history, as documents that many instances read and write.
//!
//! **A document is written**: [`Hub`] reads the state, decides by pure rules and commits all of it or nothing through
//! [`HubStore`]; then the Markdown files follow.
//!
//! **Instances synchronise**: each change carries a [`VersionVector`]; a version that includes the current one
//! replaces it, and a concurrent one is stored beside it as a conflict until a person decides.
//!
//! **Days become years**: once a week, month or year is over, a [`Summariser`] writes its roll-up.

pub mod names;
pub mod version_vector;
pub mod client_base;
pub mod documents;
pub mod versions;
pub mod sections;
pub mod daily;
pub mod erasure;
mod records;
pub mod ports;
pub mod export;
pub mod error;
pub mod api;
pub mod graph;
mod service;
mod transaction;
mod identity;
mod memories;
mod snapshots;
mod conflicts;
mod extraction;
pub mod mirror;
mod sync;
mod search;
mod diary;
pub mod rollup;
mod retries;
mod background;
mod document_editing;
mod archive;
mod prompt;
pub mod lore;

pub use archive::ARCHIVE_BYTES_MAX;
pub use background::{HubWork, WorkingHours};
pub use document_editing::EditOutcome;
pub use documents::{Document, Version};
pub use error::HubError;
pub use extraction::ExtractionLog;
pub use lore::{LoreEntry, NamedLore};
pub use names::{Category, DiaryDate, DiaryName, DocumentName, FileName, Granularity, InstanceId, Slug};
pub use ports::{DiaryLinks, HubListener, HubStore, Summariser};
pub use prompt::PromptDocuments;
pub use search::{RelatedMemory, split_into_chunks};
pub use service::{Caller, Hub, HubParts, HubSettings};
pub use sync::{ExchangeCounts, ExchangeError, PROTOCOL_VERSION, check_protocol};
pub use version_vector::VersionVector;
