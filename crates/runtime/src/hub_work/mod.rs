//! The shared self: documents for prompts, the diary, the exchange with another home, and the graph.

pub(crate) mod shared_self;
pub(crate) mod background;
pub(crate) mod embodiment;
pub(crate) mod relations;
