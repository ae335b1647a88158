//! The earlier API: requests of clients of the Python implementation for which the current API has another form. The
//! rest of the server uses this folder in few places and works without it. `docs/compatibility.md` lists its routes.

pub(crate) mod channels;
pub(crate) mod config;
pub(crate) mod events;
pub(crate) mod import_pipeline;
pub(crate) mod names;
