//! Personas and users.

pub(crate) mod core_blocks;
pub(crate) mod moods;
pub(crate) mod personas;
mod users;
