//! Words with which a person corrects what was said or believed, and words that ask how something was before.

use super::questions::asks_by_words;
use super::segment::fold;
use super::statements::folded_sentences;

/// The way in which a person corrects something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorrectionCue {
    /// The former value was right and is no longer: "we moved", 早就不…了.
    Changed,
    /// The former value was never right: "no, it's …", 我记错了.
    Mistaken,
    /// A statement is taken back: "scratch that", "that was a joke", 当我没说.
    Retracted,
    /// The statement was never made: "I never said that", 我没说过.
    Denied,
}

const DENIED: &str = "\
    i never said|i didn't say|i did not say|i never told you|i haven't said|我没说过|我没有说过|\
    我从没说过|我从来没说过|我可没说|我没这么说|我没这样说";
const RETRACTED: &str = "\
    scratch that|forget what i said|forget i said|ignore what i said|i take that back|i take it back|\
    that was a joke|it was a joke|i was joking|i was just joking|i was only joking|just kidding|\
    i was kidding|never mind what i said|当我没说|就当我没说|不算数|开玩笑的|我开玩笑|开个玩笑|逗你玩|\
    逗你的|我收回|别当真|忘了我说的";
const MISTAKEN: &str = "\
    i got that wrong|i got it wrong|i was wrong|i made a mistake|i misspoke|i misremembered|i meant|\
    that's wrong|that is wrong|that's not right|you got that wrong|you've got that wrong|correction|\
    我记错|记错了|说错了|我搞错|搞错了|弄错了|更正一下|纠正一下|你记错|不对，|不对,|其实是";
const CHANGED: &str = "\
    no longer|not anymore|not any more|isn't anymore|don't anymore|doesn't anymore|we moved|i moved|\
    have moved|we've moved|i've moved|used to|changed my|changed his|changed her|renamed|quit my|\
    switched to|these days|has moved|new job|now live|now work|早就不|已经不|不再|改名|改叫|现在叫|\
    现在是|现在的|现在最|现在每|现在住|现在在|搬到|搬去|搬来|搬家|换了|换成|改主意|变成|跳槽|辞职|戒了|\
    改成";
/// Phrases for a former state that may have ended.
const FORMERLY: &str = "\
    used to|back then|in those days|in the old days|formerly|when i lived|when we lived|when i was|\
    when we were|when i worked|when i studied|when i still|as a child|as a kid|as a student|years ago|\
    以前|从前|曾经|当年|当初|那几年|那些年|那时候|的那段时间|小时候|年轻时|上学时|上学的时候|住的时候|\
    工作的时候|多年前";
/// Phrases for the present, also in a sentence about the past.
const NOW: &str = "now|nowadays|these days|anymore|any more|no longer|现在|如今|目前|不再|已经不";
/// Phrases for an addition to an existing state.
const ADDED: &str = "\
    too|also|as well|another|a second|my second|additionally|besides|during the week|on weekdays|\
    at weekends|on weekends|at the weekend|on the side|part of the year|也|同时|另外|还有一|又养|又买|\
    又多|第二只|第二个|第二份|周末|平时|工作日|兼职|副业";
const PAST_MARKERS: &str = "\
    before|used to|formerly|former|previously|previous|originally|earlier|back then|at first|\
    in the past|once|old|was|were|did|had|以前|之前|原来|原先|过去|曾经|曾|从前|当初|先前|当时|那时|\
    早先|旧|老家|最早|一开始";

/// A text in which phrases are looked for: English ones as whole words in any case, others anywhere.
struct Heard<'a> {
    text: &'a str,
    /// The folded words with one blank on each side.
    words: String,
}

impl<'a> Heard<'a> {
    fn new(text: &'a str) -> Self {
        let folded = fold(text);
        let plain = folded.chars().map(|c| match c {
            '\u{2019}' => '\'',
            c if c.is_alphanumeric() || c == '\'' => c,
            _ => ' ',
        });
        let plain: String = plain.collect();
        Self { text, words: format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" ")) }
    }

    /// True if one of the phrases is said, which a list has between bars.
    fn says(&self, phrases: &str) -> bool {
        phrases.split('|').any(|phrase| match phrase.is_ascii() {
            true => self.says_words(phrase),
            false => self.text.contains(phrase),
        })
    }

    fn says_words(&self, phrase: &str) -> bool {
        let is_blank = |at: usize| self.words.as_bytes().get(at) == Some(&b' ');
        let mut found = self.words.match_indices(phrase);
        found.any(|(at, _)| at > 0 && is_blank(at - 1) && is_blank(at + phrase.len()))
    }
}

/// True if a sentence tells how something was, and not how it is.
pub fn tells_of_the_past(sentence: &str) -> bool {
    let heard = Heard::new(sentence);
    heard.says(FORMERLY) && !heard.says(NOW)
}

/// True if a sentence tells of something beside what is known: "too", 也.
pub fn tells_of_addition(sentence: &str) -> bool {
    Heard::new(sentence).says(ADDED)
}

/// The correction that a text makes; none if it makes none.
pub fn correction_cue(text: &str) -> Option<CorrectionCue> {
    let heard = Heard::new(text);
    if heard.says(DENIED) {
        return Some(CorrectionCue::Denied);
    }
    if heard.says(RETRACTED) {
        return Some(CorrectionCue::Retracted);
    }
    let begins_with_no = heard.words.starts_with(" no ") && heard.words.split_whitespace().count() > 2;
    if heard.says(MISTAKEN) || denied_value(text).is_some() || begins_with_no {
        let changes = heard.says(CHANGED) || heard.says_words("now");
        return Some(if changes { CorrectionCue::Changed } else { CorrectionCue::Mistaken });
    }
    let mut sentences = folded_sentences(text).into_iter();
    let changes = sentences.any(|(sentence, folded)| tells_of_change(sentence) && !asks_by_words(&folded));
    changes.then_some(CorrectionCue::Changed)
}

fn tells_of_change(sentence: &str) -> bool {
    let heard = Heard::new(sentence);
    let is_named_now = heard.says_words("called") && heard.words.trim_end().ends_with(" now");
    is_named_now || heard.says(CHANGED)
}

/// True if a text asks how something was before.
pub fn asks_for_the_past(text: &str) -> bool {
    Heard::new(text).says(PAST_MARKERS)
}

/// The value that a text says is wrong, where it names it: 小黑 of 不是小黑，是小白, Berlin of "not Berlin, it's Lyon".
pub fn denied_value(text: &str) -> Option<&str> {
    denied_in_chinese(text).or_else(|| denied_in_english(text))
}

fn denied_in_chinese(text: &str) -> Option<&str> {
    let rest = &text[text.find("不是")? + "不是".len()..];
    let end = rest.find(['，', ',', '、', '。', '；', ' '])?;
    let (value, after) = rest.split_at(end);
    let after = after.trim_start_matches(['，', ',', '、', '。', '；', ' ']);
    let corrects = ["是", "而是", "应该是", "现在是", "叫"].iter().any(|word| after.starts_with(word));
    (corrects && !value.is_empty()).then_some(value.trim())
}

fn denied_in_english(text: &str) -> Option<&str> {
    let at = [" not ", "Not ", "not "].iter().find_map(|word| {
        let at = text.find(word)?;
        (at == 0 || word.starts_with(' ')).then_some(at + word.len())
    })?;
    let rest = &text[at..];
    let end = rest.find([',', '.', ';', '!', '?']).unwrap_or(rest.len());
    let value =
        rest[..end].trim().trim_start_matches("in ").trim_start_matches("at ").trim_start_matches("called ");
    let is_name = value.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    (is_name && value.split_whitespace().count() <= 3).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::CorrectionCue::{Changed, Denied, Mistaken, Retracted};
    use super::*;

    #[test]
    fn corrections_are_recognised_in_both_languages() {
        for (text, cue) in [
            ("no, she's called 小白 now", Changed),
            ("I never said that", Denied),
            ("that was a joke", Retracted),
            ("We moved in May", Changed),
            ("Scratch that", Retracted),
            ("我记错了", Mistaken),
            ("不是小黑，是小白", Mistaken),
            ("我早就不喝咖啡了", Changed),
            ("我没说过这句话", Denied),
            ("我开玩笑的", Retracted),
            ("I got that wrong, it's Tuesday", Mistaken),
            ("She lives in Lyon, not Berlin", Mistaken),
        ] {
            assert_eq!(correction_cue(text), Some(cue), "{text}");
        }
    }

    #[test]
    fn ordinary_talk_corrects_nothing() {
        for text in [
            "I live in Lyon",
            "我养了一只猫",
            "not bad",
            "No",
            "how are you now?",
            "今天天气不错",
            "I'm not sure",
        ] {
            assert_eq!(correction_cue(text), None, "{text}");
        }
    }

    #[test]
    fn denied_value_is_found_where_it_is_named() {
        assert_eq!(denied_value("不是小黑，是小白"), Some("小黑"));
        assert_eq!(denied_value("She lives in Lyon, not Berlin."), Some("Berlin"));
        assert_eq!(denied_value("It's not in Berlin, it's in Lyon"), Some("Berlin"));
        assert_eq!(denied_value("not bad"), None);
        assert_eq!(denied_value("他不是我的朋友"), None);
    }

    #[test]
    fn question_corrects_nothing() {
        for text in [
            "Where do I live now?",
            "what is my cat called now?",
            "What did I use to call her?",
            "我现在住在哪里？",
            "我的猫现在叫什么",
            "Is my cat still called Bean now?",
            "Tell me where I have moved",
        ] {
            assert_eq!(correction_cue(text), None, "{text}");
        }
        for text in [
            "we moved in May, remember?",
            "我们搬家了，你知道吗？",
            "no, what I said is that she's called Snow",
            "我搬到上海了。今天天气怎么样？",
            "We moved to Lyon. How far is it from Paris?",
        ] {
            assert!(correction_cue(text).is_some(), "{text}");
        }
    }

    #[test]
    fn questions_about_the_past_are_recognised() {
        for text in
            ["Where did I live before?", "what did I use to call her?", "我以前住在哪里", "她原来叫什么"]
        {
            assert!(asks_for_the_past(text), "{text}");
        }
        for text in ["Where do I live?", "我住在哪里", "what is her name"] {
            assert!(!asks_for_the_past(text), "{text}");
        }
    }
}
