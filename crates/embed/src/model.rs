use std::path::Path;

use memory::ports::Embedding;
use parking_lot::Mutex;

use crate::ModelError;
use crate::calibration::Purpose;
use crate::description::{TOKENIZER_FILE, WEIGHTS_FILE};
use crate::forward::{Batch, Workspace, run_layers};
use crate::model_folder::{FolderSettings, ModelFolder};
use crate::packed_pieces::UnigramPieces;
use crate::weights::Weights;
use crate::word_pieces::{Pieces, WordPieces};

/// A loaded model. all-MiniLM-L6-v2 takes about 65 MB of memory, multilingual-e5-small about 30 MB.
pub struct Model {
    folder: ModelFolder,
    weights: Weights,
    splitter: Splitter,
    threads: usize,
    /// Buffers of finished passes, for reuse; one for each concurrent caller.
    workspaces: Mutex<Vec<Workspace>>,
}

/// Splits texts into pieces.
enum Splitter {
    Tokenizer(Box<WordPieces>),
    /// The tokenizer of a packed file.
    Packed(UnigramPieces),
}

impl Splitter {
    fn split(&self, prefix: &str, text: &str) -> Pieces {
        match self {
            Self::Tokenizer(pieces) => pieces.split(prefix, text),
            Self::Packed(pieces) => pieces.split(prefix, text),
        }
    }
}

/// Maximum tokens of one pass. A larger matrix is no faster and no longer fits the caches.
const MAX_TOKENS_PER_PASS: usize = 512;

/// A batch that is being embedded.
struct RunningBatch<'a> {
    prefix: &'a str,
    purpose: Purpose,
    tokens_per_pass: usize,
    /// Called before each pass, to wait for more urgent work.
    give_way: &'a dyn Fn(),
}

impl Model {
    /// Opens the model in `directory`, for at most `threads` threads per call.
    ///
    /// # Errors
    ///
    /// [`ModelError::Missing`] when a file is missing; [`ModelError::Unusable`] when it is not a supported model.
    pub fn open(directory: &Path, threads: usize) -> Result<Self, ModelError> {
        Self::open_folder(ModelFolder::read(directory, &FolderSettings::default())?, threads)
    }

    /// Opens the model of a folder that was read already.
    ///
    /// # Errors
    ///
    /// As [`Model::open`].
    pub fn open_folder(folder: ModelFolder, threads: usize) -> Result<Self, ModelError> {
        let (weights, splitter) = match &folder.packed {
            Some(path) => {
                let (weights, table) = Weights::open_packed(path)?;
                let max_pieces = folder.max_pieces.min(weights.max_tokens());
                let pieces = UnigramPieces::new(table, max_pieces, folder.scripts.clone());
                (weights, Splitter::Packed(pieces))
            }
            None => {
                let weights = Weights::open(&folder.directory.join(WEIGHTS_FILE), &folder.architecture)?;
                let max_pieces = folder.max_pieces.min(weights.max_tokens());
                let path = folder.directory.join(TOKENIZER_FILE);
                let scripts = folder.scripts.clone();
                let pieces = WordPieces::open(&path, max_pieces, scripts, weights.vocabulary())?;
                (weights, Splitter::Tokenizer(Box::new(pieces)))
            }
        };
        Ok(Self { folder, weights, splitter, threads: threads.max(1), workspaces: Mutex::default() })
    }

    /// Components of each vector.
    pub fn dimension(&self) -> usize {
        self.weights.sizes.hidden
    }

    /// The model's folder with its settings.
    pub fn folder(&self) -> &ModelFolder {
        &self.folder
    }

    /// Unicode's names of the scripts that the model reads.
    pub fn readable_scripts(&self) -> Vec<String> {
        match &self.splitter {
            Splitter::Tokenizer(pieces) => pieces.scripts(),
            Splitter::Packed(pieces) => pieces.scripts(),
        }
    }

    /// Embeds passages, in order. A text's vector does not depend on the other texts.
    ///
    /// Text beyond the model's limit of word pieces is ignored. *Readability* is the share of the text's letters (and
    /// of symbols without a word piece) that the model reads. A letter of a script that it was not trained on counts
    /// as unreadable even if the vocabulary has it: all-MiniLM-L6-v2 has pieces for 244 Han characters, most kana and
    /// most of Cyrillic, but unrelated sentences of these scripts get cosines around 0.5 (in English: 0.06).
    ///
    /// # Errors
    ///
    /// When the weights can't be read any more.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        self.embed_yielding(texts, MAX_TOKENS_PER_PASS, &|| ())
    }

    /// As [`Model::embed`], in passes of at most about `tokens_per_pass` tokens, before each of which `give_way` is
    /// called. The vectors are the same.
    pub(crate) fn embed_yielding(
        &self,
        texts: &[&str],
        tokens_per_pass: usize,
        give_way: &dyn Fn(),
    ) -> Result<Vec<Embedding>, ModelError> {
        let prefix = &self.folder.passage_prefix;
        self.run(texts, &RunningBatch { prefix, purpose: Purpose::Passage, tokens_per_pass, give_way })
    }

    /// Embeds queries, in order.
    ///
    /// # Errors
    ///
    /// As [`Model::embed`].
    pub fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        let prefix = &self.folder.query_prefix;
        let tokens_per_pass = MAX_TOKENS_PER_PASS;
        self.run(texts, &RunningBatch { prefix, purpose: Purpose::Query, tokens_per_pass, give_way: &|| () })
    }

    fn run(&self, texts: &[&str], work: &RunningBatch<'_>) -> Result<Vec<Embedding>, ModelError> {
        let mut workspace = self.workspaces.lock().pop().unwrap_or_default();
        let result = self.embed_with(texts, work, &mut workspace);
        self.workspaces.lock().push(workspace);
        result
    }

    fn embed_with(
        &self,
        texts: &[&str],
        work: &RunningBatch<'_>,
        workspace: &mut Workspace,
    ) -> Result<Vec<Embedding>, ModelError> {
        let mut embeddings = Vec::with_capacity(texts.len());
        let mut waiting = Vec::new();
        let mut tokens = 0;
        for text in texts {
            let lower = self.folder.lower_case.then(|| text.to_lowercase());
            let pieces = self.splitter.split(work.prefix, lower.as_deref().unwrap_or(text));
            if tokens + pieces.ids.len() > work.tokens_per_pass {
                self.embed_pass(&mut waiting, work, workspace, &mut embeddings)?;
                tokens = 0;
            }
            tokens += pieces.ids.len();
            waiting.push((*text, pieces));
        }
        self.embed_pass(&mut waiting, work, workspace, &mut embeddings)?;
        Ok(embeddings)
    }

    /// Embeds all waiting texts in one pass through the layers.
    fn embed_pass(
        &self,
        waiting: &mut Vec<(&str, Pieces)>,
        work: &RunningBatch<'_>,
        workspace: &mut Workspace,
        embeddings: &mut Vec<Embedding>,
    ) -> Result<(), ModelError> {
        let mut batch = Batch { ids: Vec::new(), texts: Vec::with_capacity(waiting.len()) };
        for (_, pieces) in &*waiting {
            let first = batch.ids.len();
            batch.ids.extend_from_slice(&pieces.ids);
            batch.texts.push(first..batch.ids.len());
        }
        if batch.texts.is_empty() {
            return Ok(());
        }
        (work.give_way)();
        let columns = self.dimension();
        let rows = run_layers(&self.weights, &batch, self.threads, workspace)?;
        for ((text, pieces), row) in waiting.drain(..).zip(&batch.texts) {
            let rows = &rows[row.start * columns..row.end * columns];
            let mut vector = self.folder.pooling.pool_rows(rows, columns);
            if let Some(calibration) = self.folder.calibration {
                calibration.center_and_normalize(work.purpose, text, &mut vector);
            }
            embeddings.push(Embedding { vector, readability: pieces.readability });
        }
        Ok(())
    }
}
