//! The laws of merging, on homes that are no more than maps.

mod laws;
mod refusals;
