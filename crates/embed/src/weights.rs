use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use safetensors::tensor::{Dtype, Metadata};

use crate::ModelError;
use crate::elementwise::Norm;
use crate::matmul::{Aligned, COLUMN_MULTIPLE, lay_out_panels};

/// Weights of a BERT encoder. The layers are in memory, laid out for [`crate::matmul`]; the word vectors, half of the
/// file, stay there and are read row by row.
pub(crate) struct Weights {
    pub(crate) sizes: Sizes,
    pub(crate) words: WordVectors,
    /// Position vectors with the vector of the one text type already added, row-major.
    pub(crate) positions: Vec<f32>,
    pub(crate) embedding_norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

/// Sizes of a model, read from the shapes of its tensors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Components of a token's vector.
    pub(crate) hidden: usize,
    /// Components between the two halves of the feed-forward network.
    pub(crate) intermediate: usize,
    /// Attention heads.
    pub(crate) heads: usize,
    /// Added to the variance in layer normalisation.
    pub(crate) epsilon: f32,
}

/// One encoder layer.
pub(crate) struct Layer {
    /// Query, key and value side by side.
    pub(crate) query_key_value: Dense,
    pub(crate) attention_output: Dense,
    pub(crate) attention_norm: Norm,
    pub(crate) intermediate: Dense,
    pub(crate) output: Dense,
    pub(crate) output_norm: Norm,
}

/// A linear layer.
pub(crate) struct Dense {
    panels: Aligned,
    /// Length of an input row.
    pub(crate) inner: usize,
    /// One number per output column.
    pub(crate) bias: Vec<f32>,
}

impl Dense {
    fn new(weights: &[f32], bias: Vec<f32>) -> Self {
        let inner = weights.len() / bias.len();
        Self { panels: lay_out_panels(weights, inner), inner, bias }
    }

    /// The weights in panels.
    pub(crate) fn panels(&self) -> &[f32] {
        self.panels.get(self.inner * self.bias.len())
    }
}

impl Weights {
    /// Reads `model.safetensors`. `heads` and `epsilon` can't be seen in the weights.
    pub(crate) fn open(path: &Path, heads: usize, epsilon: f32) -> Result<Self, ModelError> {
        let mut file = TensorFile::open(path)?;
        let [vocabulary, hidden] = file.matrix("embeddings.word_embeddings.weight")?;
        let [position_count, _] = file.matrix("embeddings.position_embeddings.weight")?;
        let [intermediate, _] = file.matrix("encoder.layer.0.intermediate.dense.weight")?;
        let head_size = hidden / heads.max(1);
        if head_size * heads != hidden
            || !head_size.is_multiple_of(COLUMN_MULTIPLE)
            || !intermediate.is_multiple_of(COLUMN_MULTIPLE)
        {
            return Err(file.unusable(format!(
                "{hidden} components in {heads} heads, {intermediate} between: heads and layers must be multiples of \
                 {COLUMN_MULTIPLE}"
            )));
        }
        let mut positions = file.read("embeddings.position_embeddings.weight", &[position_count, hidden])?;
        let [types, _] = file.matrix("embeddings.token_type_embeddings.weight")?;
        let text_type = file.read("embeddings.token_type_embeddings.weight", &[types, hidden])?;
        for position in positions.chunks_exact_mut(hidden) {
            for (number, addend) in position.iter_mut().zip(&text_type) {
                *number += addend;
            }
        }
        let embedding_norm = file.norm("embeddings", hidden)?;
        let mut layers = Vec::new();
        while file.has(&format!("encoder.layer.{}.output.dense.weight", layers.len())) {
            layers.push(file.layer(layers.len(), hidden, intermediate)?);
        }
        let offset = file.place("embeddings.word_embeddings.weight")?;
        let words =
            WordVectors { file: Mutex::new(file.file), path: path.to_owned(), offset, hidden, vocabulary };
        let sizes = Sizes { hidden, intermediate, heads, epsilon };
        Ok(Self { sizes, words, positions, embedding_norm, layers })
    }

    /// Longest text in tokens.
    pub(crate) fn max_tokens(&self) -> usize {
        self.positions.len() / self.sizes.hidden
    }
}

/// The vectors of the vocabulary, in the file.
pub(crate) struct WordVectors {
    file: Mutex<File>,
    path: PathBuf,
    /// Where the first row begins, in bytes.
    offset: u64,
    hidden: usize,
    /// Number of rows.
    vocabulary: usize,
}

impl WordVectors {
    /// Reads the vectors of `ids`, one row each, into `rows`.
    pub(crate) fn read(&self, ids: &[u32], rows: &mut [f32]) -> Result<(), ModelError> {
        let mut bytes = vec![0; self.hidden * size_of::<f32>()];
        // A panic elsewhere can't have left the file in a state that matters: every read seeks first.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, row) in ids.iter().zip(rows.chunks_exact_mut(self.hidden)) {
            if *id as usize >= self.vocabulary {
                return Err(ModelError::Failed(format!("the weights have no vector for word piece {id}")));
            }
            let at = self.offset + u64::from(*id) * bytes.len() as u64;
            file.seek(SeekFrom::Start(at)).map_err(ModelError::io(&self.path))?;
            file.read_exact(&mut bytes).map_err(ModelError::io(&self.path))?;
            decode(&bytes, row);
        }
        Ok(())
    }
}

/// Little-endian bytes to numbers.
fn decode(bytes: &[u8], numbers: &mut [f32]) {
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *number = f32::from_le_bytes(*bytes);
    }
}

/// A safetensors file: eight bytes of header length, a JSON header, the numbers.
struct TensorFile {
    file: File,
    path: PathBuf,
    metadata: Metadata,
    /// Where the numbers begin, in bytes.
    data_start: u64,
}

impl TensorFile {
    fn open(path: &Path) -> Result<Self, ModelError> {
        /// More than any BERT's header; the header of all-MiniLM-L6-v2 has 11 KB.
        const MAX_HEADER: u64 = 1 << 20;
        let io = || ModelError::io(path);
        let mut file = File::open(path).map_err(io())?;
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(io())?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER {
            return Err(ModelError::unusable(
                path,
                "it is no safetensors file: its header has no sensible length",
            ));
        }
        let mut header = Vec::new();
        (&mut file).take(length).read_to_end(&mut header).map_err(io())?;
        let metadata: Metadata = serde_json::from_slice(&header)
            .map_err(|error| ModelError::unusable(path, format!("its header can't be read: {error}")))?;
        let data_start = 8 + length;
        let size = file.metadata().map_err(io())?.len();
        if size != data_start + metadata.data_len() as u64 {
            return Err(ModelError::unusable(
                path,
                format!("it is cut or padded: {size} bytes don't match its header"),
            ));
        }
        Ok(Self { file, path: path.to_owned(), metadata, data_start })
    }

    fn unusable(&self, reason: impl Into<String>) -> ModelError {
        ModelError::unusable(&self.path, reason)
    }

    fn has(&self, name: &str) -> bool {
        self.metadata.info(name).is_some()
    }

    /// Shape of a matrix.
    fn matrix(&self, name: &str) -> Result<[usize; 2], ModelError> {
        let info =
            self.metadata.info(name).ok_or_else(|| self.unusable(format!("it has no tensor {name}")))?;
        match info.shape[..] {
            [rows, columns] if rows > 0 && columns > 0 => Ok([rows, columns]),
            _ => Err(self.unusable(format!("{name} has the shape {:?} and should be a matrix", info.shape))),
        }
    }

    /// Where a tensor of 32-bit floats begins in the file.
    fn place(&self, name: &str) -> Result<u64, ModelError> {
        let info =
            self.metadata.info(name).ok_or_else(|| self.unusable(format!("it has no tensor {name}")))?;
        if info.dtype != Dtype::F32 {
            return Err(self.unusable(format!("{name} holds {:?} and should hold 32-bit floats", info.dtype)));
        }
        Ok(self.data_start + info.data_offsets.0 as u64)
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let place = self.place(name)?;
        if self.metadata.info(name).is_none_or(|info| info.shape != shape) {
            return Err(self.unusable(format!("{name} should have the shape {shape:?}")));
        }
        let count = shape.iter().product();
        let mut bytes = vec![0; count * size_of::<f32>()];
        self.file.seek(SeekFrom::Start(place)).map_err(ModelError::io(&self.path))?;
        self.file.read_exact(&mut bytes).map_err(ModelError::io(&self.path))?;
        let mut numbers = vec![0.0; count];
        decode(&bytes, &mut numbers);
        Ok(numbers)
    }

    fn norm(&mut self, owner: &str, hidden: usize) -> Result<Norm, ModelError> {
        Ok(Norm {
            gain: self.read(&format!("{owner}.LayerNorm.weight"), &[hidden])?,
            bias: self.read(&format!("{owner}.LayerNorm.bias"), &[hidden])?,
        })
    }

    fn dense(&mut self, name: &str, inner: usize, outer: usize) -> Result<Dense, ModelError> {
        let weights = self.read(&format!("{name}.weight"), &[outer, inner])?;
        Ok(Dense::new(&weights, self.read(&format!("{name}.bias"), &[outer])?))
    }

    fn layer(&mut self, index: usize, hidden: usize, intermediate: usize) -> Result<Layer, ModelError> {
        let prefix = format!("encoder.layer.{index}");
        let (mut weights, mut bias) = (Vec::new(), Vec::new());
        for part in ["query", "key", "value"] {
            let name = format!("{prefix}.attention.self.{part}");
            weights.extend(self.read(&format!("{name}.weight"), &[hidden, hidden])?);
            bias.extend(self.read(&format!("{name}.bias"), &[hidden])?);
        }
        Ok(Layer {
            query_key_value: Dense::new(&weights, bias),
            attention_output: self.dense(&format!("{prefix}.attention.output.dense"), hidden, hidden)?,
            attention_norm: self.norm(&format!("{prefix}.attention.output"), hidden)?,
            intermediate: self.dense(&format!("{prefix}.intermediate.dense"), hidden, intermediate)?,
            output: self.dense(&format!("{prefix}.output.dense"), intermediate, hidden)?,
            output_norm: self.norm(&format!("{prefix}.output"), hidden)?,
        })
    }
}
