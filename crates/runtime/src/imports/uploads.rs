//! Uploads: one private folder in the home for each, deleted once its run is recorded.

use std::io;
use std::path::{Path, PathBuf};

use import::{FieldNames, ImportPreview, Input, Mapping, ReadOptions};
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::ImportId;
use memory::ports::Remembering;
use serde::{Deserialize, Serialize};
use tokio::fs::{self, File, OpenOptions};
use tokio::io::AsyncWriteExt as _;

/// The file that describes an upload.
const DESCRIPTION: &str = "upload.json";
/// Maximum length of a file name, in characters. The rest is cut. File systems allow 255 bytes; the path within an
/// archive is part of the name.
const NAME_CHARS_MAX: usize = 512;

/// Files of an import that waits for a mapping, or is being recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImportUpload {
    /// The id of the import run that the upload becomes.
    pub id: ImportId,
    /// The files, in the order of the form.
    pub files: Vec<UploadedFile>,
    /// Id of the format of all files; `None` detects each.
    pub format: Option<String>,
    /// Names of fields in JSON and CSV files.
    #[serde(default)]
    pub fields: FieldNames,
    pub look: ImportPreview,
    pub created_at: Timestamp,
    /// The person's decision; `None` until then.
    pub started: Option<StartedImport>,
}

impl ImportUpload {
    pub fn read_options(&self) -> ReadOptions {
        ReadOptions { format: self.format.clone(), fields: self.fields.clone() }
    }
}

/// A file of an upload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UploadedFile {
    /// The file's original name, for people. Never a path to write to.
    pub name: String,
    pub size: u64,
}

/// The person's decision about an upload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartedImport {
    pub scope: Scope,
    /// Roles of the speakers, and the selection of conversations.
    pub mapping: Mapping,
    /// Initial state of the consolidation of its sessions.
    pub remembering: Remembering,
}

#[derive(Clone, Debug)]
pub(crate) struct UploadFolder(PathBuf);

/// An upload that is being received. If it is dropped before it is examined, its files are deleted.
#[derive(Debug)]
pub struct ImportUploadWriter {
    pub(super) id: ImportId,
    folder: PathBuf,
    pub(super) files: Vec<UploadedFile>,
    current: Option<File>,
    /// Time at which the current file was last modified.
    modified: Option<Timestamp>,
    is_complete: bool,
}

impl UploadFolder {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    fn folder_for(&self, id: ImportId) -> PathBuf {
        self.0.join(id.to_string())
    }

    pub(super) async fn create(&self, id: ImportId) -> io::Result<ImportUploadWriter> {
        let folder = self.folder_for(id);
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&folder).await?;
        Ok(ImportUploadWriter {
            id,
            folder,
            files: Vec::new(),
            current: None,
            modified: None,
            is_complete: false,
        })
    }

    /// Writes the description in one step.
    pub(super) async fn describe(&self, upload: &ImportUpload) -> io::Result<()> {
        let folder = self.folder_for(upload.id);
        let (path, draft) = (folder.join(DESCRIPTION), folder.join("upload.json.new"));
        let mut file = new_file(&draft).await?;
        file.write_all(&serde_json::to_vec(upload)?).await?;
        file.sync_all().await?;
        fs::rename(draft, path).await
    }

    /// The upload; `None` if there is none with this id, or it is incomplete.
    pub(super) async fn find(&self, id: ImportId) -> io::Result<Option<ImportUpload>> {
        match fs::read(self.folder_for(id).join(DESCRIPTION)).await {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Ids of all folders, including incomplete ones.
    pub(super) async fn ids(&self) -> io::Result<Vec<ImportId>> {
        let mut entries = match fs::read_dir(&self.0).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut ids = Vec::new();
        while let Some(entry) = entries.next_entry().await? {
            ids.extend(entry.file_name().to_str().and_then(|name| name.parse::<ImportId>().ok()));
        }
        Ok(ids)
    }

    /// Deletes an upload, if it exists.
    pub(super) async fn remove(&self, id: ImportId) -> io::Result<()> {
        match fs::remove_dir_all(self.folder_for(id)).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The files as inputs of the reader.
    pub(super) fn inputs(&self, id: ImportId, files: &[UploadedFile]) -> Vec<Input> {
        let named = files.iter().zip(self.file_paths(id, files));
        named.map(|(file, path)| Input::Named { name: file.name.clone(), path }).collect()
    }

    pub(super) fn file_paths(&self, id: ImportId, files: &[UploadedFile]) -> Vec<PathBuf> {
        let folder = self.folder_for(id);
        (0..files.len()).map(|at| folder.join(at.to_string())).collect()
    }
}

impl ImportUploadWriter {
    /// Begins the next file. Its name is only for people; on the disk it is a number. `modified` is the time of its
    /// last modification.
    pub async fn begin_file(&mut self, name: &str, modified: Option<Timestamp>) -> io::Result<()> {
        self.end_file().await?;
        let path = self.folder.join(self.files.len().to_string());
        self.current = Some(new_file(&path).await?);
        self.modified = modified;
        let cleaned: String =
            name.chars().filter(|letter| !letter.is_control()).take(NAME_CHARS_MAX).collect();
        let name = if cleaned.trim().is_empty() { "file".to_owned() } else { cleaned };
        self.files.push(UploadedFile { name, size: 0 });
        Ok(())
    }

    /// Appends to the current file.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let (Some(file), Some(current)) = (&mut self.current, self.files.last_mut()) {
            file.write_all(bytes).await?;
            current.size += bytes.len() as u64;
        }
        Ok(())
    }

    /// Number of bytes of all files so far.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Number of files received so far.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    pub(super) async fn end_file(&mut self) -> io::Result<()> {
        if let Some(mut file) = self.current.take() {
            file.flush().await?;
            if let Some(modified) = self.modified.take() {
                file.try_clone().await?.into_std().await.set_modified(modified.into())?;
            }
            file.sync_all().await?;
        }
        Ok(())
    }

    pub(super) fn mark_complete(&mut self) {
        self.is_complete = true;
    }
}

impl Drop for ImportUploadWriter {
    fn drop(&mut self) {
        if !self.is_complete {
            // Files left anyway are deleted at the next start.
            let _deleted = std::fs::remove_dir_all(&self.folder);
        }
    }
}

async fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path).await
}
