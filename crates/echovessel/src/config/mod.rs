//! What a person can set: `config.toml`, the environment, and defaults that work with neither.

mod duration;
mod read;
mod sections;

pub(crate) use read::{ConfigError, body_limit, known_keys, load};
pub(crate) use sections::{Config, LlmPrice};
