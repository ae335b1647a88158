//! The state of imports: uploads that wait, and runs.

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

/// The dependencies of imports.
pub struct ImportParts {
    /// Runs and their messages.
    pub store: Arc<dyn ImportStore>,
    /// Uploads: a folder of the home's own.
    pub folder: PathBuf,
    /// Prices of models, for estimates.
    pub prices: Arc<ArcSwap<Prices>>,
}

/// Why an import was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Neither an upload nor a run has this id.
    #[error("there is no import {0}; nothing was changed")]
    NotFound(ImportId),
    /// The import was started before.
    #[error("this import was started already; nothing was changed")]
    Started,
    /// The import was not started yet.
    #[error("this import has not been started; nothing was changed")]
    NotStarted,
    /// The import was cut off, and its files were deleted.
    #[error(
        "this import was cut off, and its files are not here any more; import the same files again to resume it"
    )]
    FilesMissing,
    /// The files describe no character.
    #[error(
        "the files hold neither a character card nor instructions for a persona nor a lorebook; nothing was changed"
    )]
    NoCharacter,
    /// The character has no greeting of this number.
    #[error("greeting {number} does not exist: the character has {count}; nothing was changed")]
    NoGreeting {
        /// The requested number, from 1.
        number: usize,
        count: usize,
    },
    /// A picture with a card in it was asked for.
    #[error(
        "the persona has no PNG picture to hold its card; give it one, or export the card as .json or .charx; nothing was written"
    )]
    NoPicture,
    /// The persona does not exist.
    #[error("the persona {0} does not exist; nothing was changed")]
    UnknownPersona(PersonaId),
    /// The user does not exist.
    #[error("the user {0} does not exist; nothing was changed")]
    UnknownUser(UserId),
    /// A proposal can't be accepted.
    #[error(transparent)]
    Approve(#[from] ApproveError),
    /// The greeting can't be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A document of the character can't be written.
    #[error(transparent)]
    Hub(#[from] hub::HubError),
    /// The mapping leaves nobody, or names somebody who isn't there.
    #[error("{0}; nothing was changed")]
    Mapping(#[from] import::MappingError),
    /// This program keeps no imports.
    #[error("imports are not available here")]
    Unavailable,
    /// The files can't be read.
    #[error(transparent)]
    Read(#[from] import::ImportError),
    #[error("the files could not be kept: {0}; nothing was changed")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Not everything could be erased; trying again goes on.
    #[error(transparent)]
    Erase(#[from] EraseError),
}

/// State of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportState {
    /// Looked at; waits for a mapping.
    Uploaded,
    /// Messages are being recorded.
    Recording,
    /// Recording was cut off; it can be resumed.
    Interrupted,
    /// Recorded; memory is being made of it in the background.
    Remembering,
    /// Neither recorded nor made memory of until it is resumed.
    Paused,
    /// The import is finished.
    Done,
}

/// An import with all that is known of it.
#[derive(Clone, Debug)]
pub struct ImportStatusReport {
    pub id: ImportId,
    pub state: ImportState,
    /// The import's files, as long as they are here.
    pub upload: Option<ImportUpload>,
    /// The recorded run; `None` before the start.
    pub run: Option<ImportRun>,
    /// Why recording was cut off, for a person.
    pub problem: Option<String>,
}

/// Counts of what undoing an import erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneImport {
    pub messages: u64,
    pub receipts: Vec<ErasureId>,
}

/// Runs and uploads, with the state of those that record.
pub(super) struct ImportRegistry {
    pub(super) store: Arc<dyn ImportStore>,
    pub(super) uploads: UploadFolder,
    pub(super) prices: Arc<ArcSwap<Prices>>,
    pub(super) running: Mutex<RunningImports>,
    /// Held while an import is started, resumed or taken back: each first looks at the others, and acts on what it saw.
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
    /// Imports that record, and those that were recorded to the end since the start of the program.
    pub(super) recording: HashMap<ImportId, RecordingRun>,
    pub(super) problems: HashMap<ImportId, String>,
    /// Sessions that waited when it was last published.
    pub(super) waiting: HashMap<ImportId, u64>,
}

/// A run that records.
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

    /// Examines the files of an upload and stores what they contain.
    pub(super) async fn examine_upload(&self, upload: &mut ImportUpload) -> Result<(), ImportError> {
        let inputs = self.uploads.inputs(upload.id, &upload.files);
        let options = upload.read_options();
        upload.look = read_detached(move || import::look(&Sources::open(&inputs)?, &options)).await?;
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

/// Refuses a persona or user that is not there. The `configured` persona and the owner are made when they are needed.
///
/// # Errors
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
