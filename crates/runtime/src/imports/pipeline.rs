//! Imports in the form of the compatible interface: a pipeline of chunks, one for each session. Its events are
//! derived from stored data, so that a client that connects late or again receives all of them.

use std::collections::VecDeque;
use std::sync::Arc;

use import::{Mapping, ReadOptions};
use memory::Scope;
use memory::identifiers::ImportId;
use memory::nodes::{Node, NodeKind};
use memory::ports::{ImportMemories, ImportRun, ImportStatus, ImportedSession, Remembering};
use memory::sessions::SessionStatus;
use schemars::JsonSchema;
use serde::Serialize;

use super::Imports;
use super::registry::{ImportError, ImportState, ImportStatusReport};
use super::uploads::{ImportUpload, ImportUploadWriter, StartedImport};
use crate::events::bodies::ImportProgress;
use crate::events::broadcast::{Delivery, Subscription};
use crate::events::server_event::EventData as _;

/// Format for text that no reader recognises: its paragraphs become messages of the user.
const OWN_WORDS_FORMAT: &str = "own-words";
/// Sessions per read. An import may have tens of thousands, which need not be in memory together.
const SESSIONS_READ: u32 = 100;

/// An event of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PipelineEvent {
    /// The id of the import run.
    pub pipeline_id: ImportId,
    /// The step that the event reports.
    #[serde(flatten)]
    pub step: PipelineStep,
}

/// A step of an import's progress.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", content = "payload")]
pub enum PipelineStep {
    /// The upload is registered.
    #[serde(rename = "pipeline.registered")]
    Registered {
        /// The same as the pipeline's.
        upload_id: ImportId,
    },
    /// Every message is recorded; consolidation begins.
    #[serde(rename = "pipeline.start")]
    Start {
        /// Number of sessions in the import.
        total_chunks: u64,
        /// Name of the file.
        source_label: String,
        /// Always 0: all events are sent again.
        resume_from: u64,
    },
    /// The consolidation of a session begins.
    #[serde(rename = "chunk.start")]
    ChunkStart {
        /// Zero-based index of the chunk.
        chunk_index: u64,
        /// Number of sessions in the import.
        total_chunks: u64,
        /// Characters of the session's messages.
        chars_in_chunk: u64,
    },
    /// A session was consolidated.
    #[serde(rename = "chunk.done")]
    ChunkDone {
        /// Zero-based index of the chunk.
        chunk_index: u64,
        /// Number of memories from the session.
        writes_count: u64,
        /// The number of memories by kind.
        writes_by_target: WritesByTarget,
        /// Number of proposals refused without evidence.
        dropped_in_chunk: u64,
        /// A summary of the session.
        summary: String,
    },
    /// A session could not be consolidated, or the import failed.
    #[serde(rename = "chunk.error")]
    ChunkError {
        /// Zero-based index of the chunk; absent if the error is not about one session.
        #[serde(skip_serializing_if = "Option::is_none")]
        chunk_index: Option<u64>,
        /// True if no further event follows.
        fatal: bool,
        /// The reason, for a person.
        error: String,
        /// `extraction`, or `normalization` while messages are recorded.
        stage: &'static str,
    },
    /// A person cancelled the import.
    #[serde(rename = "pipeline.cancelled")]
    Cancelled {},
    /// The last event of the pipeline.
    #[serde(rename = "pipeline.done")]
    Done(PipelineOutcome),
}

/// The result of an import pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PipelineOutcome {
    /// The status at the end.
    pub status: PipelineStatus,
    /// Number of sessions that were consolidated or failed.
    pub processed_chunks: u64,
    /// Number of sessions in the import.
    pub total_chunks: u64,
    /// Numbers of memories by kind.
    pub writes_by_target: WritesByTarget,
    /// Number of refused proposals and of skipped items.
    pub dropped_count: u64,
    /// Number of memories with a vector.
    pub embedded_vector_count: u64,
    /// The reason for a failure; empty otherwise.
    pub error: String,
}

/// The status of a pipeline at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PipelineStatus {
    /// Every session was consolidated.
    Success,
    /// The import ended, and some sessions failed.
    PartialSuccess,
    /// All failed, or the file could not be read to its end.
    Failed,
    /// A person cancelled the import; memories made so far stay.
    Cancelled,
}

/// Numbers of memories by target, as in the compatible interface. Core blocks are written only by people: always 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WritesByTarget {
    persona_traits: u64,
    user_identity_facts: u64,
    user_events: u64,
    user_reflections: u64,
}

impl WritesByTarget {
    fn from_memories(memories: &ImportMemories) -> Self {
        Self { user_events: memories.events, user_reflections: memories.thoughts, ..Self::default() }
    }
}

impl Imports {
    /// Reads the files once, like [`Self::inspect_upload`]; text without a conversation is treated as the user's.
    pub async fn inspect_material(&self, arrived: ImportUploadWriter) -> Result<ImportUpload, ImportError> {
        let upload = self.inspect_upload(arrived, ReadOptions::default()).await?;
        if upload.look.messages > 0 || !self.is_text(&upload).await? {
            return Ok(upload);
        }
        self.read_again_as_format(upload, OWN_WORDS_FORMAT).await
    }

    /// Starts an upload, or continues a cancelled one. One in progress or complete stays as it is.
    pub async fn start_pipeline(
        self: &Arc<Self>,
        id: ImportId,
        scope: Scope,
        mapping: Mapping,
    ) -> Result<(), ImportError> {
        let report = self.find(id).await?;
        match report.state {
            ImportState::Uploaded => {
                let started = StartedImport { scope, mapping, remembering: Remembering::On };
                self.start(id, started).await?;
            }
            ImportState::Paused | ImportState::Interrupted => {
                self.resume(id).await?;
            }
            ImportState::Recording | ImportState::Remembering | ImportState::Done => {}
        }
        Ok(())
    }

    /// Stops recording and consolidation of a run. Its messages stay, and it can be started again.
    pub async fn cancel(&self, id: ImportId) -> Result<(), ImportError> {
        match self.pause(id).await {
            Err(ImportError::NotStarted | ImportError::NotFound(_)) => Ok(()),
            paused => paused.map(|_| ()),
        }
    }

    /// Subscribes to a run from its beginning. [`ImportError::NotStarted`] if it was not started.
    pub async fn watch_pipeline(self: &Arc<Self>, id: ImportId) -> Result<PipelineWatch, ImportError> {
        // Subscribed before the state is read, so that no change in between is missed.
        let changes = self.core.broadcast().subscribe();
        let report = self.find(id).await?;
        if report.upload.as_ref().is_some_and(|upload| upload.started.is_none()) && report.run.is_none() {
            return Err(ImportError::NotStarted);
        }
        let registered = PipelineStep::Registered { upload_id: id };
        Ok(PipelineWatch {
            imports: self.clone(),
            id,
            changes,
            waiting: VecDeque::from([registered]),
            progress: PipelineProgress::default(),
        })
    }

    /// The newest memories of these kinds from a run.
    pub async fn imported_nodes(
        &self,
        id: ImportId,
        kinds: &[NodeKind],
        limit: u32,
    ) -> Result<Vec<Node>, ImportError> {
        Ok(self.registry()?.store.imported_nodes(id, kinds, limit).await?)
    }
}

/// Position of a subscriber in a pipeline's progress.
pub struct PipelineWatch {
    imports: Arc<Imports>,
    id: ImportId,
    changes: Subscription,
    waiting: VecDeque<PipelineStep>,
    progress: PipelineProgress,
}

#[derive(Clone, Copy, Default)]
struct PipelineProgress {
    is_started: bool,
    is_over: bool,
    /// Number of sessions that were reported.
    chunks: u64,
    failed: u64,
}

impl PipelineWatch {
    /// Waits for the next step. `None` after the last one, and when the program stops or the run can't be read any
    /// more. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<PipelineEvent> {
        loop {
            if let Some(step) = self.waiting.pop_front() {
                return Some(PipelineEvent { pipeline_id: self.id, step });
            }
            if self.progress.is_over {
                return None;
            }
            let (steps, progress) = match self.ready_steps().await {
                Ok(found) => found,
                Err(error) => {
                    tracing::warn!("the progress of an import can't be read: {error}");
                    return None;
                }
            };
            (self.waiting, self.progress) = (steps, progress);
            if self.waiting.is_empty() {
                self.change().await?;
            }
        }
    }

    /// Waits until something of this run may have changed.
    async fn change(&mut self) -> Option<()> {
        loop {
            match self.changes.next().await? {
                Delivery::Lagged => return Some(()),
                Delivery::Event(_, event)
                    if event.name == ImportProgress::NAME && event.data["run_id"] == self.id.to_string() =>
                {
                    return Some(());
                }
                Delivery::Event(..) => {}
            }
        }
    }

    /// Steps that can be reported now.
    async fn ready_steps(&self) -> Result<(VecDeque<PipelineStep>, PipelineProgress), ImportError> {
        let mut progress = self.progress;
        let mut steps = VecDeque::new();
        let report = self.imports.find(self.id).await?;
        let Some(run) = &report.run else { return Ok((steps, progress)) };
        if run.status == ImportStatus::Recorded {
            if !progress.is_started {
                progress.is_started = true;
                let source_label = run.files.join(", ");
                steps.push_back(PipelineStep::Start {
                    total_chunks: run.sessions,
                    source_label,
                    resume_from: 0,
                });
            }
            self.add_chunks(run, &mut progress, &mut steps).await?;
            // The next chunks are read once these are delivered: an import may have tens of thousands.
            if !steps.is_empty() && progress.chunks < run.sessions {
                return Ok((steps, progress));
            }
        }
        if let Some((status, error)) = final_status(&report, run, progress.failed) {
            progress.is_over = true;
            let memories = self.imports.run_outcome(self.id, 0).await?.1;
            match status {
                PipelineStatus::Cancelled => steps.push_back(PipelineStep::Cancelled {}),
                PipelineStatus::Failed if run.status == ImportStatus::Recording => {
                    steps.push_back(PipelineStep::ChunkError {
                        chunk_index: None,
                        fatal: true,
                        error: error.clone(),
                        stage: "normalization",
                    });
                }
                _ => {}
            }
            steps.push_back(PipelineStep::Done(PipelineOutcome {
                status,
                processed_chunks: progress.chunks,
                total_chunks: run.sessions,
                writes_by_target: WritesByTarget::from_memories(&memories),
                dropped_count: memories.rejected + run.skipped,
                embedded_vector_count: memories.embedded,
                error,
            }));
        }
        Ok((steps, progress))
    }

    /// Adds finished chunks in their order, up to the first unfinished one.
    async fn add_chunks(
        &self,
        run: &ImportRun,
        progress: &mut PipelineProgress,
        steps: &mut VecDeque<PipelineStep>,
    ) -> Result<(), ImportError> {
        let store = &self.imports.registry()?.store;
        let sessions = store.imported_sessions(self.id, progress.chunks, SESSIONS_READ).await?;
        for session in sessions {
            let index = progress.chunks;
            let Some(end) = end_of_chunk(index, &session) else { break };
            progress.failed += u64::from(session.status == SessionStatus::Failed);
            progress.chunks += 1;
            steps.push_back(PipelineStep::ChunkStart {
                chunk_index: index,
                total_chunks: run.sessions,
                chars_in_chunk: session.characters,
            });
            steps.push_back(end);
        }
        Ok(())
    }
}

/// The step for a finished session; `None` while it waits.
fn end_of_chunk(chunk_index: u64, session: &ImportedSession) -> Option<PipelineStep> {
    match session.status {
        SessionStatus::Closed => Some(PipelineStep::ChunkDone {
            chunk_index,
            writes_count: session.memories.events + session.memories.thoughts,
            writes_by_target: WritesByTarget::from_memories(&session.memories),
            dropped_in_chunk: session.memories.rejected,
            summary: session.summary.clone().unwrap_or_default(),
        }),
        SessionStatus::Failed => Some(PipelineStep::ChunkError {
            chunk_index: Some(chunk_index),
            fatal: false,
            error: session.last_error.clone().unwrap_or_default(),
            stage: "extraction",
        }),
        SessionStatus::Open | SessionStatus::Closing | SessionStatus::Consolidating => None,
    }
}

/// The status at the end of the run, with the reason of a failure; `None` while it is in progress.
fn final_status(
    report: &ImportStatusReport,
    run: &ImportRun,
    failed: u64,
) -> Option<(PipelineStatus, String)> {
    let well = |status| Some((status, String::new()));
    match report.state {
        ImportState::Done if failed == 0 => well(PipelineStatus::Success),
        ImportState::Done if failed < run.sessions => well(PipelineStatus::PartialSuccess),
        ImportState::Done => Some((PipelineStatus::Failed, "no session could be consolidated".to_owned())),
        ImportState::Paused => well(PipelineStatus::Cancelled),
        ImportState::Interrupted if run.remembering == Remembering::Paused => well(PipelineStatus::Cancelled),
        ImportState::Interrupted => report.problem.clone().map(|problem| (PipelineStatus::Failed, problem)),
        ImportState::Uploaded | ImportState::Recording | ImportState::Remembering => None,
    }
}

impl Imports {
    /// True if every file of the upload is UTF-8 text.
    async fn is_text(&self, upload: &ImportUpload) -> Result<bool, ImportError> {
        for path in self.registry()?.uploads.file_paths(upload.id, &upload.files) {
            let bytes = tokio::fs::read(path).await?;
            if std::str::from_utf8(&bytes).is_err() || bytes.contains(&0) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
