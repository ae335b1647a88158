//! The embedder against the original implementation, and the sources of its files.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first thing that is not as it should be"
)]

mod agreement;
mod families;
mod endpoint;
mod download;
mod hub;
mod local_embedder;
mod model;
mod scratch;
mod model_files;
mod packed;
mod multilingual;
mod readability;
mod tiny_model;
