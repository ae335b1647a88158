//! The shared self: its diary, its exchange with another home, and the graph that is drawn from memories.

pub(crate) mod diary;
pub(crate) mod embodiment;
pub(crate) mod relations;
