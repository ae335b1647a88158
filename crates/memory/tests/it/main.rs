//! Tests of the memory: recall and the vector index over a home in a file.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

mod home;
mod defects;
mod formula;
mod laws;
mod passages;
mod old_memories;
mod recall;
mod exactness;
mod vector_index;
mod vector_rows;
