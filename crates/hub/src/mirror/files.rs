//! Files that are written in one step.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Writes a file under a temporary name and renames it, so that a crash leaves the old or the new one. True if the
/// content changed. The folder is not flushed: after a loss of power the file may be the old one, which is then
/// noticed and written again.
pub(super) fn write(path: &Path, text: &str) -> io::Result<bool> {
    if fs::read(path).is_ok_and(|present| present == text.as_bytes()) {
        return Ok(false);
    }
    let folder = path.parent().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
    make_folder(folder)?;
    let partial = path.with_extension("md.partial");
    let mut file = create(&partial)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&partial, path)?;
    Ok(true)
}

/// Removes a file; true if it existed. The removal is flushed, so that a loss of power does not bring the file back:
/// a document that was erased without a trace would be read from it again.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => {
            if let Some(folder) = path.parent() {
                File::open(folder)?.sync_all()?;
            }
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a folder with all that is in it.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// True if a file differs from this text, or exists although there is no text.
pub(super) fn file_differs(path: &Path, text: Option<&str>) -> io::Result<bool> {
    match (fs::read(path), text) {
        (Ok(present), Some(text)) => Ok(present != text.as_bytes()),
        (Ok(_), None) => Ok(true),
        (Err(error), _) if error.kind() == ErrorKind::NotFound => Ok(text.is_some()),
        (Err(error), _) => Err(error),
    }
}

/// Names of the Markdown files in a folder, without extension. Temporary files left by a crash are removed.
pub(super) fn file_stems(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut stems = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.ends_with(".md.partial") {
            fs::remove_file(entry.path())?;
        }
        if let Some(stem) = name.strip_suffix(".md")
            && entry.file_type()?.is_file()
        {
            stems.push(stem.to_owned());
        }
    }
    stems.sort();
    Ok(stems)
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
