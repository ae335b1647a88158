use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;
use std::time::Duration;

use async_trait::async_trait;
use memory::ports::{EmbedError, Embedder, Embedding};
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::calibration::Purpose;
use crate::model_folder::{FolderSettings, ModelFolder};
use crate::{Model, ModelError};

/// Tokens of a background pass: some ten milliseconds of all-MiniLM-L6-v2, the longest time that a query and a pass
/// compete for the processor.
const BACKGROUND_TOKENS: usize = 128;
/// Longest time for which background work waits for queries. Without a bound, a busy daemon would never embed its
/// messages.
const BACKGROUND_DELAY_MAX: Duration = Duration::from_millis(100);

/// An embedder that runs in this process: any model of the BERT family, by default all-MiniLM-L6-v2.
///
/// Creating one is cheap. The model is loaded for the first text, or by [`LocalEmbedder::load_now`]. While its files
/// are missing each call returns [`EmbedError::Unavailable`] and looks again, so that a model that is installed later
/// is found.
///
/// Queries never wait for passages: these are embedded in small passes, one batch at a time, and pause while a query
/// is computed.
pub struct LocalEmbedder {
    source: Arc<ModelSource>,
    /// One permit for each processor; further queries wait.
    query_places: Arc<Semaphore>,
    /// One permit: one batch of passages is embedded at a time.
    passage_place: Arc<Semaphore>,
}

struct ModelSource {
    directory: PathBuf,
    settings: FolderSettings,
    threads: usize,
    folder: OnceLock<ModelFolder>,
    model: Mutex<Option<Arc<Model>>>,
    queries: Queries,
}

/// Counts the queries that are being computed. A batch waits until there are none.
#[derive(Default)]
struct Queries {
    /// A lock and a condition variable instead of an atomic number: batches wait on a thread of their own, not in a
    /// task.
    running: Mutex<usize>,
    changed: Condvar,
}

/// Description of the model's origin that is stored with vectors; see [`Embedder::source`].
#[derive(Serialize, Deserialize)]
struct RecordedSource {
    model_dir: PathBuf,
    query_prefix: Option<String>,
    passage_prefix: Option<String>,
    #[serde(default)]
    readable_scripts: Vec<String>,
}

impl LocalEmbedder {
    /// Creates an embedder for the model in `directory` that uses up to `threads` threads per call.
    pub fn new(directory: impl Into<PathBuf>, threads: usize) -> Self {
        Self::with_settings(directory, FolderSettings::default(), threads)
    }

    /// Like [`LocalEmbedder::new`], with settings beside the files.
    pub fn with_settings(directory: impl Into<PathBuf>, settings: FolderSettings, threads: usize) -> Self {
        let threads = threads.max(1);
        let processors = available_parallelism().map_or(1, usize::from);
        let source = ModelSource {
            directory: directory.into(),
            settings,
            threads,
            folder: OnceLock::new(),
            model: Mutex::default(),
            queries: Queries::default(),
        };
        Self {
            source: Arc::new(source),
            query_places: Arc::new(Semaphore::new((processors / threads).max(1))),
            passage_place: Arc::new(Semaphore::new(1)),
        }
    }

    /// Recreates the embedder that [`Embedder::source`] described; `None` if the text is not such a description.
    pub fn from_source(source: &str, threads: usize) -> Option<Self> {
        let recorded: RecordedSource = serde_json::from_str(source).ok()?;
        let settings = FolderSettings {
            query_prefix: recorded.query_prefix,
            passage_prefix: recorded.passage_prefix,
            readable_scripts: recorded.readable_scripts,
            uncalibrated: false,
        };
        Some(Self::with_settings(recorded.model_dir, settings, threads))
    }

    /// Loads the model if it is not loaded yet. Blocks for some tens of milliseconds, or a second for a large model.
    ///
    /// # Errors
    ///
    /// As [`Model::open`].
    pub fn load_now(&self) -> Result<(), ModelError> {
        self.source.model().map(drop)
    }

    /// Reads the folder without loading the weights, so that the fingerprint is known. Blocks for some milliseconds.
    ///
    /// # Errors
    ///
    /// As [`ModelFolder::read`].
    pub fn inspect_folder(&self) -> Result<(), ModelError> {
        self.source.folder().map(drop)
    }
}

impl ModelSource {
    fn folder(&self) -> Result<&ModelFolder, ModelError> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        let read = ModelFolder::read(&self.directory, &self.settings)?;
        Ok(self.folder.get_or_init(|| read))
    }

    fn model(&self) -> Result<Arc<Model>, ModelError> {
        // Locked while loading, so that concurrent callers wait for the same model instead of loading another.
        let mut slot = self.model.lock();
        if let Some(model) = &*slot {
            return Ok(Arc::clone(model));
        }
        let model = Arc::new(Model::open_folder(self.folder()?.clone(), self.threads)?);
        Ok(Arc::clone(slot.insert(model)))
    }

    fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Embedding>, EmbedError> {
        let _query = (purpose == Purpose::Query).then(|| self.queries.begin_query());
        let model = self.model().map_err(embed_error)?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let embedded = match purpose {
            Purpose::Query => model.embed_queries(&texts),
            Purpose::Passage => {
                model.embed_yielding(&texts, BACKGROUND_TOKENS, &|| self.queries.wait_until_idle())
            }
        };
        embedded.map_err(|error| EmbedError::Failed(error.to_string()))
    }
}

fn embed_error(error: ModelError) -> EmbedError {
    match error {
        ModelError::Missing { .. } => EmbedError::Unavailable(error.to_string()),
        error => EmbedError::Failed(error.to_string()),
    }
}

impl Queries {
    fn begin_query(&self) -> RunningQuery<'_> {
        *self.running.lock() += 1;
        RunningQuery(self)
    }

    fn wait_until_idle(&self) {
        let mut running = self.running.lock();
        // Exceeding the time limit is harmless: the pass only competes for the processor.
        self.changed.wait_while_for(&mut running, |running| *running > 0, BACKGROUND_DELAY_MAX);
    }
}

/// Counts a query as running until it is dropped, also when the query panics.
struct RunningQuery<'a>(&'a Queries);

impl Drop for RunningQuery<'_> {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.changed.notify_all();
    }
}

impl LocalEmbedder {
    async fn compute(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Embedding>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let places = if purpose == Purpose::Query { &self.query_places } else { &self.passage_place };
        let failed = |error: &dyn std::error::Error| EmbedError::Failed(error.to_string());
        let place = Arc::clone(places).acquire_owned().await.map_err(|error| failed(&error))?;
        let (source, texts) = (Arc::clone(&self.source), texts.to_vec());
        let computation = tokio::task::spawn_blocking(move || {
            // Held until the end of the computation, which continues if its caller has left.
            let _place = place;
            source.embed(&texts, purpose)
        });
        computation.await.map_err(|error| failed(&error))?
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn dimension(&self) -> usize {
        self.source.folder.get().map_or(0, ModelFolder::dimension)
    }

    fn fingerprint(&self) -> &str {
        self.source.folder.get().map_or("", ModelFolder::fingerprint)
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        self.compute(texts, Purpose::Passage).await
    }

    async fn embed_queries(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        self.compute(texts, Purpose::Query).await
    }

    async fn identify(&self) -> Result<String, EmbedError> {
        let source = Arc::clone(&self.source);
        let looked = tokio::task::spawn_blocking(move || {
            source.folder().map(|folder| folder.fingerprint().to_owned()).map_err(embed_error)
        });
        looked.await.map_err(|error| EmbedError::Failed(error.to_string()))?
    }

    fn support_shift(&self) -> f64 {
        let folder = self.source.folder.get().and_then(ModelFolder::description);
        folder.map_or(0.0, |known| known.support_shift)
    }

    fn source(&self) -> Option<String> {
        let FolderSettings { query_prefix, passage_prefix, readable_scripts, uncalibrated: _ } =
            self.source.settings.clone();
        // An absolute path, because the next start may have another working directory.
        let model_dir = std::path::absolute(&self.source.directory).ok()?;
        let recorded = RecordedSource { model_dir, query_prefix, passage_prefix, readable_scripts };
        serde_json::to_string(&recorded).ok()
    }
}
