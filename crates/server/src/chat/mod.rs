//! Talk: words in, events out, what was said, and why.

pub(crate) mod send;
pub(crate) mod typing;
pub(crate) mod events;
pub(crate) mod history;
pub(crate) mod turns;
pub(crate) mod edit;
pub(crate) mod versions;
pub(crate) mod voice;

/// The channel of the page and of scripts that speak to `/api/chat`.
pub(crate) const CHANNEL: &str = "web";
