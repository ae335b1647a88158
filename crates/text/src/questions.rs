//! Questions: whether a sentence asks is decided here, and nowhere else.
//!
//! People leave the mark out, and put one behind what they tell ("we moved in May, remember?"). So each use has its reading:
//! [`asks`] goes by marks, particles and tags; `asks_by_words` by the words alone, for what is to be remembered;
//! [`asks_the_listener`] does the same for one clause; [`seems_to_ask`] is for a reply, which may be wrong at little cost.

use super::segment::fold;

/// Questions without a question mark, in scripts that have particles for them.
const PARTICLES: &[&str] = &["吗", "嗎", "呢", "么"];
/// Asks for consent: a question to reason about, not one to answer.
const CONSENT_PARTICLE: &str = "吧";
/// Parts that make a question of a sentence, in any position.
const TAGS: &[&str] = &[
    "是不是",
    "有没有",
    "会不会",
    "要不要",
    "能不能",
    "对不对",
    "是否",
    "好不好",
    ", right",
    "isn't it",
    "don't you",
    "aren't you",
];
/// First words of a question, with or without its mark.
const QUESTION_WORDS: [&str; 8] = ["what", "who", "whose", "where", "which", "why", "how", "when"];
/// Among the words after these, one makes a question of it: "what kind of dog do I have", not "what a day".
const AUXILIARIES: [&str; 21] = [
    "is", "are", "was", "were", "am", "do", "does", "did", "have", "has", "had", "can", "could", "will",
    "would", "should", "isn't", "didn't", "doesn't", "don't", "wasn't",
];
/// Number of words after the question word among which the auxiliary is looked for.
const AUXILIARY_WITHIN: usize = 3;
/// After the question word they begin a clause, not a question: "what I love is jazz".
const PRONOUNS: [&str; 8] = ["i", "you", "he", "she", "it", "we", "they", "my"];
/// A sentence that begins so asks for an answer.
const REQUESTS: [&str; 25] = [
    "do you",
    "did you",
    "have you",
    "can you",
    "could you",
    "would you",
    "will you",
    "did i",
    "do i",
    "am i",
    "have i",
    "does my",
    "is my",
    "are my",
    "was my",
    "were my",
    "has my",
    "did my",
    "tell me",
    "remind me",
    "do we",
    "did we",
    "what about",
    "how about",
    "any idea",
];
/// A question word with its verb.
const CONTRACTED: [&str; 5] = ["what's", "who's", "where's", "how's", "when's"];
const CHINESE_QUESTION_WORDS: [&str; 20] = [
    "什么",
    "甚麼",
    "什麼",
    "啥",
    "谁",
    "誰",
    "哪",
    "几岁",
    "几点",
    "几个",
    "几月",
    "几号",
    "多少",
    "多大",
    "多久",
    "怎么",
    "怎麼",
    "怎样",
    "为何",
    "记不记得",
];
/// Phrases with a question word that ask nothing.
const CHINESE_NO_QUESTION: [&str; 18] = [
    "不知道",
    "我知道",
    "不懂",
    "不明白",
    "明白了",
    "怎么这么",
    "多么",
    "都",
    "也",
    "没什么",
    "没有什么",
    "沒什麼",
    "没怎么",
    "不怎么",
    "什么的",
    "无论",
    "不管",
    "随便",
];
const CHINESE_REQUESTS: [&str; 6] = ["告诉我", "说说", "讲讲", "提醒我", "还记得", "你记得"];

/// True if a sentence asks by its mark, a particle or a tag.
pub fn asks(sentence: &str) -> bool {
    folded_asks(&fold(sentence))
}

pub(super) fn folded_asks(folded: &str) -> bool {
    let bare = folded.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '?');
    folded.contains('?') || ends_in_particle(bare) || bare.ends_with(CONSENT_PARTICLE) || holds(folded, TAGS)
}

/// True if a whole text ends as a question does.
pub fn ends_in_question(text: &str) -> bool {
    let text = text.trim_end();
    text.ends_with(['?', '\u{ff1f}', '吗', '呢'])
}

/// True if a sentence asks in its words or by a particle, although it may bear no question mark.
pub fn seems_to_ask(sentence: &str) -> bool {
    let folded = fold(sentence);
    let bare = folded.trim_end_matches(|c: char| !c.is_alphanumeric());
    asks_by_words(&folded) || (ends_in_particle(bare) && !holds(&folded, &CHINESE_NO_QUESTION))
}

/// True if a sentence begins as a question does, so that a mark at its end makes a question of all its clauses.
pub fn opens_as_question(sentence: &str) -> bool {
    let folded = fold(sentence);
    let opener = folded.strip_prefix('为').unwrap_or(&folded);
    let opens_in_chinese =
        [&CHINESE_QUESTION_WORDS[..], TAGS].concat().into_iter().any(|word| opener.starts_with(word));
    let first = words_of(&folded).first().copied();
    opens_in_chinese
        || first.is_some_and(|word| AUXILIARIES.contains(&word) || QUESTION_WORDS.contains(&word))
}

/// True if a clause asks the one who hears it, so that what it mentions is not told.
pub fn asks_the_listener(clause: &str) -> bool {
    let folded = fold(clause);
    let names_unknown = || holds(&folded, &CHINESE_QUESTION_WORDS) || holds(&folded, TAGS);
    if folded.ends_with(['吗', '嗎']) || (folded.contains('你') && names_unknown()) {
        return true;
    }
    let words = words_of(&folded);
    let addresses = matches!(words[..], [verb, "you", ..] if AUXILIARIES.contains(&verb));
    addresses || opens_question(&words) || words.first().is_some_and(|word| CONTRACTED.contains(word))
}

fn holds(folded: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| folded.contains(phrase))
}

/// The words of folded text that are not Chinese.
fn words_of(folded: &str) -> Vec<&str> {
    folded.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect()
}

fn ends_in_particle(bare: &str) -> bool {
    PARTICLES.iter().any(|particle| bare.ends_with(particle))
}

/// True if the words of a folded sentence ask, not its mark alone: "we moved in May, remember?" tells something.
pub(super) fn asks_by_words(folded: &str) -> bool {
    if CHINESE_REQUESTS.iter().any(|request| folded.starts_with(request))
        || (holds(folded, &CHINESE_QUESTION_WORDS) && !holds(folded, &CHINESE_NO_QUESTION))
    {
        return true;
    }
    let words = words_of(folded);
    let begins = |request: &&str| {
        let mut said = words.iter();
        request.split(' ').all(|word| said.next() == Some(&word))
    };
    let begins_with_verb = || words.first().is_some_and(|first| AUXILIARIES.contains(first));
    REQUESTS.iter().any(begins)
        || opens_question(&words)
        || words.first().is_some_and(|word| CONTRACTED.contains(word))
        || (folded.contains('?') && begins_with_verb())
}

/// True if it begins with a question word, and a question's verb follows: "which dog did I mean".
fn opens_question(words: &[&str]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let clause = rest.first().is_none_or(|next| PRONOUNS.contains(next));
    let within = if *first == "when" { 1 } else { AUXILIARY_WITHIN };
    QUESTION_WORDS.contains(first)
        && !clause
        && rest.iter().take(within).any(|word| AUXILIARIES.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_known_in_both_languages() {
        for text in
            ["你是不是养了狗?", "你养了狗吗", "你养了狗吧。", "Do you have a dog?", "You have a dog, right"]
        {
            assert!(asks(text), "{text}");
        }
        for text in ["你养了狗。", "You have a dog.", "狗很可爱!"] {
            assert!(!asks(text), "{text}");
        }
    }

    #[test]
    fn words_ask_without_a_mark() {
        for text in
            ["who is ida", "where do i live", "what's my dog called", "are my keys here", "我妈叫什么名字"]
        {
            assert!(asks_by_words(text) && !asks(text), "{text}");
        }
        for text in ["what a day!", "我知道为什么", "怎么这么冷", "i know who did it"] {
            assert!(!asks_by_words(text), "{text}");
        }
    }

    #[test]
    fn a_reply_takes_a_particle_for_a_question() {
        for text in ["我的猫呢", "你养了狗嗎", "阿哲是谁"] {
            assert!(seems_to_ask(text), "{text}");
        }
        for text in ["我们走吧", "没什么呢", "When I was ten, my dog died."] {
            assert!(!seems_to_ask(text), "{text}");
        }
    }
}
