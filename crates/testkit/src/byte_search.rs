//! Looks for words in files: those that were erased or are secret must be in none.
//!
//! The files of a home are megabytes. Comparing every window of them in an unoptimised test took a part of each suite that
//! could be measured, so a library searches.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use memchr::memmem;

/// True if `bytes` contain `words`.
#[must_use]
pub fn contains_words(bytes: &[u8], words: &str) -> bool {
    memmem::find(bytes, words.as_bytes()).is_some()
}

/// Files below a folder whose bytes contain `words`, in no order. Files that are deleted meanwhile are passed over, as those
/// of a running daemon may be.
///
/// # Errors
/// If a folder or file can't be read.
pub fn files_containing(folder: &Path, words: &str) -> std::io::Result<Vec<PathBuf>> {
    let (mut folders, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let file_type = entry.file_type()?;
            if file_type.is_dir() {
                folders.push(entry.path());
            } else if file_type.is_file() {
                match std::fs::read(entry.path()) {
                    Ok(bytes) if contains_words(&bytes, words) => found.push(entry.path()),
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
    }
    Ok(found)
}
