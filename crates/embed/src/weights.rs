use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::ModelError;
use crate::architecture::{Architecture, TensorNaming};
use crate::elementwise::{Activation, Norm};
use crate::matmul::{AlignedBuffer, COLUMN_MULTIPLE, lay_out_panels};
use crate::number::Number;
use crate::packed_file::PackedFile;
use crate::packed_panels::PackedPanels;
use crate::tensor_file::TensorFile;
use crate::tokenizer::unigram::PieceTable;

/// Weights of an encoder. The layers are in memory, laid out for [`crate::matmul`]; the word vectors, half of the
/// file, are read from the file row by row.
pub(crate) struct Weights {
    pub(crate) sizes: Sizes,
    pub(crate) words: WordVectors,
    /// Position vectors with the vector of the only text type added, row-major.
    pub(crate) positions: Vec<f32>,
    pub(crate) embedding_norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

/// Sizes of a model, read from the shapes of its tensors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Components of a token's vector.
    pub(crate) hidden: usize,
    /// Width of the hidden layer of the feed-forward network.
    pub(crate) intermediate: usize,
    pub(crate) heads: usize,
    /// Added to the variance in layer normalisation.
    pub(crate) epsilon: f32,
    /// The activation function of the feed-forward network.
    pub(crate) activation: Activation,
}

pub(crate) struct Layer {
    /// Query, key and value side by side.
    pub(crate) query_key_value: Dense,
    pub(crate) attention_output: Dense,
    pub(crate) attention_norm: Norm,
    pub(crate) intermediate: Dense,
    pub(crate) output: Dense,
    pub(crate) output_norm: Norm,
}

pub(crate) struct Dense {
    pub(crate) matrix: Matrix,
    /// Length of an input row.
    pub(crate) inner: usize,
    /// One number per output column.
    pub(crate) bias: Vec<f32>,
}

/// The weights of a linear layer, laid out for [`crate::matmul`].
pub(crate) enum Matrix {
    /// Panels, ready to multiply.
    Panels(AlignedBuffer),
    /// A matrix of four-bit numbers, unpacked one panel at a time.
    Packed(PackedPanels),
}

impl Dense {
    fn new(weights: &[f32], bias: Vec<f32>) -> Self {
        let inner = weights.len() / bias.len();
        Self { matrix: Matrix::Panels(lay_out_panels(weights, inner)), inner, bias }
    }

    fn from_packed(blocks: &[u8], inner: usize, bias: Vec<f32>) -> Self {
        Self { matrix: Matrix::Packed(PackedPanels::new(blocks, inner)), inner, bias }
    }
}

impl Weights {
    /// Reads `model.safetensors`, whose tensors must have the sizes that the architecture says.
    pub(crate) fn open(path: &Path, architecture: &Architecture) -> Result<Self, ModelError> {
        let mut file = TensorFile::open(path)?;
        let Architecture { family, hidden, .. } = *architecture;
        let outer = family
            .embeddings_prefixes()
            .iter()
            .find(|outer| file.has_tensor(&format!("{outer}{WORD_EMBEDDINGS}")));
        let outer = outer.ok_or_else(|| file.unusable(format!("it has no tensor {WORD_EMBEDDINGS}")))?;
        let words_name = format!("{outer}{WORD_EMBEDDINGS}");
        let [vocabulary, columns] = file.matrix(&words_name)?;
        if columns != hidden {
            return Err(file.unusable(format!("{words_name} has {columns} components instead of {hidden}")));
        }
        let positions = file.read_positions(outer, architecture)?;
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
            .map(|index| read_layer(&mut file, &LayerNames::new(family, outer, index), hidden, intermediate))
            .collect::<Result<_, _>>()?;
        let (offset, number) = file.tensor_start(&words_name)?;
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

    /// Opens a packed file, which also contains the pieces.
    pub(crate) fn open_packed(path: &Path) -> Result<(Self, PieceTable), ModelError> {
        let (mut file, pieces) = PackedFile::open(path)?;
        let packed = file.sizes();
        let hidden = packed.hidden;
        let positions = file.read_positions()?;
        let embedding_norm = file.norm("emb.ln")?;
        let layers =
            (0..packed.layers).map(|index| read_packed_layer(&mut file, index)).collect::<Result<_, _>>()?;
        let (file, path, offset, number) = file.into_words()?;
        let words = WordVectors {
            file: Mutex::new(file),
            path,
            offset,
            number,
            hidden,
            vocabulary: packed.vocabulary,
        };
        let architecture = packed.architecture();
        let sizes = Sizes {
            hidden,
            intermediate: packed.intermediate,
            heads: architecture.heads,
            epsilon: architecture.epsilon,
            activation: architecture.activation,
        };
        Ok((Self { sizes, words, positions, embedding_norm, layers }, pieces))
    }

    /// Longest text in tokens.
    pub(crate) fn max_tokens(&self) -> usize {
        self.positions.len() / self.sizes.hidden
    }

    /// Number of word vectors.
    pub(crate) fn vocabulary(&self) -> usize {
        self.words.vocabulary
    }
}

const WORD_EMBEDDINGS: &str = "embeddings.word_embeddings.weight";

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
    fn new(family: TensorNaming, outer: &str, index: usize) -> Self {
        match family {
            TensorNaming::Bert | TensorNaming::Roberta => {
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
            TensorNaming::DistilBert => {
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

fn read_dense(file: &mut TensorFile, name: &str, inner: usize, outer: usize) -> Result<Dense, ModelError> {
    let weights = file.read(&format!("{name}.weight"), &[outer, inner])?;
    Ok(Dense::new(&weights, file.read(&format!("{name}.bias"), &[outer])?))
}

fn read_layer(
    file: &mut TensorFile,
    names: &LayerNames,
    hidden: usize,
    intermediate: usize,
) -> Result<Layer, ModelError> {
    let (mut weights, mut bias) = (Vec::new(), Vec::new());
    for name in &names.query_key_value {
        weights.extend(file.read(&format!("{name}.weight"), &[hidden, hidden])?);
        bias.extend(file.read(&format!("{name}.bias"), &[hidden])?);
    }
    Ok(Layer {
        query_key_value: Dense::new(&weights, bias),
        attention_output: read_dense(file, &names.attention_output, hidden, hidden)?,
        attention_norm: file.norm(&names.attention_norm, hidden)?,
        intermediate: read_dense(file, &names.intermediate, hidden, intermediate)?,
        output: read_dense(file, &names.output, intermediate, hidden)?,
        output_norm: file.norm(&names.output_norm, hidden)?,
    })
}

fn read_packed_layer(file: &mut PackedFile, index: usize) -> Result<Layer, ModelError> {
    let (hidden, intermediate) = (file.sizes().hidden, file.sizes().intermediate);
    let mut dense = |names: &[&str], inner: usize, outer: usize| {
        let (mut blocks, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            blocks.extend(file.read_blocks(&format!("l{index}.{name}.w"), inner * outer)?);
            bias.extend(file.read_numbers(&format!("l{index}.{name}.b"), outer)?);
        }
        Ok(Dense::from_packed(&blocks, inner, bias))
    };
    let query_key_value = dense(&["q", "k", "v"], hidden, hidden)?;
    let attention_output = dense(&["ao"], hidden, hidden)?;
    let up = dense(&["fi"], hidden, intermediate)?;
    let output = dense(&["fo"], intermediate, hidden)?;
    Ok(Layer {
        query_key_value,
        attention_output,
        attention_norm: file.norm(&format!("l{index}.aln"))?,
        intermediate: up,
        output,
        output_norm: file.norm(&format!("l{index}.oln"))?,
    })
}

/// The vectors of the vocabulary, in the file.
pub(crate) struct WordVectors {
    /// Locked because a read moves the position in the file.
    file: Mutex<File>,
    path: PathBuf,
    /// Offset of the first row, in bytes.
    offset: u64,
    /// The encoding of the vectors' numbers.
    number: Number,
    hidden: usize,
    vocabulary: usize,
}

impl WordVectors {
    /// Reads the vectors of `ids`, one row each, into `rows`.
    pub(crate) fn read(&self, ids: &[u32], rows: &mut [f32]) -> Result<(), ModelError> {
        let mut bytes = vec![0; self.number.bytes(self.hidden)];
        let mut file = self.file.lock();
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
