//! Personas, their users and their voices.

pub(crate) mod avatar;
pub(crate) mod draft;
pub(crate) mod facts;
pub(crate) mod profile;
pub(crate) mod personas;
pub(crate) mod style;
pub(crate) mod users;
pub(crate) mod voice;
pub(crate) mod import_end;
