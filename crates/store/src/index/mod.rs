//! The indexes: words and vectors, and which embedding models' vectors there are.

pub(crate) mod words;
pub(crate) mod vectors;
mod vector_index;
mod embedding_models;
