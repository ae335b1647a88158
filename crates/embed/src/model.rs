use std::path::Path;
use std::sync::{Mutex, PoisonError};

use memory::ports::Embedding;
use serde::Deserialize;

use crate::description::{TOKENIZER_FILE, WEIGHTS_FILE};
use crate::forward::{Batch, Workspace, forward};
use crate::pooling::pool;
use crate::weights::Weights;
use crate::word_pieces::{Pieces, WordPieces};
use crate::{ModelDescription, ModelError, model_files};

/// An opened model: about 65 MB of memory, ready to embed.
pub struct Model {
    weights: Weights,
    word_pieces: WordPieces,
    threads: usize,
    /// Memory of passes that are over, for those to come; one per caller at the same time.
    workspaces: Mutex<Vec<Workspace>>,
}

/// Tokens of one pass. Beyond it a larger matrix is no faster and its memory no longer fits the caches.
const MAX_TOKENS_PER_PASS: usize = 512;

/// The part of `config.json` that can't be read from the weights.
#[derive(Deserialize)]
struct Config {
    num_attention_heads: usize,
    layer_norm_eps: f32,
}

impl Model {
    /// Opens the model in `directory`, computing on at most `threads` threads per call.
    ///
    /// # Errors
    /// [`ModelError::Missing`] when a file is not there; [`ModelError::Unusable`] when it is no such model.
    pub fn open(
        directory: &Path,
        description: &'static ModelDescription,
        threads: usize,
    ) -> Result<Self, ModelError> {
        model_files::check_present(directory, description)?;
        let config = read_config(&directory.join("config.json"))?
            .unwrap_or(Config { num_attention_heads: description.attention_heads, layer_norm_eps: 1e-12 });
        let weights_path = directory.join(WEIGHTS_FILE);
        let weights = Weights::open(&weights_path, config.num_attention_heads, config.layer_norm_eps)?;
        let tokenizer_path = directory.join(TOKENIZER_FILE);
        let max_pieces = description.max_pieces.min(weights.max_tokens());
        let word_pieces = WordPieces::open(&tokenizer_path, max_pieces, description.readable_letters)?;
        if weights.sizes.hidden != description.dimension {
            let reason = format!("{} components instead of {}", weights.sizes.hidden, description.dimension);
            return Err(ModelError::unusable(&weights_path, reason));
        }
        Ok(Self { weights, word_pieces, threads: threads.max(1), workspaces: Mutex::default() })
    }

    /// Components of each vector.
    pub fn dimension(&self) -> usize {
        self.weights.sizes.hidden
    }

    /// One embedding per text, in order. A text's vector is the same whatever texts stand beside it.
    ///
    /// Text beyond the model's limit of word pieces is not seen. *Readability* is the share of the text's letters (and
    /// of symbols without a word piece) that the model reads. A letter of a script that it was not trained on counts
    /// as unreadable even where the vocabulary has it: all-MiniLM-L6-v2 has pieces for 244 Han characters, most kana and
    /// most of Cyrillic, but unrelated sentences of these scripts come out with cosines around 0.5 (in English: 0.06).
    ///
    /// # Errors
    /// When the weights can't be read any more, or the tokenizer fails.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        let mut workspace = self.lock_workspaces().pop().unwrap_or_default();
        let result = self.embed_with(texts, &mut workspace);
        self.lock_workspaces().push(workspace);
        result
    }

    fn lock_workspaces(&self) -> std::sync::MutexGuard<'_, Vec<Workspace>> {
        // Nothing can panic between taking the lock and giving it back.
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn embed_with(&self, texts: &[&str], workspace: &mut Workspace) -> Result<Vec<Embedding>, ModelError> {
        let mut embeddings = Vec::with_capacity(texts.len());
        let mut waiting = Vec::new();
        let mut tokens = 0;
        for text in texts {
            let pieces =
                self.word_pieces.split(text).map_err(|error| ModelError::Failed(error.to_string()))?;
            if tokens + pieces.ids.len() > MAX_TOKENS_PER_PASS {
                self.embed_pass(&mut waiting, workspace, &mut embeddings)?;
                tokens = 0;
            }
            tokens += pieces.ids.len();
            waiting.push(pieces);
        }
        self.embed_pass(&mut waiting, workspace, &mut embeddings)?;
        Ok(embeddings)
    }

    /// Embeds what waits, in one pass through the layers.
    fn embed_pass(
        &self,
        waiting: &mut Vec<Pieces>,
        workspace: &mut Workspace,
        embeddings: &mut Vec<Embedding>,
    ) -> Result<(), ModelError> {
        let mut batch = Batch { ids: Vec::new(), texts: Vec::with_capacity(waiting.len()) };
        for pieces in &*waiting {
            let first = batch.ids.len();
            batch.ids.extend_from_slice(&pieces.ids);
            batch.texts.push(first..batch.ids.len());
        }
        if batch.texts.is_empty() {
            return Ok(());
        }
        let columns = self.dimension();
        let rows = forward(&self.weights, &batch, self.threads, workspace)?;
        for (pieces, text) in waiting.drain(..).zip(&batch.texts) {
            let vector = pool(&rows[text.start * columns..text.end * columns], columns);
            embeddings.push(Embedding { vector, readability: pieces.readability });
        }
        Ok(())
    }
}

fn read_config(path: &Path) -> Result<Option<Config>, ModelError> {
    match std::fs::read(path) {
        Ok(json) => serde_json::from_slice(&json)
            .map(Some)
            .map_err(|error| ModelError::unusable(path, format!("it can't be read: {error}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ModelError::io(path)(error)),
    }
}
