//! Rewrites the user's words in the third person, and memories in the second.
//!
//! Simple on purpose: a sentence that these rules can't convert with certainty is quoted instead.

use super::sentences::{Language, clip_text};
use text::lexicon::{names, self_statements, speech, verbs};

/// Maximum characters of a sentence that a description repeats.
const SENTENCE_LENGTH_MAX: usize = 300;

/// A sentence of the user in the third person, or as a quote if the conversion would be a guess.
pub(super) fn third_person(sentence: &str, language: Language) -> String {
    let turned = match language {
        Language::Chinese => third_person_zh(sentence),
        Language::English => third_person_en(sentence),
    };
    turned.map_or_else(
        || quote_user(sentence, language, false),
        |turned| clip_text(&turned, SENTENCE_LENGTH_MAX),
    )
}

/// A sentence about a person named before; its own subject is in the third person already.
pub(super) fn continue_about(sentence: &str, language: Language) -> String {
    let speaks_of_user = match language {
        Language::Chinese => sentence.contains(['我', '你', '您', '咱']),
        Language::English => {
            let words = text::spaced_words(sentence);
            speech::FIRST_PERSON.english.occurs_in_words(&words)
                || speech::SECOND_PERSON.english.occurs_in_words(&words)
        }
    };
    if speaks_of_user { third_person(sentence, language) } else { clip_text(sentence, SENTENCE_LENGTH_MAX) }
}

/// The user's exact words, as a quote.
pub(super) fn quote_user(sentence: &str, language: Language, asked: bool) -> String {
    let words = clip_text(sentence, SENTENCE_LENGTH_MAX);
    match (language, asked) {
        (Language::Chinese, false) => format!("用户说：「{words}」"),
        (Language::Chinese, true) => format!("用户问：「{words}」"),
        (Language::English, false) => format!("The user said: \"{}\"", words.replace('"', "'")),
        (Language::English, true) => format!("The user asked: \"{}\"", words.replace('"', "'")),
    }
}

fn third_person_zh(sentence: &str) -> Option<String> {
    let sentence = without_filler_zh(sentence);
    let unsure = sentence.contains(['你', '妳', '您', '咱', '「', '“', '"'])
        || speech::UNSURE.chinese.occur_in(sentence);
    if unsure || !sentence.contains('我') {
        return None;
    }
    let theirs = names::FAMILY
        .chinese
        .iter()
        .chain(names::ACQUAINTANCE.chinese.iter())
        .chain(names::PET.chinese.iter())
        .map(|word| word.strip_prefix('我').unwrap_or(word));
    let theirs: Vec<&str> = theirs.collect();
    let mut turned = String::new();
    let mut rest = sentence;
    while let Some(at) = rest.find('我') {
        let (before, after) = (&rest[..at], &rest[at + '我'.len_utf8()..]);
        turned.push_str(before);
        if before.ends_with(['自', '忘']) {
            turned.push('我');
        } else if theirs.iter().any(|word| after.starts_with(word)) {
            turned.push_str("用户的");
        } else {
            turned.push_str("用户");
        }
        rest = after;
    }
    turned.push_str(rest);
    Some(turned)
}

/// The sentence without fillers such as "well," at its start.
fn without_filler_zh(sentence: &str) -> &str {
    let mut rest = sentence;
    while let Some((first, after)) = rest.split_once([',', '，', ' ', '~', '…']) {
        if !speech::FILLERS.chinese.contains(first.trim()) {
            break;
        }
        rest = after.trim_start();
    }
    rest.strip_prefix("其实").unwrap_or(rest)
}

fn third_person_en(sentence: &str) -> Option<String> {
    let words: Vec<String> = sentence.split_whitespace().map(lowercase_core).collect();
    let unsure = sentence.contains(['"', '“', '«'])
        || words.iter().any(|word| {
            speech::SECOND_PERSON.english.contains(word) || speech::UNSURE.english.contains(word)
        });
    if unsure || !words.iter().any(|word| speech::FIRST_PERSON.english.contains(word)) {
        return None;
    }
    let is_filler = |(token, word): (&str, &String)| {
        speech::FILLERS.english.contains(word)
            || matches!(word.as_str(), "no" | "nope") && token.ends_with(',')
    };
    let start = sentence.split_whitespace().zip(&words).position(|word| !is_filler(word))?;
    let mut turner = PersonRewriter::default();
    for (at, (token, word)) in sentence.split_whitespace().zip(&words).enumerate().skip(start) {
        let (open, core, close) = split_punctuation(token);
        let turned = turner.rewrite_word(core, word, words.get(at + 1).map_or("", String::as_str))?;
        turner.written.push(format!("{open}{turned}{close}"));
        if close.contains([',', ';', ':']) {
            turner.conjugate_after_and = false;
        }
    }
    turner.awaits_verb.eq(&false).then(|| capitalise(&turner.written.join(" ")))
}

/// The text rewritten so far, word by word.
#[derive(Default)]
struct PersonRewriter {
    written: Vec<String>,
    /// True after "I" was written, until its verb follows.
    awaits_verb: bool,
    /// True if a verb after "and" still has the user as its subject.
    conjugate_after_and: bool,
    after_and: bool,
    /// True if another person was named, so that "their" would be ambiguous.
    others: bool,
    /// True if another subject has its verb, so that "and I" is a new clause: "My name is Tom and I'm 34".
    predicate: bool,
    /// True if the user was named as a subject, so that "their" is unambiguous.
    named: bool,
}

impl PersonRewriter {
    fn rewrite_word(&mut self, core: &str, word: &str, next: &str) -> Option<String> {
        let after_and = std::mem::take(&mut self.after_and);
        if self.awaits_verb {
            if self_statements::ADVERBS.english.contains(word) && word != "do"
                || matches!(word, "never" | "no" | "longer" | "kind" | "of")
            {
                return Some(core.to_owned());
            }
            self.awaits_verb = false;
            self.conjugate_after_and = !verbs::MODAL.english.contains(word);
            return third_person_verb(word);
        }
        let plural = after_and && self.others && !self.named && !self.predicate;
        self.predicate |= matches!(word, "is" | "was" | "are" | "were" | "has" | "had");
        match word {
            "i" if plural => return None,
            "i" => self.awaits_verb = true,
            "i'm" | "im" | "i've" | "ive" | "i'll" if plural => return None,
            "i'm" | "im" => return Some(self.subject_of_verb(" is")),
            "i've" | "ive" => return Some(self.subject_of_verb(" has")),
            "i'll" => return Some(self.subject_of_verb(" will")),
            "i'd" => return None,
            "me" => return Some("the user".to_owned()),
            "mine" => return Some("the user's".to_owned()),
            "myself" => return Some("themselves".to_owned()),
            "my" if self.named && !self.others => return Some("their".to_owned()),
            "my" => return Some("the user's".to_owned()),
            _ => {}
        }
        if word == "i" {
            self.named = true;
            return Some("the user".to_owned());
        }
        let verb = verbs::VERBS.english.contains(word) && verbs::AFTER_VERB.english.contains(next);
        if after_and && self.conjugate_after_and && verb {
            return third_person_verb(word);
        }
        self.after_and = matches!(word, "and" | "but");
        if word == "to" || verbs::OTHER_SUBJECT.english.contains(word) {
            self.conjugate_after_and = false;
        }
        let proper = core.starts_with(char::is_uppercase) && !self.written.is_empty();
        self.others |=
            proper || verbs::OTHER_SUBJECT.english.contains(word) || super::peaks::is_someone_en(word);
        Some(core.to_owned())
    }

    fn subject_of_verb(&mut self, verb: &str) -> String {
        self.named = true;
        self.conjugate_after_and = verb == " has";
        format!("the user{verb}")
    }
}

/// The form of a verb after "the user", if it is certain.
fn third_person_verb(word: &str) -> Option<String> {
    let irregular =
        [("am", "is"), ("have", "has"), ("do", "does"), ("don't", "doesn't"), ("haven't", "hasn't")];
    if let Some((_, turned)) = irregular.iter().find(|(base, _)| *base == word) {
        return Some((*turned).to_owned());
    }
    if verbs::VERBS.english.contains(word) {
        return Some(add_third_person_s(word));
    }
    let unchanged = verbs::MODAL.english.contains(word)
        || verbs::PAST.english.contains(word)
        || (word.ends_with("ed") && word.len() > 3);
    unchanged.then(|| word.to_owned())
}

fn add_third_person_s(verb: &str) -> String {
    let mut letters = verb.chars().rev();
    match (letters.next(), letters.next()) {
        (Some('s' | 'x' | 'z' | 'o'), _) | (Some('h'), Some('s' | 'c')) => format!("{verb}es"),
        (Some('y'), Some(before)) if !"aeiou".contains(before) => format!("{}ies", &verb[..verb.len() - 1]),
        _ => format!("{verb}s"),
    }
}

/// A memory's description in the second person, for telling it to the user.
pub(super) fn second_person(description: &str) -> String {
    let description = description.trim();
    if description.contains("用户") {
        let rewritten = [
            ("用户说：「", "你说过：「"),
            ("用户问：「", "你问过：「"),
            ("用户说:「", "你说过：「"),
            ("用户问:「", "你问过：「"),
        ];
        let rewritten = rewritten
            .iter()
            .fold(description.to_owned(), |text, (third, second)| text.replace(third, second));
        return rewritten.replace("用户自己", "你自己").replace("用户", "你");
    }
    quoting_second_person_en(description)
}

/// Converts sentences outside of quotes; quoted text stays as it is.
fn quoting_second_person_en(description: &str) -> String {
    let quotes = [("The user said: \"", "you said: \""), ("The user asked: \"", "you asked: \"")];
    let found =
        quotes.into_iter().filter_map(|(third, second)| Some((description.find(third)?, third, second)));
    let Some((at, third, second)) = found.min_by_key(|(at, ..)| *at) else {
        return second_person_en(description);
    };
    let before = second_person_en(&description[..at]);
    let after = &description[at + third.len()..];
    let (quote, rest) = match after.find('"') {
        Some(end) => after.split_at(end + 1),
        None => (after, ""),
    };
    let blank = if before.is_empty() { "" } else { " " };
    let said = if before.is_empty() { second.to_owned() } else { capitalise(second) };
    // A mark after the quote ends the sentence.
    let (marks, rest) = rest.split_at(rest.find(|mark| !".!?,;".contains(mark)).unwrap_or(rest.len()));
    let rest = if rest.trim().is_empty() {
        rest.to_owned()
    } else {
        format!(" {}", capitalise(&quoting_second_person_en(rest.trim())))
    };
    format!("{before}{blank}{said}{quote}{marks}{rest}")
}

fn second_person_en(description: &str) -> String {
    let mut written: Vec<String> = Vec::new();
    let (mut awaits_verb, mut named, mut after_and) = (false, false, false);
    // True if the current sentence is about the user; the next one may have another subject.
    let mut leads = false;
    // "their" refers to the user if nobody else was named before.
    let mut others =
        !["The user", "the user", "User", "user"].iter().any(|user| description.starts_with(user));
    for token in description.split_whitespace() {
        let (open, core, close) = split_punctuation(token);
        let word = lowercase_core(token);
        let article = written.last().is_some_and(|last| last.eq_ignore_ascii_case("the"));
        let turned = match word.as_str() {
            "user" | "user's" if article || written.is_empty() => {
                if article {
                    written.pop();
                }
                awaits_verb = word == "user";
                named |= awaits_verb;
                leads |= awaits_verb;
                if awaits_verb { "you".to_owned() } else { "your".to_owned() }
            }
            "their" if named && !others => "your".to_owned(),
            "themselves" if named && !others => "yourself".to_owned(),
            _ if awaits_verb && (self_statements::ADVERBS.english.contains(&word) || word == "never") => {
                core.to_owned()
            }
            _ if awaits_verb || (after_and && leads) => {
                awaits_verb = false;
                second_person_verb(&word).unwrap_or_else(|| core.to_owned())
            }
            _ => {
                let proper = core.starts_with(char::is_uppercase) && !written.is_empty();
                others |= proper
                    || verbs::OTHER_SUBJECT.english.contains(&word)
                    || super::peaks::is_someone_en(&word);
                core.to_owned()
            }
        };
        after_and = matches!(word.as_str(), "and" | "but");
        leads &= !close.contains(['.', '!', '?', ';']);
        let begins = written.last().is_some_and(|before: &String| before.ends_with(['.', '!', '?']));
        let turned = if begins { capitalise(&turned) } else { turned };
        written.push(format!("{open}{turned}{close}"));
    }
    written.join(" ")
}

fn second_person_verb(word: &str) -> Option<String> {
    let irregular = [
        ("is", "are"),
        ("was", "were"),
        ("has", "have"),
        ("does", "do"),
        ("isn't", "aren't"),
        ("wasn't", "weren't"),
        ("hasn't", "haven't"),
        ("doesn't", "don't"),
    ];
    if let Some((_, turned)) = irregular.iter().find(|(third, _)| *third == word) {
        return Some((*turned).to_owned());
    }
    verbs::VERBS.english.iter().find(|base| add_third_person_s(base) == word).map(str::to_owned)
}

fn lowercase_core(token: &str) -> String {
    split_punctuation(token).1.replace('’', "'").to_lowercase()
}

/// Splits a token into leading punctuation, the word, and trailing punctuation.
fn split_punctuation(token: &str) -> (&str, &str, &str) {
    let start = token.find(char::is_alphanumeric).unwrap_or(token.len());
    let end = token
        .char_indices()
        .rfind(|(_, letter)| letter.is_alphanumeric())
        .map_or(start, |(at, letter)| at + letter.len_utf8());
    (&token[..start], &token[start..end], &token[end..])
}

fn capitalise(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_sentences_turn_to_the_third_person() {
        for (said, rewritten) in [
            ("我养了只白猫,叫小黑。", "用户养了只白猫,叫小黑。"),
            ("我妈妈对花生过敏", "用户的妈妈对花生过敏"),
            ("我的狗叫旺财", "用户的狗叫旺财"),
            ("我妈昨天走了", "用户的妈昨天走了"),
            ("对了,我下周去北京", "用户下周去北京"),
            ("你好,我是小李", "用户是小李"),
            ("我喜欢自我介绍", "用户喜欢自我介绍"),
            ("我爸带我去钓鱼", "用户的爸带用户去钓鱼"),
        ] {
            assert_eq!(third_person(said, Language::Chinese), rewritten);
        }
        assert_eq!(
            continue_about("他超调皮,老在半夜跳到我脸上。", Language::Chinese),
            "他超调皮,老在半夜跳到用户脸上。"
        );
        assert_eq!(continue_about("他超调皮。", Language::Chinese), "他超调皮。");
    }

    #[test]
    fn chinese_sentences_that_would_be_a_guess_are_quoted() {
        for said in ["我喜欢你", "我们分手了", "昨天分手了", "他说“我爱你”"] {
            assert_eq!(third_person(said, Language::Chinese), format!("用户说：「{said}」"));
        }
    }

    #[test]
    fn english_sentences_turn_to_the_third_person() {
        for (said, rewritten) in [
            ("I have a white cat named Tom.", "The user has a white cat named Tom."),
            ("I'm a nurse", "The user is a nurse"),
            ("I’ve got two kids", "The user has got two kids"),
            ("I live in Berlin and work at a bakery", "The user lives in Berlin and works at a bakery"),
            ("I really love my dog", "The user really loves their dog"),
            ("I don't like rain", "The user doesn't like rain"),
            ("I study law", "The user studies law"),
            ("I love the acceptance and love theme", "The user loves the acceptance and love theme"),
            ("I moved to Lisbon last year", "The user moved to Lisbon last year"),
            ("I just got promoted!", "The user just got promoted!"),
            ("My mom is allergic to peanuts", "The user's mom is allergic to peanuts"),
            ("my sister Anna gave me her piano", "The user's sister Anna gave the user her piano"),
            ("My name is Tom and I'm 34.", "The user's name is Tom and the user is 34."),
            ("Well, I was born in May", "The user was born in May"),
            ("No, I live in Lyon now", "The user lives in Lyon now"),
            ("I love to cook and bake", "The user loves to cook and bake"),
            ("I can't stand cilantro", "The user can't stand cilantro"),
            ("My mom died when I was ten", "The user's mom died when the user was ten"),
            ("I told Anna my secret", "The user told Anna the user's secret"),
        ] {
            assert_eq!(third_person(said, Language::English), rewritten);
        }
        assert_eq!(
            continue_about("He jumps on my face at night.", Language::English),
            "He jumps on the user's face at night."
        );
        assert_eq!(continue_about("He is wild.", Language::English), "He is wild.");
    }

    #[test]
    fn english_sentences_that_would_be_a_guess_are_quoted() {
        for said in [
            "I adore you",
            "We broke up",
            "I'd rather stay",
            "I zorbed yesterday and I zorb",
            "My wife and I moved",
        ] {
            assert_eq!(third_person(said, Language::English), format!("The user said: \"{said}\""));
        }
        assert_eq!(
            third_person("He said \"I quit\" to me", Language::English),
            "The user said: \"He said 'I quit' to me\""
        );
    }

    #[test]
    fn a_new_memory_is_announced_to_the_user() {
        for (description, rewritten) in [
            ("用户养了只白猫,叫小黑。", "你养了只白猫,叫小黑。"),
            ("用户说：「我们分手了」", "你说过：「我们分手了」"),
            ("用户说:「我们分手了」", "你说过：「我们分手了」"),
            ("The user has a cat. The user is a nurse", "you have a cat. You are a nurse"),
            ("The user said: \"We broke up\"", "you said: \"We broke up\""),
            (
                "The user said: \"We broke up.\" The user is a nurse. The user said: \"ok\"",
                "you said: \"We broke up.\" You are a nurse. You said: \"ok\"",
            ),
            (
                "The user said: \"We broke up\". The user's dog is called Biscuit.",
                "you said: \"We broke up\". Your dog is called Biscuit.",
            ),
            ("用户说：「分手了」用户的妹妹是护士", "你说过：「分手了」你的妹妹是护士"),
            ("The user has a white cat named Tom.", "you have a white cat named Tom."),
            ("user has a white cat", "you have a white cat"),
            ("The user's mom is allergic to peanuts", "your mom is allergic to peanuts"),
            ("The user really loves their dog", "you really love your dog"),
            ("The user lives in Berlin and works at a bakery", "you live in Berlin and work at a bakery"),
            ("The user has a cat. He eats and sleeps a lot", "you have a cat. He eats and sleeps a lot"),
            ("The user was born in May", "you were born in May"),
            ("Anna told the user their plan", "Anna told you their plan"),
        ] {
            assert_eq!(second_person(description), rewritten);
        }
    }
}
