//! Sentences and the language of a text.

use icu_segmenter::SentenceSegmenter;
use icu_segmenter::options::SentenceBreakInvariantOptions;

use super::segment::{Piece, is_han, pieces};

/// Languages that the program itself answers in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Chinese.
    Chinese,
    /// English, and whatever is not Chinese.
    English,
}

/// The sentences of a text, trimmed, none empty, in order, by the Unicode rules (a line break ends one too).
pub fn split_sentences(text: &str) -> Vec<&str> {
    let segmenter = SentenceSegmenter::new(SentenceBreakInvariantOptions::default());
    let borders: Vec<usize> = segmenter.segment_str(text).collect();
    let sentences = borders.windows(2).map(|pair| text[pair[0]..pair[1]].trim());
    sentences.filter(|sentence| !sentence.is_empty()).collect()
}

/// Chinese where at least as many Han characters as words of other scripts stand, and no other letters of unspaced
/// scripts outnumber them; else English.
pub fn language(text: &str) -> Language {
    let (mut han, mut others) = (0usize, 0usize);
    for piece in pieces(text) {
        match piece {
            Piece::Word(_) => others += 1,
            Piece::Unspaced(run) => {
                let in_run = run.chars().filter(|&character| is_han(character)).count();
                han += in_run;
                others += run.chars().count() - in_run;
            }
            Piece::Hyphen => {}
        }
    }
    if han > 0 && han >= others { Language::Chinese } else { Language::English }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        assert_eq!(language("你还记得我的猫吗"), Language::Chinese);
        assert_eq!(language("我用Python写代码"), Language::Chinese);
        assert_eq!(language("Do you remember 小黑?"), Language::English);
        assert_eq!(language("私の猫を覚えていますか"), Language::English);
        assert_eq!(language(""), Language::English);
    }

    proptest! {
        #[test]
        fn sentences_lose_only_white_space(text in "\\PC{0,60}(\n\\PC{0,20})?") {
            let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(visible(&split_sentences(&text).concat()), visible(&text));
        }
    }
}
