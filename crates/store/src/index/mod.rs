//! The indexes: words, vectors, and embedding models.

pub(crate) mod words;
pub(crate) mod vectors;
mod vector_index;
mod embedding_models;
