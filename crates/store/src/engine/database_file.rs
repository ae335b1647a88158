//! Database files as files: they hold what people said, and SQLite keeps other files beside them.

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

/// Gives a file that is whole its name, so that it has that name after a power failure too.
///
/// # Errors
/// The file can't be renamed, or its folder can't be written.
pub fn put_in_place(fresh: &Path, target: &Path) -> std::io::Result<()> {
    fs::rename(fresh, target)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder)?.sync_all()
}

/// Endings of the files that SQLite keeps beside a database, in whichever mode it is. One that outlives its database would be
/// applied to the next one of that name.
pub const SIDE_FILES: [&str; 3] = ["-journal", "-wal", "-shm"];

/// Paths that a database may have: those of its side files, and then its own.
pub fn database_files(path: &Path) -> impl Iterator<Item = PathBuf> {
    SIDE_FILES.into_iter().chain([""]).map(move |ending| {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        PathBuf::from(file)
    })
}

/// Removes a database file and its side files. Files that are missing are no error.
///
/// # Errors
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
