//! Recognises texts that ask for a time, and texts that name one.

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use super::lexicon::times as lexicon;
use super::segment::{fold, whole_words};
use super::times::time_phrases;

/// True if a text asks for a time: an English one by its beginning (and "when" must be a question, unlike "when I was
/// young"), a Chinese one by a question word for time.
pub fn asks_for_time(text: &str) -> bool {
    let folded = fold(text);
    let words = whole_words(&folded);
    let when = words.first() == Some(&"when")
        && (folded.trim_end().ends_with('?')
            || words.get(1).is_some_and(|next| lexicon::WHEN_VERBS.contains(next)));
    when || lexicon::ASKS_WHEN.english.begin_words(&words) || lexicon::ASKS_WHEN.chinese.occur_in(&folded)
}

/// True if a text seems to name a time: a word for a time, a year, a month.
pub fn tells_when(text: &str) -> bool {
    let folded = fold(text);
    let is_year = |word: &str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    whole_words(&folded).into_iter().any(|word| lexicon::TELLS_WHEN.english.contains(word) || is_year(word))
        || lexicon::TELLS_WHEN.chinese.occur_in(&folded)
        || names_month_or_year(&folded)
}

/// True if a text names a time that may be in its future ("tomorrow", 下周三), or a date of its own ("on 4 December
/// 2026"). Times that are certainly past ("yesterday", 去年) do not count, nor does "today".
pub fn names_time_ahead(text: &str) -> bool {
    // Relative phrases are before or after any moment equally; dates with a year are past only if they are older than
    // it.
    let said = Timestamp::UNIX_EPOCH;
    let phrases = time_phrases(text, said, &TimeZone::UTC, Weekday::Monday);
    phrases.iter().any(|phrase| !phrase.present && (phrase.start > said || !phrase.sure))
}

/// True for 6月, 2023年 or 三月.
fn names_month_or_year(folded: &str) -> bool {
    let letters: Vec<char> = folded.chars().collect();
    let counts = |c: char| c.is_ascii_digit() || "一二三四五六七八九十".contains(c);
    letters.windows(2).any(|pair| counts(pair[0]) && matches!(pair[1], '月' | '年'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_for_a_time_are_distinguished_from_stories() {
        for asks in [
            "When did Ann move?",
            "when is it",
            "When Ann left?",
            "How long was it?",
            "你什么时候搬的家",
            "哪年的事",
        ] {
            assert!(asks_for_time(asks), "{asks}");
        }
        for tells in ["When I was young I had a cat", "What did I do?", "那时候我养猫", ""] {
            assert!(!asks_for_time(tells), "{tells}");
        }
    }

    #[test]
    fn future_times_are_distinguished_from_past_times() {
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
