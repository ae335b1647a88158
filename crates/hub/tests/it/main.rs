//! The hub with its real storage.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

mod home;
mod defects;
mod documents;
mod sync;
mod erasure;
mod mirror;
mod plain_hub;
mod rollups;
mod prompt;
mod lore;
mod search;
mod archive;
mod archive_elsewhere;
mod laws;
mod foreign_bytes;
mod graph;
mod link;
mod embodiment;
mod copies;
mod strange_hubs;
mod worlds;
