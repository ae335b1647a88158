use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use async_trait::async_trait;
use memory::ports::{EmbedError, Embedder, Embedding};
use tokio::sync::Semaphore;

use crate::{ALL_MINILM_L6_V2, Model, ModelDescription, ModelError};

/// The embedder that runs in this process: all-MiniLM-L6-v2.
///
/// Making one is cheap. The model is opened by the first text, or by [`LocalEmbedder::load_now`]; while it is missing
/// each call answers [`EmbedError::Unavailable`] and looks again, so that a model that is fetched later is found.
pub struct LocalEmbedder {
    source: Arc<Source>,
    /// As many calls compute at the same time as have processors; the others wait their turn.
    places: Arc<Semaphore>,
}

struct Source {
    description: &'static ModelDescription,
    directory: PathBuf,
    threads: usize,
    model: Mutex<Option<Arc<Model>>>,
}

impl LocalEmbedder {
    /// An embedder of the model in `directory` that gives each call up to `threads` threads.
    pub fn new(directory: impl Into<PathBuf>, threads: usize) -> Self {
        let threads = threads.max(1);
        let processors = available_parallelism().map_or(1, usize::from);
        let source = Source {
            description: &ALL_MINILM_L6_V2,
            directory: directory.into(),
            threads,
            model: Mutex::default(),
        };
        Self { source: Arc::new(source), places: Arc::new(Semaphore::new((processors / threads).max(1))) }
    }

    /// Opens the model, if it is not open yet. Blocks for some tens of milliseconds.
    ///
    /// # Errors
    /// As [`Model::open`].
    pub fn load_now(&self) -> Result<(), ModelError> {
        self.source.model().map(drop)
    }
}

impl Source {
    fn model(&self) -> Result<Arc<Model>, ModelError> {
        // Held while opening, so that callers who come meanwhile wait for the one model instead of opening another.
        let mut slot = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &*slot {
            return Ok(Arc::clone(model));
        }
        let model = Arc::new(Model::open(&self.directory, self.description, self.threads)?);
        Ok(Arc::clone(slot.insert(model)))
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let model = self.model().map_err(|error| match error {
            ModelError::Missing { .. } => EmbedError::Unavailable(error.to_string()),
            error => EmbedError::Failed(error.to_string()),
        })?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        model.embed(&texts).map_err(|error| EmbedError::Failed(error.to_string()))
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn dimension(&self) -> usize {
        self.source.description.dimension
    }

    fn fingerprint(&self) -> &str {
        self.source.description.fingerprint
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let failed = |error: &dyn std::error::Error| EmbedError::Failed(error.to_string());
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|error| failed(&error))?;
        let (source, texts) = (Arc::clone(&self.source), texts.to_vec());
        let computation = tokio::task::spawn_blocking(move || {
            // Kept until the end of the computation, which goes on when its caller has left.
            let _place = place;
            source.embed(&texts)
        });
        computation.await.map_err(|error| failed(&error))?
    }
}
