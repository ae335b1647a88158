//! Languages, sentences and clauses.

use super::lexicon::{self, Words};

/// The languages that the rules know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Chinese,
    English,
}

impl Language {
    /// Chinese when there are at least as many ideographs as words of letters; `None` when there is
    /// nothing to read.
    pub(super) fn of(text: &str) -> Option<Language> {
        let ideographs = text.chars().filter(|letter| is_han(*letter)).count();
        let words = text
            .split(|letter: char| !letter.is_alphabetic() || is_han(letter))
            .filter(|word| !word.is_empty())
            .count();
        match (ideographs, words) {
            (0, 0) => None,
            _ if ideographs >= words => Some(Language::Chinese),
            _ => Some(Language::English),
        }
    }

    /// The first argument in Chinese, the second in English.
    pub(super) fn pick<T>(self, chinese: T, english: T) -> T {
        match self {
            Language::Chinese => chinese,
            Language::English => english,
        }
    }
}

pub(super) fn is_han(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

/// The sentences of a text, each an exact part of it with its end mark.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if !ends_sentence(text, at, letter) {
            continue;
        }
        let mut end = at + letter.len_utf8();
        while let Some((next, closing)) = letters.next_if(|(_, next)| is_closing(*next)) {
            end = next + closing.len_utf8();
        }
        found.push(text[start..end].trim());
        start = end;
    }
    found.push(text[start..].trim());
    found.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    found
}

fn ends_sentence(text: &str, at: usize, letter: char) -> bool {
    match letter {
        '。' | '！' | '？' | '；' | '…' | '\n' | '!' | '?' => true,
        '.' => {
            let ends_word = text[at + 1..]
                .chars()
                .next()
                .is_none_or(|next| next.is_whitespace() || is_han(next) || is_closing(next));
            let word = text[..at].rsplit(|before: char| !before.is_alphanumeric()).next().unwrap_or_default();
            let abbreviated = word.chars().count() == 1 || lexicon::ABBREVIATIONS.holds(word);
            ends_word && !(abbreviated && text[at + 1..].trim_start().chars().next().is_some())
        }
        _ => false,
    }
}

fn is_closing(letter: char) -> bool {
    matches!(
        letter,
        '。' | '！' | '？' | '…' | '!' | '?' | '.' | '~' | '”' | '’' | '」' | '』' | '"' | ')' | '）'
    )
}

/// A part of a sentence between commas.
#[derive(Debug, Clone)]
pub(super) struct Clause<'a> {
    pub(super) text: &'a str,
    /// Where it begins in its sentence, in bytes.
    pub(super) start: usize,
    /// Its words of letters in lower case, each with a space on both sides; see [`words`].
    pub(super) words: String,
    /// It asks; what it mentions is not a fact.
    pub(super) asks: bool,
    /// It supposes or dreams; what it mentions did not happen.
    pub(super) supposed: bool,
    /// It tells a story that is not the user's own.
    pub(super) fiction: bool,
}

impl Clause<'_> {
    pub(super) fn states(&self) -> bool {
        !self.asks && !self.supposed
    }

    /// Whether one of the Chinese parts or English phrases occurs.
    pub(super) fn has(&self, chinese: Words, english: Words) -> bool {
        has_part(self.text, chinese) || has_phrase(&self.words, english)
    }
}

/// The clauses of a sentence.
pub(super) fn clauses(sentence: &str) -> Vec<Clause<'_>> {
    let all_words = words(sentence);
    let question = sentence.trim_end_matches(is_end_mark).len() < sentence.len()
        && sentence
            .chars()
            .rev()
            .take_while(|letter| is_end_mark(*letter))
            .any(|letter| matches!(letter, '?' | '？'));
    let opens_asking = begins_with(&all_words, lexicon::ENGLISH_QUESTION_OPENERS)
        || lexicon::CHINESE_QUESTION_OPENERS.iter().any(|opener| sentence.starts_with(opener));
    let fiction = has_part(sentence, lexicon::FICTION_ZH) || has_phrase(&all_words, lexicon::FICTION_EN);
    let own = sentence.contains('我') || has_phrase(&all_words, lexicon::FIRST_PERSON_EN);
    let parts = parts(sentence);
    let last = parts.len().saturating_sub(1);
    let mut supposed_from_the_start = false;
    let mut clauses = Vec::new();
    for (position, (start, text)) in parts.into_iter().enumerate() {
        let words = words(text);
        let asks_in_chinese = text.ends_with(['吗', '嗎'])
            || (text.contains('你') && has_part(text, lexicon::CHINESE_QUESTION_WORDS));
        let asks = (question && (position == last || opens_asking))
            || asks_in_chinese
            || begins_with(&words, lexicon::ENGLISH_DIRECT_QUESTIONS);
        let supposed = has_part(text, lexicon::SUPPOSED_ZH) || has_phrase(&words, lexicon::SUPPOSED_EN);
        supposed_from_the_start |= supposed && position == 0;
        clauses.push(Clause {
            text,
            start,
            words,
            asks,
            supposed: supposed || supposed_from_the_start,
            fiction: fiction && !own,
        });
    }
    clauses
}

/// The parts of a sentence between commas (and before an "if", so that what is certain stays apart from
/// what is not), without their end marks, each with its place.
fn parts(sentence: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut offset = 0;
    for part in sentence.split_inclusive(['，', ',', '、', ';', '；', ':', '：']) {
        let mut rest = part;
        let mut start = offset;
        while let Some(at) = rest.find(" if ") {
            found.push((start, &rest[..at]));
            rest = &rest[at + 1..];
            start += at + 1;
        }
        found.push((start, rest));
        offset += part.len();
    }
    let bare = found.into_iter().map(|(start, part)| {
        let text = part.trim_start();
        let end =
            |letter| is_end_mark(letter) || matches!(letter, '，' | ',' | '、' | ';' | '；' | ':' | '：');
        (start + part.len() - text.len(), text.trim_end_matches(end))
    });
    bare.filter(|(_, text)| !text.is_empty()).collect()
}

/// Whether a whole text asks for something: its last sentence does.
pub(super) fn is_question(text: &str) -> bool {
    sentences(text).last().is_some_and(|sentence| clauses(sentence).last().is_some_and(|clause| clause.asks))
}

/// Whether a text asks although it may bear no question mark, as people type. Looser than [`is_question`]: enough to
/// answer by, not to take what is said for unsaid.
pub(super) fn seems_to_ask(text: &str) -> bool {
    if is_question(text) {
        return true;
    }
    let bare = text.trim_end_matches(is_end_mark);
    let asks_in_chinese = (has_part(bare, lexicon::CHINESE_QUESTION_WORDS)
        || lexicon::CHINESE_QUESTION_ENDS.iter().any(|end| bare.ends_with(end)))
        && !has_part(bare, lexicon::CHINESE_NO_QUESTION);
    asks_in_chinese || begins_with(&words(bare), lexicon::ENGLISH_PLAIN_QUESTIONS)
}

fn is_end_mark(letter: char) -> bool {
    letter.is_whitespace() || is_closing(letter)
}

/// Words of letters and digits in lower case, each with a space on both sides, so that a phrase is found
/// at word borders by plain search. Apostrophes are made straight, ideographs left out.
pub(super) fn words(text: &str) -> String {
    let mut padded = String::from(" ");
    for letter in text.chars() {
        let letter = if letter == '’' { '\'' } else { letter };
        if (letter.is_alphanumeric() && !is_han(letter)) || letter == '\'' {
            padded.extend(letter.to_lowercase());
        } else if !padded.ends_with(' ') {
            padded.push(' ');
        }
    }
    if !padded.ends_with(' ') {
        padded.push(' ');
    }
    padded
}

pub(super) fn has_part(text: &str, parts: Words) -> bool {
    parts.iter().any(|part| text.contains(part))
}

/// Whether a phrase occurs at word borders of [`words`].
pub(super) fn has_phrase(words: &str, phrases: Words) -> bool {
    phrases.iter().any(|phrase| words.contains(&format!(" {phrase} ")))
}

fn begins_with(words: &str, phrases: Words) -> bool {
    phrases.iter().any(|phrase| words.starts_with(&format!(" {phrase} ")))
}

/// The first `most` characters, with an ellipsis when something is left out.
pub(super) fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_that_of_most_words() {
        assert_eq!(Language::of("我养了只白猫"), Some(Language::Chinese));
        assert_eq!(Language::of("我拿到 offer 了"), Some(Language::Chinese));
        assert_eq!(Language::of("My cat is named 小黑"), Some(Language::English));
        assert_eq!(Language::of("Mein Kater heißt Tom"), Some(Language::English));
        assert_eq!(Language::of("🙂 42!"), None);
    }

    #[test]
    fn sentences_are_exact_parts_with_their_end_marks() {
        assert_eq!(
            sentences("我养了只白猫,叫小黑。他超调皮,老在半夜跳到我脸上。"),
            ["我养了只白猫,叫小黑。", "他超调皮,老在半夜跳到我脸上。"]
        );
        assert_eq!(
            sentences("I saw Dr. Smith at 3.30 p.m. today!! He said \"rest.\" OK\nBye"),
            ["I saw Dr. Smith at 3.30 p.m. today!!", "He said \"rest.\"", "OK", "Bye"]
        );
        assert_eq!(sentences("  ...  \n 。"), Vec::<&str>::new());
    }

    #[test]
    fn only_the_asking_part_of_a_sentence_asks() {
        let asks = |text| clauses(text).iter().map(|clause| clause.asks).collect::<Vec<_>>();
        assert_eq!(asks("我妈去世了,你知道吗?"), [false, true]);
        assert_eq!(asks("你知道吗,我要结婚了"), [true, false]);
        assert_eq!(asks("你叫什么名字"), [true]);
        assert_eq!(asks("不知道为什么很难过。"), [false]);
        assert_eq!(asks("My mom died, remember?"), [false, true]);
        assert_eq!(asks("Do you remember that I have a cat, Tom?"), [true, true]);
        assert_eq!(asks("为什么我的朋友和他玩,而不是我呢?"), [true, true]);
        assert_eq!(asks("do you remember my cat"), [true]);
        assert_eq!(asks("When I was ten, my dog died."), [false, false]);
    }

    #[test]
    fn a_question_may_lack_its_mark() {
        for text in ["我男朋友叫什么名字", "阿哲是谁", "我几岁", "我在哪里上班", "我妈妈怎么样了", "我的猫呢"]
        {
            assert!(seems_to_ask(text), "{text}");
        }
        for text in ["who is ida", "where do i live", "what's my dog called", "did i tell you about Rome"] {
            assert!(seems_to_ask(text), "{text}");
        }
        for text in [
            "不知道为什么很难过。",
            "我什么都不想吃",
            "没什么",
            "When I was ten, my dog died.",
            "What a day!",
        ] {
            assert!(!seems_to_ask(text), "{text}");
        }
    }

    #[test]
    fn what_is_supposed_or_told_in_a_story_did_not_happen() {
        let supposed = |text| clauses(text).iter().map(|clause| clause.supposed).collect::<Vec<_>>();
        assert_eq!(supposed("My mom died and I don't know if I can go on"), [false, true]);
        assert_eq!(supposed("If I got fired, I'd cry"), [true, true]);
        for text in ["如果我离婚了", "我梦见他死了", "If I got fired"] {
            assert!(clauses(text).iter().all(|clause| clause.supposed), "{text}");
        }
        for text in ["电影里的主角死了", "In the movie the hero's mom died"] {
            assert!(clauses(text).iter().all(|clause| clause.fiction), "{text}");
        }
        assert!(!clauses("看电影的时候我妈去世了")[0].fiction);
    }
}
