//! Changes of the memory by people: forgetting, corrections, and who is whom.

pub(crate) mod entities;
pub(crate) mod forget;
pub(crate) mod corrected;
pub(crate) mod corrections;
