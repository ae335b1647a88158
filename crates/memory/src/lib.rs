//! The six layers of a persona's memory: types, rules and ports.
//!
//! **A message becomes a reply**: [`capture`] makes each message durable (L2), [`recall`] finds what is relevant in
//! core blocks (L1), mood (L6), events (L3), thoughts (L4), entities (L5) and the verbatim log (L2).
//!
//! **Silence becomes memory**: a [`sessions::Session`] that ends is claimed by [`consolidate`], which asks a
//! [`ports::Mind`] what is worth remembering, checks every quote against the log, and commits events, entities and
//! mood in one transaction; then, if the gate allows, thoughts.
//!
//! **Forgetting** is the reverse: [`forget`] removes messages and everything derived from them, physically.
//!
//! This crate contains no SQL, HTTP, prompts or model weights: those are behind [`ports`].

pub mod scope;
pub mod identifiers;
pub mod core_blocks;
pub mod facts;
pub mod sessions;
pub mod messages;
pub mod capture;
pub mod nodes;
pub mod entities;
pub mod mood;
pub mod recall;
pub mod consolidate;
pub mod corrections;
pub mod forget;
pub mod vector_index;
pub mod proactive;
pub mod ledger;
pub mod access;
pub mod ports;

pub use scope::{PersonaId, Scope, UserId};
/// The text rules of the index. Whoever stores or searches must fold and split texts in the same way.
pub use text;
