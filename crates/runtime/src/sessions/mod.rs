//! Sessions end after silence and become memory.

pub(crate) mod idle;
pub(crate) mod consolidator;
pub(crate) mod housekeeping;
