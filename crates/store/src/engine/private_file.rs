//! Files that hold what people said.

use std::fs::{File, OpenOptions};
use std::path::Path;

/// Creates an empty file that only its owner can read.
pub(crate) fn create(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
