//! The hub against its real storage.
