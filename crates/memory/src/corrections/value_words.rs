//! The words by which a text is recognised to state a value.

use super::WordKey;
use crate::entities::{fold_name, is_named_in_text};
use crate::text::lexicon::names as lexicon;
use crate::text::{CommonValue, Values, common_value, content_terms, is_unspaced};

/// The words that distinguish a value from the one that it replaced or that replaced it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueWords {
    /// Folded names that the other value does not have. Each identifies the value by itself.
    names: Vec<String>,
    /// Names of the other value that contain one of these: 都柏林 contains 柏林 but is another city.
    longer: Vec<String>,
    /// A value of common words. It is recognised only together with another word of its sentence.
    common: Option<CommonValue>,
    /// The whole value, folded, without its final full stop.
    whole: String,
}

impl ValueWords {
    /// The words of a former value and those of the current one; `entities` are names that the former text is about.
    ///
    /// Of the current one, only words that are certainly the value: `May` in "we moved in May" does not state Lyon.
    pub fn from_both_values<'a>(
        former: &'a str,
        current: &'a str,
        entities: impl Iterator<Item = &'a str>,
    ) -> (Self, Self) {
        let (before, now) = (ComparedText::new(former), ComparedText::new(current));
        let names = entities.chain(written_names(former)).map(fold_name).collect();
        (before.value_words(&now, names), now.value_words(&before, Vec::new()))
    }

    /// True if the value has no name, so that only its complete wording is recognised.
    pub fn has_no_name(&self) -> bool {
        self.names.is_empty() && self.common.is_none()
    }

    /// Keys of which every text that states the value has one. If empty, any text may state it.
    pub fn word_keys(&self) -> Vec<Option<WordKey>> {
        let common = self.common.iter().map(|common| &common.value);
        // A text with the whole value also has its names.
        let whole = self.has_no_name().then_some(&self.whole);
        self.names.iter().chain(common).chain(whole).map(|phrase| WordKey::keys_of_phrase(phrase)).collect()
    }

    /// True if a text, folded by [`fold_name`], states the value.
    pub(crate) fn is_stated_in(&self, text: &str, folded: &str) -> bool {
        let is_common = |common: &CommonValue| {
            is_named_in_text(folded, &common.value) && {
                let terms = content_terms(text);
                common.beside.iter().any(|term| terms.contains(term))
            }
        };
        let shorter = (!self.longer.is_empty()).then(|| cut_longer_words(folded, &self.longer));
        let folded = shorter.as_deref().unwrap_or(folded);
        self.names.iter().chain([&self.whole]).any(|said| is_named_in_text(folded, said))
            || self.common.as_ref().is_some_and(is_common)
    }
}

fn cut_longer_words(folded: &str, longer: &[String]) -> String {
    longer.iter().fold(folded.to_owned(), |text, name| text.replace(name, " "))
}

/// Capitalised words and words with digits inside a sentence, as far as each is a name by itself: York of New York,
/// and 2015 of 2015年.
fn written_names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let first = usize::from(text.starts_with(|c: char| c.is_ascii_alphanumeric()));
    words.skip(first).filter(|word| {
        word.len() > 1
            && is_written_as_name(word)
            && !lexicon::PARTS_OF_NAMES.contains(&word.to_ascii_lowercase())
    })
}

/// Names of several capitalised words: New York.
fn written_phrases(text: &str) -> Vec<String> {
    let mut found: Vec<Vec<&str>> = vec![Vec::new()];
    for word in text.split(' ') {
        let bare = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        match is_written_as_name(bare) {
            true => found.last_mut().into_iter().for_each(|phrase| phrase.push(bare)),
            false => found.push(Vec::new()),
        }
        if bare != word {
            found.push(Vec::new());
        }
    }
    found.iter().filter(|phrase| phrase.len() > 1).map(|phrase| fold_name(&phrase.join(" "))).collect()
}

fn is_written_as_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
}

/// One of two texts to compare.
struct ComparedText {
    parsed: Values,
    folded: String,
    /// Names of several words.
    phrases: Vec<String>,
}

impl ComparedText {
    fn new(text: &str) -> Self {
        let folded = fold_name(text.trim_end_matches(['.', '。']));
        Self { parsed: Values::new(text), folded, phrases: written_phrases(text) }
    }

    /// The words of this text that the other one does not have: `names` are added to its places, days and so on.
    /// Chinese does not mark names, so there it also uses what changed after a word that introduces a name.
    fn value_words(&self, other: &Self, mut names: Vec<String>) -> ValueWords {
        let values: Vec<&String> = self.parsed.named_values().collect();
        names.extend(values.iter().copied().chain(&self.phrases).cloned());
        names.extend(changed_name(&self.folded, &other.folded));
        let contains_value =
            |other: &&String| values.iter().any(|name| other != name && other.contains(*name));
        // New York is not York, but Berlin Mitte is in Berlin.
        let ends_with_name = |other: &&String| names.iter().any(|name| other.ends_with(&format!(" {name}")));
        let changed = changed_name(&other.folded, &self.folded);
        let contains_name = |other: &String| names.iter().any(|name| other != name && other.contains(name));
        let longer = other.parsed.named_values().filter(contains_value);
        let longer = longer.chain(other.phrases.iter().filter(ends_with_name)).cloned();
        let longer: Vec<String> = longer.chain(changed.filter(contains_name)).collect();
        // 不是叫小黑，是叫小白 contains the name, but denies it.
        let so_now = cut_longer_words(&other.parsed.plain_clauses(), &longer);
        // "Carla left, the boss is called Dmitri now" contains the name, but in another statement.
        let is_lost = |name: &String| match values.contains(&name) {
            true => !other.parsed.named_values().any(|value| value == name),
            false => !is_named_in_text(&so_now, name),
        };
        names.retain(|name| is_named_in_text(&self.folded, name) && is_lost(name));
        names.sort();
        names.dedup();
        let common = common_value(&self.parsed, &other.parsed);
        ValueWords { names, longer, common, whole: self.folded.clone() }
    }
}

/// Words that introduce a name or a place.
const WORDS_BEFORE_NAMES: [char; 8] = ['叫', '在', '是', '姓', '名', '为', '到', '去'];
/// Maximum length of a changed stretch that is taken for a Chinese name, in characters. Longer ones are phrases:
/// taking one for a name would correct too much.
const CHANGED_LENGTH_MAX: usize = 6;

/// The name that the text has in place of another one, if both texts are equal around it and a word that introduces
/// names precedes it: 小黑 of 用户的猫叫小黑 and 用户的猫叫小白.
fn changed_name(text: &str, other: &str) -> Option<String> {
    let (text, other): (Vec<char>, Vec<char>) = (text.chars().collect(), other.chars().collect());
    let same = text.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let start = text.get(..same)?.iter().rposition(|character| WORDS_BEFORE_NAMES.contains(character))? + 1;
    let (text, other) = (text.get(start..)?, other.get(start..)?);
    let end = text.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    // 李娜娜 contains 李娜, so their common part does not show where the name ends.
    let contains = text.starts_with(other) || other.starts_with(text);
    let changed = text.get(..if contains { text.len() } else { text.len().saturating_sub(end) })?;
    let is_name =
        (2..=CHANGED_LENGTH_MAX).contains(&changed.len()) && changed.iter().all(|c| is_unspaced(*c));
    is_name.then(|| changed.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, other: &str, entities: &[&str], in_text: &str) -> bool {
        ValueWords::from_both_values(text, other, entities.iter().copied())
            .0
            .is_stated_in(in_text, &fold_name(in_text))
    }

    #[test]
    fn value_is_recognised_by_its_name() {
        let (berlin, lyon) = ("The user lives in Berlin", "The user moved to Lyon");
        assert!(said(berlin, lyon, &[], "How is Berlin today?"));
        assert!(!said(berlin, lyon, &[], "Lyon is where they live"));
        let (black, white) = ("用户养了一只猫，叫小黑", "用户的猫现在叫小白");
        assert!(said(black, white, &["小黑"], "小黑今天怎么样") && said(black, white, &[], "小黑今天怎么样"));
        assert!(!said(black, white, &["小黑"], "小白今天怎么样"));
        assert!(said("用户住在柏林", "用户搬到了都柏林", &[], "柏林真冷"));
        assert!(!said("用户住在柏林", "用户搬到了都柏林", &[], "都柏林真冷"));
        assert!(said(
            "The user's boss is called Carla",
            "Carla left, the user's boss is called Dmitri now",
            &[],
            "hi Carla"
        ));
        assert!(said("用户的生日是五月三日", "用户的生日是六月八日", &[], "你说五月三日？"));
    }

    #[test]
    fn words_beside_the_value_are_not_the_value() {
        let (lyon, berlin) = ("The user moved in May, the user lives in Lyon", "The user lives in Berlin");
        let (_, words) = ValueWords::from_both_values(berlin, lyon, std::iter::empty());
        assert!(words.is_stated_in("I like Lyon", "i like lyon") && !words.is_stated_in("in May", "in may"));
    }

    #[test]
    fn chinese_value_is_recognised_by_what_changed() {
        assert!(said("用户的猫叫小黑", "用户的猫叫小白", &[], "我养了一只猫，叫小黑"));
        assert!(!said("用户的猫叫小黑", "用户的猫叫小白", &[], "叫小白"));
        assert!(said("用户住在柏林的小公寓", "用户住在里昂的小公寓", &[], "柏林真冷"));
    }

    #[test]
    fn names_that_contain_one_another_differ() {
        for (former, current, former_said, current_said) in [
            (
                "The user lives in York",
                "The user moved to New York",
                "How is York today?",
                "New York is loud",
            ),
            (
                "The user was born in York",
                "The user was born in New York, not York",
                "i miss York",
                "New York!",
            ),
            ("The user was born in New York", "The user was born in York", "New York is loud", "i miss York"),
            ("用户的女儿叫李娜", "用户的女儿叫李娜娜", "李娜今天考试", "李娜娜今天考试"),
            ("用户的女儿是李娜", "用户的女儿是李娜娜", "李娜今天考试", "李娜娜今天考试"),
            ("用户的女儿叫李娜娜", "用户的女儿叫李娜", "李娜娜今天考试", "李娜今天考试"),
            ("用户住在德里", "用户搬到了新德里", "德里真热", "新德里真热"),
        ] {
            assert!(said(former, current, &[], former_said), "{former} / {current}: {former_said}");
            assert!(!said(former, current, &[], current_said), "{former} / {current}: {current_said}");
        }
    }

    #[test]
    fn full_stop_after_a_title_ends_no_value() {
        for (former, current, former_said, current_said) in [
            (
                "The user's doctor is called Dr. Meier",
                "The user's doctor is called Dr. Huber",
                "Dr. Meier was late",
                "Dr. Huber was late",
            ),
            (
                "The user lives in St. Gallen",
                "The user moved to St. Louis",
                "St. Gallen is cold",
                "St. Louis is cold",
            ),
            (
                "The user's teacher is Mrs. Lind",
                "The user's teacher is Mrs. Berg",
                "ask Mrs. Lind",
                "ask Mrs. Berg",
            ),
        ] {
            assert!(said(former, current, &[], former_said), "{former} / {current}: {former_said}");
            assert!(!said(former, current, &[], current_said), "{former} / {current}: {current_said}");
        }
    }

    #[test]
    fn digits_in_chinese_text_are_values() {
        for (former, current, former_said, current_said) in [
            ("用户2015年买了房子", "用户2016年买了房子", "我2015年买了房子", "我2016年买了房子"),
            ("用户的房间号是305", "用户的房间号是315", "305号房", "315号房"),
            ("用户的航班是MU5101", "用户的航班是MU5137", "MU5101几点起飞", "MU5137几点起飞"),
        ] {
            assert!(said(former, current, &[], former_said), "{former} / {current}: {former_said}");
            assert!(!said(former, current, &[], current_said), "{former} / {current}: {current_said}");
            assert!(!said(former, current, &[], "五月有5天假"), "a digit of it is not the value");
        }
    }

    #[test]
    fn value_in_common_words_is_recognised_beside_what_it_is_said_of() {
        let (nurse, baker) = ("The user works as a nurse", "The user works as a baker now");
        assert!(said(nurse, baker, &[], "my neighbour thinks that I work as a nurse"));
        assert!(!said(nurse, baker, &[], "a nurse came to see my aunt"));
        assert!(!said(nurse, baker, &[], "I work a lot"));
        let (coffee, tea) =
            ("The user drinks coffee every morning", "The user drinks green tea every morning");
        assert!(said(coffee, tea, &[], "my brother thinks that I drink coffee"));
        assert!(!said(coffee, tea, &[], "the price of coffee went up"));
        assert!(said("用户每天早上喝咖啡", "用户每天早上喝绿茶", &[], "我弟弟还以为我每天早上喝咖啡"));
        assert!(!said("用户每天早上喝咖啡", "用户每天早上喝绿茶", &[], "咖啡涨价了"));
    }

    #[test]
    fn value_without_a_name_is_recognised_by_all_of_it() {
        let (never, now) = ("用户不喝咖啡", "用户现在喝咖啡了");
        assert!(ValueWords::from_both_values(never, now, std::iter::empty()).0.has_no_name());
        assert!(said(never, now, &[], "他以前说过用户不喝咖啡") && !said(never, now, &[], "咖啡很好喝"));
    }
}
