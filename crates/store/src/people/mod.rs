//! Personas and users.

pub(crate) mod moods;
pub(crate) mod personas;
mod users;
