use std::ops::{Range, RangeInclusive};
use std::path::Path;

use tokenizers::Tokenizer;

use crate::ModelError;

/// Splits text into the pieces of the model's vocabulary.
pub(crate) struct WordPieces {
    tokenizer: Tokenizer,
    unknown: u32,
    start: u32,
    end: u32,
    max_pieces: usize,
    readable_letters: &'static [RangeInclusive<char>],
}

/// A text as the model meets it.
pub(crate) struct Pieces {
    /// Ids in the vocabulary, `[CLS]` first and `[SEP]` last.
    pub(crate) ids: Vec<u32>,
    /// Share of the text that the model can read, 0 to 1.
    pub(crate) readability: f32,
}

/// Bytes of a text that are looked at. 256 pieces are seldom more than 2,000 characters; the bound keeps the cost of a
/// book that somebody pastes away from the tokenizer.
const MAX_BYTES: usize = 32 * 1024;

impl WordPieces {
    pub(crate) fn open(
        path: &Path,
        max_pieces: usize,
        readable_letters: &'static [RangeInclusive<char>],
    ) -> Result<Self, ModelError> {
        let unusable = |reason: String| ModelError::unusable(path, reason);
        let json = std::fs::read(path).map_err(ModelError::io(path))?;
        let mut tokenizer = Tokenizer::from_bytes(json).map_err(|error| unusable(error.to_string()))?;
        // The file asks for padding to, and truncation at, 128 pieces. Padding is wasted work, and the reference
        // truncates at 256; here the cut is made by `split`, after readability has seen the whole text.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| unusable(error.to_string()))?;
        let id = |piece: &str| {
            tokenizer.token_to_id(piece).ok_or_else(|| unusable(format!("its vocabulary has no {piece}")))
        };
        let (unknown, start, end) = (id("[UNK]")?, id("[CLS]")?, id("[SEP]")?);
        Ok(Self { tokenizer, unknown, start, end, max_pieces, readable_letters })
    }

    /// The text's pieces, cut to the model's limit.
    pub(crate) fn split(&self, text: &str) -> Result<Pieces, tokenizers::Error> {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let encoding = self.tokenizer.encode(text, false)?;
        let pieces = encoding.get_ids();
        let unknown: Vec<Range<usize>> = pieces
            .iter()
            .zip(encoding.get_offsets())
            .filter(|(id, _)| **id == self.unknown)
            .map(|(_, &(from, to))| from..to)
            .collect();
        let kept = pieces.len().min(self.max_pieces.saturating_sub(2));
        let mut ids = Vec::with_capacity(kept + 2);
        ids.push(self.start);
        ids.extend_from_slice(&pieces[..kept]);
        ids.push(self.end);
        Ok(Pieces { ids, readability: readability(text, &unknown, self.readable_letters) })
    }
}

/// Share of the letters and symbols of `text` that the model can read.
///
/// Unreadable is what no piece of the vocabulary covers (`unknown`: byte ranges in ascending order) and any letter
/// outside `readable`. Digits, punctuation and symbols that the vocabulary has count for nothing beside letters: a
/// date beside an unreadable verb would otherwise make the sentence readable. A text of nothing but them is readable;
/// an empty one has nothing to compare and is not.
fn readability(text: &str, unknown: &[Range<usize>], readable: &[RangeInclusive<char>]) -> f32 {
    let (mut known_letters, mut unreadable, mut neutral) = (0_u32, 0_u32, 0_u32);
    let mut unknown = unknown.iter().peekable();
    for (at, character) in text.char_indices() {
        if character.is_whitespace() || character.is_control() {
            continue;
        }
        while unknown.next_if(|span| span.end <= at).is_some() {}
        if unknown.peek().is_some_and(|span| span.contains(&at)) {
            unreadable += 1;
        } else if !character.is_alphabetic() {
            neutral += 1;
        } else if readable.iter().any(|range| range.contains(&character)) {
            known_letters += 1;
        } else {
            unreadable += 1;
        }
    }
    match (known_letters + unreadable, neutral) {
        (0, 0) => 0.0,
        (0, _) => 1.0,
        (counted, _) => known_letters as f32 / counted as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::readability;

    const LATIN: &[std::ops::RangeInclusive<char>] = &['a'..='z'];

    #[test]
    fn letters_of_other_scripts_are_unreadable_though_no_piece_is_unknown() {
        assert_eq!(readability("猫", &[], LATIN), 0.0);
        assert_eq!(readability("cat 猫", &[], LATIN), 0.75);
        assert_eq!(readability("кошка", &[], LATIN), 0.0);
    }

    #[test]
    fn what_no_piece_covers_is_unreadable() {
        let unknown = vec![4..7, 8..12];
        assert_eq!(readability("abc def ghij kl", &unknown, LATIN), 5.0 / 12.0);
        let emoji = std::iter::once(4..8).collect::<Vec<_>>();
        assert_eq!(readability("abc 😀", &emoji, LATIN), 0.75);
    }

    #[test]
    fn digits_and_punctuation_hide_nothing() {
        assert_eq!(readability("2024-03-05: 离", &[], LATIN), 0.0);
        assert_eq!(readability("2024-03-05!", &[], LATIN), 1.0);
    }

    #[test]
    fn an_empty_text_has_nothing_to_compare() {
        assert_eq!(readability("", &[], LATIN), 0.0);
        assert_eq!(readability(" \n\t", &[], LATIN), 0.0);
    }
}
