//! The laws of merging, on homes that are no more than maps.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

mod laws;
mod refusals;
