//! Converts a text to a unit vector, and measures how much of it the model can read.
//!
//! The steps: [`LocalEmbedder`] loads the [`Model`] at the first call → `word_pieces` converts the text to ids, and
//! `readability` measures how much of it the model reads → `forward` runs all texts of a batch through the layers as
//! one matrix, without padding, so that a vector never depends on the other texts → `pooling` makes one vector from
//! each text's rows. The files in the model's folder determine its kind: [`ModelFolder`].
//!
//! [`EndpointEmbedder`] asks an OpenAI-compatible endpoint instead.
//!
//! The files of a known model come from the model hub or from a local file, and are installed only if their digests
//! are the pinned ones: [`model_files`], [`download`].

mod local_embedder;
mod model;
mod model_folder;
mod architecture;
mod word_pieces;
mod packed_pieces;
mod tokenizer;
mod readability;
mod forward;
mod attention;
mod elementwise;
mod matmul;
mod weights;
mod tensor_file;
mod packed_file;
mod packed_panels;
mod number;
mod pooling;
mod calibration;
mod endpoint;
mod description;
pub mod model_files;
pub mod download;
mod error;

pub use calibration::Calibration;
pub use description::{ALL_MINILM_L6_V2, KNOWN_MODELS, MULTILINGUAL_E5_SMALL, ModelDescription, PinnedFile};
pub use endpoint::{EndpointEmbedder, EndpointSettings};
pub use error::ModelError;
pub use local_embedder::LocalEmbedder;
pub use model::Model;
pub use model_folder::{FolderSettings, ModelFolder};
