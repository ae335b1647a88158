//! What its owner can see and change: the program, the persona, its memory, its work.

pub(crate) mod daemon;
pub(crate) mod persona;
pub(crate) mod style;
pub(crate) mod recall;
pub(crate) mod nodes;
pub(crate) mod corrections;
pub(crate) mod timeline;
pub(crate) mod entities;
pub(crate) mod sessions;
pub(crate) mod forget;
pub(crate) mod erase;
pub(crate) mod config;
pub(crate) mod tokens;
pub(crate) mod acts;
pub(crate) mod metrics;
pub(crate) mod traces;
pub(crate) mod cost;
