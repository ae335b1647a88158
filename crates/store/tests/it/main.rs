//! The storage on a real file.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a step that fails is a test that fails")]

mod archive;
mod entities;
mod faults;
mod files;
mod former_peers;
mod group_commit;
mod home;
mod suite;
mod server;
mod home_copy;
mod corrections;
mod forgetting;
mod forgotten_bytes;
mod forgotten_columns;
mod unreleased_home;
mod python_home;
