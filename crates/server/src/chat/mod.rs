//! Chat: messages in, events out, the history, and receipts.

pub(crate) mod send;
pub(crate) mod typing;
pub(crate) mod events;
pub(crate) mod history;
pub(crate) mod turns;
pub(crate) mod edit;
pub(crate) mod versions;
pub(crate) mod voice;

/// The channel of the page and of scripts that use `/api/chat`.
pub(crate) const CHANNEL: &str = "web";
