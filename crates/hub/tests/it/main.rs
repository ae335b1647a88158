//! The hub against its real storage.

mod graph;
