//! Import runs: their states, and the methods that start, pause, resume and undo them.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use import::{Look, ReadOptions, Sources};
use jiff::Timestamp;
use memory::capture::CaptureError;
use memory::corrections::{ApproveError, Edits};
use memory::forget::{EraseError, ErasureRequest, ForgetMode, Selection};
use memory::identifiers::{ErasureId, ImportId};
use memory::ledger::{Price, Prices};
use memory::ports::{
    ImportMemories, ImportRun, ImportSkip, ImportStatus, ImportStore, PersonaStore, Remembering, StoreError,
    UserStore,
};
use memory::{PersonaId, Scope, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::uploads::{ImportUpload, ImportUploadWriter, StartedImport, UploadFolder};
use crate::runtime::Runtime;

/// Texts of earlier imports that one transaction brings back while an import is taken back, so that talk goes on meanwhile.
const RESTORED_AT_ONCE: u32 = 200;

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
    /// It was started before.
    #[error("this import was started already; nothing was changed")]
    Started,
    /// It was not started yet.
    #[error("this import has not been started; nothing was changed")]
    NotStarted,
    /// Cut off, and its files are not here.
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
    /// Not everything could be taken back; trying again goes on.
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
    /// Nothing is left to do.
    Done,
}

/// An import with all that is known of it.
#[derive(Clone, Debug)]
pub struct ImportStatusReport {
    pub id: ImportId,
    pub state: ImportState,
    /// Its files, as long as they are here.
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

/// The imports of a program that runs.
pub(crate) struct Imports {
    pub(super) store: Arc<dyn ImportStore>,
    pub(super) uploads: UploadFolder,
    prices: Arc<ArcSwap<Prices>>,
    state: Mutex<Running>,
    /// Held while an import is started, resumed or taken back.
    pub(super) change: tokio::sync::Mutex<()>,
}

impl Imports {
    pub(crate) fn new(parts: ImportParts) -> Self {
        Self {
            store: parts.store,
            uploads: UploadFolder::new(parts.folder),
            prices: parts.prices,
            state: Mutex::default(),
            change: tokio::sync::Mutex::default(),
        }
    }
}

#[derive(Default)]
pub(super) struct Running {
    /// Those that record, and those that were recorded to the end since the start of the program.
    pub(super) recording: HashMap<ImportId, Recording>,
    pub(super) problems: HashMap<ImportId, String>,
    /// Sessions that waited when it was last published.
    pub(super) waiting: HashMap<ImportId, u64>,
}

/// A run that records.
#[derive(Clone)]
pub(super) struct Recording {
    pub(super) cancel: CancellationToken,
    /// Cancelled once it has ended.
    pub(super) ended: CancellationToken,
}

impl Imports {
    pub(super) fn running(&self) -> MutexGuard<'_, Running> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn report(
        &self,
        upload: Option<ImportUpload>,
        run: Option<ImportRun>,
        id: ImportId,
    ) -> ImportStatusReport {
        let running = self.running();
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

    /// Reads the files, keeps what they hold.
    async fn look(&self, upload: &mut ImportUpload) -> Result<(), ImportError> {
        let inputs = self.uploads.inputs(upload.id, &upload.files);
        let options = upload.read_options();
        upload.look = read_detached(move || import::look(&Sources::open(&inputs)?, &options)).await?;
        Ok(self.uploads.describe(upload).await?)
    }

    async fn find(&self, id: ImportId) -> Result<ImportStatusReport, ImportError> {
        let (upload, run) = (self.uploads.find(id).await?, self.store.import_run(id).await?);
        if upload.is_none() && run.is_none() {
            return Err(ImportError::NotFound(id));
        }
        Ok(self.report(upload, run, id))
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

impl Runtime {
    /// [`check_is_known`] in this home.
    ///
    /// # Errors
    /// As there.
    pub async fn check_is_known(&self, scope: &Scope) -> Result<(), ImportError> {
        check_is_known(self.runtime.store(), scope, &self.runtime.settings().persona).await
    }

    /// A folder for files that are about to arrive.
    pub async fn receive_import(&self) -> Result<ImportUploadWriter, ImportError> {
        let imports = self.runtime.imports()?;
        let id = ImportId(self.runtime.ids().next(self.runtime.clock().now()));
        Ok(imports.uploads.create(id).await?)
    }

    /// Reads the files once and keeps them for a day, with what they hold. Writes nothing into the memory.
    pub async fn look_at_import(
        &self,
        mut arrived: ImportUploadWriter,
        options: ReadOptions,
    ) -> Result<ImportUpload, ImportError> {
        let imports = self.runtime.imports()?;
        arrived.end_file().await?;
        let mut upload = ImportUpload {
            id: arrived.id,
            files: arrived.files.clone(),
            format: options.format,
            fields: options.fields,
            look: Look::default(),
            created_at: self.runtime.clock().now(),
            started: None,
        };
        imports.look(&mut upload).await?;
        arrived.complete();
        Ok(upload)
    }

    /// Reads the files of an upload again, as this format.
    pub(super) async fn look_again(
        &self,
        mut upload: ImportUpload,
        format: &str,
    ) -> Result<ImportUpload, ImportError> {
        upload.format = Some(format.to_owned());
        self.runtime.imports()?.look(&mut upload).await?;
        Ok(upload)
    }

    /// Records an upload in the background, as mapped, and makes memory of it if that is wished.
    pub async fn start_import(
        &self,
        id: ImportId,
        mut start: StartedImport,
    ) -> Result<ImportStatusReport, ImportError> {
        let imports = self.runtime.imports()?;
        let _one_change_at_a_time = imports.change.lock().await;
        let found = imports.find(id).await?;
        let Some(mut upload) = found.upload.filter(|upload| upload.started.is_none() && found.run.is_none())
        else {
            return Err(ImportError::Started);
        };
        start.mapping.check(&upload.look)?;
        self.ensure_known(&start.scope).await?;
        if start.mapping.zone.is_none() {
            let zone = self.runtime.zone_of(&start.scope.user).await?;
            start.mapping.zone = zone.iana_name().map(str::to_owned);
        }
        upload.started = Some(start);
        imports.uploads.describe(&upload).await?;
        self.runtime.clone().record_upload(upload).await?;
        imports.find(id).await
    }

    /// All imports, newest first: uploads that wait, and runs.
    pub async fn imports(&self) -> Result<Vec<ImportStatusReport>, ImportError> {
        let imports = self.runtime.imports()?;
        let mut runs = imports.store.import_runs().await?;
        let mut reports = Vec::new();
        for id in imports.uploads.ids().await? {
            let Some(upload) = imports.uploads.find(id).await? else { continue };
            let at = runs.iter().position(|run| run.run_id == id);
            reports.push(imports.report(Some(upload), at.map(|at| runs.remove(at)), id));
        }
        reports.extend(runs.into_iter().map(|run| {
            let id = run.run_id;
            imports.report(None, Some(run), id)
        }));
        reports.sort_by_key(|report| std::cmp::Reverse((report.created_at(), report.id)));
        Ok(reports)
    }

    pub async fn import(&self, id: ImportId) -> Result<ImportStatusReport, ImportError> {
        self.runtime.imports()?.find(id).await
    }

    /// The price of a model; `None` if it is unknown.
    pub fn price_of(&self, provider: &str, model: &str) -> Option<Price> {
        self.runtime.imports().ok()?.prices.load().of(provider, model)
    }

    /// Skipped things of a run, and counts of its memories so far.
    pub async fn import_outcome(
        &self,
        id: ImportId,
        skips_max: u32,
    ) -> Result<(Vec<ImportSkip>, ImportMemories), ImportError> {
        let store = &self.runtime.imports()?.store;
        Ok((store.import_skips(id, skips_max).await?, store.import_memories(id).await?))
    }

    /// Records no more of a run and makes no memory of it until it is resumed, also after a new start of the program.
    pub async fn pause_import(&self, id: ImportId) -> Result<ImportStatusReport, ImportError> {
        let imports = self.runtime.imports()?;
        let _one_change_at_a_time = imports.change.lock().await;
        self.set_remembering(id, Remembering::Paused).await?;
        self.runtime.end_recording(id).await;
        imports.find(id).await
    }

    /// Makes memory of a run, and records what is left of one that was paused or cut off. One that was started without
    /// memory is recorded without.
    pub async fn resume_import(&self, id: ImportId) -> Result<ImportStatusReport, ImportError> {
        let imports = self.runtime.imports()?;
        let _one_change_at_a_time = imports.change.lock().await;
        let started = imports.find(id).await?.upload.and_then(|upload| upload.started);
        let wished = started.map_or(Remembering::On, |started| started.remembering);
        let resumed = self.set_remembering(id, wished).await?;
        if resumed.state == ImportState::Interrupted {
            let upload = resumed.upload.ok_or(ImportError::FilesMissing)?;
            self.runtime.clone().record_upload(upload).await?;
        }
        self.runtime.session_ended.notify_one();
        imports.find(id).await
    }

    async fn set_remembering(
        &self,
        id: ImportId,
        remembering: Remembering,
    ) -> Result<ImportStatusReport, ImportError> {
        let imports = self.runtime.imports()?;
        let found = imports.find(id).await?;
        let run = imports.store.set_remembering(id, remembering).await?.ok_or(ImportError::NotStarted)?;
        let report = imports.report(found.upload, Some(run), id);
        self.runtime.publish_import(&report);
        Ok(report)
    }

    /// Accepts everything that an import proposed and nobody has decided about. Says how many memories that makes.
    ///
    /// # Errors
    /// When storage fails; what was accepted until then stays.
    pub async fn approve_proposals(&self, id: ImportId) -> Result<u64, ImportError> {
        let run = self.import(id).await?.run.ok_or(ImportError::NotStarted)?;
        let mut approved = 0;
        for proposal in self.runtime.imports()?.store.waiting_proposals(id).await? {
            let node = self.approve_rejected(&run.scope, proposal, Edits::default()).await;
            approved += u64::from(node?.is_some());
        }
        Ok(approved)
    }

    /// Takes an import back: erases its sessions with all that came from them, and deletes its files.
    pub async fn undo_import(&self, id: ImportId) -> Result<UndoneImport, ImportError> {
        let imports = self.runtime.imports()?;
        let _one_change_at_a_time = imports.change.lock().await;
        let found = imports.find(id).await?;
        self.runtime.end_recording(id).await;
        let mut undone = UndoneImport { messages: 0, receipts: Vec::new() };
        if let Some(run) = found.run {
            // Nothing begins to remember what is about to go. The write also waits for a page that was under way.
            imports.store.set_remembering(id, Remembering::Paused).await?;
            undone.messages = imports.store.import_run(id).await?.map_or(run.recorded, |run| run.recorded);
            let now = || self.runtime.clock().now();
            while let Some(restored) = imports.store.restore_replaced(id, RESTORED_AT_ONCE, now()).await? {
                self.runtime.publish_replaced(&run.scope, restored).await;
            }
            let sessions = imports.store.import_sessions(id).await?;
            let documents = imports.store.import_documents(id).await?;
            let selection = Selection {
                sessions: sessions.into_iter().collect(),
                documents: documents.into_iter().collect(),
                with_messages: true,
                ..Selection::default()
            };
            match self.erase_import(&run.scope, selection).await {
                Ok(receipt) => undone.receipts.push(receipt),
                // An undo that was cut off has erased them.
                Err(EraseError::Nothing(_)) => {}
                Err(error) => return Err(error.into()),
            }
            imports.store.delete_import(id).await?;
            // Names of files and documents are overwritten too.
            self.overwrite_erased(&run.scope).await;
        }
        imports.running().recording.remove(&id);
        imports.uploads.remove(id).await?;
        Ok(undone)
    }

    async fn erase_import(&self, scope: &Scope, selection: Selection) -> Result<ErasureId, EraseError> {
        let request = ErasureRequest {
            scope: scope.clone(),
            selection,
            thoughts: ForgetMode::Cascade,
            selected_by: vec!["session_ids".to_owned()],
            confirm: None,
        };
        Ok(self.erase_rows(request).await?.id)
    }
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
