//! Settings: `config.toml`, the environment, and defaults that work without either.

mod duration;
mod values;
mod error;
mod checks;
mod read;
mod sections;
mod live;
mod protection;
mod edit;

pub(crate) use duration::ConfigDuration;
pub(crate) use edit::{ConfigChange, apply_changes, changes_in, has_key};
pub(crate) use error::ConfigError;
pub(crate) use live::is_live;
pub(crate) use protection::Protection;
pub(crate) use read::{known_keys, load, overridden_keys, parse};
pub(crate) use sections::{Config, LlmPrice, Voice, is_server_url};
pub(crate) use values::{EmbeddingProvider, SpeechProvider, TranscriptProvider, UtilityPrompts, WeekStart};
