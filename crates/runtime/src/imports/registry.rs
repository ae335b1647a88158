//! The state of imports: waiting uploads, and runs.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use import::Sources;
use jiff::Timestamp;
use memory::capture::CaptureError;
use memory::corrections::ApproveError;
use memory::forget::EraseError;
use memory::identifiers::{ErasureId, ImportId};
use memory::ledger::Prices;
use memory::ports::{ImportRun, ImportStatus, ImportStore, PersonaStore, Remembering, StoreError, UserStore};
use memory::{PersonaId, Scope, UserId};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::uploads::{ImportUpload, UploadFolder};

/// The dependencies of the import registry.
pub struct ImportParts {
    /// Storage of runs and their messages.
    pub store: Arc<dyn ImportStore>,
    /// Folder of the uploads in the home.
    pub folder: PathBuf,
    /// Prices of models, for estimates.
    pub prices: Arc<ArcSwap<Prices>>,
}

/// Why an operation on an import failed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Neither an upload nor a run has this id.
    #[error("import {0} not found; nothing was changed")]
    NotFound(ImportId),
    /// The import was started before.
    #[error("this import was already started; nothing was changed")]
    Started,
    /// The import was not started yet.
    #[error("this import has not been started; nothing was changed")]
    NotStarted,
    /// The import was interrupted, and its files were deleted.
    #[error(
        "this import was interrupted and its files were deleted; import the same files again to resume it"
    )]
    FilesMissing,
    /// The files describe no character.
    #[error("the files contain no character card, persona instructions or lorebook; nothing was changed")]
    NoCharacter,
    /// The character has no greeting with this number.
    #[error("greeting {number} does not exist: the character has {count}; nothing was changed")]
    NoGreeting {
        /// The requested number, from 1.
        number: usize,
        count: usize,
    },
    /// A picture with an embedded card was requested, but the persona has none.
    #[error(
        "the persona has no PNG picture for its card; add one, or export the card as .json or .charx; \
            nothing was written"
    )]
    NoPicture,
    /// The persona does not exist.
    #[error("the persona {0} does not exist; nothing was changed")]
    UnknownPersona(PersonaId),
    /// The user does not exist.
    #[error("the user {0} does not exist; nothing was changed")]
    UnknownUser(UserId),
    /// A proposal can't be approved.
    #[error(transparent)]
    Approve(#[from] ApproveError),
    /// The greeting can't be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A document of the character can't be written.
    #[error(transparent)]
    Hub(#[from] hub::HubError),
    /// The mapping has no speaker, or names an unknown one.
    #[error("{0}; nothing was changed")]
    Mapping(#[from] import::MappingError),
    /// This program has no imports.
    #[error("imports are not available here")]
    Unavailable,
    /// The files can't be read.
    #[error(transparent)]
    Read(#[from] import::ImportError),
    #[error("the files could not be saved: {0}; nothing was changed")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Not everything could be erased; repeat the request to continue.
    #[error(transparent)]
    Erase(#[from] EraseError),
}

/// State of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportState {
    /// The upload waits for a mapping.
    Uploaded,
    /// Messages are being recorded.
    Recording,
    /// Recording was interrupted; it can be resumed.
    Interrupted,
    /// Recorded; sessions are being consolidated in the background.
    Remembering,
    /// Recording and consolidation are paused.
    Paused,
    /// The import is finished.
    Done,
}

/// An import with its upload, run and state.
#[derive(Clone, Debug)]
pub struct ImportStatusReport {
    pub id: ImportId,
    pub state: ImportState,
    /// The import's upload, until its files are deleted.
    pub upload: Option<ImportUpload>,
    /// The recorded run; `None` before the start.
    pub run: Option<ImportRun>,
    /// Why recording was interrupted, for a person.
    pub problem: Option<String>,
}

/// Counts of what undoing an import erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneImport {
    pub messages: u64,
    pub receipts: Vec<ErasureId>,
}

/// Uploads and runs, and the state of recording ones.
pub(super) struct ImportRegistry {
    pub(super) store: Arc<dyn ImportStore>,
    pub(super) uploads: UploadFolder,
    pub(super) prices: Arc<ArcSwap<Prices>>,
    /// State of the imports that are being recorded. Locked only for a look-up or a change, never during work.
    pub(super) running: Mutex<RunningImports>,
    /// Locked while an import is started, resumed or undone: each of these first checks the others, and then acts.
    pub(super) change: tokio::sync::Mutex<()>,
}

impl ImportRegistry {
    pub(super) fn new(parts: ImportParts) -> Self {
        Self {
            store: parts.store,
            uploads: UploadFolder::new(parts.folder),
            prices: parts.prices,
            running: Mutex::default(),
            change: tokio::sync::Mutex::default(),
        }
    }
}

#[derive(Default)]
pub(super) struct RunningImports {
    /// Imports that are being recorded, and those whose recording ended since the start of the program.
    pub(super) recording: HashMap<ImportId, RecordingRun>,
    pub(super) problems: HashMap<ImportId, String>,
    /// Number of waiting sessions when it was last published.
    pub(super) waiting: HashMap<ImportId, u64>,
}

/// A run that is being recorded.
#[derive(Clone)]
pub(super) struct RecordingRun {
    pub(super) cancel: CancellationToken,
    /// Cancelled when the recording has ended.
    pub(super) ended: CancellationToken,
}

impl ImportRegistry {
    pub(super) fn build_report(
        &self,
        upload: Option<ImportUpload>,
        run: Option<ImportRun>,
        id: ImportId,
    ) -> ImportStatusReport {
        let running = self.running.lock();
        let state = match &run {
            None => ImportState::Uploaded,
            Some(run) => match (run.status, run.remembering) {
                (ImportStatus::Recording, _) if running.recording.contains_key(&id) => ImportState::Recording,
                (ImportStatus::Recording, Remembering::Paused) => ImportState::Paused,
                (ImportStatus::Recording, _) => ImportState::Interrupted,
                (ImportStatus::Recorded, Remembering::Off) => ImportState::Done,
                (ImportStatus::Recorded, _) if run.sessions_waiting == 0 => ImportState::Done,
                (ImportStatus::Recorded, Remembering::Paused) => ImportState::Paused,
                (ImportStatus::Recorded, Remembering::On) => ImportState::Remembering,
            },
        };
        ImportStatusReport { id, state, upload, run, problem: running.problems.get(&id).cloned() }
    }

    /// Examines the files of an upload and stores a summary of their content.
    pub(super) async fn examine_upload(&self, upload: &mut ImportUpload) -> Result<(), ImportError> {
        let inputs = self.uploads.inputs(upload.id, &upload.files);
        let options = upload.read_options();
        upload.look = read_detached(move || import::preview(&Sources::open(&inputs)?, &options)).await?;
        Ok(self.uploads.describe(upload).await?)
    }

    pub(super) async fn find_report(&self, id: ImportId) -> Result<ImportStatusReport, ImportError> {
        let (upload, run) = (self.uploads.find(id).await?, self.store.import_run(id).await?);
        if upload.is_none() && run.is_none() {
            return Err(ImportError::NotFound(id));
        }
        Ok(self.build_report(upload, run, id))
    }
}

/// Refuses an unknown persona or user. The `configured` persona and the owner are created when they are needed.
///
/// # Errors
///
/// [`ImportError::UnknownPersona`], [`ImportError::UnknownUser`].
pub async fn check_is_known(
    store: &(impl PersonaStore + UserStore + ?Sized),
    scope: &Scope,
    configured: &PersonaId,
) -> Result<(), ImportError> {
    if scope.persona != *configured && store.persona(&scope.persona).await?.is_none() {
        return Err(ImportError::UnknownPersona(scope.persona.clone()));
    }
    if scope.user != UserId::owner() && store.user(&scope.user).await?.is_none() {
        return Err(ImportError::UnknownUser(scope.user.clone()));
    }
    Ok(())
}

impl ImportStatusReport {
    /// Time at which its files arrived, or its run began.
    pub fn created_at(&self) -> Timestamp {
        let run = self.run.as_ref().map(|run| run.created_at);
        self.upload.as_ref().map(|upload| upload.created_at).or(run).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

pub(super) async fn read_detached<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, import::ImportError> + Send + 'static,
) -> Result<T, ImportError> {
    match tokio::task::spawn_blocking(read).await {
        Ok(read) => Ok(read?),
        Err(error) => Err(io::Error::other(format!("the reader ended: {error}")).into()),
    }
}
