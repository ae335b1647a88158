//! Splits text into the pieces of a model's vocabulary, following its `tokenizer.json`.
//!
//! The file is in the format of Hugging Face's `tokenizers`. Supported is what BERT-like encoders use: WordPiece
//! (BERT, DistilBERT), Unigram (XLM-RoBERTa, CamemBERT) and byte-level BPE (RoBERTa). Any other part is an error that
//! names it: pieces that differ from those of the training would give wrong vectors that look plausible. `reference/`
//! compares the pieces with those of the `tokenizers` crate.

mod normalizer;
mod word_piece;
mod byte_pairs;
pub(crate) mod unigram;

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

pub(crate) use self::byte_pairs::text_of_letters;

use self::byte_pairs::BytePairs;
use self::normalizer::Normalizer;
use self::unigram::PieceTable;
use self::word_piece::WordPiece;

/// A character of the normalised text, with the bytes of the original that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) character: char,
    pub(crate) source: Range<usize>,
}

/// A part of a text that has a number in the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) id: u32,
    /// Bytes of the original text that the piece was made of.
    pub(crate) source: Range<usize>,
}

/// Algorithm that splits words into pieces, with its vocabulary.
enum Algorithm {
    WordPiece(WordPiece),
    Unigram(PieceTable),
    BytePairs(BytePairs),
}

/// A text that is a piece wherever it appears, such as `[MASK]`.
struct AddedToken {
    text: String,
    id: u32,
    /// True if white space before the token belongs to it.
    takes_space_before: bool,
    /// True if white space after the token belongs to it.
    takes_space_after: bool,
}

pub(crate) struct Tokenizer {
    added: Vec<AddedToken>,
    normalizer: Normalizer,
    algorithm: Algorithm,
    /// Ids of all pieces, added tokens included.
    vocabulary: HashMap<String, u32>,
    start: Vec<u32>,
    end: Vec<u32>,
}

impl Tokenizer {
    /// # Errors
    /// The part of the description that is missing, damaged or not supported.
    pub(crate) fn read(description: &Value) -> Result<Self, String> {
        let model = &description["model"];
        let mut vocabulary = read_vocabulary(&model["vocab"])?;
        let mut added = Vec::new();
        for token in description["added_tokens"].as_array().into_iter().flatten() {
            if let (Some(text), Some(id)) = (token["content"].as_str(), read_id(&token["id"])) {
                vocabulary.insert(text.to_owned(), id);
                let is_set = |name: &str| token[name].as_bool().unwrap_or(false);
                let (takes_space_before, takes_space_after) = (is_set("lstrip"), is_set("rstrip"));
                added.push(AddedToken { text: text.to_owned(), id, takes_space_before, takes_space_after });
            }
        }
        added.retain(|token| !token.text.is_empty());
        let (start, end) = read_marks(&description["post_processor"], &vocabulary)?;
        let pre_tokenizer = &description["pre_tokenizer"];
        let steps = sequence_steps(pre_tokenizer, "pretokenizers");
        let only = |allowed: &[&str], kind: &str| match steps
            .iter()
            .find(|step| !allowed.contains(&part_type(step)))
        {
            Some(step) => Err(format!("its pre_tokenizer {:?} is not supported for {kind}", part_type(step))),
            None => Ok(()),
        };
        let algorithm = match part_type(model) {
            "WordPiece" => {
                only(&["BertPreTokenizer"], "WordPiece")?;
                Algorithm::WordPiece(WordPiece::read(model, &vocabulary)?)
            }
            "Unigram" => {
                only(&["WhitespaceSplit", "Metaspace"], "Unigram")?;
                Algorithm::Unigram(PieceTable::from_model(model, &start, &end)?)
            }
            "BPE" => {
                only(&["ByteLevel"], "BPE")?;
                let step = steps.first().ok_or("its pre_tokenizer is not ByteLevel")?;
                Algorithm::BytePairs(BytePairs::read(model, step, &vocabulary)?)
            }
            other => {
                return Err(format!(
                    "its model {other:?} is not supported; supported are WordPiece, Unigram and byte-level BPE"
                ));
            }
        };
        let mut normalizer = Normalizer::read(&description["normalizer"])?;
        if steps.iter().any(|step| part_type(step) == "WhitespaceSplit") {
            normalizer.split_at_white_space();
        }
        Ok(Self { added, normalizer, algorithm, vocabulary, start, end })
    }

    /// The pieces of a text, without the marks at its ends.
    pub(crate) fn split(&self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut from = 0;
        for token in self.find_added_tokens(text) {
            // White space between two tokens belongs to the first one that takes it.
            let start = token.source.start.max(from);
            if from < start {
                pieces.extend(self.split_between(text, from..start));
            }
            from = token.source.end;
            pieces.push(Piece { id: token.id, source: start..from });
        }
        if from < text.len() || text.is_empty() {
            pieces.extend(self.split_between(text, from..text.len()));
        }
        pieces
    }

    /// Finds the added tokens of a text, from left to right. Of overlapping ones the first counts, then the longest.
    fn find_added_tokens(&self, text: &str) -> Vec<Piece> {
        let mut found: Vec<(usize, &AddedToken)> = Vec::new();
        for token in &self.added {
            found.extend(text.match_indices(&token.text).map(|(at, _)| (at, token)));
        }
        found.sort_by_key(|(at, token)| (*at, std::cmp::Reverse(token.text.len())));
        let mut end = 0;
        found.retain(|(at, token)| {
            let is_free = *at >= end;
            if is_free {
                end = at + token.text.len();
            }
            is_free
        });
        let piece = |(at, token): (usize, &AddedToken)| {
            let (before, after) = (&text[..at], &text[at + token.text.len()..]);
            let before = if token.takes_space_before { before.trim_end() } else { before };
            let after = if token.takes_space_after { after.trim_start() } else { after };
            Piece { id: token.id, source: before.len()..text.len() - after.len() }
        };
        found.into_iter().map(piece).collect()
    }

    /// The pieces of a text between added tokens.
    fn split_between(&self, text: &str, part: Range<usize>) -> Vec<Piece> {
        let symbols = self.normalizer.apply(text, part);
        match &self.algorithm {
            Algorithm::WordPiece(model) => model.split(&symbols),
            Algorithm::Unigram(table) => {
                let mut pieces = table.likeliest_pieces(symbols);
                // Consecutive unknown characters are one piece; all of them count as unreadable.
                pieces.dedup_by(|next, piece| {
                    let is_unknown = table.is_unknown(next.id) && next.id == piece.id;
                    if is_unknown {
                        piece.source.end = next.source.end;
                    }
                    is_unknown
                });
                pieces
            }
            Algorithm::BytePairs(model) => model.split(&symbols),
        }
    }

    /// Id of a piece or an added token.
    pub(crate) fn piece_id(&self, piece: &str) -> Option<u32> {
        self.vocabulary.get(piece).copied()
    }

    /// All pieces and added tokens with their ids.
    pub(crate) fn vocabulary(&self) -> &HashMap<String, u32> {
        &self.vocabulary
    }

    /// The ids that are put before and after every text.
    pub(crate) fn mark_ids(&self) -> (&[u32], &[u32]) {
        (&self.start, &self.end)
    }

    /// True if pieces are spelled with one letter for each byte of a text.
    pub(crate) fn is_byte_level(&self) -> bool {
        matches!(self.algorithm, Algorithm::BytePairs(_))
    }
}

fn part_type(part: &Value) -> &str {
    part["type"].as_str().unwrap_or_default()
}

/// The steps of a part of the description: the items of a sequence, nothing for null, else the part itself.
fn sequence_steps<'a>(part: &'a Value, list: &str) -> Vec<&'a Value> {
    match part_type(part) {
        "Sequence" => {
            part[list].as_array().into_iter().flatten().flat_map(|part| sequence_steps(part, list)).collect()
        }
        "" => Vec::new(),
        _ => vec![part],
    }
}

fn read_id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

/// Parses an object of ids (WordPiece, BPE) or a list of pieces with their scores (Unigram).
fn read_vocabulary(vocabulary: &Value) -> Result<HashMap<String, u32>, String> {
    let damaged = || "its model has no vocabulary".to_owned();
    let entries: Option<HashMap<String, u32>> = match vocabulary {
        Value::Object(pieces) => {
            pieces.iter().map(|(piece, id)| Some((piece.clone(), read_id(id)?))).collect()
        }
        Value::Array(pieces) => {
            pieces.iter().zip(0..).map(|(entry, id)| Some((entry[0].as_str()?.to_owned(), id))).collect()
        }
        _ => None,
    };
    entries.filter(|entries| !entries.is_empty()).ok_or_else(damaged)
}

/// The ids before and after every text.
fn read_marks(
    post_processor: &Value,
    vocabulary: &HashMap<String, u32>,
) -> Result<(Vec<u32>, Vec<u32>), String> {
    for step in sequence_steps(post_processor, "processors") {
        match part_type(step) {
            "TemplateProcessing" => return read_template(step),
            "BertProcessing" | "RobertaProcessing" => {
                let mark = |name: &str| read_id(&step[name][1]).map(|id| vec![id]);
                return mark("cls")
                    .zip(mark("sep"))
                    .ok_or_else(|| "its post_processor has no numbers for cls and sep".to_owned());
            }
            "ByteLevel" => {}
            other => return Err(format!("its post_processor {other:?} is not supported")),
        }
    }
    // The file has no template: use the usual marks of the model's family.
    let named = |names: [&str; 2]| names.iter().find_map(|name| vocabulary.get(*name)).copied();
    let (start, end) = (named(["[CLS]", "<s>"]), named(["[SEP]", "</s>"]));
    Ok((start.into_iter().collect(), end.into_iter().collect()))
}

fn read_template(step: &Value) -> Result<(Vec<u32>, Vec<u32>), String> {
    let damaged = || "its post_processor names a special token that it does not describe".to_owned();
    let (mut start, mut end, mut is_behind) = (Vec::new(), Vec::new(), false);
    for part in step["single"].as_array().into_iter().flatten() {
        let Some(name) = part["SpecialToken"]["id"].as_str() else {
            is_behind = true;
            continue;
        };
        let ids = step["special_tokens"][name]["ids"].as_array().ok_or_else(damaged)?;
        let ids = ids.iter().map(read_id).collect::<Option<Vec<u32>>>().ok_or_else(damaged)?;
        if is_behind { &mut end } else { &mut start }.extend(ids);
    }
    Ok((start, end))
}
