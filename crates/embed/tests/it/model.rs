//! The real model, which is not in the repository.

use std::path::PathBuf;

use embed::{ALL_MINILM_L6_V2, Model, model_files};

/// The folder that `make model` fills, or the one in `ECHOVESSEL_MODEL_DIR`.
pub(crate) fn directory() -> PathBuf {
    let directory = std::env::var_os("ECHOVESSEL_MODEL_DIR").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.cache/models").join(ALL_MINILM_L6_V2.name),
        PathBuf::from,
    );
    if let Err(error) = model_files::check_present(&directory, &ALL_MINILM_L6_V2) {
        panic!("{error}: run `make model`, or set ECHOVESSEL_MODEL_DIR");
    }
    directory
}

/// The model, opened with this many threads.
pub(crate) fn open(threads: usize) -> Model {
    Model::open(&directory(), threads).unwrap()
}

/// Cosine of two vectors of unit length.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}
