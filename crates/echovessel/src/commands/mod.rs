//! One file per command. A command parses its arguments, does one thing, and prints the result.

pub(crate) mod run;
pub(crate) mod mcp;
pub(crate) mod channel;
pub(crate) mod chat;
pub(crate) mod demo;
mod demo_channels;
pub(crate) mod daemons;
pub(crate) mod init;
pub(crate) mod recall;
pub(crate) mod memory;
pub(crate) mod model;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod import;
pub(crate) mod export;
pub(crate) mod backup;
mod encrypted_backup;
pub(crate) mod restore;
pub(crate) mod status;
pub(crate) mod storage;
pub(crate) mod sync;
pub(crate) mod stop;
pub(crate) mod reload;
pub(crate) mod access;
pub(crate) mod token;
pub(crate) mod completions;
