//! The start of a message's line: `[05.01.24, 10:30:12] Ann: `, `1/5/24, 10:30 PM - Ann: `, `2024/1/5 下午10:30 - Ann:
//! `.

use crate::formats::building::is_invisible_mark;
use crate::formats::dates::{Clock, DateParts, clock_after, date_parts, is_blank};

/// A line that begins a message or notice.
#[derive(Debug, PartialEq)]
pub(super) struct Header<'a> {
    pub(super) date: DateParts,
    pub(super) clock: Clock,
    pub(super) rest: HeaderRest<'a>,
}

/// The text after the time.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeaderRest<'a> {
    Message {
        speaker: &'a str,
        text: &'a str,
    },
    /// A notice of WhatsApp.
    Notice,
}

/// Maximum length of a speaker's name before the colon, in characters. A colon further right belongs to the text.
const SPEAKER_CHARS_MAX: usize = 80;

/// The header of a line; `None` if the line continues a message.
pub(super) fn parse_header(line: &str) -> Option<Header<'_>> {
    let line = line.trim_start_matches(is_invisible_mark);
    let (line, is_bracketed) = line.strip_prefix('[').map_or((line, false), |line| (line, true));
    let (date, line) = date_parts(line)?;
    let (clock, line) = clock_after(line)?;
    let line = if is_bracketed {
        line.trim_start().strip_prefix(']')?
    } else {
        let line = line.trim_start_matches(is_blank);
        line.strip_prefix(['-', '–', ':'])?.strip_prefix(is_blank)?
    };
    let rest = line.trim_start_matches(|character| is_blank(character) || is_invisible_mark(character));
    Some(Header { date, clock, rest: parse_header_rest(rest) })
}

fn parse_header_rest(rest: &str) -> HeaderRest<'_> {
    let split = rest.split_once(": ").or_else(|| rest.strip_suffix(':').map(|speaker| (speaker, "")));
    let Some((speaker, text)) = split else { return HeaderRest::Notice };
    // A notice with a quoted name or text: "Ann changed the subject to “a: b”".
    let is_name = !speaker.trim().is_empty()
        && speaker.chars().count() <= SPEAKER_CHARS_MAX
        && !speaker.contains(['"', '“', '”', '„', '«']);
    if is_name { HeaderRest::Message { speaker, text } } else { HeaderRest::Notice }
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
            ("5.1.24 21.25.15: Ann: hi", [5, 1, 24], "21:25:15"),
            ("05/01/2024 à 14:12 - Ann: hi", [5, 1, 2024], "14:12:00"),
            ("[٥/١/٢٠٢٤، ١٠:٣٠:١٢ م] Ann: hi", [5, 1, 2024], "22:30:12"),
        ] {
            let header = parse_header(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(header.date.numbers, numbers, "{line}");
            assert_eq!(header.clock.time().to_string(), time, "{line}");
            assert_eq!(header.rest, HeaderRest::Message { speaker: "Ann", text: "hi" }, "{line}");
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
            assert_eq!(parse_header(line), None, "{line}");
        }
        let notice = parse_header("1/5/24, 10:30 - Ann changed the subject to “a: b”").unwrap();
        assert_eq!(notice.rest, HeaderRest::Notice);
    }
}
