use std::fs;
use std::path::{Path, PathBuf};

use super::{Sources, file_name};
use crate::error::ImportError;
use crate::limits::FOLDER_DEPTH_MAX;

/// Adds the files below a folder, sorted by name. Hidden ones and links are left out.
pub(super) fn list(root: &Path, sources: &mut Sources) -> Result<(), ImportError> {
    walk(root, &file_name(root), 0, sources)
}

fn walk(folder: &Path, name: &str, depth: usize, sources: &mut Sources) -> Result<(), ImportError> {
    if depth > FOLDER_DEPTH_MAX {
        return sources.skip(name, format!("it is more than {FOLDER_DEPTH_MAX} folders deep"));
    }
    let mut entries: Vec<(String, PathBuf, fs::FileType)> = Vec::new();
    for entry in fs::read_dir(folder).map_err(ImportError::io(name))? {
        let entry = entry.map_err(ImportError::io(name))?;
        let kind = entry.file_type().map_err(ImportError::io(name))?;
        entries.push((entry.file_name().to_string_lossy().into_owned(), entry.path(), kind));
    }
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    for (own_name, path, kind) in entries {
        let full_name = format!("{name}/{own_name}");
        if own_name.starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            walk(&path, &full_name, depth + 1, sources)?;
        } else if kind.is_file() {
            sources.add_file(&full_name, &path)?;
        } else {
            sources.skip(full_name, "it is a link or a device, which are not followed")?;
        }
    }
    Ok(())
}
