//! Text to a unit vector, and how much of the text the model can read.
//!
//! A text's walk: [`LocalEmbedder`] opens the [`Model`] at the first call → `word_pieces` turns the text into ids and
//! `readability` judges how much of it the model reads → `forward` carries all texts of a batch through the layers as one
//! matrix, without padding, so that a vector never depends on its batch-mates → `pooling` makes one vector of each
//! text's rows. What kind of model it is, the files in its folder say: [`ModelFolder`].
//!
//! [`EndpointEmbedder`] asks an OpenAI-compatible endpoint instead.
//!
//! The files of a known model come from the hub or from a file that is available, and are installed only when their
//! digests are the pinned ones: [`model_files`], [`download`].

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
