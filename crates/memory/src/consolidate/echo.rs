//! The echo guard: a user's repetition of the persona's words, or of a memory in its prompt, is no evidence.
//!
//! A sentence of the user is an echo if nearly all of it is copied from one earlier text and the rest is not the
//! user's own: no "I", no "my", no content word. People who confirm in their own words say "I"; people who copy leave
//! the persona's "you" and a memory's "the user". A question may be answered with its own words ("喜欢爬山吗?" "喜欢爬山"), so
//! there only a copied "you" makes an echo; a memory was made from the user's words, so there only a copied "the
//! user" does. Text in quotation marks is somebody else's. And a statement that the user made before the persona did
//! is the user's, however often it is repeated.

use crate::messages::Message;
use crate::text::lexicon::{WordList, echo as lexicon};
use crate::text::{Utterance, index_terms, is_function_word, is_unspaced, split_sentences};

/// Minimum weight of a shared run that may be a copy. A word weighs 1, a character of an unspaced script ⅔.
const RUN_WEIGHT_MIN: f64 = 2.0;
/// Minimum weight of all shared runs of an echo: four words, or six characters.
const SHARED_WEIGHT_MIN: f64 = 4.0;
/// Minimum share of a sentence that an echo copies. A copy may drop a word or two; a sentence on the same topic
/// shares fewer words.
const ECHO_SHARE_MIN: f64 = 0.8;
/// Minimum share of a quoted stretch that makes it a copy. It is higher than for a sentence, because quotation marks
/// claim to be literal.
const QUOTED_SHARE_MIN: f64 = 0.9;
/// Maximum terms of a sentence to compare. The time of the comparison grows with their square, and people write no
/// sentence as long.
const TERMS_MAX: usize = 400;

const QUOTATION_MARKS: &[(char, char)] =
    &[('"', '"'), ('“', '”'), ('「', '」'), ('『', '』'), ('‘', '’'), ('«', '»')];

/// A text that the user may have repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EchoedText<'a> {
    /// A message of the persona.
    Persona(&'a str),
    /// A memory, in the third person.
    Memory(&'a str),
}

/// True if the stretch `start..end` (in characters) of a user's message only repeats one of these texts.
pub(super) fn is_echo(message: &Message, start: usize, end: usize, earlier: &[EchoedText<'_>]) -> bool {
    let sentence = sentences_around(&message.content, start, end);
    let mut unframed = sentence.to_lowercase();
    for frame in lexicon::FRAMES.iter() {
        unframed = unframed.replace(frame, " ");
    }
    let said = limited_terms(&unframed);
    let quoted = in_quotation_marks(&message.content, start, end)
        .then(|| limited_terms(&message.content.chars().skip(start).take(end - start).collect::<String>()));
    earlier.iter().any(|source| {
        let (EchoedText::Persona(text) | EchoedText::Memory(text)) = source;
        let source_terms = limited_terms(text);
        if let Some(quoted) = &quoted
            && covered_share(quoted, &terms_in_common(quoted, &source_terms)) >= QUOTED_SHARE_MIN
        {
            return true;
        }
        let mark = match source {
            EchoedText::Memory(_) => Some(lexicon::THIRD_PERSON),
            EchoedText::Persona(text)
                if Utterance::new(text).is_question() && !Utterance::new(&sentence).is_question() =>
            {
                Some(lexicon::SECOND_PERSON)
            }
            EchoedText::Persona(_) => None,
        };
        is_copy_of(&said, &source_terms, mark)
    })
}

/// True if an earlier message of the user has the same words.
pub(super) fn is_said_before(earlier: &Message, later: &Message, start: usize, end: usize) -> bool {
    let said = limited_terms(&sentences_around(&later.content, start, end));
    covered_share(&said, &terms_in_common(&said, &limited_terms(&earlier.content))) >= ECHO_SHARE_MIN
}

/// True if these terms are a copy of the source. If there are quotation marks, a quoted stretch must be copied too.
fn is_copy_of(said: &[String], source: &[String], marks: Option<WordList>) -> bool {
    let covered = terms_in_common(said, source);
    let weight: f64 =
        said.iter().zip(&covered).filter(|(_, covered)| **covered).map(|(term, _)| term_weight(term)).sum();
    if weight < SHARED_WEIGHT_MIN || covered_share(said, &covered) < ECHO_SHARE_MIN {
        return false;
    }
    let own = said.iter().zip(&covered).filter(|(_, covered)| !**covered).map(|(term, _)| term.as_str());
    let tells = |term: &str| {
        lexicon::FIRST_PERSON.contains(term) || !(is_function_word(term) || lexicon::FILLERS.contains(term))
    };
    if own.into_iter().any(tells) {
        return false;
    }
    let copied = said.iter().zip(&covered).filter(|(_, covered)| **covered).map(|(term, _)| term.as_str());
    let copied = format!(" {} ", copied.collect::<Vec<_>>().join(" "));
    let marked = |mark: &str| {
        let spaced: Vec<String> = if mark.chars().all(is_unspaced) {
            mark.chars().map(String::from).collect()
        } else {
            vec![mark.to_owned()]
        };
        copied.contains(&format!(" {} ", spaced.join(" ")))
    };
    marks.is_none_or(|marks| marks.iter().any(marked))
}

/// For each term of `said`: true if it is part of a run of terms that `source` has in the same order. Runs that weigh
/// less than [`RUN_WEIGHT_MIN`] do not count: everybody says "and then".
fn terms_in_common(said: &[String], source: &[String]) -> Vec<bool> {
    let mut covered = vec![false; said.len()];
    // Lengths of the common runs that end at each term of the source.
    let mut ending = vec![0usize; source.len() + 1];
    for at in 0..said.len() {
        let mut next = vec![0usize; source.len() + 1];
        for (place, term) in source.iter().enumerate() {
            if *term == said[at] {
                next[place + 1] = ending[place] + 1;
            }
        }
        let longest = next.iter().copied().max().unwrap_or(0);
        let run = at + 1 - longest..=at;
        if longest > 0
            && said[run.clone()].iter().map(|term| term_weight(term)).sum::<f64>() >= RUN_WEIGHT_MIN
        {
            covered[run].fill(true);
        }
        ending = next;
    }
    covered
}

fn covered_share(said: &[String], covered: &[bool]) -> f64 {
    let total: f64 = said.iter().map(|term| term_weight(term)).sum();
    let copied: f64 =
        said.iter().zip(covered).filter(|(_, covered)| **covered).map(|(term, _)| term_weight(term)).sum();
    if total == 0.0 { 0.0 } else { copied / total }
}

fn term_weight(term: &str) -> f64 {
    if term.chars().all(is_unspaced) { 2.0 / 3.0 } else { 1.0 }
}

fn limited_terms(text: &str) -> Vec<String> {
    index_terms(text).split(' ').filter(|term| !term.is_empty()).take(TERMS_MAX).map(str::to_owned).collect()
}

/// The sentences that the stretch touches.
fn sentences_around(content: &str, start: usize, end: usize) -> String {
    let byte = |position: usize| content.char_indices().nth(position).map_or(content.len(), |(at, _)| at);
    let (start, end) = (byte(start), byte(end));
    let touched = split_sentences(content).into_iter().filter(|sentence| {
        let first = sentence.as_ptr() as usize - content.as_ptr() as usize;
        first < end && start < first + sentence.len()
    });
    touched.collect::<Vec<_>>().join(" ")
}

/// True if the stretch is inside a pair of quotation marks.
fn in_quotation_marks(content: &str, start: usize, end: usize) -> bool {
    let characters: Vec<char> = content.chars().collect();
    let (Some(before), Some(after)) = (characters.get(..start), characters.get(end..)) else { return false };
    QUOTATION_MARKS.iter().any(|(open, close)| {
        let opened = before.iter().filter(|c| *c == open).count();
        let closed = before.iter().filter(|c| *c == close).count();
        let is_open = if open == close { opened % 2 == 1 } else { opened > closed };
        is_open && after.contains(close)
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::user_says;
    use super::*;

    /// True if the whole message, as evidence, is an echo of the source.
    fn is_whole_line_echo(line: &str, source: &str) -> bool {
        let message = user_says(line);
        let is_memory = source.starts_with("用户") || source.starts_with("The user");
        let source = if is_memory { EchoedText::Memory(source) } else { EchoedText::Persona(source) };
        is_echo(&message, 0, line.chars().count(), &[source])
    }

    #[test]
    fn copied_words_are_no_evidence() {
        for (line, source) in [
            ("你一定很喜欢周末去爬山", "你一定很喜欢周末去爬山。"),
            ("你说你一定很喜欢周末去爬山", "你一定很喜欢周末去爬山吧?"),
            ("喜欢爬山的人都很自由", "我觉得喜欢爬山的人都很自由。"),
            ("用户养了一只白猫,叫小黑", "用户养了一只白猫,叫小黑"),
            ("You must love hiking in the hills", "You must love hiking in the hills!"),
            ("you said: you must love hiking", "You must love hiking in the hills!"),
            ("The user has a white cat named Shadow", "The user has a white cat named Shadow"),
        ] {
            assert!(is_whole_line_echo(line, source), "{line} ← {source}");
        }
    }

    #[test]
    fn confirming_in_ones_own_words_counts() {
        for (line, source) in [
            ("对,我养了一只白猫,叫小黑", "你是不是养了一只白猫,叫小黑?"),
            ("我养了一只白猫,叫小黑", "用户养了一只白猫,叫小黑"),
            ("喜欢周末去爬山", "你喜欢周末去爬山吗?"),
            ("yes, I have a white cat named Shadow", "Do you have a white cat named Shadow?"),
            ("I do love hiking in the hills", "You must love hiking in the hills!"),
            ("my cat is white and her name is Shadow", "The user has a white cat named Shadow"),
            ("with milk", "Do you like your tea with milk?"),
            ("咖啡", "红茶还是咖啡?"),
            ("今天又加班到很晚", "用户今天又加班到很晚"),
            ("I have a dog named Rex 2", "The user said: I have a dog named Rex 1"),
            ("I have a dog named Rex 2", "I heard you say: I have a dog named Rex 1"),
            ("喜欢周末去爬山的人都很孤独", "喜欢周末去爬山的人都很自由。"),
        ] {
            assert!(!is_whole_line_echo(line, source), "{line} ← {source}");
        }
    }

    #[test]
    fn quoted_text_belongs_to_somebody_else() {
        let message = user_says("我喜欢你那句“你一定很爱爬山”,真好玩");
        let quote = "你一定很爱爬山";
        let (start, end) = crate::text::find_quote(&message.content, quote).unwrap();
        assert!(is_echo(&message, start, end, &[EchoedText::Persona("你一定很爱爬山吧?")]));
        assert!(!is_echo(&message, 0, 4, &[EchoedText::Persona("你一定很爱爬山吧?")]));
    }
}
