//! The channels over real sockets: a real store, a real runtime, and mock servers of the platforms, with faults.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first thing that is not as it should be"
)]

mod discord;
mod discord_refusals;
mod several;
mod telegram;
mod voice_messages;

mod world;
