//! Times of day: at 5, 5:30 pm, 17:30, noon; 下午五点半, 17点, 中午12点.

use jiff::civil::Time;

use super::chinese::number;
use crate::is_unspaced;

/// Hours up to which a bare "at 5" is in the afternoon: nobody has an appointment at 5 in the morning without saying
/// so.
const BARE_AFTERNOON_LAST_HOUR: i8 = 6;

/// The first time of day that a folded text names.
pub(super) fn time_of_day(folded: &str) -> Option<Time> {
    chinese_time(folded).or_else(|| english_time(folded))
}

fn english_time(folded: &str) -> Option<Time> {
    let parted = |c: char| c.is_whitespace() || is_unspaced(c);
    let words: Vec<&str> = folded
        .split(parted)
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect();
    (0..words.len()).find_map(|at| {
        let before = at.checked_sub(1).map(|before| words[before]);
        let after = words.get(at + 1).copied();
        read_clock(words[at], before, after)
    })
}

/// Parses 5, 5pm, 5 pm, 17:30, noon.
fn read_clock(word: &str, before: Option<&str>, after: Option<&str>) -> Option<Time> {
    if word == "noon" {
        return clock_time(12, 0);
    }
    if let Some(time) = spelled_time(word, before, after) {
        return Some(time);
    }
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let ending = match &word[digits.len()..] {
        "" => after.filter(|after| matches!(*after, "am" | "pm" | "a.m" | "p.m" | "o'clock")),
        ending => Some(ending).filter(|ending| matches!(*ending, "am" | "pm")),
    };
    let (hour, minute) = match digits.split_once([':', '.']) {
        Some((hour, minute)) => (hour, Some(minute)),
        None => (digits, None),
    };
    let hour: i8 = hour.parse().ok()?;
    let minutes: i8 = minute.map_or(Some(0), |minute| minute.parse().ok())?;
    match ending {
        Some("pm" | "p.m") if (1..=12).contains(&hour) => clock_time(hour % 12 + 12, minutes),
        Some("am" | "a.m") if (1..=12).contains(&hour) => clock_time(hour % 12, minutes),
        // Without a marker it is a time only after "at", or with minutes: 17:30.
        _ if (before == Some("at") || ending == Some("o'clock"))
            && minute.is_none()
            && (1..=12).contains(&hour) =>
        {
            clock_time(if hour <= BARE_AFTERNOON_LAST_HOUR { hour + 12 } else { hour }, 0)
        }
        _ if digits.contains(':') || (before == Some("at") && minute.is_some()) => clock_time(hour, minutes),
        _ => None,
    }
}

/// Parses "at eight", "at eight o'clock", "half past six", "eight pm".
fn spelled_time(word: &str, before: Option<&str>, after: Option<&str>) -> Option<Time> {
    let hour = i8::try_from(super::english::number(word)?).ok()?;
    let is_word = word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    if !is_word || !(1..=12).contains(&hour) {
        return None;
    }
    match (before, after) {
        (_, Some("pm")) => clock_time(hour % 12 + 12, 0),
        (_, Some("am")) => clock_time(hour % 12, 0),
        // "At one of them", "at three places".
        (Some("past"), _) => clock_time(if hour <= BARE_AFTERNOON_LAST_HOUR { hour + 12 } else { hour }, 30),
        (Some("at"), None) | (_, Some("o'clock")) => {
            clock_time(if hour <= BARE_AFTERNOON_LAST_HOUR { hour + 12 } else { hour }, 0)
        }
        (
            Some("at"),
            Some("tomorrow" | "tonight" | "today" | "on" | "in" | "sharp" | "and" | "to" | "if" | "so"),
        ) => clock_time(if hour <= BARE_AFTERNOON_LAST_HOUR { hour + 12 } else { hour }, 0),
        _ => None,
    }
}

fn chinese_time(folded: &str) -> Option<Time> {
    folded.match_indices('点').find_map(|(place, mark)| {
        let before = &folded[..place];
        let (hour, length) = number_before(before)?;
        let hour = i8::try_from(hour).ok()?;
        let part = before[..before.len() - length].trim_end();
        let rest = &folded[place + mark.len()..];
        let minutes = if rest.starts_with('半') {
            30
        } else if rest.starts_with("一刻") {
            15
        } else {
            number(rest).filter(|(_, length)| rest[*length..].starts_with('分')).map_or(0, |(n, _)| n)
        };
        // 一点 ("a little") is a time only with a part of the day or with minutes.
        if hour == 1 && minutes == 0 && part_of_day(part).is_none() {
            return None;
        }
        let hour = match part_of_day(part) {
            Some(DayPart::Morning) => hour,
            Some(DayPart::Noon) if hour < 3 => hour + 12,
            Some(DayPart::Noon) => hour,
            Some(DayPart::Afternoon) if hour < 12 => hour + 12,
            Some(DayPart::Afternoon) => hour,
            // Twelve at night is the end of the day, which is not a moment of it.
            Some(DayPart::Evening) if hour < 12 => hour + 12,
            Some(DayPart::Evening) if hour == 12 => return None,
            Some(DayPart::Evening) => hour,
            None if (1..=BARE_AFTERNOON_LAST_HOUR).contains(&hour) => hour + 12,
            None => hour,
        };
        clock_time(hour, i8::try_from(minutes).ok()?)
    })
}

enum DayPart {
    Morning,
    Noon,
    Afternoon,
    Evening,
}

fn part_of_day(text: &str) -> Option<DayPart> {
    let ends = |words: &[&str]| words.iter().any(|word| text.ends_with(word));
    if ends(&["凌晨", "早上", "早晨", "清晨", "上午", "今早", "明早"]) {
        Some(DayPart::Morning)
    } else if ends(&["中午"]) {
        Some(DayPart::Noon)
    } else if ends(&["下午"]) {
        Some(DayPart::Afternoon)
    } else if ends(&["傍晚", "晚上", "今晚", "明晚", "昨晚", "夜里"]) {
        Some(DayPart::Evening)
    } else {
        None
    }
}

/// The number at the end of a text, and its length in bytes.
fn number_before(text: &str) -> Option<(i64, usize)> {
    let starts = text.char_indices().rev().take(3).map(|(at, _)| at);
    let whole = starts.filter_map(|at| number(&text[at..]).filter(|(_, length)| at + length == text.len()));
    whole.last()
}

fn clock_time(hour: i8, minute: i8) -> Option<Time> {
    Time::new(hour, minute, 0, 0).ok()
}
