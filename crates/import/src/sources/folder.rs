use std::fs;
use std::path::{Path, PathBuf};

use super::file_name;
use crate::error::ImportError;
use crate::item::Skip;
use crate::limits::{FOLDER_DEPTH_MAX, SOURCES_MAX};

/// The files below a folder, in the order of reading.
#[derive(Clone, Debug, Default)]
pub struct FolderListing {
    /// Names for people, with the folder's own name, and paths.
    pub files: Vec<(String, PathBuf)>,
    /// Files that are not listed, each with the reason.
    pub skipped: Vec<Skip>,
}

impl FolderListing {
    /// Lists the files below a folder, sorted by name. Hidden ones are left out; links are skipped.
    pub fn from_root(root: &Path) -> Result<Self, ImportError> {
        let mut listing = Self::default();
        listing.list_folder(root, &file_name(root), 0)?;
        Ok(listing)
    }

    fn list_folder(&mut self, folder: &Path, name: &str, depth: usize) -> Result<(), ImportError> {
        if depth > FOLDER_DEPTH_MAX {
            self.skipped.push(Skip::new(name, format!("it is more than {FOLDER_DEPTH_MAX} folders deep")));
            return Ok(());
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
            if self.files.len() + self.skipped.len() >= SOURCES_MAX {
                return Err(ImportError::TooManySources { max: SOURCES_MAX });
            }
            if kind.is_dir() {
                self.list_folder(&path, &full_name, depth + 1)?;
            } else if kind.is_file() {
                self.files.push((full_name, path));
            } else {
                let reason = "it is a link or a device, which are not read";
                self.skipped.push(Skip::new(full_name, reason));
            }
        }
        Ok(())
    }
}
