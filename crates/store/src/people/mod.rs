//! Personas and users.

pub(crate) mod personas;
mod users;
