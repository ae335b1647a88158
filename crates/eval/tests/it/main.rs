//! Tests of the evaluation: small data in the format of each benchmark, and our own cases.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

mod cases;
mod formats;
mod program;
