//! Records imports in the background and publishes their progress. A person starts them; after a stop they are
//! resumed.

use std::sync::Arc;

use import::Sources;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use memory::identifiers::ImportId;
use memory::ports::{ImportRun, ImportStatus, RecordedPage, Remembering, ReplacedMessages};
use memory::sessions::IMPORT_CHANNEL_PREFIX;
use tokio_util::sync::CancellationToken;

use super::Imports;
use super::record::{ImportRecorder, ImportRequest};
use super::record_error::RecordError;
use super::registry::{ImportError, ImportRegistry, ImportStatusReport, RecordingRun, read_detached};
use super::uploads::ImportUpload;
use crate::events::bodies::ImportProgress;

/// Period for which an upload waits for its mapping: a person may continue the next day, and private files must not
/// stay.
const UPLOAD_RETENTION: SignedDuration = SignedDuration::from_hours(24);
/// Minimum time between two progress events of one run. A bar that moves four times a second looks smooth.
const PROGRESS_EVERY: SignedDuration = SignedDuration::from_millis(250);

impl Imports {
    /// Resumes runs that a stop interrupted, and deletes uploads that were never started.
    pub(crate) async fn resume_all(self: &Arc<Self>) -> Result<(), ImportError> {
        let Ok(registry) = self.registry() else { return Ok(()) };
        for run in registry.store.import_runs().await? {
            registry.running.lock().waiting.insert(run.run_id, run.sessions_waiting);
        }
        for id in registry.uploads.ids().await? {
            let upload = registry.uploads.find(id).await?;
            let run = registry.store.import_run(id).await?;
            let is_recorded = run.as_ref().is_some_and(|run| run.status == ImportStatus::Recorded);
            let is_paused = run.is_some_and(|run| run.remembering == Remembering::Paused);
            match upload {
                Some(upload) if upload.started.is_some() && !is_recorded && is_paused => {}
                Some(upload) if upload.started.is_some() && !is_recorded => {
                    self.record_upload(upload).await?;
                }
                Some(upload) if upload.started.is_none() && !self.is_expired_upload(&upload) => {}
                _ => registry.uploads.remove(id).await?,
            }
        }
        Ok(())
    }

    /// Deletes uploads whose period is over.
    pub(crate) async fn delete_old_uploads(&self) -> Result<(), ImportError> {
        let Ok(registry) = self.registry() else { return Ok(()) };
        let _one_change_at_a_time = registry.change.lock().await;
        for id in registry.uploads.ids().await? {
            let upload = registry.uploads.find(id).await?;
            if upload.is_some_and(|upload| upload.started.is_none() && self.is_expired_upload(&upload)) {
                registry.uploads.remove(id).await?;
            }
        }
        Ok(())
    }

    fn is_expired_upload(&self, upload: &ImportUpload) -> bool {
        upload.created_at.checked_add(UPLOAD_RETENTION).is_ok_and(|end| end < self.core.clock().now())
    }

    /// Begins or resumes the run of a started upload; recording continues in the background.
    pub(super) async fn record_upload(self: &Arc<Self>, upload: ImportUpload) -> Result<(), ImportError> {
        let registry = self.registry()?;
        let start = upload.started.clone().ok_or(ImportError::NotStarted)?;
        let inputs = registry.uploads.inputs(upload.id, &upload.files);
        let sources = read_detached(move || Sources::open(&inputs)).await?;
        let named = start.mapping.zone.as_deref().and_then(|name| TimeZone::get(name).ok());
        let request = ImportRequest {
            id: upload.id,
            zone: match named {
                Some(zone) => zone,
                None => self.core.zone_of(&start.scope.user).await?,
            },
            scope: start.scope,
            sources: Arc::new(sources),
            fingerprint: upload.id.to_string(),
            options: upload.read_options(),
            mapping: start.mapping,
            remembering: start.remembering,
        };
        let recording =
            RecordingRun { cancel: self.core.stopping.child_token(), ended: CancellationToken::new() };
        {
            // Added before its row exists, so that a reader of the row finds that it is being recorded.
            let mut running = registry.running.lock();
            running.problems.remove(&upload.id);
            running.recording.insert(upload.id, recording.clone());
        }
        let begun = self.import_recorder(registry).begin(&request).await;
        let run = begun.inspect_err(|_| {
            registry.running.lock().recording.remove(&upload.id);
        })?;
        self.publish_import(&registry.build_report(Some(upload.clone()), Some(run.clone()), upload.id));
        let imports = self.clone();
        self.core
            .tasks
            .spawn(async move { imports.record_all_messages(upload, run, request, recording).await });
        Ok(())
    }

    async fn record_all_messages(
        self: Arc<Self>,
        upload: ImportUpload,
        run: ImportRun,
        request: ImportRequest,
        recording: RecordingRun,
    ) {
        let _ended = recording.ended.drop_guard();
        let Ok(registry) = self.registry() else { return };
        let id = upload.id;
        let mut published_at = self.core.clock().now();
        let scope = run.scope.clone();
        let mut progress = |recorded: &RecordedPage| {
            let (run, replaced) = (&recorded.run, &recorded.replaced);
            if *replaced != ReplacedMessages::default() {
                let (changes, scope, replaced) = (self.changes.clone(), scope.clone(), replaced.clone());
                self.core.tasks.spawn(async move { changes.publish_replaced(&scope, replaced).await });
            }
            let now = self.core.clock().now();
            if now.duration_since(published_at) >= PROGRESS_EVERY {
                published_at = now;
                self.publish_import(&registry.build_report(Some(upload.clone()), Some(run.clone()), id));
            }
        };
        let recorder = self.import_recorder(registry);
        let outcome = tokio::select! {
            outcome = recorder.record(run, request, &mut progress) => Some(outcome),
            () = recording.cancel.cancelled() => None,
        };
        let mut upload = Some(upload);
        let is_recorded = matches!(outcome, Some(Ok(_)));
        match outcome {
            None => {}
            Some(Ok(_)) => {
                upload = None;
                if let Err(error) = registry.uploads.remove(id).await {
                    tracing::warn!("the files were imported but could not be deleted: {error}");
                }
                self.core.written.notify_one();
            }
            Some(Err(RecordError::Ended)) => {}
            Some(Err(error)) => {
                tracing::error!("an import was interrupted: {error}");
                registry.running.lock().problems.insert(id, error.to_string());
            }
        }
        // The entry stays after recording, because a caller may have read the row just before the last page.
        if !is_recorded {
            registry.running.lock().recording.remove(&id);
        }
        if let Ok(Some(run)) = registry.store.import_run(id).await {
            self.publish_import(&registry.build_report(upload, Some(run), id));
        }
        self.core.session_ended.notify_one();
    }

    /// Ends the recording of a run and returns when it has ended.
    pub(super) async fn end_recording(&self, id: ImportId) {
        let Ok(registry) = self.registry() else { return };
        let Some(recording) = registry.running.lock().recording.get(&id).cloned() else { return };
        recording.cancel.cancel();
        recording.ended.cancelled().await;
    }

    fn import_recorder<'a>(&'a self, registry: &'a ImportRegistry) -> ImportRecorder<'a> {
        let (store, policy) = (&*registry.store, self.core.settings().session);
        let hub = self.shared_self.hub();
        ImportRecorder { store, hub, clock: self.core.clock(), ids: self.core.ids(), policy }
    }

    pub(super) fn publish_import(&self, report: &ImportStatusReport) {
        let Some(run) = &report.run else { return };
        if let Ok(registry) = self.registry() {
            registry.running.lock().waiting.insert(run.run_id, run.sessions_waiting);
        }
        self.core.publish(&run.scope, ImportProgress::from_report(report, run));
    }

    /// Publishes the number of sessions that still wait, after one on this channel was consolidated.
    pub(crate) async fn publish_remembering(&self, channel_id: &str) {
        if !channel_id.starts_with(IMPORT_CHANNEL_PREFIX) {
            return;
        }
        let Ok(registry) = self.registry() else { return };
        let runs = match registry.store.import_runs().await {
            Ok(runs) => runs,
            Err(error) => return tracing::warn!("the progress of imports can't be read: {error}"),
        };
        for run in runs {
            let id = run.run_id;
            let before = registry.running.lock().waiting.get(&id).copied().unwrap_or_default();
            if before != run.sessions_waiting {
                self.publish_import(&registry.build_report(None, Some(run), id));
            }
        }
    }
}
