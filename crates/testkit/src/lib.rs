//! Test support for all crates: a simulated clock, deterministic identifiers, an embedder and a mind without a model,
//! and a scripted language model over real HTTP.

mod byte_search;
mod clock;
mod ids;
mod embedder;
mod mind;
mod pairs;
pub mod postgres;
pub mod postgres_server;
pub mod scripted_model;
mod scripted_voice;
pub mod store_suite;

pub use byte_search::{contains_words, files_containing};
pub use clock::SimulatedClock;
pub use embedder::WordHashEmbedder;
pub use ids::SequentialIds;
pub use mind::FixedMind;
pub use pairs::{pair, replace_waiting};
pub use platforms::{discord, telegram};
pub use scripted_model::{Reply, ScriptedModel};
pub use scripted_voice::{ScriptedVoice, VoiceCall, VoiceFault};
