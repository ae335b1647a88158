//! Folds text, and splits it into words and into stretches of scripts without spaces.

use std::ops::Range;
use std::sync::LazyLock;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Word boundaries by the Unicode rules alone, for scripts with spaces.
const SPACED: WordSegmenterBorrowed<'static> =
    WordSegmenter::new_for_non_complex_scripts(WordBreakInvariantOptions::default());

/// Word boundaries by dictionary, for scripts without spaces. Finding the dictionaries takes a sixth of the time of a short
/// question.
static BY_DICTIONARY: LazyLock<WordSegmenterBorrowed<'static>> =
    LazyLock::new(|| WordSegmenter::new_auto(WordBreakInvariantOptions::default()));

/// Maximum characters that the dictionary splits at once: no sentence needs more, and its memory grows with the
/// length.
const RUN_LENGTH_MAX: usize = 200;

/// The form in which words are compared: NFKC and lower case, with one kind of apostrophe.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let lower = text.nfkc().flat_map(char::to_lowercase);
    lower
        .map(|character| if matches!(character, '\u{2019}' | '\u{02bc}') { '\'' } else { character })
        .nfkc()
        .collect()
}

/// A part of folded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A word by the Unicode rules; may contain apostrophes, dots and the like.
    Word(&'a str),
    /// Consecutive letters of a script without spaces (also Hangul, whose particles are attached to words).
    Unspaced(&'a str),
    /// A hyphen directly between two words.
    Hyphen,
}

/// Splits folded text into its words and unspaced parts, in order; spaces and punctuation are left out.
pub(crate) fn split_words(folded: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < folded.len() {
        let rest = &folded[start..];
        let unspaced = rest.chars().next().is_some_and(is_unspaced);
        let length = rest
            .char_indices()
            .find(|&(at, character)| {
                at > 0 && is_unspaced(character) != unspaced && !is_combining_mark(character)
            })
            .map_or(rest.len(), |(at, _)| at);
        let run = &rest[..length];
        if unspaced {
            pieces.push(Piece::Unspaced(run));
        } else {
            segment_words(run, &mut pieces);
        }
        start += length;
    }
    pieces
}

/// The words of a folded text between spaces, without those of unspaced scripts.
pub(crate) fn whole_words(folded: &str) -> Vec<&str> {
    let pieces = split_words(folded).into_iter();
    pieces.filter_map(|piece| if let Piece::Word(word) = piece { Some(word) } else { None }).collect()
}

fn segment_words<'a>(run: &'a str, pieces: &mut Vec<Piece<'a>>) {
    let mut borders = SPACED.segment_str(run);
    let mut start = borders.next().unwrap_or(0);
    for end in borders {
        let segment = &run[start..end];
        if segment.chars().any(char::is_alphanumeric) {
            pieces.push(Piece::Word(segment));
        } else if matches!(segment, "-" | "\u{2010}" | "\u{2011}") {
            pieces.push(Piece::Hyphen);
        }
        start = end;
    }
}

/// Letters with their combining marks: the terms of an unspaced part.
pub(crate) fn split_letters(run: &str) -> Vec<&str> {
    let mut borders: Vec<usize> = run
        .char_indices()
        .filter(|&(at, character)| at == 0 || !is_combining_mark(character))
        .map(|(at, _)| at)
        .collect();
    borders.push(run.len());
    borders.windows(2).map(|pair| &run[pair[0]..pair[1]]).collect()
}

/// Words of an unspaced part, by the dictionary, as byte ranges.
pub(crate) fn dictionary_words(run: &str) -> Vec<Range<usize>> {
    let letters: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
    let mut ranges = Vec::new();
    for chunk in letters.chunks(RUN_LENGTH_MAX) {
        let Some(&offset) = chunk.first() else { continue };
        let end = letters
            .get(letters.partition_point(|&at| at <= chunk[chunk.len() - 1]))
            .copied()
            .unwrap_or(run.len());
        let borders: Vec<usize> = BY_DICTIONARY.segment_str(&run[offset..end]).collect();
        ranges.extend(borders.windows(2).map(|pair| offset + pair[0]..offset + pair[1]));
    }
    ranges
}

/// True for a letter of a script without spaces between words.
pub fn is_unspaced(character: char) -> bool {
    let script = matches!(character,
        '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}' // Han
        | '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3105}'..='\u{312f}' // kana, bopomofo
        | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{ac00}'..='\u{d7a3}' // Hangul
        | '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'); // Thai, Lao, Burmese, Khmer
    script && character.is_alphabetic()
}

/// True if a character is Han.
pub fn is_han(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// True for a syllable of Hangul.
pub(crate) fn is_hangul(character: char) -> bool {
    matches!(character, '\u{ac00}'..='\u{d7a3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_letters_are_folded_as_all_others() {
        let plain: String = (0..128u8).map(char::from).collect();
        assert_eq!(fold(&format!("{plain}\u{e9}")), format!("{}\u{e9}", fold(&plain)));
    }

    #[test]
    fn mixed_text_falls_into_words_and_runs() {
        let folded = fold("Ｍｙ cat’s 名字叫小黑, well-known!");
        assert_eq!(
            split_words(&folded),
            [
                Piece::Word("my"),
                Piece::Word("cat's"),
                Piece::Unspaced("名字叫小黑"),
                Piece::Word("well"),
                Piece::Hyphen,
                Piece::Word("known"),
            ]
        );
    }

    #[test]
    fn a_mark_stays_with_its_letter() {
        assert_eq!(split_letters("กินข้าว"), ["กิ", "น", "ข้", "า", "ว"]);
    }

    #[test]
    fn dictionary_words_cover_a_long_run() {
        let run = "我的妹妹在上海读大学".repeat(60);
        let ranges = dictionary_words(&run);
        assert_eq!(ranges.first().map(|range| range.start), Some(0));
        assert_eq!(ranges.last().map(|range| range.end), Some(run.len()));
        assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
    }
}
