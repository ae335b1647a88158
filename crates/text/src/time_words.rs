//! Whether a text asks when, and whether a text tells when.

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use super::segment::{Piece, fold, split_words};
use super::times::time_phrases;

/// Words that follow "when" in a question.
const AUXILIARIES: [&str; 19] = [
    "did", "do", "does", "is", "are", "am", "was", "were", "will", "would", "has", "have", "had", "can",
    "could", "should", "shall", "might", "may",
];
/// Openings of English questions for a time, beside "when".
const OPENINGS: [&[&str]; 12] = [
    &["how", "long"],
    &["how", "recently"],
    &["what", "date"],
    &["what", "day"],
    &["what", "month"],
    &["what", "year"],
    &["which", "day"],
    &["which", "month"],
    &["which", "year"],
    &["in", "which", "month"],
    &["in", "which", "year"],
    &["since", "when"],
];
const CHINESE_QUESTIONS: [&str; 14] = [
    "什么时候",
    "什么时间",
    "啥时候",
    "何时",
    "哪天",
    "哪一天",
    "哪年",
    "哪一年",
    "哪个月",
    "几月",
    "几号",
    "几点",
    "多久",
    "多长时间",
];
/// English words that tell when. "May" is left out: it is more often a verb.
const WORDS: [&str; 43] = [
    "yesterday",
    "today",
    "tonight",
    "tomorrow",
    "last",
    "next",
    "ago",
    "since",
    "week",
    "weeks",
    "weekend",
    "month",
    "months",
    "year",
    "years",
    "day",
    "days",
    "recently",
    "just",
    "soon",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "spring",
    "summer",
    "autumn",
    "winter",
    "later",
];
const CHINESE: [&str; 24] = [
    "昨天", "昨晚", "今天", "今晚", "今早", "明天", "前天", "后天", "上周", "下周", "上个", "下个", "去年",
    "今年", "明年", "前年", "周末", "星期", "最近", "刚刚", "刚才", "天前", "年前", "月前",
];

/// True if a text asks for a time: it opens so in English (and "when" is a question, not "when I was young"), or holds a
/// question word for time in Chinese.
pub fn asks_when(text: &str) -> bool {
    let folded = fold(text);
    let words = words(&folded);
    let when = words.first() == Some(&"when")
        && (folded.trim_end().ends_with('?') || words.get(1).is_some_and(|next| AUXILIARIES.contains(next)));
    when || OPENINGS.iter().any(|opening| words.starts_with(opening))
        || CHINESE_QUESTIONS.iter().any(|question| folded.contains(question))
}

/// True if a text tells a time, or seems to: a word for a time, a year, a month.
pub fn tells_when(text: &str) -> bool {
    let folded = fold(text);
    let is_year = |word: &str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    words(&folded).into_iter().any(|word| WORDS.contains(&word) || is_year(word))
        || CHINESE.iter().any(|word| folded.contains(word))
        || names_month_or_year(&folded)
}

/// True if a text names a time that may lie ahead of its saying ("tomorrow", 下周三), or a date of its own ("on 4 December
/// 2026"). What lies behind at any rate ("yesterday", 去年) does not count, nor does "today".
pub fn names_time_ahead(text: &str) -> bool {
    // Relative phrases fall before or after any moment alike; dates with a year lie behind only if they are older than it.
    let said = Timestamp::UNIX_EPOCH;
    let phrases = time_phrases(text, said, &TimeZone::UTC, Weekday::Monday);
    phrases.iter().any(|phrase| !phrase.present && (phrase.start > said || !phrase.sure))
}

/// As in 6月, 2023年 or 三月.
fn names_month_or_year(folded: &str) -> bool {
    let letters: Vec<char> = folded.chars().collect();
    let counts = |c: char| c.is_ascii_digit() || "一二三四五六七八九十".contains(c);
    letters.windows(2).any(|pair| counts(pair[0]) && matches!(pair[1], '月' | '年'))
}

fn words(folded: &str) -> Vec<&str> {
    let pieces = split_words(folded).into_iter();
    pieces.filter_map(|piece| if let Piece::Word(word) = piece { Some(word) } else { None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_for_a_time_are_told_from_stories() {
        for asks in [
            "When did Ann move?",
            "when is it",
            "When Ann left?",
            "How long was it?",
            "你什么时候搬的家",
            "哪年的事",
        ] {
            assert!(asks_when(asks), "{asks}");
        }
        for tells in ["When I was young I had a cat", "What did I do?", "那时候我养猫", ""] {
            assert!(!asks_when(tells), "{tells}");
        }
    }

    #[test]
    fn times_ahead_are_told_from_times_behind() {
        for ahead in [
            "on 4 December 2026",
            "tomorrow",
            "next week",
            "我下周三要去杭州出差",
            "明天下午五点",
            "2027年6月3日",
        ] {
            assert!(names_time_ahead(ahead), "{ahead}");
        }
        for other in ["yesterday", "last week", "三天前", "去年六月", "today", "I will tell you", "我去杭州"]
        {
            assert!(!names_time_ahead(other), "{other}");
        }
    }

    #[test]
    fn words_for_a_time_are_found() {
        for tells in ["I moved last week", "in 2021", "on Friday", "我昨天搬家了", "6月搬的"] {
            assert!(tells_when(tells), "{tells}");
        }
        assert!(!tells_when("I may move") && !tells_when("我搬家了"));
    }
}
