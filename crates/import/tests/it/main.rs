//! Readers on samples in the format of each program, written by hand with invented people.
#![expect(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod reading;
mod samples;
mod chatgpt;
mod claude;
mod sillytavern;
mod cards;
mod cards_written;
mod characters;
mod whatsapp;
mod telegram;
mod discord;
mod odd_values;
mod openclaw;
mod wechat;
mod signal;
mod generic;
mod archives;
mod mapping;
mod export;
mod foreign_bytes;
mod hostile;
mod laws;
mod librechat;
