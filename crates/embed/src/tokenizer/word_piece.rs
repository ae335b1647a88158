//! WordPiece (Wu et al. 2016) with BERT's rules for words.

use std::collections::HashMap;

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use serde_json::Value;

use super::{Piece, Symbol, read_id};

/// Maximum characters of a word; a longer one is unknown. This is the value of BERT's models, used if the file names
/// no other.
const WORD_CHARS_MAX: u64 = 100;

/// A vocabulary of WordPiece: pieces that begin a word, and with a prefix, pieces that continue one.
pub(crate) struct WordPiece {
    /// Pieces that begin a word.
    first: HashMap<Box<str>, u32>,
    /// Pieces that continue a word, without their prefix.
    next: HashMap<Box<str>, u32>,
    unknown: u32,
    word_chars_max: usize,
}

impl WordPiece {
    /// # Errors
    /// If the vocabulary has no piece for unknown words, or a piece without a number.
    pub(crate) fn read(model: &Value, vocabulary: &HashMap<String, u32>) -> Result<Self, String> {
        let prefix = model["continuing_subword_prefix"].as_str().unwrap_or("##");
        let unknown = model["unk_token"].as_str().unwrap_or("[UNK]");
        let unknown = *vocabulary
            .get(unknown)
            .ok_or_else(|| format!("its vocabulary has no piece {unknown:?} for unknown words"))?;
        let (mut first, mut next) = (HashMap::new(), HashMap::new());
        for (piece, id) in model["vocab"].as_object().into_iter().flatten() {
            let id = read_id(id).ok_or("its vocabulary has a piece without a number")?;
            match piece.strip_prefix(prefix).filter(|rest| !rest.is_empty() && !prefix.is_empty()) {
                Some(rest) => next.insert(rest.into(), id),
                None => first.insert(piece.as_str().into(), id),
            };
        }
        let word_chars_max = model["max_input_chars_per_word"].as_u64().unwrap_or(WORD_CHARS_MAX);
        Ok(Self {
            first,
            next,
            unknown,
            word_chars_max: usize::try_from(word_chars_max).unwrap_or(usize::MAX),
        })
    }

    /// Splits at white space; a punctuation mark is a word of its own.
    pub(crate) fn split(&self, symbols: &[Symbol]) -> Vec<Piece> {
        let categories = CodePointMapData::<GeneralCategory>::new();
        let is_punctuation = |character: char| {
            character.is_ascii_punctuation()
                || GeneralCategoryGroup::Punctuation.contains(categories.get(character))
        };
        let mut pieces = Vec::new();
        for run in symbols.split(|symbol| symbol.character.is_whitespace()) {
            let are_one_word =
                |a: &Symbol, b: &Symbol| !is_punctuation(a.character) && !is_punctuation(b.character);
            for word in run.chunk_by(are_one_word) {
                self.split_word(word, &mut pieces);
            }
        }
        pieces
    }

    /// Takes the longest piece from the left, repeatedly. A word with a part that has no piece is unknown as a whole.
    fn split_word(&self, word: &[Symbol], pieces: &mut Vec<Piece>) {
        let before = pieces.len();
        let mut push = |id: u32, part: &[Symbol]| {
            if let (Some(first), Some(last)) = (part.first(), part.last()) {
                pieces.push(Piece { id, source: first.source.start..last.source.end });
            }
        };
        if word.len() > self.word_chars_max {
            return push(self.unknown, word);
        }
        let text: String = word.iter().map(|symbol| symbol.character).collect();
        let (mut from, mut byte) = (0, 0);
        while from < word.len() {
            let known = if from == 0 { &self.first } else { &self.next };
            let mut rest = &text[byte..];
            let mut count = word.len() - from;
            let id = loop {
                if let Some(id) = known.get(rest) {
                    break *id;
                }
                let Some((last, _)) = rest.char_indices().next_back().filter(|_| count > 1) else {
                    pieces.truncate(before);
                    let source = word[0].source.start..word[word.len() - 1].source.end;
                    return pieces.push(Piece { id: self.unknown, source });
                };
                (rest, count) = (&rest[..last], count - 1);
            };
            push(id, &word[from..from + count]);
            (from, byte) = (from + count, byte + rest.len());
        }
    }
}
