//! The HTTP interface: chat, administration, an OpenAI-compatible endpoint, live events, the web UI.
//!
//! [`serve()`] accepts connections from the network and from the home's owner until it is asked to stop. [`router()`]
//! is the same without a socket, for tests.
//!
//! The layers of a request, from the outside in: security headers, Host, Origin, token and its scope, limits of its
//! body, the audit log, limits of streams, and then one handler. A handler reads its input with `extract`, calls the
//! runtime or the store, and answers JSON; every failure is a `Problem`, in one form, logged once. Writes are
//! completed even if the client disconnects.

mod serve;
mod home_socket;
mod connections;
mod router;
mod front;
mod ports;
mod state;
mod auth;
mod chat;
mod openai;
pub mod mcp;
mod admin;
mod legacy;
mod api_docs;
mod ui;
mod tls;
mod bodies;
mod held_bytes;
mod tasks;
mod streams;
mod open_streams;
mod extract;
mod cursor;
mod problem;
mod respond;
mod upload;
mod routes;

pub use api_docs::openapi;
pub use auth::{LoginCode, NewToken, NewTokenError, Random, TokenError, Tokens, make_token};
pub use front::{
    AnsweringDaemon, Front, FrontError, FrontParts, HomeServer, StandbyHubSocket, join_elsewhere,
};
pub use home_socket::{HomeSocket, SocketError, listen_at};
pub use openai::completions::{CHANNEL_HEADER, TERMINAL_CHANNEL};
pub use ports::backups::{BackupCreated, BackupError, BackupFile, BackupList, Backups};
pub use ports::channel_setup::{ChannelSetup, ChannelSetupError};
pub use ports::configuration::{
    ConfigAuthor, ConfigUpdate, Configuration, ConfigurationError, InstallationFiles, VoiceProgram,
};
pub use ports::daemons::{DaemonState, DaemonStatus, Daemons};
pub use ports::model_setup::{
    ActiveModels, EmbeddingState, EnvironmentKey, KeySource, LlmState, LocalModelServer, ModelCheckResponse,
    ModelChoice, ModelConfiguration, ModelFault, ModelKey, ModelSetup, ModelSetupError, ModelTryEvent,
};
pub use router::{api_paths, router};
pub use serve::{ServeError, SocketlessServer, serve, serve_site};
pub use state::{ServerParts, ServerSettings};
pub use tls::{Tls, TlsError};
