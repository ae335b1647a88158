//! Grams of three characters, by which an exact search finds the inside of words.

use std::collections::BTreeSet;

use super::segment::fold;

/// Characters of a gram. Pairs of letters are in every text, and four miss short words.
const GRAM_LENGTH: usize = 3;
/// Maximum grams of one word to search for; the texts found are then compared with the whole word.
const GRAMS_OF_WORD_MAX: usize = 48;

/// A gram to search for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueryGram {
    /// The gram's text: one to three characters, folded.
    pub text: String,
    /// True if it is the prefix of a gram, as for words of one or two characters.
    pub is_prefix: bool,
}

/// Grams of a text, each once, separated by single spaces: every three consecutive characters without a space, and
/// the last two and the last one before a space. Case and width are ignored.
pub fn index_grams(text: &str) -> String {
    let folded = fold(text);
    let mut grams: BTreeSet<String> = BTreeSet::new();
    for word in folded.split_whitespace() {
        let letters: Vec<char> = characters(word);
        grams.extend((0..letters.len()).map(|at| letters[at..].iter().take(GRAM_LENGTH).collect()));
    }
    grams.into_iter().collect::<Vec<_>>().join(" ")
}

/// Grams that are in every text with this folded word, anywhere; empty for a word of control characters. A text with
/// these grams may still lack the word.
pub fn query_grams(word: &str) -> BTreeSet<QueryGram> {
    let letters: Vec<char> = characters(word);
    if letters.is_empty() {
        return BTreeSet::new();
    }
    if letters.len() < GRAM_LENGTH {
        return BTreeSet::from([QueryGram { text: letters.into_iter().collect(), is_prefix: true }]);
    }
    let grams = letters.windows(GRAM_LENGTH).take(GRAMS_OF_WORD_MAX);
    grams.map(|gram| QueryGram { text: gram.iter().collect(), is_prefix: false }).collect()
}

/// The characters of a text, without control characters, which would separate terms of the index.
fn characters(word: &str) -> Vec<char> {
    word.chars().filter(|character| !character.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_holds_a_word_has_its_grams() {
        let text = "Nous avons mangé des gâteaux; O’Brien's node.js 🎉我們去了海邊,看見一隻白貓";
        let grams = index_grams(text);
        let grams: Vec<&str> = grams.split(' ').collect();
        let words =
            ["âteau", "aux;", "x", "brien", "de.j", "js", "🎉", "邊,看", "白貓", "貓", "一", "GÂTEAUX"];
        for word in words {
            for gram in query_grams(&fold(word)) {
                let is_found = |known: &&str| match gram.is_prefix {
                    true => known.starts_with(&gram.text),
                    false => **known == gram.text,
                };
                assert!(grams.iter().any(is_found), "{word}: {gram:?}");
            }
        }
        assert!(query_grams("\u{7}").is_empty());
        assert_eq!(index_grams("ab\u{0}c ab"), "ab abc b bc c");
    }
}
