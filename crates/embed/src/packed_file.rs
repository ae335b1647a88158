//! The compact file of a multilingual model: sizes, pieces and weights in one.
//!
//! Little-endian throughout: the letters `E5S1`; a version; the sizes; the pieces with their scores; the replacements
//! of characters before splitting; a directory of tensors; the tensors. Matrices are in blocks of 32 numbers along a
//! row (`Q4_0` of GGML), everything else is f32.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::ModelError;
use crate::architecture::{Architecture, TensorNaming};
use crate::elementwise::{Activation, Norm};
use crate::number::{BLOCK_LENGTH, Number};
use crate::tokenizer::unigram::{PieceTable, Replacements};

const MAGIC: &[u8; 4] = b"E5S1";
const VERSION: u32 = 1;
/// Maximum pieces and word vectors. The largest multilingual vocabulary in use has 256,000.
const PIECES_MAX: usize = 1 << 20;
/// Longest piece on average, in bytes; it bounds the table of pieces before it is read.
const PIECE_BYTES_MEAN_MAX: usize = 64;
/// Maximum replaced characters, and maximum bytes of their replacements. It bounds a table that is allocated before
/// it is read.
const REPLACEMENTS_MAX: usize = 1 << 16;
const REPLACEMENT_BYTES_MAX: usize = 1 << 22;
/// Maximum tensors of a packed file, and maximum characters of a tensor's name. The largest supported model has about
/// 200 tensors.
const TENSORS_MAX: usize = 4096;
const NAME_BYTES_MAX: usize = 64;
/// Maximum number of layers, components or positions: a damaged header must not lead to a huge allocation.
const SIZE_MAX: usize = 1 << 16;

/// An opened packed file whose tensors have not been read yet.
pub(crate) struct PackedFile {
    file: File,
    path: PathBuf,
    sizes: PackedSizes,
    tensors: HashMap<String, Tensor>,
}

/// Sizes of the model, from the file's head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PackedSizes {
    /// Components of a token's vector.
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) intermediate: usize,
    /// Rows of the matrix of word vectors; there may be more than pieces.
    pub(crate) vocabulary: usize,
    pub(crate) positions: usize,
    text_types: usize,
    epsilon: f32,
}

/// Position of a tensor in the file.
#[derive(Clone, Copy)]
struct Tensor {
    number: Number,
    count: usize,
    offset: u64,
}

impl PackedSizes {
    /// Reads only the head of the file.
    pub(crate) fn read(path: &Path) -> Result<Self, ModelError> {
        let file = File::open(path).map_err(ModelError::io(path))?;
        Reader { reader: file, path }.read_sizes()
    }

    /// The description that the forward pass needs.
    pub(crate) fn architecture(&self) -> Architecture {
        Architecture {
            family: TensorNaming::Bert,
            hidden: self.hidden,
            layers: self.layers,
            heads: self.heads,
            epsilon: self.epsilon,
            activation: Activation::Gelu,
            first_position: 0,
            max_tokens: self.positions,
        }
    }
}

impl PackedFile {
    /// Reads everything before the tensors. The pieces are returned, as the weights do not need them.
    pub(crate) fn open(path: &Path) -> Result<(Self, PieceTable), ModelError> {
        let file = File::open(path).map_err(ModelError::io(path))?;
        let file_bytes = file.metadata().map_err(ModelError::io(path))?.len();
        let mut reader = Reader { reader: BufReader::new(&file), path };
        let sizes = reader.read_sizes()?;
        let pieces = reader.read_pieces(sizes.vocabulary)?;
        let tensors = reader.read_directory(file_bytes)?;
        Ok((Self { file, path: path.to_owned(), sizes, tensors }, pieces))
    }

    pub(crate) fn sizes(&self) -> PackedSizes {
        self.sizes
    }

    /// Returns the file, from which rows of the word vectors are read, and their offset.
    pub(crate) fn into_words(self) -> Result<(File, PathBuf, u64, Number), ModelError> {
        let PackedSizes { vocabulary, hidden, .. } = self.sizes;
        let Tensor { number, offset, .. } = self.tensor("emb.word", vocabulary * hidden)?;
        if number != Number::Blocks {
            return Err(self.unusable("emb.word is not in blocks"));
        }
        Ok((self.file, self.path, offset, number))
    }

    fn unusable(&self, reason: impl Into<String>) -> ModelError {
        ModelError::unusable(&self.path, reason)
    }

    /// A tensor of exactly `count` numbers.
    fn tensor(&self, name: &str, count: usize) -> Result<Tensor, ModelError> {
        match self.tensors.get(name) {
            Some(tensor) if tensor.count == count => Ok(*tensor),
            Some(tensor) => {
                Err(self.unusable(format!("{name} has {} numbers and should have {count}", tensor.count)))
            }
            None => Err(self.unusable(format!("it has no tensor {name}"))),
        }
    }

    fn bytes(&mut self, tensor: Tensor) -> Result<Vec<u8>, ModelError> {
        let mut bytes = vec![0; tensor.number.bytes(tensor.count)];
        self.file.seek(SeekFrom::Start(tensor.offset)).map_err(ModelError::io(&self.path))?;
        self.file.read_exact(&mut bytes).map_err(ModelError::io(&self.path))?;
        Ok(bytes)
    }

    /// The numbers of a tensor.
    pub(crate) fn read_numbers(&mut self, name: &str, count: usize) -> Result<Vec<f32>, ModelError> {
        let tensor = self.tensor(name, count)?;
        let bytes = self.bytes(tensor)?;
        let mut numbers = vec![0.0; count];
        tensor.number.decode(&bytes, &mut numbers);
        Ok(numbers)
    }

    /// The blocks of a matrix, one row after the other.
    pub(crate) fn read_blocks(&mut self, name: &str, count: usize) -> Result<Vec<u8>, ModelError> {
        let tensor = self.tensor(name, count)?;
        if tensor.number != Number::Blocks {
            return Err(self.unusable(format!("{name} is not in blocks")));
        }
        self.bytes(tensor)
    }

    /// Position vectors with the vector of the first text type added.
    pub(crate) fn read_positions(&mut self) -> Result<Vec<f32>, ModelError> {
        let PackedSizes { positions, hidden, text_types, .. } = self.sizes;
        let mut rows = self.read_numbers("emb.pos", positions * hidden)?;
        let text_type = self.read_numbers("emb.type", text_types * hidden)?;
        for row in rows.chunks_exact_mut(hidden) {
            for (number, addend) in row.iter_mut().zip(&text_type) {
                *number += addend;
            }
        }
        Ok(rows)
    }

    /// Gain and bias of a layer normalisation.
    pub(crate) fn norm(&mut self, name: &str) -> Result<Norm, ModelError> {
        let hidden = self.sizes.hidden;
        let gain = self.read_numbers(&format!("{name}.w"), hidden)?;
        Ok(Norm { gain, bias: self.read_numbers(&format!("{name}.b"), hidden)? })
    }
}

/// Reads length-prefixed values in order, none longer than its limit.
struct Reader<'a, R> {
    reader: R,
    path: &'a Path,
}

impl<R: Read> Reader<'_, R> {
    fn unusable(&self, reason: impl Into<String>) -> ModelError {
        ModelError::unusable(self.path, reason)
    }

    fn read_array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], ModelError> {
        let mut bytes = [0; BYTES];
        match self.reader.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(self.unusable("it ends in the middle"))
            }
            Err(error) => Err(ModelError::io(self.path)(error)),
        }
    }

    fn read_number(&mut self) -> Result<u32, ModelError> {
        self.read_array().map(u32::from_le_bytes)
    }

    /// Reads a size from 1 to `most`.
    fn read_size(&mut self, what: &str, most: usize) -> Result<usize, ModelError> {
        let size = self.read_number()? as usize;
        if (1..=most).contains(&size) {
            return Ok(size);
        }
        Err(self.unusable(format!("{what} is {size} and should be between 1 and {most}")))
    }

    /// Reads `length` bytes. Never allocates more than the file holds.
    fn read_bytes(&mut self, length: usize) -> Result<Vec<u8>, ModelError> {
        let mut bytes = Vec::new();
        (&mut self.reader).take(length as u64).read_to_end(&mut bytes).map_err(ModelError::io(self.path))?;
        if bytes.len() < length {
            return Err(self.unusable("it ends in the middle"));
        }
        Ok(bytes)
    }

    fn read_sizes(&mut self) -> Result<PackedSizes, ModelError> {
        if self.read_array::<4>()? != *MAGIC {
            return Err(self.unusable("it does not begin like a packed model"));
        }
        let version = self.read_number()?;
        if version != VERSION {
            return Err(self.unusable(format!("its format has version {version}; {VERSION} is supported")));
        }
        let sizes = PackedSizes {
            hidden: self.read_size("hidden", SIZE_MAX)?,
            layers: self.read_size("layers", SIZE_MAX)?,
            heads: self.read_size("heads", SIZE_MAX)?,
            intermediate: self.read_size("intermediate", SIZE_MAX)?,
            vocabulary: self.read_size("vocabulary", PIECES_MAX)?,
            positions: self.read_size("positions", SIZE_MAX)?,
            text_types: self.read_size("text types", SIZE_MAX)?,
            epsilon: f32::from_bits(self.read_number()?),
        };
        let block = self.read_number()? as usize;
        if block != BLOCK_LENGTH {
            return Err(
                self.unusable(format!("its blocks have {block} numbers; {BLOCK_LENGTH} are supported"))
            );
        }
        if !(sizes.epsilon > 0.0 && sizes.epsilon < 1.0) {
            return Err(self.unusable("epsilon is not between 0 and 1"));
        }
        for (name, size) in [("hidden", sizes.hidden), ("intermediate", sizes.intermediate)] {
            if !size.is_multiple_of(BLOCK_LENGTH) {
                return Err(self.unusable(format!("{name} is {size} and not a multiple of {BLOCK_LENGTH}")));
            }
        }
        if let Err(reason) = sizes.architecture().check_heads("heads") {
            return Err(self.unusable(reason));
        }
        Ok(sizes)
    }

    fn read_pieces(&mut self, vocabulary: usize) -> Result<PieceTable, ModelError> {
        let count = self.read_size("pieces", vocabulary)?;
        let [start, end, padding, unknown] =
            [self.read_number()?, self.read_number()?, self.read_number()?, self.read_number()?];
        let text_bytes = u64::from_le_bytes(self.read_array()?);
        let most = (count * PIECE_BYTES_MEAN_MAX) as u64;
        if text_bytes > most {
            return Err(self.unusable(format!("its pieces have {text_bytes} bytes, more than {most}")));
        }
        let ends: Vec<u32> = read_u32s(&self.read_bytes((count + 1) * 4)?).collect();
        let scores: Vec<f32> = read_u32s(&self.read_bytes(count * 4)?).map(f32::from_bits).collect();
        let text = self.read_bytes(text_bytes as usize)?;
        let replaced = self.read_number()? as usize;
        let replacement_bytes = self.read_number()? as usize;
        if replaced > REPLACEMENTS_MAX || replacement_bytes > REPLACEMENT_BYTES_MAX {
            return Err(self.unusable("it replaces more characters than there are"));
        }
        let bytes = self.read_bytes(replacement_bytes)?;
        let table = Replacements::read(replaced, &bytes).and_then(|replacements| {
            PieceTable::new(text, ends, scores, [start, end, padding, unknown], replacements)
        });
        table.map_err(|reason| self.unusable(reason))
    }

    fn read_directory(&mut self, file_bytes: u64) -> Result<HashMap<String, Tensor>, ModelError> {
        let count = self.read_size("tensors", TENSORS_MAX)?;
        let mut tensors = HashMap::with_capacity(count);
        for _ in 0..count {
            let length = usize::from(u16::from_le_bytes(self.read_array()?));
            if length > NAME_BYTES_MAX {
                return Err(self.unusable("a tensor's name is too long"));
            }
            let name = String::from_utf8_lossy(&self.read_bytes(length)?).into_owned();
            let number = match self.read_array::<1>()? {
                [0] => Number::Single,
                [1] => Number::Blocks,
                [other] => return Err(self.unusable(format!("{name} is of an unknown kind, {other}"))),
            };
            let count = self.read_number()? as usize;
            let offset = u64::from_le_bytes(self.read_array()?);
            let bytes = u64::from_le_bytes(self.read_array()?);
            let is_whole = number == Number::Single || count.is_multiple_of(BLOCK_LENGTH);
            let fits = offset.checked_add(bytes).is_some_and(|end| end <= file_bytes);
            if !is_whole || !fits || bytes != number.bytes(count) as u64 {
                return Err(self.unusable(format!(
                    "{name} has {count} numbers in {bytes} bytes from {offset} on, which are not in the file"
                )));
            }
            tensors.insert(name, Tensor { number, count, offset });
        }
        Ok(tensors)
    }
}

fn read_u32s(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes))
}
