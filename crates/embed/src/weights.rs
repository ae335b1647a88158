use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use safetensors::tensor::{Dtype, Metadata};

use crate::ModelError;
use crate::architecture::{Architecture, Family};
use crate::elementwise::{Activation, Norm};
use crate::matmul::{Aligned, COLUMN_MULTIPLE, lay_out_panels};

/// Weights of an encoder. The layers are in memory, laid out for [`crate::matmul`]; the word vectors, half of the
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
    /// Between the two halves of the feed-forward network.
    pub(crate) activation: Activation,
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
    /// Reads `model.safetensors`, whose tensors must have the sizes that the architecture says.
    pub(crate) fn open(path: &Path, architecture: &Architecture) -> Result<Self, ModelError> {
        let mut file = TensorFile::open(path)?;
        let Architecture { family, hidden, .. } = *architecture;
        let outer = family.outer_name().iter().find(|outer| file.has(&format!("{outer}{WORDS}")));
        let outer = outer.ok_or_else(|| file.unusable(format!("it has no tensor {WORDS}")))?;
        let words_name = format!("{outer}{WORDS}");
        let [vocabulary, columns] = file.matrix(&words_name)?;
        if columns != hidden {
            return Err(file.unusable(format!("{words_name} has {columns} components instead of {hidden}")));
        }
        let positions = file.positions(outer, architecture)?;
        let embedding_norm = file.norm(&format!("{outer}embeddings.LayerNorm"), hidden)?;
        let names = LayerNames::new(family, outer, 0);
        let [intermediate, _] = file.matrix(&format!("{}.weight", names.intermediate))?;
        if !intermediate.is_multiple_of(COLUMN_MULTIPLE) {
            return Err(file.unusable(format!(
                "{} has {intermediate} columns; they must be a multiple of {COLUMN_MULTIPLE}",
                names.intermediate
            )));
        }
        let layers = (0..architecture.layers)
            .map(|index| file.layer(&LayerNames::new(family, outer, index), hidden, intermediate))
            .collect::<Result<_, _>>()?;
        let (offset, number) = file.place(&words_name)?;
        let words = WordVectors {
            file: Mutex::new(file.file),
            path: path.to_owned(),
            offset,
            number,
            hidden,
            vocabulary,
        };
        let sizes = Sizes {
            hidden,
            intermediate,
            heads: architecture.heads,
            epsilon: architecture.epsilon,
            activation: architecture.activation,
        };
        Ok(Self { sizes, words, positions, embedding_norm, layers })
    }

    /// Longest text in tokens.
    pub(crate) fn max_tokens(&self) -> usize {
        self.positions.len() / self.sizes.hidden
    }

    /// Number of word pieces that have a vector.
    pub(crate) fn vocabulary(&self) -> usize {
        self.words.vocabulary
    }
}

const WORDS: &str = "embeddings.word_embeddings.weight";

/// Names of a layer's tensors, without `.weight` and `.bias`.
struct LayerNames {
    query_key_value: [String; 3],
    attention_output: String,
    attention_norm: String,
    intermediate: String,
    output: String,
    output_norm: String,
}

impl LayerNames {
    fn new(family: Family, outer: &str, index: usize) -> Self {
        match family {
            Family::Bert | Family::Roberta => {
                let layer = format!("{outer}encoder.layer.{index}");
                Self {
                    query_key_value: ["query", "key", "value"]
                        .map(|part| format!("{layer}.attention.self.{part}")),
                    attention_output: format!("{layer}.attention.output.dense"),
                    attention_norm: format!("{layer}.attention.output.LayerNorm"),
                    intermediate: format!("{layer}.intermediate.dense"),
                    output: format!("{layer}.output.dense"),
                    output_norm: format!("{layer}.output.LayerNorm"),
                }
            }
            Family::DistilBert => {
                let layer = format!("{outer}transformer.layer.{index}");
                Self {
                    query_key_value: ["q_lin", "k_lin", "v_lin"]
                        .map(|part| format!("{layer}.attention.{part}")),
                    attention_output: format!("{layer}.attention.out_lin"),
                    attention_norm: format!("{layer}.sa_layer_norm"),
                    intermediate: format!("{layer}.ffn.lin1"),
                    output: format!("{layer}.ffn.lin2"),
                    output_norm: format!("{layer}.output_layer_norm"),
                }
            }
        }
    }
}

/// The vectors of the vocabulary, in the file.
pub(crate) struct WordVectors {
    file: Mutex<File>,
    path: PathBuf,
    /// Where the first row begins, in bytes.
    offset: u64,
    /// How its numbers are written.
    number: Number,
    hidden: usize,
    /// Number of rows.
    vocabulary: usize,
}

impl WordVectors {
    /// Reads the vectors of `ids`, one row each, into `rows`.
    pub(crate) fn read(&self, ids: &[u32], rows: &mut [f32]) -> Result<(), ModelError> {
        let mut bytes = vec![0; self.hidden * self.number.bytes()];
        // A panic elsewhere can't have left the file in a state that matters: every read seeks first.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, row) in ids.iter().zip(rows.chunks_exact_mut(self.hidden)) {
            if *id as usize >= self.vocabulary {
                return Err(ModelError::Failed(format!("the weights have no vector for word piece {id}")));
            }
            let at = self.offset + u64::from(*id) * bytes.len() as u64;
            file.seek(SeekFrom::Start(at)).map_err(ModelError::io(&self.path))?;
            file.read_exact(&mut bytes).map_err(ModelError::io(&self.path))?;
            self.number.decode(&bytes, row);
        }
        Ok(())
    }
}

/// How numbers are written, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    /// 32 bits.
    Single,
    /// 16 bits of IEEE 754.
    Half,
    /// The upper half of 32 bits.
    Brain,
}

impl Number {
    fn bytes(self) -> usize {
        if self == Self::Single { 4 } else { 2 }
    }

    fn decode(self, bytes: &[u8], numbers: &mut [f32]) {
        if self == Self::Single {
            for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *number = f32::from_le_bytes(*bytes);
            }
            return;
        }
        for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<2>().0) {
            let bits = u16::from_le_bytes(*bytes);
            *number =
                if self == Self::Half { from_half(bits) } else { f32::from_bits(u32::from(bits) << 16) };
        }
    }
}

/// A number of 1 sign, 5 exponent and 10 fraction bits.
fn from_half(bits: u16) -> f32 {
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f32::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => fraction * 2.0_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        exponent => (1.0 + fraction / 1024.0) * 2.0_f32.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
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

    /// Where a tensor's numbers begin in the file, and how they are written.
    fn place(&self, name: &str) -> Result<(u64, Number), ModelError> {
        let info =
            self.metadata.info(name).ok_or_else(|| self.unusable(format!("it has no tensor {name}")))?;
        let number = match info.dtype {
            Dtype::F32 => Number::Single,
            Dtype::F16 => Number::Half,
            Dtype::BF16 => Number::Brain,
            other => {
                return Err(self.unusable(format!("{name} holds {other:?} and should hold F32, F16 or BF16")));
            }
        };
        Ok((self.data_start + info.data_offsets.0 as u64, number))
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let (place, number) = self.place(name)?;
        if self.metadata.info(name).is_none_or(|info| info.shape != shape) {
            return Err(self.unusable(format!("{name} should have the shape {shape:?}")));
        }
        let count = shape.iter().product();
        let mut bytes = vec![0; count * number.bytes()];
        self.file.seek(SeekFrom::Start(place)).map_err(ModelError::io(&self.path))?;
        self.file.read_exact(&mut bytes).map_err(ModelError::io(&self.path))?;
        let mut numbers = vec![0.0; count];
        number.decode(&bytes, &mut numbers);
        Ok(numbers)
    }

    /// The position vectors of a text's tokens, in order, with the vector of the one text type already added.
    fn positions(&mut self, outer: &str, architecture: &Architecture) -> Result<Vec<f32>, ModelError> {
        let Architecture { family, hidden, first_position, .. } = *architecture;
        let name = format!("{outer}embeddings.position_embeddings.weight");
        let [count, _] = self.matrix(&name)?;
        let mut positions = self.read(&name, &[count, hidden])?;
        positions.drain(..(first_position * hidden).min(positions.len()));
        if family == Family::DistilBert {
            return Ok(positions);
        }
        let name = format!("{outer}embeddings.token_type_embeddings.weight");
        let [types, _] = self.matrix(&name)?;
        let text_type = self.read(&name, &[types, hidden])?;
        for position in positions.chunks_exact_mut(hidden) {
            for (number, addend) in position.iter_mut().zip(&text_type) {
                *number += addend;
            }
        }
        Ok(positions)
    }

    fn norm(&mut self, name: &str, hidden: usize) -> Result<Norm, ModelError> {
        Ok(Norm {
            gain: self.read(&format!("{name}.weight"), &[hidden])?,
            bias: self.read(&format!("{name}.bias"), &[hidden])?,
        })
    }

    fn dense(&mut self, name: &str, inner: usize, outer: usize) -> Result<Dense, ModelError> {
        let weights = self.read(&format!("{name}.weight"), &[outer, inner])?;
        Ok(Dense::new(&weights, self.read(&format!("{name}.bias"), &[outer])?))
    }

    fn layer(&mut self, names: &LayerNames, hidden: usize, intermediate: usize) -> Result<Layer, ModelError> {
        let (mut weights, mut bias) = (Vec::new(), Vec::new());
        for name in &names.query_key_value {
            weights.extend(self.read(&format!("{name}.weight"), &[hidden, hidden])?);
            bias.extend(self.read(&format!("{name}.bias"), &[hidden])?);
        }
        Ok(Layer {
            query_key_value: Dense::new(&weights, bias),
            attention_output: self.dense(&names.attention_output, hidden, hidden)?,
            attention_norm: self.norm(&names.attention_norm, hidden)?,
            intermediate: self.dense(&names.intermediate, hidden, intermediate)?,
            output: self.dense(&names.output, intermediate, hidden)?,
            output_norm: self.norm(&names.output_norm, hidden)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Number, from_half};

    #[test]
    fn half_numbers_are_read() {
        for (bits, expected) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65_504.0),
            (0x0001, 5.960_464_5e-8),
            (0x8000, 0.0),
        ] {
            assert_eq!(from_half(bits), expected, "{bits:#x}");
        }
        assert!(from_half(0x7c00).is_infinite() && from_half(0x7e00).is_nan());
        let mut numbers = [0.0; 2];
        Number::Brain.decode(&[0x80, 0x3f, 0x20, 0xc1], &mut numbers);
        assert_eq!(numbers, [1.0, -10.0]);
    }
}
