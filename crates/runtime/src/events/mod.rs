//! Events, and the subscribers that they are sent to.

pub(crate) mod bodies;
pub(crate) mod memory_bodies;
pub(crate) mod server_event;
mod formed;
pub(crate) mod broadcast;
