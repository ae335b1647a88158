//! Answers without content of their own, and the choices that they leave open.

use super::at_word_borders;
use super::lexicon::{WordList, replies as lexicon};
use super::segment::fold;

/// True if the text is only a yes or a no ("嗯", "对啊", "yes, I do"), which says nothing without its question.
pub fn is_bare_reply(text: &str) -> bool {
    bare_reply(text).is_some()
}

/// True if the text is only a no.
pub fn is_bare_denial(text: &str) -> bool {
    bare_reply(text) == Some(Reply::No)
}

/// True if a question offers a choice, so that a yes answers nothing.
pub fn offers_choice(sentence: &str) -> bool {
    let folded = fold(sentence);
    lexicon::CHOICES.occur_in(&folded)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reply {
    Yes,
    No,
}

/// The first yes or no of a text that only has yes, no and fillers: "no, I don't" is a no.
fn bare_reply(text: &str) -> Option<Reply> {
    let folded = fold(text);
    let mut said = None;
    let mut at = 0;
    while let Some(character) = folded[at..].chars().next() {
        if !character.is_alphanumeric() {
            at += character.len_utf8();
            continue;
        }
        let here = |words: WordList| -> usize {
            let fitting = words.iter().filter(|word| {
                folded[at..].starts_with(*word) && at_word_borders(&folded, at, at + word.len())
            });
            fitting.map(|word| word.len()).max().unwrap_or(0)
        };
        let (yes, no, filler) = (here(lexicon::ASSENT), here(lexicon::DENIAL), here(lexicon::FILLERS));
        let longest = yes.max(no).max(filler);
        if longest == 0 {
            return None;
        }
        let word = if no == longest {
            Some(Reply::No)
        } else if yes == longest {
            Some(Reply::Yes)
        } else {
            None
        };
        said = said.or(word);
        at += longest;
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_or_a_no_says_nothing_by_itself() {
        for text in [
            "嗯",
            "嗯嗯!",
            "对啊",
            "是的。",
            "没错,是的",
            "没有",
            "不是啊",
            "Yes.",
            "yeah, I do",
            "No, I don’t",
            "Of course!",
            "uh-huh",
        ] {
            assert!(is_bare_reply(text), "{text}");
        }
        for text in
            ["嗯,我养了狗", "狗", "喜欢", "是狗", "yes, a dog", "I do yoga", "note", "", "!?", "I have a dog"]
        {
            assert!(!is_bare_reply(text), "{text}");
        }
    }

    #[test]
    fn a_no_is_distinguished_from_a_yes() {
        for (text, denies) in [
            ("没有", true),
            ("不是的", true),
            ("no", true),
            ("No, I don't", true),
            ("没错", false),
            ("嗯", false),
            ("ok", false),
        ] {
            assert_eq!(is_bare_denial(text), denies, "{text}");
        }
    }

    #[test]
    fn a_choice_is_distinguished_from_a_yes_or_no_question() {
        assert!(offers_choice("你养的是猫还是狗?") && offers_choice("A cat or a dog?"));
        assert!(!offers_choice("你养了狗吗?") && !offers_choice("Do you work?"));
    }
}
