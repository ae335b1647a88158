//! Searches for words in files: erased or secret words must be in none.
//!
//! The files of a home are megabytes. Comparing every window of them in an unoptimised test took a measurable part of
//! each suite, so a library searches.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use memchr::memmem;

/// True if `bytes` contain `words`.
#[must_use]
pub fn contains_words(bytes: &[u8], words: &str) -> bool {
    memmem::find(bytes, words.as_bytes()).is_some()
}

/// Files below a folder whose bytes contain `words`, in no order. Links are followed. Files deleted meanwhile and
/// sockets are skipped.
///
/// # Errors
///
/// If the folder is missing, or something in it can't be read.
pub fn files_containing(folder: &Path, words: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if let Some(files) = ignore_missing(search_path(&path, words))? {
            found.extend(files);
        }
    }
    Ok(found)
}

fn search_path(path: &Path, words: &str) -> std::io::Result<Vec<PathBuf>> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return files_containing(path, words);
    }
    let is_found = metadata.is_file() && contains_words(&std::fs::read(path)?, words);
    Ok(is_found.then(|| path.to_owned()).into_iter().collect())
}

fn ignore_missing<T>(read: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}
