//! Background work, channels, costs and backups.

pub(crate) mod backups;
pub(crate) mod channel_setup;
pub(crate) mod channels;
pub(crate) mod cost;
pub(crate) mod failed_work;
pub(crate) mod proactive;
pub(crate) mod sessions;
pub(crate) mod traces;
