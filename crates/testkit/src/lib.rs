//! What tests of every crate stand on: a clock that stands still, identifiers that repeat, an embedder and a mind
//! without a model, and a language model over real HTTP that follows a script.

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
