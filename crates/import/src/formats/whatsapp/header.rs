//! The start of a message's line: `[05.01.24, 10:30:12] Ann: `, `1/5/24, 10:30 PM - Ann: `, `2024/1/5 下午10:30 - Ann: `.

use jiff::civil::Time;

use crate::formats::building::is_invisible_mark;

/// A line that begins a message or notice.
#[derive(Debug, PartialEq)]
pub(super) struct Header<'a> {
    pub(super) date: DateParts,
    pub(super) clock: Clock,
    pub(super) rest: Rest<'a>,
}

/// The date's numbers in the line's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DateParts {
    pub(super) numbers: [u16; 3],
    /// Whether the first number has four digits.
    pub(super) is_year_first: bool,
    /// First character between the numbers.
    pub(super) separator: char,
}

/// The time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    hour: i8,
    minute: i8,
    second: i8,
    half: Option<Half>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    Morning,
    Afternoon,
}

/// What follows the time.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rest<'a> {
    Message {
        speaker: &'a str,
        text: &'a str,
    },
    /// Of the program itself.
    Notice,
}

impl Clock {
    pub(super) fn is_twelve_hour(self) -> bool {
        self.half.is_some()
    }

    pub(super) fn time(self) -> Time {
        let hour = match self.half {
            Some(Half::Afternoon) if self.hour < 12 => self.hour + 12,
            Some(Half::Morning) if self.hour == 12 => 0,
            _ => self.hour,
        };
        Time::new(hour, self.minute, self.second, 0).unwrap_or(Time::midnight())
    }
}

/// Words for the halves of the day, in lower case without dots and blanks.
const HALVES: &[(&str, Half)] = &[
    ("am", Half::Morning),
    ("pm", Half::Afternoon),
    ("上午", Half::Morning),
    ("凌晨", Half::Morning),
    ("早上", Half::Morning),
    ("下午", Half::Afternoon),
    ("晚上", Half::Afternoon),
    ("中午", Half::Afternoon),
    ("午前", Half::Morning),
    ("午後", Half::Afternoon),
    ("오전", Half::Morning),
    ("오후", Half::Afternoon),
    ("πμ", Half::Morning),
    ("μμ", Half::Afternoon),
    ("ص", Half::Morning),
    ("م", Half::Afternoon),
    ("öö", Half::Morning),
    ("ös", Half::Afternoon),
];

/// Longest text between date and time, in characters: `, `, ` klo `, ` um `, ` 下午`.
const BETWEEN_CHARS_MAX: usize = 12;

/// Longest name of a speaker before the colon, in characters.
const SPEAKER_CHARS_MAX: usize = 80;

/// The header of a line; `None` if the line continues a message.
pub(super) fn header_of(line: &str) -> Option<Header<'_>> {
    let line = line.trim_start_matches(is_invisible_mark);
    let (line, is_bracketed) = line.strip_prefix('[').map_or((line, false), |line| (line, true));
    let (date, line) = date_parts(line)?;
    let (before, line) = until_digit(line)?;
    let (mut clock, line) = clock(line)?;
    let (half, line) = half_after(line);
    clock.half = half.or_else(|| half_named(before));
    if clock.hour > 23 || clock.half.is_some() && clock.hour > 12 {
        return None;
    }
    let line = if is_bracketed {
        line.trim_start().strip_prefix(']')?
    } else {
        let line = line.trim_start_matches(is_blank);
        line.strip_prefix('-').or_else(|| line.strip_prefix('–'))?.strip_prefix(is_blank)?
    };
    let rest = line.trim_start_matches(|character| is_blank(character) || is_invisible_mark(character));
    Some(Header { date, clock, rest: rest_of(rest) })
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\u{A0}' | '\u{202F}' | '\t')
}

/// Three numbers with one to three characters between them that are no digits.
fn date_parts(line: &str) -> Option<(DateParts, &str)> {
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

/// A number of one to four digits, of any script that WhatsApp writes them in.
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

/// What is between date and time, and the line from the time on.
fn until_digit(line: &str) -> Option<(&str, &str)> {
    let (at, _) = line
        .char_indices()
        .take(BETWEEN_CHARS_MAX)
        .find(|(_, character)| digit_value(*character).is_some())?;
    (at > 0).then(|| line.split_at(at))
}

fn clock(line: &str) -> Option<(Clock, &str)> {
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

/// The half of the day after the time, if one is named there.
fn half_after(line: &str) -> (Option<Half>, &str) {
    let trimmed = line.trim_start_matches(|character| is_blank(character) || is_invisible_mark(character));
    let end = trimmed.find([']', '-', '–']).unwrap_or(trimmed.len());
    match half_named(&trimmed[..end]) {
        Some(half) => (Some(half), &trimmed[end..]),
        None => (None, line),
    }
}

/// The half that a short text names and nothing else.
fn half_named(text: &str) -> Option<Half> {
    if text.len() > 32 {
        return None;
    }
    let folded: String = text.to_lowercase().chars().filter(|character| character.is_alphabetic()).collect();
    HALVES.iter().find(|(word, _)| folded == *word).map(|(_, half)| *half)
}

fn rest_of(rest: &str) -> Rest<'_> {
    let split = rest.split_once(": ").or_else(|| rest.strip_suffix(':').map(|speaker| (speaker, "")));
    let Some((speaker, text)) = split else { return Rest::Notice };
    // A notice that quotes a name or a number of words: "Ann changed the subject to “a: b”".
    let is_name = !speaker.trim().is_empty()
        && speaker.chars().count() <= SPEAKER_CHARS_MAX
        && !speaker.contains(['"', '“', '”', '„', '«']);
    if is_name { Rest::Message { speaker, text } } else { Rest::Notice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_both_platforms_are_read() {
        for (line, numbers, time) in [
            ("[05.01.24, 10:30:12] Ann: hi", [5, 1, 24], "10:30:12"),
            ("\u{200E}[1/5/24, 10:30:12\u{202F}PM] Ann: hi", [1, 5, 24], "22:30:12"),
            ("1/5/24, 12:05 AM - Ann: hi", [1, 5, 24], "00:05:00"),
            ("05/01/2024, 22:30 - Ann: hi", [5, 1, 2024], "22:30:00"),
            ("5/1/24 10:30 p. m. - Ann: hi", [5, 1, 24], "22:30:00"),
            ("2024-01-05, 10:30 a.m. - Ann: hi", [2024, 1, 5], "10:30:00"),
            ("[12.3.2022 klo 14.08.18] Ann: hi", [12, 3, 2022], "14:08:18"),
            ("[2024/1/5 下午10:30:12] Ann: hi", [2024, 1, 5], "22:30:12"),
            ("2024年1月5日 上午9:05 - Ann: hi", [2024, 1, 5], "09:05:00"),
            ("2024. 1. 5. 오후 3:21 - Ann: hi", [2024, 1, 5], "15:21:00"),
            ("05/01/2024 à 14:12 - Ann: hi", [5, 1, 2024], "14:12:00"),
            ("[٥/١/٢٠٢٤، ١٠:٣٠:١٢ م] Ann: hi", [5, 1, 2024], "22:30:12"),
        ] {
            let header = header_of(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(header.date.numbers, numbers, "{line}");
            assert_eq!(header.clock.time().to_string(), time, "{line}");
            assert_eq!(header.rest, Rest::Message { speaker: "Ann", text: "hi" }, "{line}");
        }
    }

    #[test]
    fn other_lines_continue_a_message() {
        for line in [
            "hello",
            "12:30 is fine",
            "1/5/24 was nice - Ann: no",
            "[1/5/24, 10:30 Ann: hi",
            "1/5/24, 25:30 - A: b",
            "",
        ] {
            assert_eq!(header_of(line), None, "{line}");
        }
        let notice = header_of("1/5/24, 10:30 - Ann changed the subject to “a: b”").unwrap();
        assert_eq!(notice.rest, Rest::Notice);
    }
}
