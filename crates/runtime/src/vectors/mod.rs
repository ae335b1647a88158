//! Vectors of stored texts, made in the background and searched.

pub(crate) mod backfill;
pub(crate) mod changeover;
pub(crate) mod search;
