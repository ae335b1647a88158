//! Finds named people, pets, places and organisations.

use serde::Serialize;
use text::Utterance;
use text::is_han;
use text::lexicon::{WordList, Words, names, self_statements};

use super::names_beside::names_beside;
use super::sentences::Clause;

/// A name that a sentence gives to somebody or something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedThing {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// The kind of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Person,
    Place,
    Org,
    Pet,
    Other,
}

impl Kind {
    pub(super) fn from_word(word: &str) -> Option<Kind> {
        [
            ("person", Kind::Person),
            ("place", Kind::Place),
            ("org", Kind::Org),
            ("pet", Kind::Pet),
            ("other", Kind::Other),
        ]
        .into_iter()
        .find_map(|(name, kind)| (name == word).then_some(kind))
    }

    /// The kind of a known name, judged by the words around it.
    pub(super) fn from_context(name: &str, sentence: &str) -> Kind {
        sentence.find(name).map_or(Kind::Other, |at| kind_near(sentence, at, sentence))
    }
}

/// The names in the stating clauses of a sentence, except for the user's own.
pub(super) fn named_things(sentence: &str, clauses: &[Clause<'_>]) -> Vec<NamedThing> {
    let mut found: Vec<NamedThing> = Vec::new();
    for clause in clauses.iter().filter(|clause| clause.is_statement()) {
        let named = names_after_jiao(clause.text)
            .into_iter()
            .chain(names_beside(clause.text))
            .chain(english_name(clause.text))
            .map(|(at, name)| NamedThing { kind: kind_near(sentence, clause.start + at, clause.text), name });
        let placed = places_zh(clause.text)
            .into_iter()
            .chain(after_phrase(clause.text, names::LIVES_IN.english))
            .map(|name| NamedThing { name, kind: Kind::Place });
        let employed = organisation_in_chinese(clause.text)
            .into_iter()
            .chain(after_phrase(clause.text, names::WORKS_AT.english))
            .map(|name| NamedThing { name, kind: Kind::Org });
        for thing in named.chain(placed).chain(employed) {
            if !found.iter().any(|other| other.name == thing.name) {
                found.push(thing);
            }
        }
    }
    found
}

/// The kind according to the nearest word before `at`, else according to any word of the clause.
fn kind_near(text: &str, at: usize, clause: &str) -> Kind {
    const KINDS: [(Kind, WordList); 5] = [
        (Kind::Pet, names::PET),
        (Kind::Person, names::FAMILY),
        (Kind::Person, names::ACQUAINTANCE),
        (Kind::Org, names::ORG),
        (Kind::Place, names::PLACE),
    ];
    let before = &text[..at];
    let words_before = text::spaced_words(before);
    let last = |words: WordList| {
        let parts =
            words.chinese.iter().filter_map(|part| before.rfind(part).map(|place| place * 1000 / at.max(1)));
        let phrases = words
            .english
            .iter()
            .flat_map(|word| [format!(" {word} "), format!(" {word}s "), format!(" {word}'s ")]);
        let phrases = phrases
            .filter_map(|phrase| words_before.rfind(&phrase).map(|place| place * 1000 / words_before.len()));
        parts.chain(phrases).max()
    };
    let nearest = KINDS
        .into_iter()
        .filter_map(|(kind, words)| Some((last(words)?, kind)))
        .max_by_key(|(place, _)| *place);
    if let Some((_, kind)) = nearest {
        return kind;
    }
    let said = Utterance::new(clause);
    KINDS.into_iter().find(|(_, words)| said.says_any(*words)).map_or(Kind::Other, |(kind, _)| kind)
}

/// Names after 叫 and similar words, each with its position.
fn names_after_jiao(clause: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some((at, marker)) = names::NAMED
        .chinese
        .iter()
        .filter_map(|marker| Some((from + clause[from..].find(marker)?, marker)))
        .min_by_key(|(at, marker)| (*at, std::cmp::Reverse(marker.len())))
    {
        from = at + marker.len();
        let before = clause[..at].trim_end();
        let own = before.ends_with('我') || before.ends_with("我的") || clause[from..].starts_with('我');
        let sound = marker == "叫" && names::SOUND.chinese.is_end_of(before);
        if own || sound {
            continue;
        }
        if let Some(name) = read_name(&clause[from..]) {
            found.push((from, name));
        }
    }
    found
}

/// The name at the start of a text: in quotes, a few ideographs, or capitalised words.
fn read_name(text: &str) -> Option<String> {
    const NAME_LENGTH_MAX: usize = 4;
    let text = text.trim_start_matches([' ', '“', '「', '"', '‘', '《']);
    if names::NO_NAME.chinese.begin(text) {
        return None;
    }
    if !text.starts_with(is_han) {
        return capitalised_beginning(text);
    }
    let name = ideographs_until(text, names::NAME_ENDS.chinese);
    (1..=NAME_LENGTH_MAX).contains(&name.chars().count()).then(|| name.to_owned())
}

/// The ideographs at the start of a text, up to the first of `ends`; the first one is always included.
fn ideographs_until(text: &str, ends: Words) -> &str {
    let mut end = text.find(|letter| !is_han(letter)).unwrap_or(text.len());
    for stop in ends.iter() {
        if let Some((at, _)) = text[..end].match_indices(stop).find(|(at, _)| *at > 0) {
            end = at;
        }
    }
    &text[..end]
}

fn places_zh(clause: &str) -> Option<String> {
    const PLACE_LENGTH_MAX: usize = 6;
    let (_, after) = names::LIVES_IN.chinese.iter().find_map(|marker| clause.split_once(marker))?;
    if names::NO_PLACE.chinese.begin(after) {
        return None;
    }
    let place = ideographs_until(after, names::PLACE_ENDS.chinese);
    (2..=PLACE_LENGTH_MAX).contains(&place.chars().count()).then(|| place.to_owned())
}

/// The name X in 在X工作 (works at X), if X contains a word for an organisation.
fn organisation_in_chinese(clause: &str) -> Option<String> {
    let (_, after) = clause.split_once('在')?;
    let end = self_statements::OCCUPIED.chinese.iter().filter_map(|work| after.find(work)).min()?;
    let org = after[..end].trim();
    let generic = org.starts_with(['一', '这', '那', '家', '某', '个']) || names::ORG.chinese.contains(org);
    let named = names::ORG.chinese.is_end_of(org);
    (named && !generic && org.chars().count() <= 12).then(|| org.to_owned())
}

/// Names after "named", "called" and "name is", and beside words such as "sister".
fn english_name(clause: &str) -> Vec<(usize, String)> {
    let tokens = tokens(clause);
    let mut found = Vec::new();
    for (position, (_, word)) in tokens.iter().enumerate() {
        let lower = strip_punctuation(word);
        let earlier = |back: usize| {
            position.checked_sub(back).map(|at| strip_punctuation(tokens[at].1)).unwrap_or_default()
        };
        let Some((at, _)) = tokens.get(position + 1) else { break };
        let rest = &clause[*at..];
        let named = match lower.as_str() {
            "named" => true,
            "called" => earlier(1) != "i'm" && !(earlier(2) == "i" && earlier(1) == "am"),
            "is" | "was" => earlier(1) == "name" && earlier(2) != "my",
            _ => false,
        };
        if named {
            let plain = lower != "called"
                && !names::NO_NAME_AFTER_NAMED.english.contains(&strip_punctuation(tokens[position + 1].1));
            let name = capitalised_beginning(rest).or_else(|| plain.then(|| plain_name(rest)).flatten());
            found.extend(name.map(|name| (*at, name)));
        } else if is_of_the_users(&lower)
            && ["my", "our"].iter().any(|own| earlier(1) == *own || earlier(2) == *own)
        {
            let beside = word.ends_with(char::is_alphabetic).then(|| capitalised_beginning(rest)).flatten();
            found.extend(beside.map(|name| (*at, name)));
        }
    }
    found
}

fn is_of_the_users(word: &str) -> bool {
    super::peaks::is_someone_en(word)
}

/// The capitalised name after one of these phrases.
fn after_phrase(clause: &str, phrases: Words) -> Option<String> {
    let tokens = tokens(clause);
    (0..tokens.len()).find_map(|position| {
        let words =
            tokens[..=position].iter().map(|(_, word)| strip_punctuation(word)).collect::<Vec<_>>().join(" ");
        let ends = phrases.iter().any(|phrase| words == *phrase || words.ends_with(&format!(" {phrase}")));
        let (at, _) = tokens.get(position + 1).filter(|_| ends)?;
        capitalised_beginning(&clause[*at..])
    })
}

/// Up to three capitalised words (or consecutive ideographs) at the start of a text.
fn capitalised_beginning(text: &str) -> Option<String> {
    const MOST_WORDS: usize = 3;
    if text.starts_with(is_han) {
        let name = ideographs_until(text, names::NAME_ENDS.chinese);
        return (name.chars().count() <= 4).then(|| name.to_owned());
    }
    let mut name: Vec<&str> = Vec::new();
    for (_, token) in tokens(text).into_iter().take(MOST_WORDS) {
        let word = token.trim_matches(|letter: char| !letter.is_alphanumeric());
        let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
        let capital = word.starts_with(char::is_uppercase)
            && !names::NO_NAME.english.contains(&strip_punctuation(word));
        if !capital {
            break;
        }
        name.push(word);
        if !token.ends_with(char::is_alphanumeric) {
            break;
        }
    }
    (!name.is_empty()).then(|| name.join(" "))
}

/// One word in lower case, as people type names in a chat.
fn plain_name(text: &str) -> Option<String> {
    let (_, token) = *tokens(text).first()?;
    let word = token.trim_matches(|letter: char| !letter.is_alphanumeric());
    (word.chars().count() > 1 && word.chars().all(char::is_alphabetic)).then(|| word.to_owned())
}

/// The words of a text with their positions. A word of letters ends where ideographs begin.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = None;
    let mut previous = ' ';
    for (at, letter) in text.char_indices() {
        let border =
            letter.is_whitespace() || (is_han(letter) != is_han(previous) && !previous.is_whitespace());
        if border && let Some(begin) = start.take() {
            found.push((begin, &text[begin..at]));
        }
        if start.is_none() && !letter.is_whitespace() {
            start = Some(at);
        }
        previous = letter;
    }
    found.extend(start.map(|begin| (begin, &text[begin..])));
    found
}

fn strip_punctuation(word: &str) -> String {
    word.trim_matches(|letter: char| !letter.is_alphanumeric()).replace('’', "'").to_lowercase()
}

/// True if a known name occurs: anywhere for ideographs, at word boundaries for letters.
pub(super) fn mentions_name(sentence: &str, name: &str) -> bool {
    if name.trim().is_empty() {
        return false;
    }
    if name.chars().any(is_han) {
        return sentence.contains(name);
    }
    text::spaced_words(sentence).replace("'s ", " ").contains(&text::spaced_words(name))
}

#[cfg(test)]
mod tests {
    use super::super::sentences::split_clauses;
    use super::*;

    fn names(sentence: &str) -> Vec<(String, Kind)> {
        named_things(sentence, &split_clauses(sentence))
            .into_iter()
            .map(|named| (named.name, named.kind))
            .collect()
    }

    #[test]
    fn named_things_have_a_name_and_a_kind() {
        for (sentence, name, kind) in [
            ("我养了只白猫,叫小黑。", "小黑", Kind::Pet),
            ("我的狗名字叫旺财", "旺财", Kind::Pet),
            ("我有个朋友名叫阿明", "阿明", Kind::Person),
            ("我妈妈叫王芳", "王芳", Kind::Person),
            ("我家猫取名“雪球”了", "雪球", Kind::Pet),
            ("我养了条狗叫 Max", "Max", Kind::Pet),
            ("我开了家公司,叫蓝海", "蓝海", Kind::Org),
            ("新娘叫小雨,我们在大学认识的", "小雨", Kind::Person),
            ("同桌叫小雨,我们上同一所大学", "小雨", Kind::Other),
            ("我有一把吉他叫阿木", "阿木", Kind::Other),
            ("我的猫糯米很调皮", "糯米", Kind::Pet),
            ("我妹妹小琳在学钢琴", "小琳", Kind::Person),
            ("我住在杭州", "杭州", Kind::Place),
            ("我上个月搬到了新加坡。", "新加坡", Kind::Place),
            ("我在招商银行工作", "招商银行", Kind::Org),
            ("I have a white cat named Tom.", "Tom", Kind::Pet),
            ("I have a cat named tom", "tom", Kind::Pet),
            ("My dog is called Old Joe, and he snores", "Old Joe", Kind::Pet),
            ("My sister's name is Anna", "Anna", Kind::Person),
            ("I went out with my friend Carla", "Carla", Kind::Person),
            ("I live in New York now", "New York", Kind::Place),
            ("I work at Siemens.", "Siemens", Kind::Org),
            ("My cat is named 小黑", "小黑", Kind::Pet),
        ] {
            assert_eq!(names(sentence), [(name.to_owned(), kind)], "{sentence}");
        }
    }

    #[test]
    fn sentences_without_a_name_yield_none() {
        for sentence in [
            "我叫李雷",
            "我的名字叫李雷",
            "大家叫我小李",
            "我叫了外卖",
            "叫他起床",
            "他大叫了一声",
            "狗一直叫个不停",
            "你的猫叫什么名字?",
            "我住在学校",
            "我搬到新家了",
            "我在一家公司工作",
            "My name is Ana",
            "I'm called Ana",
            "I called my mom",
            "they called it quits",
            "He was named after my dad",
            "I work for a bank",
            "Is your cat named Tom?",
            "my friend said hi",
            "my mom and I",
        ] {
            assert_eq!(names(sentence), [], "{sentence}");
        }
    }

    #[test]
    fn known_names_are_found_at_borders() {
        assert!(mentions_name("小黑昨天又闹了", "小黑"));
        assert!(mentions_name("then Tom's bowl fell", "Tom") && mentions_name("then tom ran", "Tom"));
        assert!(!mentions_name("tomorrow", "Tom") && !mentions_name("anything", " "));
    }
}
