//! Parts of our own beside the crates that they replaced.

mod pieces;
mod simplified_forms;
