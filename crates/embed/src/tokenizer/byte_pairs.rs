//! Byte-level BPE (Sennrich et al. 2016, Radford et al. 2019): the bytes of a text are encoded as letters, and the
//! pair that was learned first is merged repeatedly.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use serde_json::Value;

use super::{Piece, Symbol};

/// Contractions that are words of their own.
const CONTRACTIONS: [&str; 7] = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];

/// A vocabulary of byte-level BPE: letters that encode bytes, and the merges that make longer pieces.
pub(crate) struct BytePairs {
    /// Pieces of single bytes; `None` for a byte that the vocabulary lacks.
    bytes: Vec<Option<u32>>,
    /// Rank of each merge, the lowest first, and the resulting piece.
    merges: HashMap<(u32, u32), (u32, u32)>,
    has_space_in_front: bool,
}

impl BytePairs {
    /// # Errors
    /// If a merge names no piece, or words are not split by the expression of GPT-2 (`use_regex`).
    pub(crate) fn read(
        model: &Value,
        pre_tokenizer: &Value,
        vocabulary: &HashMap<String, u32>,
    ) -> Result<Self, String> {
        if pre_tokenizer["use_regex"].as_bool() == Some(false) {
            return Err("its pre_tokenizer ByteLevel without use_regex is not supported".to_owned());
        }
        let id = |piece: &str| vocabulary.get(piece).copied();
        let mut merges = HashMap::new();
        for (merge, rank) in model["merges"].as_array().into_iter().flatten().zip(0..) {
            let pair = match merge.as_str() {
                Some(pair) => pair.split_once(' '),
                None => merge[0].as_str().zip(merge[1].as_str()),
            };
            let known = pair.and_then(|(left, right)| {
                Some(((id(left)?, id(right)?), (rank, id(&format!("{left}{right}"))?)))
            });
            let (pair, merged) = known.ok_or_else(|| format!("its merge {merge} has no piece"))?;
            merges.insert(pair, merged);
        }
        let bytes =
            (0..=255).map(|byte| letter_of(byte).and_then(|letter| id(letter.encode_utf8(&mut [0; 4]))));
        Ok(Self {
            bytes: bytes.collect(),
            merges,
            has_space_in_front: pre_tokenizer["add_prefix_space"].as_bool().unwrap_or(true),
        })
    }

    pub(crate) fn split(&self, symbols: &[Symbol]) -> Vec<Piece> {
        let mut text = symbols.to_vec();
        if self.has_space_in_front && symbols.first().is_some_and(|first| first.character != ' ') {
            text.insert(0, Symbol { character: ' ', source: 0..0 });
        }
        let mut pieces = Vec::new();
        let mut rest = &text[..];
        while !rest.is_empty() {
            let (word, behind) = rest.split_at(word_length(rest).clamp(1, rest.len()));
            self.split_word(word, &mut pieces);
            rest = behind;
        }
        pieces
    }

    fn split_word(&self, word: &[Symbol], pieces: &mut Vec<Piece>) {
        let mut buffer = [0; 4];
        let mut parts: Vec<MergedBytes> = Vec::new();
        for symbol in word {
            for byte in symbol.character.encode_utf8(&mut buffer).bytes() {
                if let Some(id) = self.bytes[usize::from(byte)] {
                    let at = parts.len();
                    parts.push(MergedBytes {
                        id,
                        source: symbol.source.clone(),
                        before: at.checked_sub(1),
                        next: at + 1,
                        is_merged: false,
                    });
                }
            }
        }
        self.merge(&mut parts);
        let left = parts.into_iter().filter(|part| !part.is_merged);
        pieces.extend(left.map(|part| Piece { id: part.id, source: part.source }));
    }

    /// Merges neighbours until no merge applies. A heap finds the next merge, so that a page without spaces takes
    /// only O(n log n).
    fn merge(&self, parts: &mut [MergedBytes]) {
        let mut heap = BinaryHeap::new();
        let candidate = |parts: &[MergedBytes], left: usize| {
            let right = parts[left].next;
            let pair = (parts[left].id, parts.get(right)?.id);
            self.merges.get(&pair).map(|(rank, merged)| Reverse((*rank, left, pair, *merged)))
        };
        heap.extend((0..parts.len()).filter_map(|left| candidate(parts, left)));
        while let Some(Reverse((_, left, pair, merged))) = heap.pop() {
            let right = parts[left].next;
            // A candidate is outdated once one of its halves became part of another piece.
            let is_current = !parts[left].is_merged
                && parts.get(right).is_some_and(|part| (parts[left].id, part.id) == pair);
            if !is_current {
                continue;
            }
            parts[left].id = merged;
            parts[left].source.end = parts[right].source.end;
            parts[left].next = parts[right].next;
            parts[right].is_merged = true;
            if let Some(part) = parts.get_mut(parts[left].next) {
                part.before = Some(left);
            }
            heap.extend(candidate(parts, left));
            heap.extend(parts[left].before.and_then(|before| candidate(parts, before)));
        }
    }
}

/// A byte, or bytes that were merged.
struct MergedBytes {
    id: u32,
    source: Range<usize>,
    before: Option<usize>,
    /// Index of the following part; the number of parts if there is none.
    next: usize,
    /// True if this part has become the right half of another part.
    is_merged: bool,
}

/// Symbols of the text's first word, by the expression of GPT-2:
/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
fn word_length(text: &[Symbol]) -> usize {
    let is_contraction = |contraction: &&&str| {
        let letters = contraction.chars().map(Some).chain([None]);
        letters
            .zip(text.iter().map(|symbol| Some(symbol.character)).chain([None]))
            .all(|(a, b)| a.is_none() || a == b)
            && text.len() >= contraction.len()
    };
    if let Some(contraction) = CONTRACTIONS.iter().find(is_contraction) {
        return contraction.len();
    }
    let space = usize::from(text[0].character == ' ');
    if let Some(first) = text.get(space).map(|symbol| class_of(symbol.character))
        && first != Class::Space
    {
        let run = text[space..].iter().take_while(|symbol| class_of(symbol.character) == first);
        return space + run.count();
    }
    let spaces = text.iter().take_while(|symbol| symbol.character.is_whitespace()).count();
    // The last space before a word belongs to the word.
    if spaces < text.len() && spaces > 1 { spaces - 1 } else { spaces }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Letter,
    Number,
    Other,
}

fn class_of(character: char) -> Class {
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    if character.is_whitespace() {
        Class::Space
    } else if GeneralCategoryGroup::Letter.contains(category) {
        Class::Letter
    } else if GeneralCategoryGroup::Number.contains(category) {
        Class::Number
    } else {
        Class::Other
    }
}

/// The letter that encodes a byte: printable bytes encode themselves, the others, in ascending order, letters from
/// U+0100 on.
fn letter_of(byte: u8) -> Option<char> {
    if is_spelled_as_itself(byte) {
        return Some(char::from(byte));
    }
    let place = (0..byte).filter(|other| !is_spelled_as_itself(*other)).count();
    u32::try_from(place).ok().and_then(|place| char::from_u32(0x100 + place))
}

fn is_spelled_as_itself(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff)
}

/// Decodes letters to bytes, and these to text. Incomplete characters are dropped.
pub(crate) fn text_of_letters(piece: &str) -> String {
    let bytes: Vec<u8> =
        piece.chars().filter_map(|letter| (0..=255).find(|byte| letter_of(*byte) == Some(letter))).collect();
    String::from_utf8_lossy(&bytes).replace(char::REPLACEMENT_CHARACTER, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let symbols: Vec<Symbol> = text.chars().map(|character| Symbol { character, source: 0..0 }).collect();
        let (mut words, mut rest) = (Vec::new(), &symbols[..]);
        while !rest.is_empty() {
            let (word, behind) = rest.split_at(word_length(rest));
            words.push(word.iter().map(|symbol| symbol.character).collect());
            rest = behind;
        }
        words
    }

    #[test]
    fn words_are_those_of_gpt_2() {
        assert_eq!(words("It's 3.50 for  two"), ["It", "'s", " 3", ".", "50", " for", " ", " two"]);
        assert_eq!(words("a\n\nb \n"), ["a", "\n", "\n", "b", " \n"]);
        assert_eq!(words("they'll'"), ["they", "'ll", "'"]);
        assert_eq!(words("我的猫。"), ["我的猫", "。"]);
    }

    #[test]
    fn byte_letters_become_text() {
        assert_eq!(text_of_letters("Ġhello"), " hello");
        assert_eq!(text_of_letters("çĮ«"), "猫");
        assert_eq!(text_of_letters("çĮ"), "");
    }
}
