//! Times in Chinese.

use std::ops::Range;

use jiff::ToSpan;
use jiff::civil::Weekday;

use super::NamedPeriod;
use super::calendar::{
    Calendar, CalendarUnit, Days, Season, YEARS, month_of, season_of, shift_date, single_day, year_of,
};

const DIGITS: &str = "一二三四五六七八九";
/// Names of days, the longer before the shorter: (name, days from now).
const DAYS: [(&str, i64); 22] = [
    ("大前天", -3),
    ("前天", -2),
    ("前晚", -2),
    ("昨天", -1),
    ("昨晚", -1),
    ("昨日", -1),
    ("昨夜", -1),
    ("昨儿", -1),
    ("今天", 0),
    ("今日", 0),
    ("今晚", 0),
    ("今早", 0),
    ("今夜", 0),
    ("今儿", 0),
    ("明天", 1),
    ("明日", 1),
    ("明早", 1),
    ("明晚", 1),
    ("明儿", 1),
    ("大后天", 3),
    ("后天", 2),
    ("后晚", 2),
];
const WEEKS: [&str; 3] = ["周", "星期", "礼拜"];
const UNITS: [(&str, CalendarUnit); 7] = [
    ("天", CalendarUnit::Day),
    ("日", CalendarUnit::Day),
    ("周", CalendarUnit::Week),
    ("星期", CalendarUnit::Week),
    ("礼拜", CalendarUnit::Week),
    ("月", CalendarUnit::Month),
    ("年", CalendarUnit::Year),
];
/// Characters after 年 or 月 that make it part of another word: 前年轻, 晚上月亮.
const WORD_CONTINUATIONS: &str = "亮球经饼轻龄级";
/// Maximum days of the vague 前几天. Nobody means two weeks or more.
const FEW_DAYS_MAX: i64 = 10;
/// Names of parts of a month, the longer before the shorter: first and last day.
const PARTS_OF_MONTH: [(&str, (i8, i8)); 7] = [
    ("上旬", (1, 10)),
    ("中旬", (11, 20)),
    ("下旬", (21, 31)),
    ("初", (1, 10)),
    ("中", (11, 20)),
    ("底", (21, 31)),
    ("末", (21, 31)),
];
/// Characters after 中 that make it part of another word: 6月中国, 9月中秋.
const NOT_AFTER_MIDDLE: &str = "国午秋学";
/// Holidays on a fixed day, with their length: (name, month, day, days).
const FEASTS: [(&str, i8, i8, i64); 10] = [
    ("元旦", 1, 1, 3),
    ("情人节", 2, 14, 1),
    ("妇女节", 3, 8, 1),
    ("清明", 4, 4, 3),
    ("五一", 5, 1, 5),
    ("劳动节", 5, 1, 5),
    ("儿童节", 6, 1, 1),
    ("教师节", 9, 10, 1),
    ("国庆", 10, 1, 7),
    ("圣诞", 12, 24, 2),
];

/// The times in a folded text, each with its position.
pub(super) fn scan_times(folded: &str, calendar: Calendar) -> Vec<(Range<usize>, NamedPeriod)> {
    let (mut at, mut found) = (0, Vec::new());
    while let Some(character) = folded[at..].chars().next() {
        let before = folded[..at].chars().next_back();
        match time_phrase(&folded[at..], before, calendar) {
            Some((named, length)) => {
                found.extend(named.map(|named| (at..at + length, named)));
                at += length;
            }
            None => at += character.len_utf8(),
        }
    }
    found
}

/// True if a text names a time less than a day ahead: 十分钟后, 半小时后, 两个小时以后.
pub(super) fn names_span_ahead(folded: &str) -> bool {
    const UNITS: [&str; 5] = ["分钟", "小时", "钟头", "刻钟", "秒"];
    folded.char_indices().any(|(at, _)| {
        let text = &folded[at..];
        let Some((_, length)) =
            number(text).or_else(|| text.starts_with('半').then_some((0, '半'.len_utf8())))
        else {
            return false;
        };
        let rest = &text[length..];
        let rest = rest.strip_prefix('个').unwrap_or(rest);
        let Some(rest) = UNITS.into_iter().find_map(|unit| rest.strip_prefix(unit)) else { return false };
        ["后", "之后", "以后"].into_iter().any(|later| rest.starts_with(later))
    })
}

/// The time at the start of a text, and its length in bytes.
fn time_phrase(text: &str, before: Option<char>, calendar: Calendar) -> Option<(Option<NamedPeriod>, usize)> {
    let named = || {
        day_name(text, calendar)
            .or_else(|| feast_day(text, calendar))
            .or_else(|| parse_year(text, calendar))
            .or_else(|| parse_month(text, calendar))
            .or_else(|| parse_week(text, calendar))
            .or_else(|| vague_span(text, calendar))
    };
    let ends_a_word = before.is_some_and(|before| is_end_of_word(before, text));
    Some(ends_a_word).filter(|ends| !ends).and_then(|_| named()).or_else(|| number_phrase(text, calendar))
}

/// True if the text continues a word whose beginning looks like a time: 晚上, 马上, 以前, 以后, 每周, 过去.
fn is_end_of_word(before: char, text: &str) -> bool {
    let others = match text.chars().next() {
        Some('上') => "早晚马以加路网身线楼桌床",
        Some('前') => "以之",
        Some('后') => "以之今最",
        Some('周' | '星' | '礼') => "每",
        Some('去') => "过",
        _ => "",
    };
    others.contains(before)
}

fn day_name(text: &str, calendar: Calendar) -> Option<(Option<NamedPeriod>, usize)> {
    let (name, offset) = DAYS.into_iter().find(|(name, _)| text.starts_with(name))?;
    let named = if offset == 0 { NamedPeriod::period_until_now } else { NamedPeriod::without_slack };
    Some((calendar.day_at_offset(offset).map(named), name.len()))
}

/// Parses 国庆, 清明: the latest one that has begun.
fn feast_day(text: &str, calendar: Calendar) -> Option<(Option<NamedPeriod>, usize)> {
    let (name, month, day, days) = FEASTS.into_iter().find(|(name, ..)| text.starts_with(name))?;
    let named = || {
        let (first, _) = calendar.latest_day(month, day)?;
        Some(NamedPeriod::uncertain((first, shift_date(first, (days - 1).days())?)))
    };
    Some((named(), name.len()))
}

/// Parses 上周, 上周三, 这个星期天, 下下周, 上周末, or 周三 alone.
fn parse_week(text: &str, calendar: Calendar) -> Option<(Option<NamedPeriod>, usize)> {
    let (offset, length) =
        parse_offset(text, &[("上上", -2), ("下下", 2), ("上", -1), ("下", 1), ("这", 0), ("本", 0)]);
    let rest = &text[length..];
    let rest = rest.strip_prefix('个').filter(|_| length > 0).unwrap_or(rest);
    let week = WEEKS.into_iter().find(|week| rest.starts_with(week))?;
    let rest = &rest[week.len()..];
    let taken = |rest: &str| text.len() - rest.len();
    let letter = rest.chars().next();
    if letter == Some('末') {
        let rest = &rest['末'.len_utf8()..];
        let days = calendar.weekend(offset.unwrap_or(0));
        let named = if offset.is_some() { NamedPeriod::without_slack } else { NamedPeriod::uncertain };
        return Some((days.map(|days| named(days).with_slack(1)), taken(rest)));
    }
    let weekday =
        letter.and_then(weekday_of).filter(|_| !rest.starts_with("一个") && !rest.starts_with("天气"));
    let rest = if weekday.is_some() { &rest[letter.map_or(0, char::len_utf8)..] } else { rest };
    match (offset, weekday) {
        (Some(offset), Some(weekday)) => {
            Some((calendar.weekday_of_week(weekday, offset).map(NamedPeriod::without_slack), taken(rest)))
        }
        (Some(offset), None) => Some((
            calendar.week(offset).map(|days| NamedPeriod::without_slack(days).with_slack(1)),
            taken(rest),
        )),
        // By itself it may be past or future; questions are mostly about the past.
        (None, Some(weekday)) => {
            Some((calendar.latest_weekday(weekday).map(NamedPeriod::uncertain), taken(rest)))
        }
        (None, None) => None,
    }
}

/// Parses 上个月, 上个月底, 下月3号, 本月.
fn parse_month(text: &str, calendar: Calendar) -> Option<(Option<NamedPeriod>, usize)> {
    let words = [("上上", -2), ("下下", 2), ("上", -1), ("下", 1), ("这", 0), ("本", 0)];
    let (offset, length) = parse_offset(text, &words);
    let offset = offset?;
    let rest = &text[length..];
    let rest = rest.strip_prefix('个').unwrap_or(rest).strip_prefix('月')?;
    if rest.starts_with(|c| WORD_CONTINUATIONS.contains(c)) {
        return None;
    }
    let month = calendar.month(offset)?;
    let (days, rest) = match (day_after(rest), part_of_month(rest)) {
        (Some((day, length)), _) => (within_month(month, (day, day)), &rest[length..]),
        (None, Some((part, length))) => (within_month(month, part), &rest[length..]),
        (None, None) => (Some(month), rest),
    };
    Some((days.map(NamedPeriod::without_slack), text.len() - rest.len()))
}

/// Parses 初, 上旬, 中旬, 底 after a month: its first and last day, and the bytes used.
fn part_of_month(text: &str) -> Option<((i8, i8), usize)> {
    let (word, days) = PARTS_OF_MONTH.into_iter().find(|(word, _)| text.starts_with(word))?;
    let begins_a_word = word == "中" && text[word.len()..].starts_with(|c| NOT_AFTER_MIDDLE.contains(c));
    (!begins_a_word).then_some((days, word.len()))
}

/// These days of a month; the last of them may exceed its end.
fn within_month((first, last): Days, (from, to): (i8, i8)) -> Option<Days> {
    let day = |day: i8| first.with().day(day.min(last.day())).build().ok();
    Some((day(from)?, day(to)?))
}

/// Parses 去年, 去年六月, 前年夏天, 去年今天, 明年年底.
fn parse_year(text: &str, calendar: Calendar) -> Option<(Option<NamedPeriod>, usize)> {
    let words = [("大前年", -3), ("前年", -2), ("去年", -1), ("今年", 0), ("明年", 1), ("后年", 2)];
    let (offset, length) = parse_offset(text, &words);
    let offset = offset?;
    let rest = &text[length..];
    if rest.starts_with(|c| WORD_CONTINUATIONS.contains(c)) {
        return None;
    }
    let year = calendar.year_number(i16::try_from(offset).ok()?)?;
    if rest.starts_with("今天") || rest.starts_with("的今天") {
        let more = if rest.starts_with('的') { "的今天".len() } else { "今天".len() };
        return Some((calendar.same_day(offset).map(NamedPeriod::without_slack), length + more));
    }
    if let Some((days, more)) = part_of_year(rest, year) {
        return Some((days.map(NamedPeriod::without_slack), length + more));
    }
    let days = year_of(year);
    // "This year" alone asks for nothing.
    Some((
        days.map(if offset == 0 { NamedPeriod::period_until_now } else { NamedPeriod::without_slack }),
        length,
    ))
}

/// Parses 六月, 六月三日, 夏天, 年初, 年底 of a year; also returns the bytes used.
fn part_of_year(text: &str, year: i16) -> Option<(Option<Days>, usize)> {
    if let Some((month, length)) = month_after(text) {
        return Some(match (day_after(&text[length..]), part_of_month(&text[length..])) {
            (Some((day, more)), _) => (single_day(year, month, day), length + more),
            (None, Some((part, more))) => {
                (month_of(year, month).and_then(|days| within_month(days, part)), length + more)
            }
            (None, None) => (month_of(year, month), length),
        });
    }
    let seasons =
        [("春", Season::Spring), ("夏", Season::Summer), ("秋", Season::Autumn), ("冬", Season::Winter)];
    let season = seasons.into_iter().find(|(word, _)| text.starts_with(word));
    if let Some((word, season)) = season {
        let ending = ["天", "季"].into_iter().find(|ending| text[word.len()..].starts_with(ending))?;
        return Some((season_of(year, season), word.len() + ending.len()));
    }
    let quarters = [("年初", 1, 2), ("年底", 11, 12), ("年末", 11, 12), ("年中", 6, 7)];
    let (word, first, last) = quarters.into_iter().find(|(word, ..)| text.starts_with(word))?;
    let days = month_of(year, first).zip(month_of(year, last)).map(|(first, last)| (first.0, last.1));
    Some((days, word.len()))
}

/// Parses 前几天, 几天前, 半年前, 半个月前, 两三天前.
fn vague_span(text: &str, calendar: Calendar) -> Option<(Option<NamedPeriod>, usize)> {
    if text.starts_with("前几天") {
        return Some((calendar.days_between(-FEW_DAYS_MAX, -2).map(NamedPeriod::uncertain), "前几天".len()));
    }
    let month = 30;
    for (word, days) in [("半个月前", 15), ("半个月以前", 15), ("半年前", 6 * month), ("半年以前", 6 * month)]
    {
        if text.starts_with(word) {
            let slack = days / 4;
            return Some((
                calendar.days_between(-days - slack, -days + slack).map(NamedPeriod::without_slack),
                word.len(),
            ));
        }
    }
    let (fewest, most, length) = if text.starts_with('几') {
        (2, 6, '几'.len_utf8())
    } else {
        // 两三, 三五: from the first number to the second.
        let mut letters = text.chars();
        let (first, second) = (digit_of(letters.next()?)?, digit_of(letters.next()?)?);
        (first.min(second), first.max(second), text.len() - letters.as_str().len())
    };
    let (unit, more) = unit_after(&text[length..])?;
    let end = length + more;
    let ago = ["前", "之前", "以前"].into_iter().find(|ago| text[end..].starts_with(ago))?;
    Some((calendar.span_of_units_ago(fewest, most, unit).map(NamedPeriod::without_slack), end + ago.len()))
}

/// Parses 三天前, 两周后, 2023年, 2023年6月, 六月, 6月3日, 二〇二三年.
fn number_phrase(text: &str, calendar: Calendar) -> Option<(Option<NamedPeriod>, usize)> {
    if let Some((year, length)) = spelled_year(text) {
        return Some(of_year(&text[length..], year, length));
    }
    let (number, length) = number(text)?;
    let rest = &text[length..];
    if let Some((unit, more)) = unit_after(rest) {
        let end = length + more;
        let ago = ["前", "之前", "以前"].into_iter().find(|ago| text[end..].starts_with(ago));
        if let Some(ago) = ago {
            return Some((calendar.units_ago(number, unit).map(NamedPeriod::without_slack), end + ago.len()));
        }
        // 三天后 may count from any event mentioned before.
        let later = ["后", "之后", "以后"].into_iter().find(|later| text[end..].starts_with(later));
        if let Some(later) = later {
            return Some((calendar.units_ago(-number, unit).map(NamedPeriod::uncertain), end + later.len()));
        }
    }
    if let Some(after) = rest.strip_prefix('年') {
        let year = i16::try_from(number).ok().filter(|year| YEARS.contains(year));
        return Some(match year {
            Some(year) => of_year(after, year, length + '年'.len_utf8()),
            None => (None, length),
        });
    }
    let Some((month, length)) = month_after(text) else { return Some((None, length)) };
    let days = match (day_after(&text[length..]), part_of_month(&text[length..])) {
        (Some((day, more)), _) => (calendar.latest_day(month, day), length + more),
        (None, Some((part, more))) => {
            (calendar.latest_month(month, true).and_then(|days| within_month(days, part)), length + more)
        }
        (None, None) => (calendar.latest_month(month, true), length),
    };
    Some((days.0.map(NamedPeriod::uncertain), days.1))
}

fn of_year(rest: &str, year: i16, length: usize) -> (Option<NamedPeriod>, usize) {
    match part_of_year(rest, year) {
        Some((days, more)) => (days.map(NamedPeriod::uncertain), length + more),
        None => (year_of(year).map(NamedPeriod::uncertain), length),
    }
}

/// Parses a year written digit by digit, such as 二〇二三年.
fn spelled_year(text: &str) -> Option<(i16, usize)> {
    let mut letters = text.chars();
    let mut year = 0_i16;
    for _ in 0..4 {
        let letter = letters.next()?;
        let digit =
            if matches!(letter, '〇' | '零') { 0 } else { DIGITS.chars().position(|d| d == letter)? + 1 };
        year = year * 10 + i16::try_from(digit).ok()?;
    }
    let rest = letters.as_str().strip_prefix('年')?;
    YEARS.contains(&year).then_some((year, text.len() - rest.len()))
}

fn parse_offset(text: &str, words: &[(&str, i64)]) -> (Option<i64>, usize) {
    match words.iter().find(|(word, _)| text.starts_with(word)) {
        Some((word, offset)) => (Some(*offset), word.len()),
        None => (None, 0),
    }
}

/// Parses 天, 周, 个星期, 个月, 年; also returns the bytes used.
fn unit_after(text: &str) -> Option<(CalendarUnit, usize)> {
    let counted = text.strip_prefix('个');
    let rest = counted.unwrap_or(text);
    let (word, unit) = UNITS.into_iter().find(|(word, _)| rest.starts_with(word))?;
    // A number of months needs 个; without it, it is the name of a month: 三月.
    let fits = (unit != CalendarUnit::Month) || counted.is_some();
    fits.then_some((unit, text.len() - rest.len() + word.len()))
}

fn month_after(text: &str) -> Option<(i8, usize)> {
    let (number, length) = number(text)?;
    let month = i8::try_from(number).ok().filter(|month| (1..=12).contains(month))?;
    let rest = text[length..].strip_prefix('月')?;
    let rest = rest.strip_prefix('份').unwrap_or(rest);
    Some((month, text.len() - rest.len()))
}

/// Parses 3日 or 三号.
fn day_after(text: &str) -> Option<(i8, usize)> {
    let (number, length) = number(text)?;
    let day = i8::try_from(number).ok().filter(|day| (1..=31).contains(day))?;
    let ending = ['日', '号'].into_iter().find(|ending| text[length..].starts_with(*ending))?;
    Some((day, length + ending.len_utf8()))
}

fn weekday_of(letter: char) -> Option<Weekday> {
    let place = match letter {
        '日' | '天' => 6,
        _ => "一二三四五六".chars().position(|digit| digit == letter)?,
    };
    Weekday::from_monday_zero_offset(i8::try_from(place).ok()?).ok()
}

fn digit_of(letter: char) -> Option<i64> {
    match letter {
        '两' => Some(2),
        _ => DIGITS.chars().position(|digit| digit == letter).and_then(|at| i64::try_from(at + 1).ok()),
    }
}

/// Parses digits, or 一 to 九十九, or 两; also returns the bytes used.
pub(super) fn number(text: &str) -> Option<(i64, usize)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits > 0 {
        return text[..digits].parse().ok().map(|number| (number, digits));
    }
    let first = text.chars().next()?;
    let (tens, rest) = match digit_of(first) {
        None if first == '十' => (1, &text[first.len_utf8()..]),
        None => return None,
        Some(value) => match text[first.len_utf8()..].strip_prefix('十') {
            Some(rest) => (value, rest),
            None => return Some((value, first.len_utf8())),
        },
    };
    let ones = rest.chars().next().and_then(|letter| Some((digit_of(letter)?, letter.len_utf8())));
    let (ones, more) = ones.unwrap_or((0, 0));
    Some((10 * tens + ones, text.len() - rest.len() + more))
}
