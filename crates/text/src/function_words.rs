//! Words without content: particles, question words, "remember", greetings.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::lexicon::{Words, function_words as lexicon};
use super::segment::{fold, is_han};

/// Function words of English, Chinese, Japanese, Korean and Russian, folded.
pub(super) static FUNCTION_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    lexicon::FUNCTION_WORDS
        .iter()
        .chain([lexicon::JA, lexicon::KO, lexicon::RU].into_iter().flat_map(Words::iter))
        .collect()
});

/// Maximum length of consecutive function words without a space that are split, in characters.
const COMPOUND_LENGTH_MAX: usize = 12;

/// True if a folded word is in one of the lists.
pub fn is_function_word(folded: &str) -> bool {
    FUNCTION_WORDS.contains(folded)
}

/// True if a folded text without spaces (我的, 我在) consists only of function words.
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

/// Function words of other languages with Latin letters.
const LATIN: [Words; 12] = [
    lexicon::DA,
    lexicon::DE,
    lexicon::ES,
    lexicon::FI,
    lexicon::FR,
    lexicon::HU,
    lexicon::IT,
    lexicon::NL,
    lexicon::NO,
    lexicon::PT,
    lexicon::SV,
    lexicon::TR,
];

static ENGLISH: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| lexicon::FUNCTION_WORDS.english.iter().collect());
static OTHER_LATIN: LazyLock<Vec<HashSet<&'static str>>> =
    LazyLock::new(|| LATIN.into_iter().map(|list| list.iter().collect()).collect());

/// True if a text is in another language than English and Chinese: in another script, or with more function words of
/// one other language than of English.
pub fn is_other_language(text: &str) -> bool {
    let folded = fold(text);
    let is_other_script = |letter: char| {
        letter.is_alphabetic()
            && !letter.is_ascii()
            && !is_han(letter)
            && !('\u{c0}'..='\u{24f}').contains(&letter)
    };
    let letters = folded.chars().filter(|letter| letter.is_alphabetic()).count();
    if folded.chars().filter(|letter| is_other_script(*letter)).count() * 2 > letters {
        return true;
    }
    let words: Vec<&str> = folded.split(|letter: char| !letter.is_alphanumeric()).collect();
    let count = |list: &HashSet<&str>| words.iter().filter(|word| list.contains(*word)).count();
    let english = count(&ENGLISH);
    OTHER_LATIN.iter().any(|list| count(list) > english)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_contain_only_folded_words() {
        for word in FUNCTION_WORDS.iter() {
            assert_eq!(&crate::fold(word), word);
        }
    }

    #[test]
    fn languages_are_recognised_by_function_words_and_scripts() {
        for text in [
            "Ich erinnere dich morgen um acht daran.",
            "Ich werde dir am Freitag schreiben",
            "Je te le rappellerai demain à huit heures.",
            "Te lo recordaré mañana a las ocho",
            "Я напомню тебе завтра в восемь",
            "明日の八時に思い出させるね",
        ] {
            assert!(is_other_language(text), "{text}");
        }
        for text in ["I'll remind you tomorrow at eight.", "I will ask", "我明天提醒你", "OK", "café at 5"]
        {
            assert!(!is_other_language(text), "{text}");
        }
    }

    #[test]
    fn compounds_are_split() {
        assert!(is_function_compound("我的"));
        assert!(is_function_compound("我在"));
        assert!(!is_function_compound("我猫"));
        assert!(!is_function_compound("大学"));
    }
}
