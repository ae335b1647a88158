//! Talk and personas in the forms of other programs, for leaving. What is written is read again by this crate's readers.
//!
//! Writers stream: they hold one message. What a form can't hold is counted, never dropped silently.

mod card;
mod chatgpt;
mod sillytavern;

pub use card::card_json;
pub use chatgpt::ChatGptWriter;
pub use sillytavern::SillyTavernWriter;
