//! Names in the form in which they are compared, for any case and spelling.

use unicode_normalization::UnicodeNormalization;

use super::at_word_borders;

/// The form in which names are compared: NFKC, case folded, typographic apostrophes replaced by plain ones,
/// consecutive white space by one space.
pub fn fold_name(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    }
    // By way of upper case, as in Unicode's case folding: `ß` is `ss`, a final sigma is a sigma. `ẞ` is upper case
    // already, and is made lower case first.
    let lower = name.nfkc().flat_map(char::to_lowercase);
    let folded = lower.flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    let plain: String = folded.map(|c| if c == '\u{2019}' { '\'' } else { c }).nfkc().collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True if a folded text contains a folded name: anywhere for scripts without spaces between words, at word
/// boundaries for the others, so that `ann` is not found in `planning`.
pub fn is_named_in_text(text: &str, name: &str) -> bool {
    !name.is_empty()
        && text.match_indices(name).any(|(start, found)| at_word_borders(text, start, start + found.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_compared_after_normalisation() {
        assert_eq!(fold_name("Ｔｏｍ  Brown "), "tom brown");
        assert_eq!(fold_name("小黑"), "小黑");
    }

    #[test]
    fn case_is_folded_in_every_script() {
        assert_eq!(fold_name("STRASSE"), fold_name("Straße"));
        assert_eq!(fold_name("STRA\u{1e9e}E"), fold_name("Straße"));
        assert_eq!(fold_name("ΟΔΥΣΣΕΥΣ"), fold_name("Οδυσσευς"));
        assert_eq!(fold_name("O\u{2019}Brien"), fold_name("o'brien"));
        assert_eq!(fold_name("Иван"), "иван");
    }

    #[test]
    fn folding_any_character_twice_changes_nothing() {
        for character in '\0'..=char::MAX {
            let folded = fold_name(character.encode_utf8(&mut [0; 4]));
            assert_eq!(fold_name(&folded), folded, "{character:?}");
        }
    }

    proptest! {
        #[test]
        fn folding_twice_changes_nothing(name in "\\PC{0,12}") {
            let folded = fold_name(&name);
            prop_assert_eq!(fold_name(&folded), folded);
        }
    }
}
