//! Operations of people on imports: start, pause, resume and undo.

use std::sync::Arc;

use import::{ImportPreview, ReadOptions};
use memory::Scope;
use memory::corrections::ApprovalEdits;
use memory::forget::{EraseError, ErasureRequest, ForgetMode, Selection};
use memory::identifiers::{ErasureId, ImportId};
use memory::ledger::Price;
use memory::ports::{ImportMemories, ImportSkip, Remembering};

use super::Imports;
use super::registry::{ImportError, ImportState, ImportStatusReport, UndoneImport, check_is_known};
use super::uploads::{ImportUpload, ImportUploadWriter, StartedImport};

/// Texts of earlier imports to restore in one transaction while an import is undone, so that conversations can go on.
const RESTORED_TEXTS_PER_TRANSACTION: u32 = 200;

impl Imports {
    /// [`check_is_known`] in this home.
    ///
    /// # Errors
    /// As there.
    pub async fn check_is_known(&self, scope: &Scope) -> Result<(), ImportError> {
        check_is_known(self.core.store(), scope, &self.core.settings().persona).await
    }

    /// Creates a folder for an upload.
    pub async fn receive(&self) -> Result<ImportUploadWriter, ImportError> {
        let registry = self.registry()?;
        let id = ImportId(self.core.ids().next(self.core.clock().now()));
        Ok(registry.uploads.create(id).await?)
    }

    /// Reads the files once and stores them with a summary for a day. Writes nothing into the memory.
    pub async fn inspect_upload(
        &self,
        mut arrived: ImportUploadWriter,
        options: ReadOptions,
    ) -> Result<ImportUpload, ImportError> {
        let registry = self.registry()?;
        arrived.end_file().await?;
        let mut upload = ImportUpload {
            id: arrived.id,
            files: arrived.files.clone(),
            format: options.format,
            fields: options.fields,
            look: ImportPreview::default(),
            created_at: self.core.clock().now(),
            started: None,
        };
        registry.examine_upload(&mut upload).await?;
        arrived.mark_complete();
        Ok(upload)
    }

    /// Reads the files of an upload again, as this format.
    pub(super) async fn read_again_as_format(
        &self,
        mut upload: ImportUpload,
        format: &str,
    ) -> Result<ImportUpload, ImportError> {
        upload.format = Some(format.to_owned());
        self.registry()?.examine_upload(&mut upload).await?;
        Ok(upload)
    }

    /// Records an upload with a mapping, in the background, and consolidates it if requested.
    pub async fn start(
        self: &Arc<Self>,
        id: ImportId,
        mut start: StartedImport,
    ) -> Result<ImportStatusReport, ImportError> {
        let registry = self.registry()?;
        let _one_change_at_a_time = registry.change.lock().await;
        let found = registry.find_report(id).await?;
        let Some(mut upload) = found.upload.filter(|upload| upload.started.is_none() && found.run.is_none())
        else {
            return Err(ImportError::Started);
        };
        start.mapping.check(&upload.look)?;
        self.core.ensure_scope_exists(&start.scope).await?;
        if start.mapping.zone.is_none() {
            let zone = self.core.zone_of(&start.scope.user).await?;
            start.mapping.zone = zone.iana_name().map(str::to_owned);
        }
        upload.started = Some(start);
        registry.uploads.describe(&upload).await?;
        self.record_upload(upload).await?;
        registry.find_report(id).await
    }

    /// All imports, newest first: waiting uploads, and runs.
    pub async fn list(&self) -> Result<Vec<ImportStatusReport>, ImportError> {
        let registry = self.registry()?;
        let mut runs = registry.store.import_runs().await?;
        let mut reports = Vec::new();
        for id in registry.uploads.ids().await? {
            let Some(upload) = registry.uploads.find(id).await? else { continue };
            let at = runs.iter().position(|run| run.run_id == id);
            reports.push(registry.build_report(Some(upload), at.map(|at| runs.remove(at)), id));
        }
        reports.extend(runs.into_iter().map(|run| {
            let id = run.run_id;
            registry.build_report(None, Some(run), id)
        }));
        reports.sort_by_key(|report| std::cmp::Reverse((report.created_at(), report.id)));
        Ok(reports)
    }

    pub async fn find(&self, id: ImportId) -> Result<ImportStatusReport, ImportError> {
        self.registry()?.find_report(id).await
    }

    /// The price of a model; `None` if it is unknown.
    pub fn price_of(&self, provider: &str, model: &str) -> Option<Price> {
        self.registry().ok()?.prices.load().price_of_model(provider, model)
    }

    /// Skipped items of a run, and counts of its memories so far.
    pub async fn run_outcome(
        &self,
        id: ImportId,
        skips_max: u32,
    ) -> Result<(Vec<ImportSkip>, ImportMemories), ImportError> {
        let store = &self.registry()?.store;
        Ok((store.import_skips(id, skips_max).await?, store.import_memories(id).await?))
    }

    /// Stops recording and consolidation of a run until it is resumed, also after a restart of the program.
    pub async fn pause(&self, id: ImportId) -> Result<ImportStatusReport, ImportError> {
        let registry = self.registry()?;
        let _one_change_at_a_time = registry.change.lock().await;
        self.set_remembering(id, Remembering::Paused).await?;
        self.end_recording(id).await;
        registry.find_report(id).await
    }

    /// Consolidates a run, and records the rest of one that was paused or interrupted. One that was started without
    /// consolidation is only recorded.
    pub async fn resume(self: &Arc<Self>, id: ImportId) -> Result<ImportStatusReport, ImportError> {
        let registry = self.registry()?;
        let _one_change_at_a_time = registry.change.lock().await;
        let started = registry.find_report(id).await?.upload.and_then(|upload| upload.started);
        let wished = started.map_or(Remembering::On, |started| started.remembering);
        let resumed = self.set_remembering(id, wished).await?;
        if resumed.state == ImportState::Interrupted {
            let upload = resumed.upload.ok_or(ImportError::FilesMissing)?;
            self.record_upload(upload).await?;
        }
        self.core.session_ended.notify_one();
        registry.find_report(id).await
    }

    async fn set_remembering(
        &self,
        id: ImportId,
        remembering: Remembering,
    ) -> Result<ImportStatusReport, ImportError> {
        let registry = self.registry()?;
        let found = registry.find_report(id).await?;
        let run = registry.store.set_remembering(id, remembering).await?.ok_or(ImportError::NotStarted)?;
        let report = registry.build_report(found.upload, Some(run), id);
        self.publish_import(&report);
        Ok(report)
    }

    /// Approves all proposals of an import that nobody has decided. Returns the number of resulting memories.
    ///
    /// # Errors
    ///
    /// When storage fails; memories approved until then stay.
    pub async fn approve_proposals(&self, id: ImportId) -> Result<u64, ImportError> {
        let run = self.find(id).await?.run.ok_or(ImportError::NotStarted)?;
        let mut approved = 0;
        for proposal in self.registry()?.store.waiting_proposals(id).await? {
            let node = self.changes.approve_rejected(&run.scope, proposal, ApprovalEdits::default()).await;
            approved += u64::from(node?.is_some());
        }
        Ok(approved)
    }

    /// Undoes an import: erases its sessions with everything derived from them, and deletes its files.
    pub async fn undo(&self, id: ImportId) -> Result<UndoneImport, ImportError> {
        let registry = self.registry()?;
        let _one_change_at_a_time = registry.change.lock().await;
        let found = registry.find_report(id).await?;
        self.end_recording(id).await;
        let mut undone = UndoneImport { messages: 0, receipts: Vec::new() };
        if let Some(run) = found.run {
            // No session to be deleted may start consolidation. The write also waits for a page in progress.
            registry.store.set_remembering(id, Remembering::Paused).await?;
            undone.messages = registry.store.import_run(id).await?.map_or(run.recorded, |run| run.recorded);
            let now = || self.core.clock().now();
            while let Some(restored) =
                registry.store.restore_replaced(id, RESTORED_TEXTS_PER_TRANSACTION, now()).await?
            {
                self.changes.publish_replaced(&run.scope, restored).await;
            }
            let sessions = registry.store.import_sessions(id).await?;
            let documents = registry.store.import_documents(id).await?;
            let selection = Selection {
                sessions: sessions.into_iter().collect(),
                documents: documents.into_iter().collect(),
                with_messages: true,
                ..Selection::default()
            };
            match self.erase_import(&run.scope, selection).await {
                Ok(receipt) => undone.receipts.push(receipt),
                // An interrupted undo has erased them.
                Err(EraseError::Nothing(_)) => {}
                Err(error) => return Err(error.into()),
            }
            registry.store.delete_import(id).await?;
            // Names of files and documents are overwritten too.
            self.changes.overwrite_erased(&run.scope).await;
        }
        registry.running.lock().recording.remove(&id);
        registry.uploads.remove(id).await?;
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
        Ok(self.changes.erase_rows(request).await?.id)
    }
}
