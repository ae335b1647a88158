//! Words that tell nothing of what a text is about: particles, question words, "remember", greetings.

use std::collections::HashSet;
use std::sync::LazyLock;

const LISTS: [&str; 5] = [
    include_str!("function_words/en.txt"),
    include_str!("function_words/zh.txt"),
    include_str!("function_words/ja.txt"),
    include_str!("function_words/ko.txt"),
    include_str!("function_words/ru.txt"),
];

static FUNCTION_WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| LISTS.into_iter().flat_map(listed).collect());

/// The words of a list.
pub(super) fn listed(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
}

/// Longest run of function words without a blank that is still taken apart, in characters.
const COMPOUND_LENGTH_MAX: usize = 12;

/// Whether a folded word is in one of the lists.
pub fn is_function_word(folded: &str) -> bool {
    FUNCTION_WORDS.contains(folded)
}

/// Whether a folded piece of text without blanks (我的, 我在) is made of function words alone.
pub(crate) fn is_function_compound(folded: &str) -> bool {
    if is_function_word(folded) {
        return true;
    }
    let borders: Vec<usize> = folded.char_indices().map(|(at, _)| at).chain([folded.len()]).collect();
    if borders.len() > COMPOUND_LENGTH_MAX + 1 {
        return false;
    }
    let mut reachable = vec![false; borders.len()];
    reachable[0] = true;
    for end in 1..borders.len() {
        reachable[end] =
            (0..end).any(|start| reachable[start] && is_function_word(&folded[borders[start]..borders[end]]));
    }
    reachable.last().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_hold_folded_words_only() {
        for word in FUNCTION_WORDS.iter() {
            assert_eq!(&crate::fold(word), word);
        }
    }

    #[test]
    fn compounds_are_taken_apart() {
        assert!(is_function_compound("我的"));
        assert!(is_function_compound("我在"));
        assert!(!is_function_compound("我猫"));
        assert!(!is_function_compound("大学"));
    }
}
