//! The earlier API: what clients of the Python implementation ask for, and the current API says in another form. The rest of
//! the server calls this folder in few places and works without it. `docs/compatibility.md` lists what it answers.

pub(crate) mod channels;
pub(crate) mod config;
pub(crate) mod events;
pub(crate) mod import_pipeline;
pub(crate) mod names;
