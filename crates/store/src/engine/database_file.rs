//! Database files: they contain people's text, and SQLite has side files beside them.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

/// Creates an empty file that only its owner can read.
pub(crate) fn create(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Renames a complete file to its final name, durably.
///
/// # Errors
///
/// The file can't be renamed, or its folder can't be written.
pub fn move_into_place(fresh: &Path, target: &Path) -> std::io::Result<()> {
    fs::rename(fresh, target)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder)?.sync_all()
}

/// Extensions of the files that SQLite has beside a database, in any mode. A leftover one would be applied to the
/// next database of that name.
pub const SIDE_FILES: [&str; 3] = ["-journal", "-wal", "-shm"];

/// Paths of a database's side files and of the database itself, in this order.
pub fn database_files(path: &Path) -> impl Iterator<Item = PathBuf> {
    SIDE_FILES.into_iter().chain([""]).map(move |ending| {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        PathBuf::from(file)
    })
}

/// Removes a database file and its side files. Missing files are not an error.
///
/// # Errors
///
/// One of the files can't be removed; the others are removed first.
pub fn remove_database_file(path: &Path) -> std::io::Result<()> {
    let mut outcome = Ok(());
    for file in database_files(path) {
        match fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => outcome = Err(error),
            _ => {}
        }
    }
    outcome
}
