//! Memories as a search reads them: cut into pieces, with words and vectors.

use memory::ports::{Embedding, PhraseHits};

use crate::names::{DiaryName, InstanceId};

/// Positions of phrases in a scope's memories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkHits {
    /// Pieces that the scope's memories are cut into.
    pub pieces: u64,
    /// One for each phrase: the numbers of the pieces of the newest memories that hold it.
    pub hits: Vec<PhraseHits>,
}

/// A part of a memory, with its weight in a search.
#[derive(Clone, Debug, PartialEq)]
pub struct DiaryChunk {
    /// The chunk's number: the greater, the newer the memory.
    pub number: i64,
    pub name: DiaryName,
    /// The author of the shown version.
    pub author: InstanceId,
    /// Position of the chunk in its memory, from 0.
    pub place: usize,
    pub terms: String,
    /// The chunk's vector, when it has one of the asked fingerprint.
    pub embedding: Option<Embedding>,
}

/// A piece that has no vector yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnembeddedChunk {
    pub number: i64,
    pub name: DiaryName,
    pub text: String,
}

/// The vector of a piece, as it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkVector {
    /// Rises with every vector that is stored.
    pub stored: i64,
    pub piece: i64,
    pub vector: Vec<f32>,
}

/// Progress of embedding the diary of a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiaryCoverage {
    /// Number of memories, without deleted ones.
    pub memories: u64,
    /// Number of memories without a piece that waits for a vector.
    pub embedded: u64,
}

/// Progress of embedding documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkCoverage {
    /// Chunks of all documents that are shown.
    pub chunks: u64,
    /// Number of chunks with a vector of the model.
    pub with_vector: u64,
}
