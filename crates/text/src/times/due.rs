//! Recognises times at which something can be done: a day, a time of day, a future period, an occasion.

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use super::{chinese, clock, english, time_phrases};
use crate::lexicon::times as lexicon;
use crate::segment::{fold, whole_words};

/// True if a text names a time at which something can be done. Past times ("yesterday", 去年) do not count.
pub fn names_due_time(text: &str) -> bool {
    let folded = fold(text);
    // Relative phrases are before or after any moment equally.
    let said = Timestamp::UNIX_EPOCH;
    let phrases = time_phrases(text, said, &TimeZone::UTC, Weekday::Monday);
    let is_behind = |start: Timestamp, sure: bool, present: bool| sure && !present && start <= said;
    if phrases.iter().any(|phrase| !is_behind(phrase.start, phrase.sure, phrase.present)) {
        return true;
    }
    // With a past day its time of day is past too: "yesterday at 5".
    if phrases.is_empty() && clock::time_of_day(&folded).is_some() {
        return true;
    }
    let words: Vec<&str> = whole_words(&folded);
    let occasion = |start: usize| lexicon::OCCASIONS.english.begin_words(&words[start..]);
    (0..words.len()).any(|start| {
        english::span_ahead(&words[start..]) || english::day_of_month(&words[start..]) || occasion(start)
    }) || chinese::names_span_ahead(&folded)
        || phrases.is_empty() && lexicon::OCCASIONS.chinese.occur_in(&folded)
}

#[cfg(test)]
mod tests {
    use super::names_due_time;

    #[test]
    fn a_time_to_come_is_named_in_many_ways() {
        for text in [
            "I'll remind you at 8 pm",
            "I'll ask at 23:00",
            "I'll call you at eight",
            "I'll wake you at half past six",
            "I will remind you on 5 December",
            "I'll write on December 5th",
            "I'll ask on 2026-12-05 at 15:00",
            "I'll check in this afternoon",
            "I'll remind you in half an hour",
            "I'll ask again in ten minutes",
            "I'll ask in an hour",
            "I'll be back in a couple of hours",
            "I'll remind you on the 3rd",
            "I'll remind you by the 21st",
            "I'll ask how it went in December",
            "I'll think of you on Christmas Eve",
            "I'll remind you before your flight at six",
            "I'll ask tomorrow",
            "I'll ask you on Friday morning",
            "I'll ask every day",
            "I'll remember it next time",
            "I'll wish you luck tonight",
            "我会在晚上八点提醒你",
            "我会在20:00提醒你吃药",
            "我会在圣诞节给你写信",
            "我会十分钟后问你",
            "我会半小时后提醒你",
            "我会半个小时后提醒你",
            "我会两个小时以后再问",
            "我一定明天早上叫你",
            "我会在12月5日提醒你",
            "我会在周五问你",
            "下次我会记得",
            "我会在除夕给你发消息",
        ] {
            assert!(names_due_time(text), "{text}");
        }
    }

    #[test]
    fn past_and_missing_times_are_not_due() {
        for text in [
            "I'll always listen to you",
            "I'll never forget it",
            "I'll remember what you said yesterday",
            "I'll think about what happened last week at 5",
            "I'll help you with the 3 boxes",
            "I'll look at it",
            "我会一直陪着你",
            "我会记住你昨天说的话",
            "我会帮你",
            "我会好好想一想",
        ] {
            assert!(!names_due_time(text), "{text}");
        }
    }
}
