//! Times in English.

use std::ops::Range;

use jiff::civil::Weekday;

use super::NamedPeriod;
use super::calendar::{
    Calendar, CalendarUnit, Days, Season, YEARS, month_of, season_of, single_day, year_of,
};
use crate::segment::{Piece, split_words};

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
const NUMBER_WORDS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
/// Days of tolerance for "next Friday" and "last Friday", which are ambiguous.
const WEEKDAY_SLACK: i64 = 7;
/// Days of tolerance for "last June", which may be this year's or the one before.
const MONTH_SLACK: i64 = 366;
/// "The other day": two to ten days ago.
const THE_OTHER_DAY: (i64, i64) = (-10, -2);

type FoundPeriod = (NamedPeriod, usize);

/// The times in a folded text, each with its position.
pub(super) fn scan_times(folded: &str, calendar: Calendar) -> Vec<(Range<usize>, NamedPeriod)> {
    let mut places: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    for piece in split_words(folded) {
        let Piece::Word(word) = piece else { continue };
        let Some(at) = folded[from..].find(word) else { continue };
        places.push(from + at..from + at + word.len());
        from += at + word.len();
    }
    let words: Vec<&str> = places.iter().map(|place| &folded[place.clone()]).collect();
    let (mut at, mut found) = (0, Vec::new());
    while at < words.len() {
        match phrase_at_start(&words[at..], calendar) {
            Some((named, length)) => {
                found.push((places[at].start..places[at + length - 1].end, named));
                at += length;
            }
            None => at += 1,
        }
    }
    found
}

/// The time at the start of a text, and its number of words.
fn phrase_at_start(words: &[&str], calendar: Calendar) -> Option<FoundPeriod> {
    fixed_phrase(words, calendar)
        .or_else(|| counted_phrase(words, calendar))
        .or_else(|| part_of_year(words, calendar))
        .or_else(|| parse_beside_present(words, calendar))
        .or_else(|| calendar_date(words, calendar))
        .or_else(|| after_preposition(words, calendar))
}

fn fixed_phrase(words: &[&str], calendar: Calendar) -> Option<FoundPeriod> {
    let day = |offset| calendar.day_at_offset(offset).map(NamedPeriod::without_slack);
    Some(match words {
        ["the", "day", "before", "yesterday", ..] => (day(-2)?, 4),
        ["day", "before", "yesterday", ..] => (day(-2)?, 3),
        ["the", "day", "after", "tomorrow", ..] => (day(2)?, 4),
        ["day", "after", "tomorrow", ..] => (day(2)?, 3),
        ["yesterday", ..] => (day(-1)?, 1),
        ["last", "night", ..] => (day(-1)?, 2),
        ["tomorrow", ..] => (day(1)?, 1),
        ["today" | "tonight", ..] => (NamedPeriod::period_until_now(calendar.day_at_offset(0)?), 1),
        ["this", "morning" | "afternoon" | "evening", ..] => {
            (NamedPeriod::period_until_now(calendar.day_at_offset(0)?), 2)
        }
        ["the", "other", "day", ..] => {
            (NamedPeriod::uncertain(calendar.days_between(THE_OTHER_DAY.0, THE_OTHER_DAY.1)?), 3)
        }
        ["a", "fortnight", "ago", ..] => {
            (NamedPeriod::without_slack(calendar.units_ago(2, CalendarUnit::Week)?), 3)
        }
        _ => return None,
    })
}

/// Parses "two days ago", "a couple of weeks ago", "a few months ago", "a year ago today"; "in two days", "three
/// weeks from now".
fn counted_phrase(words: &[&str], calendar: Calendar) -> Option<FoundPeriod> {
    let ahead = words.first() == Some(&"in");
    let after_in = if ahead { &words[1..] } else { words };
    let (count, length) = match after_in {
        ["a", "couple", "of", ..] => (Some(2), 3),
        ["a", "few", ..] => (None, 2),
        ["few" | "several", ..] => (None, 1),
        [number, ..] => (Some(self::number(number)?), 1),
        [] => return None,
    };
    let unit = unit_of(after_in.get(length)?)?;
    let rest = &after_in[length + 1..];
    let length = length + 1 + usize::from(ahead);
    match (ahead, count, rest) {
        // "In two days" may also be a duration.
        (true, Some(count), _) => Some((NamedPeriod::uncertain(calendar.units_ago(-count, unit)?), length)),
        (false, Some(count), ["from", "now", ..]) => {
            Some((NamedPeriod::without_slack(calendar.units_ago(-count, unit)?), length + 2))
        }
        (false, Some(count), ["ago", "today", ..]) if unit == CalendarUnit::Year => {
            Some((NamedPeriod::without_slack(calendar.same_day(-count)?), length + 2))
        }
        (false, Some(count), ["ago", ..]) => {
            Some((NamedPeriod::without_slack(calendar.units_ago(count, unit)?), length + 1))
        }
        (false, None, ["ago", ..]) => {
            Some((NamedPeriod::without_slack(calendar.few_units_ago(unit)?), length + 1))
        }
        _ => None,
    }
}

/// True if words begin with a time less than a day ahead: "in half an hour", "in ten minutes", "within an hour".
pub(super) fn span_ahead(words: &[&str]) -> bool {
    let (["in" | "within", after @ ..] | ["after", after @ ..]) = words else { return false };
    let is_unit = |word: &&str| matches!(word.trim_end_matches('s'), "second" | "minute" | "hour");
    match after {
        ["half", "an", unit, ..] => is_unit(unit),
        ["a", "couple", "of", unit, ..] => is_unit(unit),
        ["a", "few", unit, ..] => is_unit(unit),
        ["a", "moment" | "bit" | "while", ..] => true,
        [count, unit, ..] => number(count).is_some() && is_unit(unit),
        _ => false,
    }
}

/// True if words begin with a day without its month: "on the 3rd", "by the 21st".
pub(super) fn day_of_month(words: &[&str]) -> bool {
    matches!(words, ["on" | "by" | "before" | "until", "the", day, ..]
        if month_day(day).is_some() && day.ends_with(|letter: char| letter.is_ascii_alphabetic()))
}

/// Parses "in June last year", "summer of last year", "last year in June": a month or season of a relative year.
fn part_of_year(words: &[&str], calendar: Calendar) -> Option<FoundPeriod> {
    let offset = |words: &[&str]| match words {
        ["last", "year", ..] => Some(-1),
        ["this", "year", ..] => Some(0),
        ["next", "year", ..] => Some(1),
        _ => None,
    };
    let introduced = |words: &[&str]| match words {
        ["in", "the", ..] => 2,
        ["in", ..] => 1,
        _ => 0,
    };
    let days = |name: &str, offset: i16| {
        let year = calendar.year_number(offset)?;
        match (month_number(name), season_named(name)) {
            (Some(month), _) => month_of(year, month),
            (None, Some(season)) => season_of(year, season),
            (None, None) => None,
        }
    };
    if let Some(offset) = offset(words) {
        let length = 2 + introduced(&words[2..]);
        let name = words.get(length).filter(|_| length > 2)?;
        return Some((NamedPeriod::without_slack(days(name, offset)?), length + 1));
    }
    let start = introduced(words);
    let (name, rest) = words.get(start..)?.split_first()?;
    let of = usize::from(rest.first() == Some(&"of"));
    // "They may this year", "we march next year", "prices will fall next year" contain no month or season.
    if start + of == 0 && matches!(*name, "may" | "march" | "fall") {
        return None;
    }
    let offset = offset(&rest[of..])?;
    Some((NamedPeriod::without_slack(days(name, offset)?), start + of + 3))
}

/// Parses last, this or next with week, weekend, month, year, a weekday, a month's name, a season or Christmas.
fn parse_beside_present(words: &[&str], calendar: Calendar) -> Option<FoundPeriod> {
    let (offset, what) = match words {
        ["last" | "past", what, ..] => (-1, *what),
        ["this", what, ..] => (0, *what),
        ["next" | "coming", what, ..] => (1, *what),
        _ => return None,
    };
    if let Some(named) = beside_present_unit(offset, what, calendar) {
        return Some((named, 2));
    }
    if let Some(weekday) = weekday_of(what) {
        let days = match offset {
            -1 => calendar.latest_weekday(weekday),
            0 => calendar.weekday_of_week(weekday, 0),
            _ => calendar.next_weekday(weekday),
        };
        return Some((NamedPeriod::without_slack(days?).with_slack(WEEKDAY_SLACK), 2));
    }
    // "This may …" is seldom a month.
    if let Some(month) = month_number(what).filter(|_| (offset, what) != (0, "may")) {
        let days = match offset {
            -1 => calendar.latest_month(month, false),
            0 => month_of(calendar.today.year(), month),
            _ => calendar.next_month_named(month),
        };
        return Some((NamedPeriod::without_slack(days?).with_slack(MONTH_SLACK), 2));
    }
    let days_of_year: Box<dyn Fn(i16) -> Option<Days>> = match (season_named(what), what) {
        (Some(season), _) => Box::new(move |year| season_of(year, season)),
        (None, "christmas") => Box::new(|year| single_day(year, 12, 25)),
        _ => return None,
    };
    let mut years = (-2..=2).filter_map(|offset| days_of_year(calendar.year_number(offset)?));
    let days = match offset {
        -1 => years.rfind(|days| days.1 < calendar.today),
        0 => years.find(|days| days.1 >= calendar.today),
        _ => years.find(|days| days.0 > calendar.today),
    };
    Some((NamedPeriod::uncertain(days?), 2))
}

fn beside_present_unit(offset: i64, what: &str, calendar: Calendar) -> Option<NamedPeriod> {
    let near = |days: Days| match offset {
        // "This year" asks for nothing.
        0 if what == "year" => NamedPeriod::period_until_now(days),
        _ => NamedPeriod::without_slack(days),
    };
    Some(match what {
        "week" => near(calendar.week(offset)?).with_slack(1),
        "weekend" => near(calendar.weekend(offset)?).with_slack(if offset == 1 { WEEKDAY_SLACK } else { 1 }),
        "month" => near(calendar.month(offset)?),
        "year" => near(calendar.year_at(offset)?),
        _ => return None,
    })
}

/// Parses 3 June 2023, June 3rd, the 3rd of June, June 2023, 2023-06-03. Without a year, the latest one.
fn calendar_date(words: &[&str], calendar: Calendar) -> Option<FoundPeriod> {
    if let [year, month, day, ..] = words
        && let (Some(year), Ok(month), Ok(day)) = (calendar_year(year), month.parse(), day.parse())
        && month_and_day_have_two_digits(words)
    {
        return Some((NamedPeriod::uncertain(single_day(year, month, day)?), 3));
    }
    if let Some((days, length)) = numeric_date(words) {
        return Some((NamedPeriod::uncertain(days), length));
    }
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
            return Some((NamedPeriod::uncertain(month_of(calendar_year(year)?, month_number(month)?)?), 2));
        }
        _ => return None,
    };
    match words.get(length).and_then(|year| calendar_year(year)) {
        Some(year) => Some((NamedPeriod::uncertain(single_day(year, month, day)?), length + 1)),
        None => Some((NamedPeriod::uncertain(calendar.latest_day(month, day)?), length)),
    }
}

/// Parses 19.01.2024, 2024.1.19, 19/01/2024, 2024/1/19. If both may be the month, the day comes first unless the year
/// does.
fn numeric_date(words: &[&str]) -> Option<(Days, usize)> {
    let word = words.first()?;
    let parts: Vec<&str> = word.split('.').collect();
    let (parts, length) = match (parts.len(), words) {
        (3, _) => (parts, 1),
        (1, [first, second, third, ..]) => (vec![*first, *second, *third], 3),
        _ => return None,
    };
    let small = |part: &str| part.parse::<i8>().ok().filter(|_| part.len() <= 2);
    let days = match (calendar_year(parts[0]), calendar_year(parts[2])) {
        (Some(year), None) => single_day(year, small(parts[1])?, small(parts[2])?),
        (None, Some(year)) => {
            let (first, second) = (small(parts[0])?, small(parts[1])?);
            single_day(year, second, first).or_else(|| single_day(year, first, second))
        }
        _ => None,
    };
    Some((days?, length))
}

fn month_and_day_have_two_digits(words: &[&str]) -> bool {
    words.iter().skip(1).take(2).all(|word| word.len() == 2)
}

/// Parses "in June", "in 2021", "in June 2022", "in summer"; "on Friday", "on Christmas".
fn after_preposition(words: &[&str], calendar: Calendar) -> Option<FoundPeriod> {
    let days = match words {
        ["in", name, year, ..] if month_number(name).is_some() && calendar_year(year).is_some() => {
            return Some((NamedPeriod::uncertain(month_of(calendar_year(year)?, month_number(name)?)?), 3));
        }
        ["in", name, ..] => match calendar_year(name) {
            Some(number) => year_of(number),
            None => calendar.latest_month(month_number(name)?, true),
        },
        ["on", name, ..] if weekday_of(name).is_some() => calendar.latest_weekday(weekday_of(name)?),
        ["on" | "at", "christmas", ..] => calendar.latest_day(12, 25),
        _ => return None,
    };
    Some((NamedPeriod::uncertain(days?), 2))
}

fn unit_of(word: &str) -> Option<CalendarUnit> {
    Some(match word.strip_suffix('s').unwrap_or(word) {
        "day" => CalendarUnit::Day,
        "week" => CalendarUnit::Week,
        "month" => CalendarUnit::Month,
        "year" => CalendarUnit::Year,
        _ => return None,
    })
}

fn season_named(word: &str) -> Option<Season> {
    Some(match word {
        "spring" => Season::Spring,
        "summer" => Season::Summer,
        "autumn" | "fall" => Season::Autumn,
        "winter" => Season::Winter,
        _ => return None,
    })
}

fn weekday_of(word: &str) -> Option<Weekday> {
    let at = WEEKDAYS.iter().position(|name| *name == word)?;
    Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()
}

/// Parses the day of a month: 3, 3rd, 21st.
fn month_day(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_ordinal = matches!(&word[digits.len()..], "" | "st" | "nd" | "rd" | "th");
    digits.parse().ok().filter(|day| is_ordinal && (1..=31).contains(day))
}

pub(super) fn number(word: &str) -> Option<i64> {
    let spelled =
        NUMBER_WORDS.iter().position(|name| *name == word).and_then(|at| i64::try_from(at + 1).ok());
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
