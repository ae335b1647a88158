//! Traits that the program implements for the server, with their types.

pub(crate) mod backups;
pub(crate) mod channel_setup;
pub(crate) mod configuration;
pub(crate) mod daemons;
pub(crate) mod model_setup;
