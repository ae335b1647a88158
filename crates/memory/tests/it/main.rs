//! Tests of the memory: recall and the vector index with an in-memory store.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first thing that is not as it should be"
)]

mod fake_store;
mod defects;
mod formula;
mod laws;
mod passages;
mod old_memories;
mod recall;
mod exactness;
mod vector_index;
