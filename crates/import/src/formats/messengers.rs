//! Text exports of LINE, KakaoTalk and programs for iMessage. Most of them name the day on a line of its own.

use jiff::civil::{Date, DateTime, Time};

use super::dates::{WrittenTime, clock_after, date_parts};
use crate::message_time::MessageTime;

/// Lines at the beginning of a file to examine, and messages among them that identify such a file.
const DETECTION_LINES: usize = 400;
const DETECTION_MESSAGES: usize = 2;

/// A line with a meaning of its own. Other lines continue a message.
#[derive(Debug, PartialEq)]
pub(super) enum MessengerLine<'a> {
    /// The day of the messages that follow.
    Day(Date),
    Message {
        time: LineTime,
        speaker: &'a str,
        text: &'a str,
    },
    /// The time of a message whose speaker is in the next line.
    Time(MessageTime),
    /// A notice of the messenger.
    Notice,
}

/// The time of a message as written in its line.
#[derive(Debug, PartialEq)]
pub(super) enum LineTime {
    /// A time of the day that a heading named.
    OfDay(Time),
    Whole(WrittenTime),
}

/// True if enough of a file's first lines have this form.
pub(super) fn has_messages<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let is_message =
        |line: &&str| matches!(read_line(line), Some(MessengerLine::Message { .. } | MessengerLine::Time(_)));
    lines.take(DETECTION_LINES).filter(is_message).nth(DETECTION_MESSAGES - 1).is_some()
}

/// Parses a line; `None` if it continues a message.
pub(super) fn read_line(line: &str) -> Option<MessengerLine<'_>> {
    heading_day(line)
        .map(MessengerLine::Day)
        .or_else(|| parse_tabbed(line))
        .or_else(|| parse_bracketed(line))
        .or_else(|| parse_dated(line))
        .or_else(|| parse_time_line(line).map(MessengerLine::Time))
}

/// Parses a line of LINE with tabs: `14:03⇥Ann⇥hello`, `午後2:03⇥Ann⇥hello`.
fn parse_tabbed(line: &str) -> Option<MessengerLine<'_>> {
    let (time, rest) = line.split_once('\t')?;
    let time = LineTime::OfDay(time_of_day(time)?);
    match rest.split_once('\t') {
        Some((speaker, text)) if !speaker.trim().is_empty() => {
            Some(MessengerLine::Message { time, speaker, text })
        }
        _ => Some(MessengerLine::Notice),
    }
}

/// Parses a line of KakaoTalk on a computer: `[Ann] [오후 2:03] hello`.
fn parse_bracketed(line: &str) -> Option<MessengerLine<'_>> {
    let (speaker, rest) = line.strip_prefix('[')?.split_once("] [")?;
    let (time, text) = rest.split_once(']')?;
    let time = LineTime::OfDay(time_of_day(time)?);
    Some(MessengerLine::Message { time, speaker, text: text.trim_start() })
}

/// Parses a line of KakaoTalk on a phone: `2024년 3월 5일 오후 2:03, Ann : hello`, `March 5, 2024 at 2:03 PM, Ann :
/// hello`.
fn parse_dated(line: &str) -> Option<MessengerLine<'_>> {
    for (at, _) in line.match_indices(", ").take(4) {
        let Some(time) = written_time(&line[..at]) else { continue };
        return Some(match line[at + 2..].split_once(" : ") {
            Some((speaker, text)) => MessengerLine::Message { time: LineTime::Whole(time), speaker, text },
            None => MessengerLine::Notice,
        });
    }
    let (time, _) = line.split_once(": ")?;
    written_time(time).map(|_| MessengerLine::Notice)
}

/// A date in words with a time of day.
fn written_time(text: &str) -> Option<WrittenTime> {
    if !text.contains(':') {
        return None;
    }
    if text.contains('년') {
        return Some(WrittenTime::from_text(text)).filter(|time| *time != WrittenTime::Unknown);
    }
    month_and_clock(text).map(|time| WrittenTime::Clear(MessageTime::Local(time)))
}

/// Parses a time line of exporters for iMessage: `Mar 05, 2024  2:03:05 PM (Read by you after 5 seconds)`.
fn parse_time_line(line: &str) -> Option<MessageTime> {
    let text = line.split(" (").next()?;
    month_and_clock(text).map(MessageTime::Local)
}

fn month_and_clock(text: &str) -> Option<DateTime> {
    let (day, rest) = month_date(text)?;
    Some(day.to_datetime(time_of_day(rest.trim().trim_start_matches("at "))?))
}

/// Parses a time of day without any other text.
fn time_of_day(text: &str) -> Option<Time> {
    // `clock_after` expects text before the digits, which may name the half of the day.
    let text = format!(" {}", text.trim());
    let (clock, rest) = clock_after(&text)?;
    rest.trim().is_empty().then(|| clock.time())
}

/// Parses a day on a line of its own: `2024/03/05(Tue)`, `2024.03.05 Tuesday`, `Tue, 03/05/2024`, `---------------
/// 2024년 3월 5일 화요일 ---------------`, `Tuesday, March 5, 2024`.
fn heading_day(line: &str) -> Option<Date> {
    let text = line.trim_matches(|character: char| character.is_whitespace() || "-=".contains(character));
    if let Some((day, rest)) = month_date(text) {
        return rest.trim().is_empty().then_some(day);
    }
    if let Some((weekday, date)) = text.split_once(", ")
        && let Some(weekday) = weekday_from_name(weekday)
        && let Some((parts, rest)) = date_parts(date)
        && rest.trim().is_empty()
    {
        let [one, other, year] = parts.numbers;
        let days = [(one, other), (other, one)].map(|(month, day)| checked_date(year, month, day));
        return days.into_iter().flatten().find(|day| day.weekday().to_monday_zero_offset() == weekday);
    }
    let (parts, rest) = date_parts(text)?;
    let rest = rest.trim().trim_matches(['(', ')', '（', '）']);
    // KakaoTalk on older phones writes the time of the day's first message.
    let is_heading = weekday_from_name(rest).is_some() || text.contains('년') && time_of_day(rest).is_some();
    if !is_heading {
        return None;
    }
    let [year, month, day] = parts.numbers;
    parts.is_year_first.then(|| checked_date(year, month, day)).flatten()
}

fn checked_date(year: u16, month: u16, day: u16) -> Option<Date> {
    Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// Parses `March 5, 2024` or `Tuesday, Mar 05, 2024`; also returns what follows.
fn month_date(text: &str) -> Option<(Date, &str)> {
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
    let text = text.trim();
    let text = match text.split_once(", ") {
        Some((weekday, rest)) if weekday_from_name(weekday).is_some() => rest,
        _ => text,
    };
    let (name, rest) = text.split_once(' ')?;
    let name = name.trim_end_matches('.').to_lowercase();
    let month =
        MONTHS.iter().position(|month| *month == name || name.len() == 3 && month.starts_with(&name))?;
    let (day, rest) = rest.split_once(',')?;
    let rest = rest.trim_start();
    let year = rest.get(..4)?;
    let day = checked_date(year.parse().ok()?, u16::try_from(month + 1).ok()?, day.trim().parse().ok()?)?;
    Some((day, &rest[4..]))
}

/// The day of the week by its name, counted from Monday.
fn weekday_from_name(name: &str) -> Option<i8> {
    const WEEKDAY_NAMES: [[&str; 7]; 7] = [
        ["monday", "mon", "月", "月曜日", "월요일", "周一", "星期一"],
        ["tuesday", "tue", "火", "火曜日", "화요일", "周二", "星期二"],
        ["wednesday", "wed", "水", "水曜日", "수요일", "周三", "星期三"],
        ["thursday", "thu", "木", "木曜日", "목요일", "周四", "星期四"],
        ["friday", "fri", "金", "金曜日", "금요일", "周五", "星期五"],
        ["saturday", "sat", "土", "土曜日", "토요일", "周六", "星期六"],
        ["sunday", "sun", "日", "日曜日", "일요일", "周日", "星期日"],
    ];
    let name = name.trim().trim_end_matches('.').to_lowercase();
    let weekday = WEEKDAY_NAMES.iter().position(|names| names.contains(&name.as_str()))?;
    i8::try_from(weekday).ok()
}
