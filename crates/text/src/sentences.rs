//! Sentences and the language of a text.

use super::segment::{Piece, is_han, split_words};

/// Languages of the program's own texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Language {
    Chinese,
    /// English, and every language other than Chinese.
    #[default]
    English,
}

impl Language {
    /// Chinese if there are at least as many Han characters as words of other scripts, and no more letters of other
    /// unspaced scripts; otherwise English. `None` without letters.
    pub fn from_text(text: &str) -> Option<Self> {
        let (mut han, mut others) = (0usize, 0usize);
        for piece in split_words(text) {
            match piece {
                Piece::Word(word) => others += usize::from(word.chars().any(char::is_alphabetic)),
                Piece::Unspaced(run) => {
                    let in_run = run.chars().filter(|&character| is_han(character)).count();
                    han += in_run;
                    others += run.chars().count() - in_run;
                }
                Piece::Hyphen => {}
            }
        }
        match (han, others) {
            (0, 0) => None,
            _ if han >= others => Some(Self::Chinese),
            _ => Some(Self::English),
        }
    }

    /// Returns the first argument for Chinese, the second for English.
    pub fn choose<T>(self, chinese: T, english: T) -> T {
        match self {
            Self::Chinese => chinese,
            Self::English => english,
        }
    }
}

/// Words after which a full stop does not end a sentence.
const ABBREVIATIONS: [&str; 14] =
    ["Mr", "Mrs", "Ms", "Dr", "St", "Mt", "Ft", "Prof", "Rev", "Capt", "Lt", "Sgt", "vs", "etc"];

/// The sentences of a text in order, trimmed, not empty, each an exact part of it with its end marks. A line break
/// ends a sentence too; an abbreviation or an initial does not.
pub fn split_sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if !ends_sentence(text, at, letter) {
            continue;
        }
        let mut end = at + letter.len_utf8();
        while let Some((next, closing)) = letters.next_if(|(_, next)| is_end_mark(*next)) {
            end = next + closing.len_utf8();
        }
        found.push(text[start..end].trim());
        start = end;
    }
    found.push(text[start..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

fn ends_sentence(text: &str, at: usize, letter: char) -> bool {
    match letter {
        '。' | '！' | '？' | '；' | '…' | '｡' | '؟' | '۔' | '।' | '\n' | '!' | '?' => true,
        '.' => {
            let ends_word = text[at + 1..]
                .chars()
                .next()
                .is_none_or(|next| next.is_whitespace() || is_han(next) || is_end_mark(next));
            let word = text[..at].rsplit(|before: char| !before.is_alphanumeric()).next().unwrap_or_default();
            let abbreviated = word.chars().count() == 1 || ABBREVIATIONS.contains(&word);
            ends_word && !(abbreviated && text[at + 1..].trim_start().chars().next().is_some())
        }
        _ => false,
    }
}

/// True if a character ends a sentence: an end mark, or a closing bracket or quote after it.
pub fn is_end_mark(letter: char) -> bool {
    matches!(
        letter,
        '。' | '！' | '？' | '…' | '!' | '?' | '.' | '~' | '”' | '’' | '」' | '』' | '"' | ')' | '）'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn language_is_that_of_most_words() {
        assert_eq!(Language::from_text("我养了只白猫"), Some(Language::Chinese));
        assert_eq!(Language::from_text("我拿到 offer 了"), Some(Language::Chinese));
        assert_eq!(Language::from_text("My cat is named 小黑"), Some(Language::English));
        assert_eq!(Language::from_text("Mein Kater heißt Tom"), Some(Language::English));
        assert_eq!(Language::from_text("🙂 42!"), None);
    }

    #[test]
    fn sentences_are_exact_parts_with_their_end_marks() {
        assert_eq!(
            split_sentences("我养了只白猫,叫小黑。他超调皮,老在半夜跳到我脸上。"),
            ["我养了只白猫,叫小黑。", "他超调皮,老在半夜跳到我脸上。"]
        );
        assert_eq!(
            split_sentences("I saw Dr. Smith at 3.30 p.m. today!! He said \"rest.\" OK\nBye"),
            ["I saw Dr. Smith at 3.30 p.m. today!!", "He said \"rest.\"", "OK", "Bye"]
        );
    }

    #[test]
    fn sentences_end_in_both_scripts() {
        assert_eq!(
            split_sentences("我养了一只猫。它叫小黑!好不好?"),
            ["我养了一只猫。", "它叫小黑!", "好不好?"]
        );
        assert_eq!(
            split_sentences("I have a cat. It weighs 3.5 kilos!\nIs that much?"),
            ["I have a cat.", "It weighs 3.5 kilos!", "Is that much?"]
        );
        assert!(split_sentences(" \n ").is_empty());
    }

    #[test]
    fn language_follows_the_greater_part() {
        assert_eq!(Language::from_text("你还记得我的猫吗").unwrap_or_default(), Language::Chinese);
        assert_eq!(Language::from_text("我用Python写代码").unwrap_or_default(), Language::Chinese);
        assert_eq!(Language::from_text("Do you remember 小黑?").unwrap_or_default(), Language::English);
        assert_eq!(Language::from_text("私の猫を覚えていますか").unwrap_or_default(), Language::English);
        assert_eq!(Language::from_text("").unwrap_or_default(), Language::English);
    }

    proptest! {
        #[test]
        fn sentences_lose_only_white_space(text in "\\PC{0,60}(\n\\PC{0,20})?") {
            let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(visible(&split_sentences(&text).concat()), visible(&text));
        }
    }
}
