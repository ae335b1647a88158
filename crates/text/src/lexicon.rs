//! The word lists of all rules, from the files of `lexicon/`: a module for each file, a constant for each section.
//!
//! Lists are folded: lower case, plain apostrophes. Chinese phrases match anywhere in a text, English ones as whole
//! words, unless the rule that uses a list says otherwise.

/// Words or phrases of one language, in the order of their file.
#[derive(Debug, Clone, Copy)]
pub struct Words(&'static [&'static str]);

impl Words {
    /// The phrases, in the order of the file.
    pub fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().copied()
    }

    /// True if the list contains this word.
    pub fn contains(self, word: &str) -> bool {
        self.0.contains(&word)
    }

    /// True if the text contains an entry of the list.
    pub fn occur_in(self, text: &str) -> bool {
        self.iter().any(|phrase| text.contains(phrase))
    }

    /// True if a text of words, with one space on both sides of each, contains an entry of the list.
    pub fn occurs_in_words(self, spaced: &str) -> bool {
        self.iter().any(|phrase| is_stated_in(spaced, phrase))
    }

    /// True if the words begin with the words of an entry.
    pub(crate) fn begin_words(self, words: &[&str]) -> bool {
        self.iter().any(|phrase| {
            let mut said = words.iter();
            phrase.split(' ').all(|word| said.next() == Some(&word))
        })
    }

    /// True if a text begins with an entry of the list.
    pub fn begin(self, text: &str) -> bool {
        self.iter().any(|phrase| text.starts_with(phrase))
    }

    /// True if a text ends with an entry of the list.
    pub fn is_end_of(self, text: &str) -> bool {
        self.iter().any(|phrase| text.ends_with(phrase))
    }
}

/// Words or phrases with one meaning in both languages; either list may be empty.
#[derive(Debug, Clone, Copy)]
pub struct WordList {
    pub chinese: Words,
    pub english: Words,
}

impl WordList {
    /// The Chinese phrases, then the English ones.
    pub fn iter(self) -> impl Iterator<Item = &'static str> {
        self.chinese.iter().chain(self.english.iter())
    }

    /// True if the list contains this word.
    pub fn contains(self, word: &str) -> bool {
        self.chinese.contains(word) || self.english.contains(word)
    }

    /// True if a text begins with an entry of the list.
    pub fn begin(self, text: &str) -> bool {
        self.chinese.begin(text) || self.english.begin(text)
    }

    /// True if a text ends with an entry of the list.
    pub(crate) fn is_end_of(self, text: &str) -> bool {
        self.chinese.is_end_of(text) || self.english.is_end_of(text)
    }

    /// True if the text contains an entry of the list.
    pub fn occur_in(self, text: &str) -> bool {
        self.chinese.occur_in(text) || self.english.occur_in(text)
    }
}

/// True if a text of words with one space on both sides of each contains a phrase.
pub(crate) fn is_stated_in(spaced: &str, phrase: &str) -> bool {
    let is_blank = |at: usize| spaced.as_bytes().get(at) == Some(&b' ');
    let mut found = spaced.match_indices(phrase);
    found.any(|(at, _)| at > 0 && is_blank(at - 1) && is_blank(at + phrase.len()))
}

include!(concat!(env!("OUT_DIR"), "/lexicon.rs"));
