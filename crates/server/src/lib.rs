//! The HTTP surface over a persona's life: chat, administration, an OpenAI-compatible endpoint, live events, the page.
//!
//! [`serve()`] takes connections, from the network and from the home's owner, until it is asked to stop. [`router()`] is the same without a socket, for tests.
//!
//! A request passes, from the outside in: security headers, Host, Origin, token and its scope, the bounds of its body, the
//! record of acts, the bounds of streams, and then one handler. A handler reads its input with `extract`, asks the runtime or the store, and answers JSON; whatever goes wrong is a
//! `Problem`, in one shape, logged once. Writes run to their end also when the client goes away.

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
