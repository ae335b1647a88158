//! Exports conversations and personas in formats of other programs. The output can be read again by this crate's
//! readers.
//!
//! Writers stream: they hold one message. What a format can't represent is counted, never dropped silently.

mod card;
mod card_file;
mod chatgpt;
mod sillytavern;

pub use card::{CardPersona, card_json};
pub use card_file::{CardContainer, NoPicture, card_file};
pub use chatgpt::ChatGptWriter;
pub use sillytavern::SillyTavernWriter;
