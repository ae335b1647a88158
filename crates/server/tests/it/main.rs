//! The server with a real store, mostly without a socket.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a step that fails is a test that fails"
)]

mod fixed_settings;
mod home;
mod imports;
mod import_documents;
mod talker;
mod conformity;

mod trust;
mod login;
mod quota;
mod tokens;
mod late_reads;
mod limits;
mod audit;
mod bound_users;
mod configuration;
mod metrics;
mod tls;
mod foreign_bytes;
mod foreign_calls;
mod chat;
mod events;
mod history;
mod openai;
mod persona;
mod memories;
mod corrections;
mod edits;
mod entities;
mod forgetting;
mod sessions;
mod hub_documents;
mod traces;
mod daemon;
mod api_docs;
mod people;
mod voice;
mod drafts;
mod scope_matrix;
mod search;
mod not_implemented;
mod socket;
mod shared_home;
mod paging;
mod proactive;
mod subscribers;
mod defects;
mod mcp;
mod mcp_schemas;
mod sync;
mod sync_tokens;
mod archive;
