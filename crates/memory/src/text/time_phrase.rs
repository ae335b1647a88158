//! The commonest ways to name a time, in English and Chinese: yesterday, last week, three days ago, last June, in 2023,
//! 3 June 2023; 昨天, 上周三, 三天前, 去年六月, 2023年, 6月3日. "Today" is not among them: people say it without asking
//! for anything.

use std::collections::BTreeSet;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};

use super::segment::{Piece, fold, pieces};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const NUMBERS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
const CHINESE_DIGITS: &str = "一二三四五六七八九十";
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2100;
/// Furthest "… ago" that is understood, in its own unit.
const AGO_MAX: i64 = 1_000;
/// Days on either side of "three weeks ago", which nobody means to the day.
const WEEKS_AGO_SLACK: i64 = 3;

/// First and last day of a named time.
type Days = (Date, Date);

/// The times that a text names, each as its first and last moment in the zone, in order of time. Relative ones count
/// from `now`.
pub fn named_times(text: &str, now: Timestamp, zone: &TimeZone) -> Vec<(Timestamp, Timestamp)> {
    let folded = fold(text);
    let today = now.to_zoned(zone.clone()).date();
    let mut found: BTreeSet<Days> = BTreeSet::new();
    let pieces = pieces(&folded);
    let words: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| if let Piece::Word(word) = piece { Some(*word) } else { None })
        .collect();
    let mut at = 0;
    while at < words.len() {
        let (days, length) = calendar_date(&words[at..], today)
            .or_else(|| english(&words[at..], today).map(|days| (days, 1)))
            .map_or((None, 1), |(days, length)| (Some(days), length));
        found.extend(days);
        at += length;
    }
    let mut rest = folded.as_str();
    while let Some(character) = rest.chars().next() {
        let (days, length) =
            chinese(rest, today).map_or((None, character.len_utf8()), |(days, length)| (days, length));
        found.extend(days);
        rest = &rest[length..];
    }
    found.into_iter().filter_map(|days| moments(days, zone)).collect()
}

fn moments((first, last): Days, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
    let start = first.to_zoned(zone.clone()).ok()?.timestamp();
    let end = last.tomorrow().ok()?.to_zoned(zone.clone()).ok()?.timestamp();
    Some((start, end.checked_sub(1.microsecond()).ok()?))
}

/// The date that a text of words begins with, and how many words it takes: 3 June 2023, June 3rd, the 3rd of June,
/// June 2023. Without a year, the latest.
fn calendar_date(words: &[&str], today: Date) -> Option<(Days, usize)> {
    let (month, day, length) = match words {
        [month, number, ..] if month_number(month).is_some() && month_day(number).is_some() => {
            (month_number(month)?, month_day(number)?, 2)
        }
        [number, "of", month, ..] if month_day(number).is_some() && month_number(month).is_some() => {
            (month_number(month)?, month_day(number)?, 3)
        }
        [number, month, ..] if month_day(number).is_some() && month_number(month).is_some() => {
            (month_number(month)?, month_day(number)?, 2)
        }
        [month, year, ..] => {
            let days = month_of(calendar_year(year)?, month_number(month)?)?;
            return Some((days, 2));
        }
        _ => return None,
    };
    match words.get(length).and_then(|year| calendar_year(year)) {
        Some(year) => Some((one_day(year, month, day)?, length + 1)),
        None => Some((latest_day(month, day, today)?, length)),
    }
}

/// 3, 3rd, 21st: a day of a month.
fn month_day(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_ordinal = matches!(&word[digits.len()..], "" | "st" | "nd" | "rd" | "th");
    digits.parse().ok().filter(|day| is_ordinal && (1..=31).contains(day))
}

fn one_day(year: i16, month: i8, day: i8) -> Option<Days> {
    let date = Date::new(year, month, day).ok()?;
    Some((date, date))
}

/// The latest such day that is not ahead.
fn latest_day(month: i8, day: i8, today: Date) -> Option<Days> {
    let this_year = one_day(today.year(), month, day).filter(|(date, _)| *date <= today);
    this_year.or_else(|| one_day(today.year().checked_sub(1)?, month, day))
}

/// The time that a text of words begins with.
fn english(words: &[&str], today: Date) -> Option<Days> {
    match words {
        ["the", "day", "before", "yesterday", ..] => day(today, -2),
        ["day", "after", "tomorrow", ..] => day(today, 2),
        ["yesterday", ..] => day(today, -1),
        ["last", "night", ..] => day(today, -1),
        ["tomorrow", ..] => day(today, 1),
        ["last", unit, ..] => last(unit, today),
        ["next", "week", ..] => week(today, 1),
        ["next", "month", ..] => month(today, 1),
        ["in", name, year, ..] if month_number(name).is_some() && calendar_year(year).is_some() => {
            month_of(calendar_year(year)?, month_number(name)?)
        }
        ["in", name, ..] => match calendar_year(name) {
            Some(number) => year_of(number),
            None => latest_month(month_number(name)?, today, true),
        },
        [count, unit, "ago", ..] => {
            ago(english_number(count)?, unit.strip_suffix('s').unwrap_or(unit), today)
        }
        _ => None,
    }
}

fn last(unit: &str, today: Date) -> Option<Days> {
    match unit {
        "week" => week(today, -1),
        "month" => month(today, -1),
        "year" => year(today, -1),
        _ => match WEEKDAYS.iter().position(|name| *name == unit) {
            Some(at) => {
                let weekday = Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()?;
                let date = today.nth_weekday(-1, weekday).ok()?;
                Some((date, date))
            }
            None => latest_month(month_number(unit)?, today, false),
        },
    }
}

fn english_number(word: &str) -> Option<i64> {
    let spelled = NUMBERS.iter().position(|name| *name == word).and_then(|at| i64::try_from(at + 1).ok());
    match word {
        "a" | "an" => Some(1),
        _ => spelled.or_else(|| word.parse().ok()),
    }
}

fn month_number(name: &str) -> Option<i8> {
    MONTHS.iter().position(|month| *month == name).and_then(|at| i8::try_from(at + 1).ok())
}

fn calendar_year(digits: &str) -> Option<i16> {
    digits.parse().ok().filter(|year| digits.len() == 4 && YEARS.contains(year))
}

/// The time that a Chinese text begins with, and how many bytes it takes.
fn chinese(text: &str, today: Date) -> Option<(Option<Days>, usize)> {
    let fixed: [(&str, Option<Days>); 11] = [
        ("大前天", day(today, -3)),
        ("前天", day(today, -2)),
        ("前晚", day(today, -2)),
        ("昨天", day(today, -1)),
        ("昨晚", day(today, -1)),
        ("昨日", day(today, -1)),
        ("明天", day(today, 1)),
        ("后天", day(today, 2)),
        ("上个月", month(today, -1)),
        ("上月", month(today, -1)),
        ("下个月", month(today, 1)),
    ];
    if let Some((phrase, days)) = fixed.into_iter().find(|(phrase, _)| text.starts_with(phrase)) {
        return Some((days, phrase.len()));
    }
    for (phrase, offset) in
        [("上个星期", -1), ("上星期", -1), ("上周", -1), ("下个星期", 1), ("下星期", 1), ("下周", 1)]
    {
        if let Some(rest) = text.strip_prefix(phrase) {
            let weekday = rest.chars().next().and_then(chinese_weekday);
            let letter = rest.chars().next().filter(|_| weekday.is_some()).map_or(0, char::len_utf8);
            let days = match weekday {
                Some(weekday) => week(today, offset).and_then(|(monday, _)| day(monday, weekday)),
                None => week(today, offset),
            };
            return Some((days, phrase.len() + letter));
        }
    }
    for (phrase, offset) in [("去年", -1), ("前年", -2), ("今年", 0)] {
        if let Some(rest) = text.strip_prefix(phrase) {
            let number = i16::try_from(i64::from(today.year()) + offset).ok()?;
            return Some(match month_after(rest) {
                Some((month, length)) => (month_of(number, month), phrase.len() + length),
                // "This year" alone asks for nothing.
                None => (year(today, offset).filter(|_| offset != 0), phrase.len()),
            });
        }
    }
    chinese_number_phrase(text, today)
}

/// 三天前, 2023年, 2023年6月, 六月.
fn chinese_number_phrase(text: &str, today: Date) -> Option<(Option<Days>, usize)> {
    let (number, length) = chinese_number(text)?;
    let rest = &text[length..];
    let units = [
        ("天前", "day"),
        ("个星期前", "week"),
        ("星期前", "week"),
        ("周前", "week"),
        ("个月前", "month"),
        ("年前", "year"),
    ];
    if let Some((phrase, unit)) = units.into_iter().find(|(phrase, _)| rest.starts_with(phrase)) {
        return Some((ago(number, unit, today), length + phrase.len()));
    }
    if let Some(after) = rest.strip_prefix('年') {
        let year = i16::try_from(number).ok().filter(|year| YEARS.contains(year));
        let year_length = length + '年'.len_utf8();
        return Some(match (year, month_after(after)) {
            (Some(year), Some((month, length))) => match day_after(&after[length..]) {
                Some((day, more)) => (one_day(year, month, day), year_length + length + more),
                None => (month_of(year, month), year_length + length),
            },
            (Some(year), None) => (year_of(year), year_length),
            (None, _) => (None, length),
        });
    }
    let Some((month, length)) = month_after(text) else { return Some((None, length)) };
    match day_after(&text[length..]) {
        Some((day, more)) => Some((latest_day(month, day, today), length + more)),
        None => Some((latest_month(month, today, true), length)),
    }
}

fn month_after(text: &str) -> Option<(i8, usize)> {
    let (number, length) = chinese_number(text)?;
    let month = i8::try_from(number).ok().filter(|month| (1..=12).contains(month))?;
    text[length..].starts_with('月').then_some((month, length + '月'.len_utf8()))
}

/// 3日, 三号.
fn day_after(text: &str) -> Option<(i8, usize)> {
    let (number, length) = chinese_number(text)?;
    let day = i8::try_from(number).ok().filter(|day| (1..=31).contains(day))?;
    let ending = ['日', '号'].into_iter().find(|ending| text[length..].starts_with(*ending))?;
    Some((day, length + ending.len_utf8()))
}

fn chinese_weekday(letter: char) -> Option<i64> {
    match letter {
        '日' | '天' => Some(6),
        _ => "一二三四五六".chars().zip(0..).find(|(digit, _)| *digit == letter).map(|(_, at)| at),
    }
}

/// Digits, or 一 to 十二, or 两; with the bytes that they take.
fn chinese_number(text: &str) -> Option<(i64, usize)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits > 0 {
        return text[..digits].parse().ok().map(|number| (number, digits));
    }
    let mut letters = text.chars();
    let value = |letter: char| match letter {
        '两' => Some(2),
        _ => CHINESE_DIGITS.chars().zip(1..).find(|(digit, _)| *digit == letter).map(|(_, at)| at),
    };
    let first = letters.next()?;
    let number = value(first)?;
    match letters.next().and_then(value).filter(|second| number == 10 && *second < 10) {
        Some(second) => Some((10 + second, 2 * first.len_utf8())),
        None => Some((number, first.len_utf8())),
    }
}

fn ago(count: i64, unit: &str, today: Date) -> Option<Days> {
    let count = Some(count).filter(|count| (1..=AGO_MAX).contains(count))?;
    match unit {
        "day" => day(today, -count),
        "week" => {
            let (middle, _) = day(today, -7 * count)?;
            Some((day(middle, -WEEKS_AGO_SLACK)?.0, day(middle, WEEKS_AGO_SLACK)?.0))
        }
        "month" => month(today, -count),
        "year" => year(today, -count),
        _ => None,
    }
}

fn shifted(date: Date, span: Span) -> Option<Date> {
    date.checked_add(span).ok()
}

fn day(today: Date, offset: i64) -> Option<Days> {
    shifted(today, offset.days()).map(|date| (date, date))
}

/// Weeks begin on Monday.
fn week(today: Date, offset: i64) -> Option<Days> {
    let since_monday = i64::from(today.weekday().to_monday_zero_offset());
    let monday = shifted(today, (7 * offset - since_monday).days())?;
    Some((monday, shifted(monday, 6.days())?))
}

fn month(today: Date, offset: i64) -> Option<Days> {
    let date = shifted(today.first_of_month(), offset.months())?;
    Some((date, date.last_of_month()))
}

fn year(today: Date, offset: i64) -> Option<Days> {
    let date = shifted(today.first_of_year(), offset.years())?;
    Some((date, date.last_of_year()))
}

fn year_of(number: i16) -> Option<Days> {
    let date = Date::new(number, 1, 1).ok()?;
    Some((date, date.last_of_year()))
}

fn month_of(year: i16, month: i8) -> Option<Days> {
    let date = Date::new(year, month, 1).ok()?;
    Some((date, date.last_of_month()))
}

/// The latest month of this name that has begun; without `current`, the latest that is over.
fn latest_month(number: i8, today: Date, current: bool) -> Option<Days> {
    let over = number < today.month() || (current && number == today.month());
    month_of(if over { today.year() } else { today.year().checked_sub(1)? }, number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Wednesday, 12 June 2024, shortly after midnight in Shanghai, still Tuesday in London.
    fn now() -> Timestamp {
        "2024-06-12T01:00:00+08:00".parse().unwrap()
    }

    fn spans(text: &str) -> Vec<String> {
        let zone = TimeZone::get("Asia/Shanghai").unwrap();
        let date = |moment: Timestamp| moment.to_zoned(zone.clone()).date().to_string();
        named_times(text, now(), &zone)
            .into_iter()
            .map(|(a, b)| format!("{}..{}", date(a), date(b)))
            .collect()
    }

    #[test]
    fn english_times_are_resolved_in_the_zone() {
        assert_eq!(spans("What did I do yesterday?"), ["2024-06-11..2024-06-11"]);
        assert_eq!(spans("Last week we met"), ["2024-06-03..2024-06-09"]);
        assert_eq!(
            spans("three days ago, or 2 weeks ago"),
            ["2024-05-26..2024-06-01", "2024-06-09..2024-06-09"]
        );
        assert_eq!(spans("last June"), ["2023-06-01..2023-06-30"]);
        assert_eq!(spans("in June 2022 and in 2021"), ["2021-01-01..2021-12-31", "2022-06-01..2022-06-30"]);
        assert_eq!(spans("last Wednesday"), ["2024-06-05..2024-06-05"]);
        assert!(spans("I may march today").is_empty());
    }

    #[test]
    fn calendar_dates_are_days() {
        for text in ["on 3 June, 2023", "June 3, 2023", "the 3rd of June 2023", "2023年6月3日"] {
            assert_eq!(spans(text), ["2023-06-03..2023-06-03"], "{text}");
        }
        assert_eq!(spans("in December 2023"), ["2023-12-01..2023-12-31"]);
        assert_eq!(spans("since August 2022"), ["2022-08-01..2022-08-31"]);
        assert_eq!(spans("on June 13th, or 6月12号"), ["2023-06-13..2023-06-13", "2024-06-12..2024-06-12"]);
        assert!(spans("31 February, or 40 June").is_empty());
    }

    #[test]
    fn chinese_times_are_resolved_in_the_zone() {
        assert_eq!(spans("我昨天做了什么"), ["2024-06-11..2024-06-11"]);
        assert_eq!(spans("大前天"), ["2024-06-09..2024-06-09"]);
        assert_eq!(spans("上周三我们见面"), ["2024-06-05..2024-06-05"]);
        assert_eq!(spans("三天前还是两个月前"), ["2024-04-01..2024-04-30", "2024-06-09..2024-06-09"]);
        assert_eq!(spans("去年十二月"), ["2023-12-01..2023-12-31"]);
        assert_eq!(spans("2023年6月和2021年"), ["2021-01-01..2021-12-31", "2023-06-01..2023-06-30"]);
        assert_eq!(spans("去年"), ["2023-01-01..2023-12-31"]);
        assert!(spans("今天好累,今年也是").is_empty());
    }

    #[test]
    fn the_zone_decides_which_day_yesterday_is() {
        let spans = named_times("yesterday", now(), &TimeZone::get("Europe/London").unwrap());
        assert_eq!(spans[0].0, "2024-06-10T00:00:00+01:00".parse().unwrap());
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "(昨天|上周|前|[0-9一二十]{0,3}|年|月|天|个| |ago|last|in|june|days|\\PC){0,12}") {
            for (start, end) in named_times(&text, now(), &TimeZone::UTC) {
                prop_assert!(start <= end);
            }
        }
    }
}
