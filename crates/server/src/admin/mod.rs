//! What its owner can see and change: the program, the persona, its memory, its work.

pub(crate) mod daemon;
pub(crate) mod persona;
pub(crate) mod personas;
pub(crate) mod style;
pub(crate) mod facts;
pub(crate) mod avatar;
pub(crate) mod voice;
pub(crate) mod draft;
pub(crate) mod users;
pub(crate) mod channels;
pub(crate) mod recall;
pub(crate) mod search;
pub(crate) mod nodes;
pub(crate) mod corrections;
pub(crate) mod timeline;
pub(crate) mod entities;
pub(crate) mod sessions;
pub(crate) mod work;
pub(crate) mod forget;
pub(crate) mod erase;
pub(crate) mod config;
pub(crate) mod tokens;
pub(crate) mod acts;
pub(crate) mod metrics;
pub(crate) mod not_built;
