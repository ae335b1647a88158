//! Real programs and a real socket: espeak-ng (`scripts/setup-tests` installs it), and a mock provider for both
//! protocols.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

mod programs;
mod endpoints;
