//! Any program that speaks the OpenAI protocol is a channel: its last user message becomes an ordinary turn. The
//! history that it sends is not stored, because the persona has its own.

pub(crate) mod models;
pub(crate) mod completions;
pub(crate) mod request;
pub(crate) mod chunks;
mod reply_parts;
mod stop;

/// The channel of API clients.
const CHANNEL: &str = "openai";
