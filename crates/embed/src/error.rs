use std::path::{Path, PathBuf};

/// Why the model can't be opened, installed or used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The folder holds no model (yet).
    #[error(
        "{file} is missing in {}; `echovessel model fetch` downloads the default model. The folder of \
            another model needs config.json, tokenizer.json and model.safetensors",
        directory.display()
    )]
    Missing {
        /// The folder that was searched.
        directory: PathBuf,
        /// Name of the missing file.
        file: &'static str,
    },
    /// A file differs from the pinned one: it is damaged, or another version.
    #[error(
        "{file} from {origin} is not the expected file: its SHA-256 is {found}, expected {expected}. \
            Nothing was installed; download it again, or from another source"
    )]
    WrongDigest {
        /// Name of the file.
        file: &'static str,
        /// Folder, archive or address that the file came from.
        origin: String,
        expected: &'static str,
        /// The digest of what was found.
        found: String,
    },
    /// The model hub did not send the whole file. The received part is stored, and the next attempt continues there.
    #[error("{url} could not be downloaded: {reason}. The part received is kept; try again to continue")]
    Download { url: String, reason: String },
    /// The files exist, but this crate can't compute their model.
    #[error("{} can't be used as an embedding model: {reason}", path.display())]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        reason: String,
    },
    /// A setting is invalid.
    #[error("{0}")]
    Settings(String),
    /// A text could not be computed.
    #[error("the text could not be embedded: {0}")]
    Failed(String),
    /// An error of the file system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

impl ModelError {
    /// Wraps an error of the file system at `path`, for `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// An error for a file that is not a usable part of a model.
    pub(crate) fn unusable(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unusable { path: path.to_owned(), reason: reason.into() }
    }
}
