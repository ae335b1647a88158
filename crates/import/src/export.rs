//! Talk and personas in the forms of other programs, for leaving. What is written is read again by this crate's readers.
//!
//! Writers stream: they hold one message. What a form can't hold is counted, never dropped silently.

mod card;
mod card_file;
mod chatgpt;
mod sillytavern;

pub use card::{CardPersona, card_json};
pub use card_file::{CardContainer, NoPicture, card_file};
pub use chatgpt::ChatGptWriter;
pub use sillytavern::SillyTavernWriter;
