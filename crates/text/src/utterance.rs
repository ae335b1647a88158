//! A sentence that is analysed once, for all rules.

use super::lexicon::WordList;
use super::segment::{fold, is_han};

/// A sentence or clause with its folded form. Questions are recognised in `questions`, corrections in `correcting`,
/// statements in `statements`.
#[derive(Clone, Debug)]
pub struct Utterance<'a> {
    pub(super) text: &'a str,
    pub(super) folded: String,
    spaced: String,
}

impl<'a> Utterance<'a> {
    pub fn new(text: &'a str) -> Self {
        let folded = fold(text);
        let spaced = spaced_words(&folded);
        Self { text, folded, spaced }
    }

    /// The words without the Chinese ones, each with one space on both sides; see [`spaced_words`].
    pub fn spaced_words(&self) -> &str {
        &self.spaced
    }

    /// The folded words without the Chinese ones.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.spaced.split_whitespace()
    }

    /// True if the text contains one of the phrases: a Chinese one anywhere, an English one as whole words.
    pub fn says_any(&self, phrases: WordList) -> bool {
        phrases.chinese.occur_in(self.text) || phrases.english.occurs_in_words(&self.spaced)
    }
}

/// The words of letters and digits in lower case, each with one space on both sides, so that phrases are found at
/// word boundaries by plain search. Apostrophes are made plain, Chinese characters left out.
pub fn spaced_words(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + 2);
    spaced.push(' ');
    for letter in text.chars() {
        let letter = if letter == '\u{2019}' { '\'' } else { letter };
        if (letter.is_alphanumeric() && !is_han(letter)) || letter == '\'' {
            spaced.extend(letter.to_lowercase());
        } else if !spaced.ends_with(' ') {
            spaced.push(' ');
        }
    }
    if !spaced.ends_with(' ') {
        spaced.push(' ');
    }
    spaced
}
