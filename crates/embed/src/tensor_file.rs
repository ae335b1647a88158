use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, Metadata};

use crate::ModelError;
use crate::architecture::{Architecture, TensorNaming};
use crate::elementwise::Norm;
use crate::number::Number;

/// A safetensors file: eight bytes of header length, a JSON header, the numbers.
pub(crate) struct TensorFile {
    pub(crate) file: File,
    path: PathBuf,
    metadata: Metadata,
    /// Offset of the numbers, in bytes.
    data_start: u64,
}

impl TensorFile {
    pub(crate) fn open(path: &Path) -> Result<Self, ModelError> {
        /// Maximum bytes of the header. That of all-MiniLM-L6-v2 has 11 KB.
        const MAX_HEADER: u64 = 1 << 20;
        let io = || ModelError::io(path);
        let mut file = File::open(path).map_err(io())?;
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(io())?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER {
            return Err(ModelError::unusable(
                path,
                "it is not a safetensors file: its header has an invalid length",
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

    pub(crate) fn unusable(&self, reason: impl Into<String>) -> ModelError {
        ModelError::unusable(&self.path, reason)
    }

    pub(crate) fn has_tensor(&self, name: &str) -> bool {
        self.metadata.info(name).is_some()
    }

    /// Shape of a matrix.
    pub(crate) fn matrix(&self, name: &str) -> Result<[usize; 2], ModelError> {
        let info =
            self.metadata.info(name).ok_or_else(|| self.unusable(format!("it has no tensor {name}")))?;
        match info.shape[..] {
            [rows, columns] if rows > 0 && columns > 0 => Ok([rows, columns]),
            _ => Err(self.unusable(format!("{name} has the shape {:?} and should be a matrix", info.shape))),
        }
    }

    /// Offset of a tensor's numbers in the file, with their encoding.
    pub(crate) fn tensor_start(&self, name: &str) -> Result<(u64, Number), ModelError> {
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

    /// Reads the numbers of a tensor that must have this shape.
    pub(crate) fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let (place, number) = self.tensor_start(name)?;
        if self.metadata.info(name).is_none_or(|info| info.shape != shape) {
            return Err(self.unusable(format!("{name} should have the shape {shape:?}")));
        }
        let count = shape.iter().product();
        let mut bytes = vec![0; number.bytes(count)];
        self.file.seek(SeekFrom::Start(place)).map_err(ModelError::io(&self.path))?;
        self.file.read_exact(&mut bytes).map_err(ModelError::io(&self.path))?;
        let mut numbers = vec![0.0; count];
        number.decode(&bytes, &mut numbers);
        Ok(numbers)
    }

    /// The position vectors of a text's tokens, in order, with the vector of the only text type added.
    pub(crate) fn read_positions(
        &mut self,
        outer: &str,
        architecture: &Architecture,
    ) -> Result<Vec<f32>, ModelError> {
        let Architecture { family, hidden, first_position, .. } = *architecture;
        let name = format!("{outer}embeddings.position_embeddings.weight");
        let [count, _] = self.matrix(&name)?;
        let mut positions = self.read(&name, &[count, hidden])?;
        positions.drain(..(first_position * hidden).min(positions.len()));
        if family == TensorNaming::DistilBert {
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

    pub(crate) fn norm(&mut self, name: &str, hidden: usize) -> Result<Norm, ModelError> {
        Ok(Norm {
            gain: self.read(&format!("{name}.weight"), &[hidden])?,
            bias: self.read(&format!("{name}.bias"), &[hidden])?,
        })
    }
}
