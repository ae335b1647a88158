//! Simulated servers on loopback for the documented protocols of Discord and Telegram, with faults: for tests and for
//! `echovessel demo --channels`.

pub mod discord;
pub mod http;
pub mod telegram;
