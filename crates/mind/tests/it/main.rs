//! The public interface of the mind.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod support;

mod asking;
mod no_channels;
mod budget;
mod damaged;
mod extraction;
mod garbage;
mod injection;
mod offline;
mod prompts;
mod reflection;
mod slow_cycle;
mod reply;
mod streaming;
mod persona_draft;
mod proactive;
mod rollup;
mod graph;
