//! Text to a unit vector on the CPU, and how much of the text the model can read.
//!
//! A text's walk: [`LocalEmbedder`] opens the [`Model`] at the first call → `word_pieces` turns the text into ids and
//! judges its readability → `forward` carries all texts of a batch through the layers as one matrix, without padding,
//! so that a vector never depends on its batch-mates → `pooling` makes one vector of each text's rows.
//!
//! The model's two files come from the hub or from a file at hand, and are installed only when their digests are the
//! pinned ones: [`model_files`], [`download`].

mod attention;
mod description;
pub mod download;
mod elementwise;
mod error;
mod forward;
mod local_embedder;
mod matmul;
mod model;
pub mod model_files;
mod pooling;
mod weights;
mod word_pieces;

pub use description::{ALL_MINILM_L6_V2, ModelDescription, PinnedFile};
pub use error::ModelError;
pub use local_embedder::LocalEmbedder;
pub use model::Model;
