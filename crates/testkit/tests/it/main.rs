//! What the tests of other crates rely on.

mod clock;
mod ids;
mod embedder;
mod mind;
mod scripted_model;
