//! Answers that say nothing by themselves, and the choices that they leave open.

use super::at_word_borders;
use super::segment::fold;

/// Yes, in many words. Each list has the longer forms of a word too; the longest one at a position counts.
const ASSENT: &[&str] = &[
    "嗯",
    "恩",
    "唔",
    "哦",
    "噢",
    "欸",
    "对",
    "是",
    "没错",
    "好",
    "可以",
    "行",
    "当然",
    "确实",
    "真的",
    "有",
    "会",
    "你说得对",
    "你说的对",
    "说得对",
    "算是",
    "差不多",
    "yes",
    "yeah",
    "yep",
    "yup",
    "yea",
    "ya",
    "sure",
    "right",
    "exactly",
    "indeed",
    "correct",
    "true",
    "absolutely",
    "definitely",
    "totally",
    "of course",
    "for sure",
    "i do",
    "i am",
    "i did",
    "i have",
    "i was",
    "i will",
    "i can",
    "it is",
    "it does",
    "it was",
    "that's right",
    "thats right",
    "you're right",
    "you are right",
    "uh huh",
    "uh-huh",
    "mm hmm",
    "mhm",
    "hmm",
    "ok",
    "okay",
    "i guess",
    "i guess so",
    "i think so",
    "pretty much",
    "kind of",
    "sort of",
];
/// No, in many words.
const DENIAL: &[&str] = &[
    "不",
    "不是",
    "没有",
    "没",
    "不会",
    "不对",
    "不用",
    "不要",
    "才不是",
    "并没有",
    "no",
    "nope",
    "nah",
    "never",
    "not really",
    "not at all",
    "i don't",
    "i dont",
    "i do not",
    "i'm not",
    "i am not",
    "i didn't",
    "i did not",
    "i haven't",
    "i wasn't",
    "i won't",
    "i can't",
    "it isn't",
    "it's not",
    "of course not",
];
/// Words around a yes or no that add nothing.
const FILLERS: &[&str] =
    &["啊", "呀", "吧", "呢", "哈", "嘛", "啦", "了", "的", "呵", "嘿", "oh", "well", "ah", "haha", "lol"];
/// Between the two sides of a choice; a yes does not choose.
const CHOICES: &[&str] = &["还是", "或者", " or "];

/// True if the text is only a yes or a no ("嗯", "对啊", "yes, I do"): it says nothing without what it answers.
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
    CHOICES.iter().any(|choice| folded.contains(choice))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reply {
    Yes,
    No,
}

/// The reply of a text that has only yes, no and fillers. The first one counts: "no, I don't".
fn bare_reply(text: &str) -> Option<Reply> {
    let folded = fold(text);
    let mut said = None;
    let mut at = 0;
    while let Some(character) = folded[at..].chars().next() {
        if !character.is_alphanumeric() {
            at += character.len_utf8();
            continue;
        }
        let here = |words: &[&str]| -> usize {
            let fitting = words.iter().filter(|word| {
                folded[at..].starts_with(**word) && at_word_borders(&folded, at, at + word.len())
            });
            fitting.map(|word| word.len()).max().unwrap_or(0)
        };
        let (yes, no, filler) = (here(ASSENT), here(DENIAL), here(FILLERS));
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
    fn a_no_is_told_from_a_yes() {
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
    fn a_choice_is_told_from_a_question_of_yes_or_no() {
        assert!(offers_choice("你养的是猫还是狗?") && offers_choice("A cat or a dog?"));
        assert!(!offers_choice("你养了狗吗?") && !offers_choice("Do you work?"));
    }
}
