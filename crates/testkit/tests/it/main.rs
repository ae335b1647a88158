//! The mocks on which the tests of other crates depend.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

mod byte_search;
mod clock;
mod ids;
mod embedder;
mod mind;
mod scripted_model;
mod plausible_answers;
