//! Administration, by the tag of the routes.

pub(crate) mod memory;
pub(crate) mod persona;
pub(crate) mod program;
pub(crate) mod imports;
pub(crate) mod work;
pub(crate) mod hub;
