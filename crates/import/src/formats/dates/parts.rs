//! Parses dates and times of day as written by phones and spreadsheets.

use jiff::civil::Time;

use crate::formats::building::is_invisible_mark;

/// The date's numbers in the order of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) struct DateParts {
    pub(in crate::formats) numbers: [u16; 3],
    /// True if the first number has four digits.
    pub(in crate::formats) is_year_first: bool,
    /// The character after the first number, such as `/` or `.`.
    pub(in crate::formats) separator: char,
}

/// The time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) struct Clock {
    hour: i8,
    minute: i8,
    second: i8,
    half: Option<HalfOfDay>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HalfOfDay {
    Morning,
    Afternoon,
}

impl Clock {
    pub(in crate::formats) fn is_twelve_hour(self) -> bool {
        self.half.is_some()
    }

    pub(in crate::formats) fn time(self) -> Time {
        let hour = match self.half {
            Some(HalfOfDay::Afternoon) if self.hour < 12 => self.hour + 12,
            Some(HalfOfDay::Morning) if self.hour == 12 => 0,
            _ => self.hour,
        };
        Time::new(hour, self.minute, self.second, 0).unwrap_or_default()
    }
}

/// Words for the halves of the day, in lower case without dots and spaces.
const HALF_DAY_WORDS: &[(&str, HalfOfDay)] = &[
    ("am", HalfOfDay::Morning),
    ("pm", HalfOfDay::Afternoon),
    ("上午", HalfOfDay::Morning),
    ("凌晨", HalfOfDay::Morning),
    ("早上", HalfOfDay::Morning),
    ("下午", HalfOfDay::Afternoon),
    ("晚上", HalfOfDay::Afternoon),
    ("中午", HalfOfDay::Afternoon),
    ("午前", HalfOfDay::Morning),
    ("午後", HalfOfDay::Afternoon),
    ("오전", HalfOfDay::Morning),
    ("오후", HalfOfDay::Afternoon),
    ("πμ", HalfOfDay::Morning),
    ("μμ", HalfOfDay::Afternoon),
    ("ص", HalfOfDay::Morning),
    ("م", HalfOfDay::Afternoon),
    ("öö", HalfOfDay::Morning),
    ("ös", HalfOfDay::Afternoon),
];

/// Maximum length of the text between date and time, in characters: `, `, ` klo `, ` um `, ` 下午`.
const BETWEEN_CHARS_MAX: usize = 12;

/// A date with a time of day and nothing else: `5/1/2024, 10:30 PM`.
pub(in crate::formats) fn date_and_clock(text: &str) -> Option<(DateParts, Clock)> {
    let (date, rest) = date_parts(text.trim())?;
    if rest.trim().is_empty() {
        return Some((date, Clock { hour: 12, minute: 0, second: 0, half: None }));
    }
    let (clock, rest) = clock_after(rest)?;
    rest.trim().is_empty().then_some((date, clock))
}

/// The time of day after a date, and the line after it.
pub(in crate::formats) fn clock_after(line: &str) -> Option<(Clock, &str)> {
    let (before, line) = split_at_digit(line)?;
    let (mut clock, line) = read_clock(line)?;
    let (half, line) = read_half_of_day(line);
    clock.half = half.or_else(|| half_of_day_from_name(before));
    let is_time = clock.hour <= 23 && (clock.half.is_none() || clock.hour <= 12);
    is_time.then_some((clock, line))
}

pub(in crate::formats) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\u{A0}' | '\u{202F}' | '\t')
}

/// Three numbers, separated by one to three other characters.
pub(in crate::formats) fn date_parts(line: &str) -> Option<(DateParts, &str)> {
    let (first, digits, line) = number(line)?;
    let separator = line.chars().next()?;
    let line = date_separator(line)?;
    let (second, _, line) = number(line)?;
    let line = date_separator(line)?;
    let (third, _, line) = number(line)?;
    // `2024年1月5日`, `2024. 1. 5.`
    let line = line.strip_prefix(['日', '.', '일']).unwrap_or(line);
    Some((DateParts { numbers: [first, second, third], is_year_first: digits == 4, separator }, line))
}

fn date_separator(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(is_invisible_mark);
    let line = line.strip_prefix(['/', '.', '-', '年', '月', '년', '월'])?;
    Some(line.trim_start_matches(is_blank).trim_start_matches(is_invisible_mark))
}

/// A number of one to four digits, in any script that WhatsApp uses.
fn number(line: &str) -> Option<(u16, usize, &str)> {
    let mut value = 0u16;
    let mut count = 0;
    let mut rest = line;
    while let Some(digit) = rest.chars().next().and_then(digit_value) {
        count += 1;
        if count > 4 {
            return None;
        }
        value = value * 10 + digit;
        let mut characters = rest.chars();
        characters.next();
        rest = characters.as_str();
    }
    (count > 0).then_some((value, count, rest))
}

/// ASCII, Arabic-Indic, Persian and Devanagari digits.
fn digit_value(character: char) -> Option<u16> {
    let zero = match character {
        '0'..='9' => '0',
        '\u{660}'..='\u{669}' => '\u{660}',
        '\u{6F0}'..='\u{6F9}' => '\u{6F0}',
        '\u{966}'..='\u{96F}' => '\u{966}',
        _ => return None,
    };
    u16::try_from(u32::from(character) - u32::from(zero)).ok()
}

/// Splits a line into the text between date and time, and the rest from the time on.
fn split_at_digit(line: &str) -> Option<(&str, &str)> {
    let (at, _) = line
        .char_indices()
        .take(BETWEEN_CHARS_MAX)
        .find(|(_, character)| digit_value(*character).is_some())?;
    (at > 0).then(|| line.split_at(at))
}

fn read_clock(line: &str) -> Option<(Clock, &str)> {
    let (hour, digits, line) = number(line)?;
    let line = line.strip_prefix([':', '.', 'h'])?;
    let (minute, minute_digits, mut line) = number(line)?;
    let mut second = 0;
    if let Some(rest) = line.strip_prefix([':', '.'])
        && let Some((value, 2, rest)) = number(rest)
    {
        second = value;
        line = rest;
    }
    if digits > 2 || minute_digits != 2 || minute > 59 || second > 60 {
        return None;
    }
    let small = |number: u16| i8::try_from(number).ok();
    Some((
        Clock { hour: small(hour)?, minute: small(minute)?, second: small(second.min(59))?, half: None },
        line,
    ))
}

/// The half of the day after the time, if it is given there.
fn read_half_of_day(line: &str) -> (Option<HalfOfDay>, &str) {
    let trimmed = line.trim_start_matches(|character| is_blank(character) || is_invisible_mark(character));
    let end = trimmed.find([']', '-', '–']).unwrap_or(trimmed.len());
    match half_of_day_from_name(&trimmed[..end]) {
        Some(half) => (Some(half), &trimmed[end..]),
        None => (None, line),
    }
}

/// The half of the day named by a short text; `None` if it holds anything else.
fn half_of_day_from_name(text: &str) -> Option<HalfOfDay> {
    if text.len() > 32 {
        return None;
    }
    let folded: String = text.to_lowercase().chars().filter(|character| character.is_alphabetic()).collect();
    HALF_DAY_WORDS.iter().find(|(word, _)| folded == *word).map(|(_, half)| *half)
}
