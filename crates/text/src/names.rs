//! Finds names in a question by their capital letters.

use std::collections::HashSet;

use super::function_words::is_function_word;
use super::segment::fold;

/// Maximum words of a name. "San Juan de Alicante" has four; longer sequences of capitalised words are headings.
pub(super) const NAME_WORDS_MAX: usize = 4;

/// Capitalised words of a text, folded. A capital letter at the start of a sentence, or in a text of capitals, shows
/// nothing.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Words that are names, or parts of one.
    words: HashSet<String>,
    /// Names of several words, separated by spaces.
    whole: HashSet<String>,
}

impl Names {
    pub(super) fn from_text(text: &str) -> Self {
        let mut names = Self::default();
        let mut run: Vec<String> = Vec::new();
        let mut begins = true;
        for token in text.split_whitespace() {
            let word = token.trim_matches(|c: char| !c.is_alphanumeric());
            let opens = !token.starts_with(|c: char| c.is_alphanumeric());
            if !is_capitalised(word) || opens {
                names.take_name(&mut run);
            }
            if is_capitalised(word) {
                let folded = strip_punctuation(word);
                // A sentence's first word is part of a name only if another follows, and "Did" never is.
                if begins {
                    names.take_name(&mut run);
                } else {
                    names.words.insert(folded.clone());
                }
                if !begins || !is_function_word(&folded) {
                    run.push(folded);
                }
            }
            // A word after a comma or a possessive begins another name.
            if !token.ends_with(|c: char| c.is_alphanumeric()) || is_possessive(word) {
                names.take_name(&mut run);
            }
            begins = token.ends_with(['.', '!', '?', ':', '…', '"', '\u{201d}']);
        }
        names.take_name(&mut run);
        names
    }

    /// True if a folded word is part of a name in this text.
    pub(super) fn is_name(&self, folded: &str) -> bool {
        self.words.contains(folded)
    }

    /// True if a name in this text has several words.
    pub(super) fn has_names_of_several_words(&self) -> bool {
        !self.whole.is_empty()
    }

    /// True if these consecutive folded words are a name in this text.
    pub(super) fn are_name(&self, words: &[&str]) -> bool {
        self.whole.contains(&words.join(" "))
    }

    fn take_name(&mut self, run: &mut Vec<String>) {
        let run = std::mem::take(run);
        if (2..=NAME_WORDS_MAX).contains(&run.len()) {
            self.words.extend(run.iter().cloned());
            self.whole.insert(run.join(" "));
        }
    }
}

fn is_capitalised(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
}

fn is_possessive(word: &str) -> bool {
    word.ends_with("'s") || word.ends_with("\u{2019}s")
}

fn strip_punctuation(word: &str) -> String {
    let folded = fold(word);
    folded.strip_suffix("'s").map(str::to_owned).unwrap_or(folded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query_terms;

    fn surfaces(text: &str) -> Vec<String> {
        query_terms(text).into_iter().map(|term| term.surface).collect()
    }

    #[test]
    fn a_name_is_not_split() {
        assert_eq!(surfaces("When did I go to New York?"), ["new york"]);
        assert_eq!(surfaces("Mary Ann Evans wrote what?"), ["mary ann evans", "wrote"]);
        let term = &query_terms("What did I tell you about San Marino?")[0];
        assert_eq!((term.phrase.0.len(), term.parts.len()), (2, 2));
        assert_eq!(surfaces("Did Ann's Brother, Tom, call?"), ["ann's", "brother", "tom", "call"]);
    }

    #[test]
    fn a_name_that_is_a_function_word_is_recognised_by_its_capital() {
        assert_eq!(surfaces("What did I tell you about Will?"), ["will"]);
        assert!(surfaces("What will I tell you?").is_empty());
        assert!(surfaces("Will I tell you?").is_empty());
        assert!(surfaces("WHAT DID I TELL YOU").is_empty());
        assert!(Names::from_text("so. Will you? And I").words.is_empty());
    }

    #[test]
    fn german_nouns_are_no_names() {
        assert_eq!(surfaces("Wo ist mein Haus Schlüssel?").len(), 2);
    }
}
