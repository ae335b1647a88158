//! The six layers of a persona's memory: nouns, rules and ports.
//!
//! Two walks lead through this crate.
//!
//! **A sentence becomes a reply**: [`capture`] makes each line durable (L2), [`recall`] gathers what fits it from
//! core blocks (L1), mood (L6), events (L3), thoughts (L4), entities (L5) and the verbatim log (L2).
//!
//! **Silence becomes memory**: a [`sessions::Session`] that ends is claimed by [`consolidate`], which asks a
//! [`ports::Mind`] what is worth remembering, checks every quote against the log, and commits events, entities and
//! mood in one transaction; then, if the gate allows, thoughts.
//!
//! **Forgetting** is a walk back: [`forget`] takes what was said and all that was made of it, physically.
//!
//! Nothing here knows SQL, HTTP, a prompt or a model's weights: those are behind [`ports`].

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
/// The text rules by which everything is indexed and sought: who stores or searches must fold and cut as the memory does.
pub use text;
