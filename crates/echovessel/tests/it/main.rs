//! End-to-end tests: the real program as a process, over its real socket, with a mock model.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a step that fails is a test that fails")]

mod daemon;
mod owner_api;
mod watcher;
mod scripts;

mod story;
mod invariants;
mod durability;
mod evidence;
mod model_failures;
mod unfinished_work;
mod recovery;
mod crash;
mod program;
mod hub_crash;
mod standard_output;
mod crowd;
mod trust;
mod channels;
mod command_line;
mod export;
mod terminal;
mod tokens;
mod reload;
mod model_setup;
mod start;
mod secrets;
mod server_database;
mod daemons;
mod storage_copy;
mod stopping;
mod doctor;
mod document_facts;
mod embodiment;
mod embedding;
mod forgetting;
mod backup;
mod import;
mod import_choice;
mod imported_versions;
mod exported_again;
mod lorebook;
mod others;
mod character;
mod import_pipeline;
