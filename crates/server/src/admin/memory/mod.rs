//! Memories: lists, search, corrections and forgetting.

pub(crate) mod corrections;
pub(crate) mod entities;
pub(crate) mod erase;
pub(crate) mod forget;
pub(crate) mod moods;
pub(crate) mod nodes;
pub(crate) mod recall;
pub(crate) mod search;
pub(crate) mod timeline;
