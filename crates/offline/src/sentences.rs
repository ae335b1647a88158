//! Splits sentences into clauses that state, ask or suppose something.

use text::lexicon::{WordList, speech};
use text::{Utterance, is_end_mark, is_unspaced, split_sentences};

pub(super) use text::Language;

/// The sentences of a text that contain a letter or a digit.
pub(super) fn sentences_with_words(text: &str) -> Vec<&str> {
    let mut found = split_sentences(text);
    found.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    found
}

/// A part of a sentence between commas.
#[derive(Debug, Clone)]
pub(super) struct Clause<'a> {
    pub(super) text: &'a str,
    /// Start of the clause in its sentence, in bytes.
    pub(super) start: usize,
    pub(super) said: Utterance<'a>,
    /// True if the clause is a question, which states no fact.
    pub(super) asks: bool,
    /// True if the clause is hypothetical, which states no fact.
    pub(super) supposed: bool,
    /// True if the clause retells fiction.
    pub(super) fiction: bool,
}

impl Clause<'_> {
    pub(super) fn is_statement(&self) -> bool {
        !self.asks && !self.supposed
    }

    /// True if the clause contains one of the phrases.
    pub(super) fn says_any(&self, phrases: WordList) -> bool {
        self.said.says_any(phrases)
    }
}

/// The clauses of a sentence.
pub(super) fn split_clauses(sentence: &str) -> Vec<Clause<'_>> {
    let whole = Utterance::new(sentence);
    let question = sentence.trim_end_matches(is_at_end).len() < sentence.len()
        && sentence
            .chars()
            .rev()
            .take_while(|letter| is_at_end(*letter))
            .any(|letter| matches!(letter, '?' | '？'));
    let opens_asking = whole.opens_as_question();
    let fiction = whole.says_any(speech::FICTION);
    let own = sentence.contains('我') || whole.says_any(speech::FIRST_PERSON);
    let parts = split_at_commas(sentence);
    let last = parts.len().saturating_sub(1);
    let mut supposed_from_the_start = false;
    let mut clauses = Vec::new();
    for (position, (start, text)) in parts.into_iter().enumerate() {
        let said = Utterance::new(text);
        let asks = (question && (position == last || opens_asking)) || said.asks_the_listener();
        let supposed = said.says_any(speech::SUPPOSED);
        supposed_from_the_start |= supposed && position == 0;
        clauses.push(Clause {
            text,
            start,
            said,
            asks,
            supposed: supposed || supposed_from_the_start,
            fiction: fiction && !own,
        });
    }
    clauses
}

/// The parts of a sentence between commas (and before an "if", to separate what is certain from what is not), without
/// their end marks, each with its position.
fn split_at_commas(sentence: &str) -> Vec<(usize, &str)> {
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
        let end = |letter| is_at_end(letter) || matches!(letter, '，' | ',' | '、' | ';' | '；' | ':' | '：');
        (start + part.len() - text.len(), text.trim_end_matches(end))
    });
    bare.filter(|(_, text)| !text.is_empty()).collect()
}

/// True if a whole text is a question: its last sentence is.
pub(super) fn is_question(text: &str) -> bool {
    sentences_with_words(text)
        .last()
        .is_some_and(|sentence| split_clauses(sentence).last().is_some_and(|clause| clause.asks))
}

/// True if a text is a question even without a question mark, as people type. Less strict than [`is_question`]:
/// enough for answering, not for treating a statement as a question.
pub(super) fn seems_to_ask(text: &str) -> bool {
    is_question(text) || Utterance::new(text).seems_to_ask()
}

fn is_at_end(letter: char) -> bool {
    letter.is_whitespace() || is_end_mark(letter)
}

/// The first `most` characters, cut at the end of a word, with an ellipsis if something is left out.
pub(super) fn clip_text(text: &str, most: usize) -> String {
    let Some((end, next)) = text.char_indices().nth(most) else { return text.to_owned() };
    let kept = &text[..end];
    let goes_on = |character: char| character.is_alphanumeric() && !is_unspaced(character);
    let is_in_word = goes_on(next) && kept.chars().next_back().is_some_and(goes_on);
    let kept = match kept.rsplit_once(' ') {
        Some((before, _)) if is_in_word => before,
        _ => kept,
    };
    format!("{}…", kept.trim_end_matches([' ', ',', '，', '.', '。']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_text_ends_in_an_ellipsis_and_nothing_else() {
        assert_eq!(clip_text("the lamp that broke yesterday", 20), "the lamp that broke…");
        assert_eq!(clip_text("the lamp, broken", 9), "the lamp…");
        assert_eq!(clip_text("the lamp", 9), "the lamp");
        assert_eq!(clip_text("other people whom he met", 16), "other people…", "no word is cut");
        assert_eq!(clip_text("我们一起去海边", 4), "我们一起…");
    }

    #[test]
    fn marks_alone_are_no_sentence() {
        assert_eq!(sentences_with_words("  ...  \n 。"), Vec::<&str>::new());
        assert_eq!(sentences_with_words("Yes. ... No!"), ["Yes.", "No!"]);
    }

    #[test]
    fn only_the_asking_part_of_a_sentence_asks() {
        let asks = |text| split_clauses(text).iter().map(|clause| clause.asks).collect::<Vec<_>>();
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
    fn suppositions_and_stories_are_not_events() {
        let supposed = |text| split_clauses(text).iter().map(|clause| clause.supposed).collect::<Vec<_>>();
        assert_eq!(supposed("My mom died and I don't know if I can go on"), [false, true]);
        assert_eq!(supposed("If I got fired, I'd cry"), [true, true]);
        for text in ["如果我离婚了", "我梦见他死了", "If I got fired"] {
            assert!(split_clauses(text).iter().all(|clause| clause.supposed), "{text}");
        }
        for text in ["电影里的主角死了", "In the movie the hero's mom died"] {
            assert!(split_clauses(text).iter().all(|clause| clause.fiction), "{text}");
        }
        assert!(!split_clauses("看电影的时候我妈去世了")[0].fiction);
    }
}
