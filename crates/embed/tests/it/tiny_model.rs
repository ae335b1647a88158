//! Models of a few thousand random weights in the format of the hub's folders, and their forward pass by the
//! definition.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

pub(crate) const HIDDEN: usize = 64;
pub(crate) const HEADS: usize = 2;
pub(crate) const INTERMEDIATE: usize = 96;
pub(crate) const LAYERS: usize = 2;
pub(crate) const POSITIONS: usize = 24;

/// Kind of the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bert,
    /// As `BertForMaskedLM` writes it: each name begins with `bert.`.
    BertInside,
    XlmRoberta,
    DistilBert,
}

/// A model in memory.
pub(crate) struct TinyModel {
    pub(crate) kind: Kind,
    pub(crate) activation: &'static str,
    pub(crate) cls: bool,
    /// Whether the file stores bfloat16, the upper halves of the numbers.
    pub(crate) brain: bool,
    pub(crate) tokenizer: Value,
    pub(crate) tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

impl TinyModel {
    /// Random weights for the vocabulary of the tokenizer; the same for the same seed.
    pub(crate) fn new(kind: Kind, tokenizer: Value, seed: u64) -> Self {
        let vocabulary = pieces(&tokenizer).len();
        let mut model =
            Self { kind, activation: "gelu", cls: false, brain: false, tokenizer, tensors: BTreeMap::new() };
        let mut dice = Dice(seed);
        let (names, outer) = (Names(kind), Names(kind).outer());
        model.put(&mut dice, format!("{outer}embeddings.word_embeddings.weight"), &[vocabulary, HIDDEN], 0.0);
        model.put(
            &mut dice,
            format!("{outer}embeddings.position_embeddings.weight"),
            &[POSITIONS, HIDDEN],
            0.0,
        );
        if kind != Kind::DistilBert {
            model.put(
                &mut dice,
                format!("{outer}embeddings.token_type_embeddings.weight"),
                &[1, HIDDEN],
                0.0,
            );
        }
        model.put_pair(&mut dice, format!("{outer}embeddings.LayerNorm"), &[HIDDEN], 1.0);
        for layer in 0..LAYERS {
            let [query, key, value, output, norm, up, down, last] = names.of_layer(layer);
            for name in [query, key, value, output] {
                model.put_pair(&mut dice, name, &[HIDDEN, HIDDEN], 0.0);
            }
            model.put_pair(&mut dice, norm, &[HIDDEN], 1.0);
            model.put_pair(&mut dice, up, &[INTERMEDIATE, HIDDEN], 0.0);
            model.put_pair(&mut dice, down, &[HIDDEN, INTERMEDIATE], 0.0);
            model.put_pair(&mut dice, last, &[HIDDEN], 1.0);
        }
        model
    }

    fn put(&mut self, dice: &mut Dice, name: String, shape: &[usize], centre: f32) {
        let numbers = (0..shape.iter().product()).map(|_| centre + dice.roll()).collect();
        self.tensors.insert(name, (shape.to_vec(), numbers));
    }

    fn put_pair(&mut self, dice: &mut Dice, name: String, shape: &[usize], centre: f32) {
        self.put(dice, format!("{name}.weight"), shape, centre);
        self.put(dice, format!("{name}.bias"), &shape[..1], 0.0);
    }

    /// Removes a tensor, as in a damaged file.
    pub(crate) fn without(mut self, name: &str) -> Self {
        assert!(self.tensors.remove(name).is_some(), "{name}");
        self
    }

    /// Its `config.json`.
    pub(crate) fn config(&self) -> Value {
        if self.kind == Kind::DistilBert {
            return json!({"model_type": "distilbert", "dim": HIDDEN, "hidden_dim": INTERMEDIATE, "n_layers": LAYERS,
                "n_heads": HEADS, "activation": self.activation, "max_position_embeddings": POSITIONS});
        }
        let (model_type, epsilon, pad) = match self.kind {
            Kind::XlmRoberta => ("xlm-roberta", 1e-5, 1),
            _ => ("bert", 1e-12, 0),
        };
        json!({"model_type": model_type, "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE,
            "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "hidden_act": self.activation,
            "layer_norm_eps": epsilon, "max_position_embeddings": POSITIONS, "pad_token_id": pad,
            "position_embedding_type": "absolute", "type_vocab_size": 1})
    }

    /// Writes the model's folder.
    pub(crate) fn write(&self, folder: &Path) {
        fs::create_dir_all(folder.join("1_Pooling")).unwrap();
        let write = |name: &str, value: &Value| fs::write(folder.join(name), value.to_string()).unwrap();
        write("config.json", &self.config());
        write("tokenizer.json", &self.tokenizer);
        write(
            "1_Pooling/config.json",
            &json!({"word_embedding_dimension": HIDDEN,
            "pooling_mode_cls_token": self.cls, "pooling_mode_mean_tokens": !self.cls}),
        );
        let bytes = |number: &f32| {
            let bytes = number.to_le_bytes();
            if self.brain { bytes[2..].to_vec() } else { bytes.to_vec() }
        };
        let encoded: Vec<(&str, &[usize], Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, (shape, numbers))| {
                (name.as_str(), shape.as_slice(), numbers.iter().flat_map(bytes).collect())
            })
            .collect();
        let dtype = if self.brain { Dtype::BF16 } else { Dtype::F32 };
        let views = encoded
            .iter()
            .map(|(name, shape, bytes)| (*name, TensorView::new(dtype, shape.to_vec(), bytes).unwrap()));
        let file = safetensors::serialize(views, None).unwrap();
        fs::write(folder.join("model.safetensors"), file).unwrap();
    }

    /// Piece numbers by piece.
    pub(crate) fn ids(&self, names: &[&str]) -> Vec<usize> {
        let pieces = pieces(&self.tokenizer);
        names.iter().map(|name| pieces.iter().position(|piece| piece == name).unwrap()).collect()
    }

    fn tensor(&self, name: &str) -> Vec<f64> {
        let (_, numbers) = self.tensors.get(name).unwrap_or_else(|| panic!("no tensor {name}"));
        let number = |number: &f32| {
            let bits = if self.brain { number.to_bits() & 0xffff_0000 } else { number.to_bits() };
            f64::from(f32::from_bits(bits))
        };
        numbers.iter().map(number).collect()
    }

    /// The unit vector of a text by the definition of the encoder, in double precision.
    pub(crate) fn multiply_by_definition(&self, ids: &[usize]) -> Vec<f64> {
        let (names, outer) = (Names(self.kind), Names(self.kind).outer());
        let epsilon = if self.kind == Kind::XlmRoberta { 1e-5 } else { 1e-12 };
        let first_position = if self.kind == Kind::XlmRoberta { 2 } else { 0 };
        let words = self.tensor(&format!("{outer}embeddings.word_embeddings.weight"));
        let positions = self.tensor(&format!("{outer}embeddings.position_embeddings.weight"));
        let types = match self.kind {
            Kind::DistilBert => vec![0.0; HIDDEN],
            _ => self.tensor(&format!("{outer}embeddings.token_type_embeddings.weight")),
        };
        let mut rows: Vec<Vec<f64>> = ids
            .iter()
            .enumerate()
            .map(|(place, id)| {
                let position = (first_position + place) * HIDDEN;
                (0..HIDDEN).map(|at| words[id * HIDDEN + at] + positions[position + at] + types[at]).collect()
            })
            .collect();
        let norm = |row: &[f64], name: &str| self.normalised(row, name, epsilon);
        rows.iter_mut().for_each(|row| *row = norm(row, &format!("{outer}embeddings.LayerNorm")));
        for layer in 0..LAYERS {
            let [query, key, value, output, first_norm, up, down, last_norm] = names.of_layer(layer);
            let project =
                |name: &str| -> Vec<Vec<f64>> { rows.iter().map(|row| self.dense(row, name)).collect() };
            let context = attend(&project(&query), &project(&key), &project(&value));
            for (row, context) in rows.iter_mut().zip(&context) {
                *row = norm(&sum(row, &self.dense(context, &output)), &first_norm);
                let inner: Vec<f64> = self.dense(row, &up).into_iter().map(|x| self.activate(x)).collect();
                *row = norm(&sum(row, &self.dense(&inner, &down)), &last_norm);
            }
        }
        let counted = if self.cls { &rows[..1] } else { &rows[..] };
        let mean: Vec<f64> = (0..HIDDEN).map(|at| counted.iter().map(|row| row[at]).sum::<f64>()).collect();
        let length = mean.iter().map(|x| x * x).sum::<f64>().sqrt();
        mean.into_iter().map(|x| x / length).collect()
    }

    fn dense(&self, row: &[f64], name: &str) -> Vec<f64> {
        let (weights, bias) = (self.tensor(&format!("{name}.weight")), self.tensor(&format!("{name}.bias")));
        let dot = |weights: &[f64]| row.iter().zip(weights).map(|(a, b)| a * b).sum::<f64>();
        weights.chunks_exact(row.len()).zip(bias).map(|(weights, bias)| dot(weights) + bias).collect()
    }

    fn normalised(&self, row: &[f64], name: &str, epsilon: f64) -> Vec<f64> {
        let (gain, bias) = (self.tensor(&format!("{name}.weight")), self.tensor(&format!("{name}.bias")));
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
        let scaled = row.iter().map(|x| (x - mean) / (variance + epsilon).sqrt());
        scaled.zip(gain.iter().zip(&bias)).map(|(x, (gain, bias))| x * gain + bias).collect()
    }

    fn activate(&self, x: f64) -> f64 {
        match self.activation {
            "gelu" => 0.5 * x * (1.0 + error_function(x / 2.0_f64.sqrt())),
            "gelu_new" => {
                0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
            }
            "relu" => x.max(0.0),
            other => panic!("{other}"),
        }
    }
}

/// Softmax of the scaled products, for each head.
fn attend(queries: &[Vec<f64>], keys: &[Vec<f64>], values: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let size = HIDDEN / HEADS;
    let of_head = |query: &[f64], head: usize| -> Vec<f64> {
        let part = head * size..(head + 1) * size;
        let dot = |key: &Vec<f64>| {
            query[part.clone()].iter().zip(&key[part.clone()]).map(|(a, b)| a * b).sum::<f64>()
        };
        let shares: Vec<f64> = keys.iter().map(|key| (dot(key) / (size as f64).sqrt()).exp()).collect();
        let all: f64 = shares.iter().sum();
        part.clone()
            .map(|at| shares.iter().zip(values).map(|(share, value)| share / all * value[at]).sum())
            .collect()
    };
    queries.iter().map(|query| (0..HEADS).flat_map(|head| of_head(query, head)).collect()).collect()
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// The error function as a power series, which converges fast for the small arguments here.
fn error_function(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    2.0 / std::f64::consts::PI.sqrt() * sum
}

/// Tensor names by kind.
struct Names(Kind);

impl Names {
    fn outer(&self) -> &'static str {
        if self.0 == Kind::BertInside { "bert." } else { "" }
    }

    /// Query, key, value, attention output, attention norm, up, down, output norm.
    fn of_layer(&self, layer: usize) -> [String; 8] {
        let outer = self.outer();
        if self.0 == Kind::DistilBert {
            return [
                "attention.q_lin",
                "attention.k_lin",
                "attention.v_lin",
                "attention.out_lin",
                "sa_layer_norm",
                "ffn.lin1",
                "ffn.lin2",
                "output_layer_norm",
            ]
            .map(|name| format!("transformer.layer.{layer}.{name}"));
        }
        [
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
            "attention.output.LayerNorm",
            "intermediate.dense",
            "output.dense",
            "output.LayerNorm",
        ]
        .map(|name| format!("{outer}encoder.layer.{layer}.{name}"))
    }
}

/// Numbers between −0.25 and 0.25 from a linear congruential generator (Knuth's constants).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32 / (1_u64 << 24) as f32 - 0.5) / 2.0
    }
}

/// A tokenizer's pieces in the order of their numbers.
fn pieces(tokenizer: &Value) -> Vec<String> {
    match &tokenizer["model"]["vocab"] {
        Value::Array(list) => list.iter().map(|piece| piece[0].as_str().unwrap().to_owned()).collect(),
        Value::Object(map) => {
            let mut pieces: Vec<(u64, &String)> =
                map.iter().map(|(piece, id)| (id.as_u64().unwrap(), piece)).collect();
            pieces.sort_unstable();
            pieces.into_iter().map(|(_, piece)| piece.clone()).collect()
        }
        _ => panic!("a tokenizer without a vocabulary"),
    }
}

fn numbered(pieces: &[&str]) -> Value {
    pieces
        .iter()
        .enumerate()
        .map(|(id, piece)| ((*piece).to_owned(), json!(id)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn between(start: (&str, usize), end: (&str, usize)) -> Value {
    let mark = |(name, _): (&str, usize)| json!({"SpecialToken": {"id": name, "type_id": 0}});
    let special = |(name, id): (&str, usize)| json!({"id": name, "ids": [id], "tokens": [name]});
    let sequence = json!({"Sequence": {"id": "A", "type_id": 0}});
    json!({"type": "TemplateProcessing", "single": [mark(start), sequence, mark(end)],
        "pair": [mark(start), sequence, mark(end), {"Sequence": {"id": "B", "type_id": 0}}, mark(end)],
        "special_tokens": {start.0: special(start), end.0: special(end)}})
}

/// A WordPiece vocabulary of English, Russian and Chinese. It pads and truncates to four pieces, which the embedder
/// must turn off.
pub(crate) fn word_pieces() -> Value {
    let pieces = [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "my", "cat", "##s", "sleep", "query", "passage", ":", "кот",
        "##ик", "спит", "我", "的", "猫", "怀", "孕", "了", "用", "户", ".",
    ];
    json!({"version": "1.0", "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 4}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
            "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [], "normalizer": {"type": "BertNormalizer", "clean_text": true,
            "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": between(("[CLS]", 2), ("[SEP]", 3)),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": numbered(&pieces)}})
}

/// A Unigram vocabulary, as in multilingual models.
pub(crate) fn unigram() -> Value {
    let scored = [
        ("<s>", 0.0),
        ("<pad>", 0.0),
        ("</s>", 0.0),
        ("<unk>", 0.0),
        ("▁my", -2.0),
        ("▁cat", -2.0),
        ("s", -3.0),
        ("▁", -4.0),
        ("▁кот", -2.0),
        ("ик", -3.0),
        ("我的", -2.0),
        ("猫", -2.5),
        ("▁我", -3.0),
    ];
    let vocabulary: Vec<Value> = scored.iter().map(|(piece, score)| json!([piece, score])).collect();
    json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
        "post_processor": between(("<s>", 0), ("</s>", 2)),
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": false}})
}

/// A byte-level BPE vocabulary: the bytes of "my cats" and of 猫, and three merges.
pub(crate) fn byte_pairs() -> Value {
    let pieces = [
        "<s>", "<pad>", "</s>", "<unk>", "m", "y", "Ġ", "c", "a", "t", "s", "ç", "Į", "«", "my", "at", "cat",
        "Ġcat",
    ];
    json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "post_processor": between(("<s>", 0), ("</s>", 2)),
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": numbered(&pieces),
            "merges": [["m", "y"], ["a", "t"], ["c", "at"], ["Ġ", "cat"]]}})
}
