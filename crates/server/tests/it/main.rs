//! The server against a real store, mostly without a socket, once with one.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a step that fails is a test that fails"
)]

mod home;
mod talker;

mod chat;
mod daemon;
mod events;
mod history;
mod login;
mod memories;
mod openai;
mod persona;
mod sessions;
mod socket;
mod trust;
