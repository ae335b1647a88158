//! Servers on loopback that speak the protocols of Discord and Telegram as documented, with faults: for tests and for
//! `echovessel demo --channels`.

pub mod discord;
pub mod http;
pub mod telegram;
