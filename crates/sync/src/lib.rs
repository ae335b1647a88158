//! Peers: several EchoVessels that are one persona. Each works alone; when they meet, each receives the changes that it
//! lacks, and afterwards they hold the same memory.
//!
//! - [`Actor`] is one home between two restores. Its changes are numbered 1, 2, 3 … without gaps ([`LogEntry`]).
//! - [`RowState`] is a row as fields. Each field carries the [`Stamp`] of the change that wrote it, and [`merge`] takes
//!   the later one of each. So states can arrive in any order, twice, and by any way.
//! - An erasure wins: [`Erasures::admit`] is asked before any merge, and drops what an erasure names and what depends
//!   on nothing else.
//! - [`Page`] is what travels, [`Exchange`] who asks for it, and [`SyncStore`] where it is kept.

mod actor;
mod conflict;
mod erasure;
mod hybrid_time;
mod log;
mod page;
mod ports;
mod row;

pub use actor::{Actor, InvalidActor, VersionVector};
pub use conflict::{ConflictRecord, FieldConflict};
pub use erasure::Erasures;
pub use hybrid_time::{AHEAD_MAX, HybridTime};
pub use log::{Head, LogEntry, disputed_actors};
pub use page::{
    ExchangeRequest, ExchangeResponse, PAGE_BYTES_MAX, PAGE_ENTRIES_MAX, Page, PageError, PageRow,
};
pub use ports::{LocalErasure, PeerRecord, PeerReport, ReceiveOutcome, SyncError, SyncStore};
pub use row::{Field, Kind, Merged, RowKey, RowState, Stamp, merge};
