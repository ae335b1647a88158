//! Finds texts that can state a value, by a word that all such texts contain.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::text::is_unspaced;

/// Hash of a word, or of two consecutive characters in scripts without spaces. Two words may have the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WordKey(u64);

impl WordKey {
    fn from_letters(letters: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        letters.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// The keys of all words of a text folded by [`crate::entities::fold_name`].
    pub fn keys_in_text(folded: &str) -> HashSet<Self> {
        letter_runs(folded).flat_map(Run::word_keys).collect()
    }

    /// A key that every text with this folded phrase has: that of the phrase's longest word. In scripts without
    /// spaces it is the key of the last two characters, because many sentences begin alike. `None` if the phrase has
    /// no letters: then every text has to be checked.
    pub(super) fn keys_of_phrase(folded: &str) -> Option<Self> {
        let longest = letter_runs(folded).max_by_key(|run| run.letters.chars().count())?;
        Some(match longest.is_unspaced {
            true => Self::from_letters(longest.last_two_words()),
            false => Self::from_letters(longest.letters),
        })
    }
}

/// Consecutive letters and digits, either of scripts with spaces between words or of the others.
struct Run<'a> {
    letters: &'a str,
    is_unspaced: bool,
}

impl<'a> Run<'a> {
    fn word_keys(self) -> Vec<WordKey> {
        if !self.is_unspaced {
            return vec![WordKey::from_letters(self.letters)];
        }
        let starts: Vec<usize> = self.letters.char_indices().map(|(start, _)| start).collect();
        let end = |place: usize| starts.get(place).copied().unwrap_or(self.letters.len());
        let each = (0..starts.len()).flat_map(|place| [(place, place + 1), (place, place + 2)]);
        each.filter_map(|(from, to)| self.letters.get(end(from)..end(to)))
            .map(WordKey::from_letters)
            .collect()
    }

    fn last_two_words(&self) -> &'a str {
        let start = self.letters.char_indices().rev().nth(1).map_or(0, |(start, _)| start);
        &self.letters[start..]
    }
}

fn letter_runs(folded: &str) -> impl Iterator<Item = Run<'_>> {
    folded.split(|c: char| !c.is_alphanumeric()).filter(|letters| !letters.is_empty()).flat_map(|letters| {
        let mut rest = letters;
        std::iter::from_fn(move || {
            let is_unspaced = is_unspaced(rest.chars().next()?);
            let end = rest.find(|c| is_unspaced != self::is_unspaced(c)).unwrap_or(rest.len());
            let (letters, after) = rest.split_at(end);
            rest = after;
            Some(Run { letters, is_unspaced })
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entities::{fold_name, is_named_in_text};

    #[test]
    fn text_that_says_a_phrase_has_its_key() {
        let texts = [
            "How is Berlin today?",
            "我的猫小黑今天怎么样",
            "my Snow小黑and O’Brien's 5月3日",
            "New York, again",
        ];
        let phrases = ["berlin", "小黑", "黑", "snow", "o'brien", "5月3日", "new york", "3日", "猫"];
        let mut said = 0;
        for text in texts {
            let keys = WordKey::keys_in_text(&fold_name(text));
            for phrase in phrases.into_iter().filter(|phrase| is_named_in_text(&fold_name(text), phrase)) {
                said += 1;
                assert!(
                    WordKey::keys_of_phrase(phrase).is_some_and(|key| keys.contains(&key)),
                    "{phrase} in {text}"
                );
            }
        }
        assert_eq!(said, 11);
        assert_eq!(WordKey::keys_of_phrase("🎉"), None);
    }

    proptest! {
        #[test]
        fn no_phrase_is_missed(before in "[a-c小黑白 ,🎉]{0,6}", phrase in "[a-c小黑白 '🎉]{1,6}", after in "[a-c小黑白 ,]{0,6}") {
            let (text, phrase) = (format!("{before}{phrase}{after}"), fold_name(&phrase));
            if let Some(key) = WordKey::keys_of_phrase(&phrase) && is_named_in_text(&fold_name(&text), &phrase) {
                prop_assert!(WordKey::keys_in_text(&fold_name(&text)).contains(&key), "{} in {}", phrase, text);
            }
        }
    }
}
