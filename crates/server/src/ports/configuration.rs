//! The port to the configuration.

use std::path::PathBuf;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// Reads and changes the configuration. The server knows nothing of the keys.
#[async_trait]
pub trait Configuration: Send + Sync {
    /// Every setting by its key, such as `recall.k`, with `value`, `default`, `live` and, if it waits for a restart,
    /// `pending`.
    async fn settings(&self) -> Result<Map<String, Value>, ConfigurationError>;
    async fn files(&self) -> InstallationFiles;
    /// Sets keys, given as `{section: {key: value}}` or `{"section.key": value}`: in the file, and in the running
    /// program where possible.
    async fn change(&self, wanted: Value, author: ConfigAuthor) -> Result<ConfigUpdate, ConfigurationError>;
    /// Reads the file again.
    async fn reload(&self) -> Result<ConfigUpdate, ConfigurationError>;
    /// Local programs that can speak or hear.
    async fn voice_programs(&self) -> Vec<VoiceProgram> {
        Vec::new()
    }
    /// Selects an installed program for speech or for transcription.
    async fn use_voice_program(&self, name: &str) -> Result<ConfigUpdate, ConfigurationError> {
        Err(ConfigurationError::NotAKey(format!("{name} is not installed")))
    }
}

/// Paths of an installation's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallationFiles {
    /// The home folder, which contains the others.
    pub folder: PathBuf,
    /// The configuration; it may not exist, as all settings have defaults.
    pub config: PathBuf,
    /// The database file; `None` if the database is on a server.
    pub database: Option<PathBuf>,
}

/// Author of a configuration change over HTTP, by trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigAuthor {
    /// A named token with the scope `admin`.
    NamedToken,
    /// The owner's token, which programs may have too.
    OwnerToken,
    /// The owner in a browser.
    Login,
}

/// The result of a change or a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigUpdate {
    /// The requested keys, by the requested names; sorted.
    pub updated_fields: Vec<String>,
    /// Keys whose new values apply now; sorted.
    pub reloaded: Vec<String>,
    /// Keys whose new values wait for a restart; sorted.
    pub restart_required: Vec<String>,
    /// Keys that environment variables override, so that the file's values have no effect; sorted.
    pub overridden: Vec<String>,
}

/// Why the configuration was not changed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfigurationError {
    /// The request names an unknown key.
    #[error("{0}")]
    NotAKey(String),
    /// This author may not change this key; the text says who may.
    #[error("{0}")]
    Protected(String),
    /// A value is invalid, or the file is.
    #[error("{0}")]
    BadValue(String),
    /// The file could not be written.
    #[error("{0}")]
    Unwritable(String),
}

/// A local program that can speak or hear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VoiceProgram {
    /// The program's name, such as `espeak-ng`.
    pub name: String,
    /// True for a program that speaks, false for one that transcribes.
    pub speaks: bool,
    /// The voices to choose from.
    pub voices: Vec<String>,
}
