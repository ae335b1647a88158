//! Imports of files from other programs, and exports.

pub(crate) mod character;
pub(crate) mod import_list;
pub(crate) mod runs;
pub(crate) mod export;
