//! Any program that speaks the OpenAI protocol is a channel: its last user message enters the ordinary turn. What it
//! sends along as history is not taken into memory; the persona has its own.

pub(crate) mod models;
pub(crate) mod completions;
pub(crate) mod request;
pub(crate) mod chunks;
mod reply_parts;
mod stop;

/// The channel of these programs.
const CHANNEL: &str = "openai";
