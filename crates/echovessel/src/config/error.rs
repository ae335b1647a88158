//! Why a configuration can't be used.

use std::path::PathBuf;

/// Why the configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The configuration file exists but can't be read.
    #[error("{path} can't be read: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// The file is not valid TOML.
    #[error("{path} is not valid TOML: {message}")]
    Malformed {
        path: PathBuf,
        /// Line and error of the parser.
        message: String,
    },
    /// A key that does not exist.
    #[error("{origin}: unknown key `{key}`{}", nearest_hint(.nearest.as_deref()))]
    UnknownKey {
        /// The file or the environment variable.
        origin: String,
        key: String,
        /// A known key with a similar name.
        nearest: Option<String>,
    },
    /// A value that the key can't take.
    #[error("{0}")]
    BadValue(String),
    /// More than one error of the configuration.
    #[error("{} mistakes:\n{}", .0.len(), error_lines(.0))]
    Several(Vec<ConfigError>),
}

fn nearest_hint(nearest: Option<&str>) -> String {
    nearest.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default()
}

fn error_lines(mistakes: &[ConfigError]) -> String {
    let lines: Vec<String> = mistakes.iter().map(|mistake| format!("  {mistake}")).collect();
    lines.join("\n")
}
