//! Memories as chunks for search, with words and vectors.

use memory::ports::{Embedding, PhraseHits};

use crate::names::{DiaryName, InstanceId};

/// Positions of phrases in the chunks of a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkHits {
    /// Number of chunks of the scope's memories.
    pub pieces: u64,
    /// For each phrase, the numbers of the newest chunks that contain it.
    pub hits: Vec<PhraseHits>,
}

/// A part of a memory, with its weight in a search.
#[derive(Clone, Debug, PartialEq)]
pub struct DiaryChunk {
    /// The chunk's number; newer memories have higher ones.
    pub number: i64,
    pub name: DiaryName,
    /// The author of the shown version.
    pub author: InstanceId,
    /// Index of the chunk in its memory, from 0.
    pub place: usize,
    pub terms: String,
    /// The chunk's vector, if it has one with the requested fingerprint.
    pub embedding: Option<Embedding>,
}

/// A chunk without a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnembeddedChunk {
    pub number: i64,
    pub name: DiaryName,
    pub text: String,
}

/// The stored vector of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkVector {
    /// Sequence number of the vector, which rises with every stored one.
    pub stored: i64,
    pub piece: i64,
    pub vector: Vec<f32>,
}

/// Progress of embedding the diary of a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiaryCoverage {
    /// Number of memories, without deleted ones.
    pub memories: u64,
    /// Number of memories whose chunks all have vectors.
    pub embedded: u64,
}

/// Progress of embedding documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkCoverage {
    /// Number of chunks of all shown documents.
    pub chunks: u64,
    /// Number of chunks with a vector of the model.
    pub with_vector: u64,
}
