//! The inputs of an import: files, folders, zip archives. Each file in them is a stream that can be opened again.

mod archive;
mod decode;
mod folder;

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::error::ImportError;
use crate::item::Skip;
use crate::limits::SOURCES_MAX;

use archive::EntryPlace;
pub(crate) use decode::DecodedReader;
pub use folder::FolderListing;

/// A file, folder or buffer to import.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file or folder, by its own name.
    Path(PathBuf),
    /// A file with another name than its path has: an upload.
    Named {
        /// The original name, for people.
        name: String,
        /// The path of the file.
        path: PathBuf,
    },
    /// Bytes in memory: pasted text, tests.
    Bytes { name: String, bytes: Arc<[u8]> },
}

/// Every file of an import, including those in archives and folders, in a stable order.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    list: Vec<Source>,
    skipped: Vec<Skip>,
    /// Bytes of archives within archives, which are held in memory.
    nested_bytes: u64,
}

/// A file or an entry of an archive.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    size: u64,
    modified: Option<Timestamp>,
    place: SourcePlace,
}

#[derive(Clone, Debug)]
enum SourcePlace {
    File(PathBuf),
    Bytes(Arc<[u8]>),
    Entry(Arc<EntryPlace>),
}

/// A seekable reader, which zip archives need.
pub(crate) trait ReadSeek: Read + io::Seek + Send {}
impl<T: Read + io::Seek + Send> ReadSeek for T {}

impl Sources {
    /// Lists the files. Reads only directories of folders and archives. Sources that can't be opened (encrypted
    /// entries, archives nested too deeply) become skips. Fails if a file can't be read or there are too many.
    pub fn open(inputs: &[Input]) -> Result<Self, ImportError> {
        let mut sources = Self::default();
        for input in inputs {
            match input {
                Input::Path(path) if path.is_dir() => sources.add_folder(path)?,
                Input::Path(path) => sources.add_file(&file_name(path), path)?,
                Input::Named { name, path } => sources.add_file(name, path)?,
                Input::Bytes { name, bytes } => {
                    let source = Source {
                        name: name.clone(),
                        size: bytes.len() as u64,
                        modified: None,
                        place: SourcePlace::Bytes(Arc::clone(bytes)),
                    };
                    archive::add_or_expand(source, 0, &mut sources)?;
                }
            }
        }
        Ok(sources)
    }

    /// Every file, in the order of reading.
    pub fn list(&self) -> &[Source] {
        &self.list
    }

    /// Files that were not listed, each with the reason.
    pub fn skipped_files(&self) -> &[Skip] {
        &self.skipped
    }

    fn add_folder(&mut self, root: &Path) -> Result<(), ImportError> {
        let listing = FolderListing::from_root(root)?;
        for (name, path) in &listing.files {
            self.add_file(name, path)?;
        }
        listing.skipped.into_iter().try_for_each(|skip| self.skip_place(skip.place, skip.reason))
    }

    fn add_file(&mut self, name: &str, path: &Path) -> Result<(), ImportError> {
        let metadata = path.metadata().map_err(ImportError::io(name))?;
        if !metadata.is_file() {
            // Opening a pipe would block.
            let error = std::io::Error::new(
                std::io::ErrorKind::InvalidInput,
                "it is a pipe or a device; save its content to a file first",
            );
            return Err(ImportError::io(name)(error));
        }
        let size = metadata.len();
        let modified = metadata.modified().ok().and_then(|at| Timestamp::try_from(at).ok());
        let source =
            Source { name: name.to_owned(), size, modified, place: SourcePlace::File(path.to_owned()) };
        archive::add_or_expand(source, 0, self)
    }

    fn push(&mut self, source: Source) -> Result<(), ImportError> {
        if self.list.len() + self.skipped.len() >= SOURCES_MAX {
            return Err(ImportError::TooManySources { max: SOURCES_MAX });
        }
        self.list.push(source);
        Ok(())
    }

    fn skip_place(&mut self, place: impl Into<String>, reason: impl Into<String>) -> Result<(), ImportError> {
        if self.list.len() + self.skipped.len() >= SOURCES_MAX {
            return Err(ImportError::TooManySources { max: SOURCES_MAX });
        }
        self.skipped.push(Skip::new(place, reason));
        Ok(())
    }

    /// The file with this name in the same folder of the same archive as `of`.
    pub(crate) fn find_sibling(&self, of: &Source, name: &str) -> Option<&Source> {
        let wanted = format!("{}{name}", of.folder());
        self.list.iter().find(|source| source.name.eq_ignore_ascii_case(&wanted))
    }
}

impl Source {
    /// Name for people, with the archive's: `export.zip/conversations.json`. Never a path to write to.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Time of the file's last change, which is after its messages were sent; `None` if unknown.
    pub fn modified_at(&self) -> Option<Timestamp> {
        self.modified
    }

    /// Size in bytes; of an archive's entry, as the archive claims.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The part of the name before the file's own name, with its last `/`; may be empty.
    pub(crate) fn folder(&self) -> &str {
        self.name.rfind('/').map_or("", |at| &self.name[..=at])
    }

    /// The file's own name.
    pub(crate) fn file_name(&self) -> &str {
        &self.name[self.folder().len()..]
    }

    /// The file's own name without its extension.
    pub(crate) fn stem(&self) -> &str {
        let name = self.file_name();
        name.rfind('.').filter(|at| *at > 0).map_or(name, |at| &name[..at])
    }

    /// Opens the source at its start. An archive's entry that expands beyond its limit fails while it is read.
    pub(crate) fn open(&self) -> Result<Box<dyn Read + Send>, ImportError> {
        Ok(match &self.place {
            SourcePlace::File(path) => Box::new(File::open(path).map_err(ImportError::io(&self.name))?),
            SourcePlace::Bytes(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            SourcePlace::Entry(entry) => entry.open().map_err(ImportError::io(&self.name))?,
        })
    }

    /// Opens the source as UTF-8: a byte-order mark is dropped, UTF-16 is converted.
    pub(crate) fn open_text(&self) -> Result<DecodedReader, ImportError> {
        Ok(DecodedReader::new(self.open()?))
    }

    /// Reads the whole source, unless it is longer than `max` bytes.
    pub(crate) fn read_whole(&self, max: usize) -> Result<Option<Vec<u8>>, ImportError> {
        self.read_limited(self.open()?, max)
    }

    /// Reads as [`Self::read_whole`] does, decoded as in [`Self::open_text`].
    pub(crate) fn read_text(&self, max: usize) -> Result<Option<Vec<u8>>, ImportError> {
        self.read_limited(self.open_text()?, max)
    }

    fn read_limited(&self, reader: impl Read, max: usize) -> Result<Option<Vec<u8>>, ImportError> {
        let mut bytes = Vec::new();
        reader.take(max as u64 + 1).read_to_end(&mut bytes).map_err(ImportError::io(&self.name))?;
        Ok((bytes.len() <= max).then_some(bytes))
    }

    fn open_seekable(&self) -> io::Result<Option<Box<dyn ReadSeek>>> {
        Ok(match &self.place {
            SourcePlace::File(path) => Some(Box::new(File::open(path)?)),
            SourcePlace::Bytes(bytes) => Some(Box::new(Cursor::new(Arc::clone(bytes)))),
            SourcePlace::Entry(_) => None,
        })
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
