//! Models in one packed file: against the definition, and damaged or malicious files.

use std::fs;

use embed::{FolderSettings, LocalEmbedder, Model, ModelError, ModelFolder};
use memory::ports::Embedder;
use proptest::prelude::*;
use tempfile::{TempDir, tempdir};

use crate::tiny_model::{HEADS, HIDDEN, INTERMEDIATE, Kind, LAYERS, POSITIONS, TinyModel, unigram};

const FILE: &str = "e5-small-q4.bin";
/// Factor of the numbers of every block, and its half-precision bits.
const SCALE: f32 = 0.031_25;
const SCALE_BITS: u16 = 0x2800;

/// A model whose matrices can be stored exactly in four bits, and its file.
fn packed(seed: u64) -> (TinyModel, Vec<u8>) {
    let mut tiny = TinyModel::new(Kind::Bert, unigram(), seed);
    for (name, (shape, numbers)) in &mut tiny.tensors {
        if is_matrix(name, shape) {
            numbers.iter_mut().for_each(|number| *number = (nibble(*number) as f32 - 8.0) * SCALE);
        }
    }
    let file = file_of(&tiny);
    (tiny, file)
}

fn nibble(number: f32) -> u8 {
    ((number / SCALE).round() + 8.0).clamp(0.0, 15.0) as u8
}

fn is_matrix(name: &str, shape: &[usize]) -> bool {
    shape.len() == 2 && !name.contains("position") && !name.contains("token_type")
}

fn file_of(tiny: &TinyModel) -> Vec<u8> {
    let vocabulary = tiny.tokenizer["model"]["vocab"].as_array().unwrap();
    let mut file = b"E5S1".to_vec();
    let sizes = [1, HIDDEN, LAYERS, HEADS, INTERMEDIATE, vocabulary.len(), POSITIONS, 1];
    sizes.iter().for_each(|size| put(&mut file, *size));
    file.extend(1e-12_f32.to_le_bytes());
    put(&mut file, 32);
    [vocabulary.len(), 0, 2, 1, 3].iter().for_each(|number| put(&mut file, *number));
    let pieces: Vec<&str> = vocabulary.iter().map(|piece| piece[0].as_str().unwrap()).collect();
    file.extend((pieces.concat().len() as u64).to_le_bytes());
    let mut end = 0;
    put(&mut file, end);
    for piece in &pieces {
        end += piece.len();
        put(&mut file, end);
    }
    for piece in vocabulary {
        file.extend((piece[1].as_f64().unwrap() as f32).to_le_bytes());
    }
    file.extend(pieces.concat().as_bytes());
    // One replaced character: a space in place of a line break.
    [1, 9, 10].iter().for_each(|number| put(&mut file, *number));
    file.push(1);
    put(&mut file, 32);
    put_tensors(&mut file, tiny);
    file
}

fn put(file: &mut Vec<u8>, number: usize) {
    file.extend((number as u32).to_le_bytes());
}

fn put_tensors(file: &mut Vec<u8>, tiny: &TinyModel) {
    let tensors: Vec<(String, u8, usize, Vec<u8>)> = tiny
        .tensors
        .iter()
        .map(|(name, (shape, numbers))| {
            let matrix = is_matrix(name, shape);
            let bytes = if matrix {
                numbers.chunks_exact(32).flat_map(block).collect()
            } else {
                numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
            };
            (short_name(name), u8::from(matrix), numbers.len(), bytes)
        })
        .collect();
    let directory: usize = tensors.iter().map(|(name, ..)| 2 + name.len() + 21).sum();
    let mut offset = file.len() + 4 + directory;
    put(file, tensors.len());
    for (name, kind, count, bytes) in &tensors {
        file.extend((name.len() as u16).to_le_bytes());
        file.extend(name.as_bytes());
        file.push(*kind);
        put(file, *count);
        file.extend((offset as u64).to_le_bytes());
        file.extend((bytes.len() as u64).to_le_bytes());
        offset += bytes.len();
    }
    tensors.iter().for_each(|(.., bytes)| file.extend(bytes));
}

fn block(numbers: &[f32]) -> Vec<u8> {
    let pair = |at: usize| nibble(numbers[at]) | nibble(numbers[at + 16]) << 4;
    SCALE_BITS.to_le_bytes().into_iter().chain((0..16).map(pair)).collect()
}

/// The tensor names in the packed file.
fn short_name(name: &str) -> String {
    let name = name.strip_prefix("encoder.layer.").map_or(name.to_owned(), |rest| format!("l{rest}"));
    [
        ("embeddings.word_embeddings.weight", "emb.word"),
        ("embeddings.position_embeddings.weight", "emb.pos"),
        ("embeddings.token_type_embeddings.weight", "emb.type"),
        ("embeddings.LayerNorm", "emb.ln"),
        ("attention.self.query", "q"),
        ("attention.self.key", "k"),
        ("attention.self.value", "v"),
        ("attention.output.dense", "ao"),
        ("attention.output.LayerNorm", "aln"),
        ("intermediate.dense", "fi"),
        ("output.dense", "fo"),
        ("output.LayerNorm", "oln"),
        ("weight", "w"),
        ("bias", "b"),
    ]
    .iter()
    .fold(name, |name, (long, short)| name.replace(long, short))
}

fn folder_with(file: &[u8]) -> TempDir {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join(FILE), file).unwrap();
    folder
}

fn near(found: &[f32], expected: &[f64]) -> bool {
    found.iter().zip(expected).all(|(found, expected)| (f64::from(*found) - expected).abs() < 1e-4)
}

#[test]
fn a_packed_model_is_the_model_of_its_numbers() {
    let (tiny, file) = packed(21);
    let folder = folder_with(&file);
    for threads in [1, 3] {
        let model = Model::open(folder.path(), threads).unwrap();
        assert_eq!(model.dimension(), HIDDEN);
        let long = "my cats ".repeat(9);
        let embeddings = model.embed(&["my\ncats", "котик 我的猫", &long]).unwrap();
        let expect = |pieces: &[&str]| tiny.multiply_by_definition(&tiny.ids(pieces));
        assert!(near(&embeddings[0].vector, &expect(&["<s>", "▁my", "▁cat", "s", "</s>"])));
        let mixed = expect(&["<s>", "▁кот", "ик", "▁", "我的", "猫", "</s>"]);
        assert!(near(&embeddings[1].vector, &mixed));
        let mut pieces = vec!["<s>"];
        pieces.extend(["▁my", "▁cat", "s"].iter().cycle().take(POSITIONS - 2));
        pieces.push("</s>");
        assert!(near(&embeddings[2].vector, &expect(&pieces)), "cut at the last position");
    }
}

#[tokio::test]
async fn another_packed_model_has_its_own_fingerprint_and_no_prefix() {
    let fingerprint = |seed: u64| {
        let folder = folder_with(&packed(seed).1);
        ModelFolder::read(folder.path(), &FolderSettings::default()).unwrap().fingerprint().to_owned()
    };
    let first = fingerprint(22);
    assert_ne!(first, fingerprint(23));
    assert_eq!(first, fingerprint(22));
    let folder = folder_with(&packed(22).1);
    let embedder = LocalEmbedder::new(folder.path(), 1);
    assert_eq!(embedder.identify().await.unwrap(), first);
    let texts = ["my cats".to_owned()];
    assert_eq!(embedder.embed(&texts).await.unwrap(), embedder.embed_queries(&texts).await.unwrap());
}

#[test]
fn a_file_cut_anywhere_is_reported() {
    let (_, file) = packed(24);
    for length in (0..file.len()).step_by(257).chain([3, 7, 8, 43, 44, 63, 72, file.len() - 1]) {
        let folder = folder_with(&file[..length]);
        let error = Model::open(folder.path(), 1).err().unwrap_or_else(|| panic!("{length} bytes"));
        assert!(error.to_string().contains(FILE), "{length} bytes: {error}");
    }
}

#[test]
fn impossible_sizes_are_refused_before_anything_is_read() {
    let (_, file) = packed(25);
    for (at, number, said) in [
        (4, 2, "version"),
        (8, 0, "hidden"),
        (8, 33, "hidden"),
        (12, u32::MAX, "layers"),
        (16, 3, "heads"),
        (20, 100, "intermediate"),
        (24, u32::MAX, "vocabulary"),
        (28, 0, "positions"),
        (36, 0, "epsilon"),
        (40, 64, "blocks"),
        (44, u32::MAX, "pieces"),
        (60, 4_000_000, "marks"),
        (68, 1, "pieces"),
    ] {
        let mut damaged = file.clone();
        damaged[at..at + 4].copy_from_slice(&number.to_le_bytes());
        let error = Model::open(folder_with(&damaged).path(), 1).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains(said)), "{at}: {error:?}");
    }
    let error = Model::open(folder_with(b"PK\x03\x04 an archive").path(), 1).err().unwrap();
    assert!(matches!(error, ModelError::Unusable { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any content of the file's header leads to an error or a model, never to a panic.
    #[test]
    fn changed_bytes_never_end_the_program(changes in prop::collection::vec((0_usize..700, any::<u8>()), 1..6)) {
        let (_, mut file) = packed(26);
        for (at, byte) in changes {
            file[at] = byte;
        }
        if let Ok(model) = Model::open(folder_with(&file).path(), 1) {
            let _ = model.embed(&["my cats 我的猫"]);
        }
    }
}
