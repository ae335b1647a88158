//! Generic conversations as text or Markdown: `Ann: hello`, `**Ann:** hello`, `[2026-01-05 10:00] Ann: hello`, with
//! further lines. Also the text exports of LINE, KakaoTalk and programs for iMessage ([`super::messengers`]).

use std::collections::{BTreeSet, VecDeque};
use std::io;

use jiff::civil::Date;

use super::building::{begin_conversation, build_message, check_message, role_from_word, speaker_name};
use super::dates::{DateOrder, OrderEvidence, WrittenTime};
use super::digests::{DigestIds, stable_id};
use super::messengers::{self, LineTime, MessengerLine};
use super::{Format, Reader, ReaderContext, Step, reader_of_steps};
use crate::error::ImportError;
use crate::item::{Item, Role, Skip};
use crate::limits::{LINE_BYTES_MAX, MESSAGE_BYTES_MAX};
use crate::lines::{Line, Lines, too_long};
use crate::message_time::MessageTime;
use crate::sources::DecodedReader;

pub(super) const FORMAT: Format =
    Format { id: "text", name: "conversation as text or Markdown", detect: is_transcript, open };

/// Maximum length of a speaker's name, in characters, and maximum words of it.
const SPEAKER_CHARS_MAX: usize = 40;
const SPEAKER_WORDS_MAX: usize = 4;

/// Lines of the head to examine, and maximum speakers in them.
const DETECTION_LINES: usize = 400;
const DETECTION_SPEAKERS_MAX: usize = 12;

/// The start of a message.
struct MessageStart<'a> {
    time: Option<WrittenTime>,
    speaker: &'a str,
    text: &'a str,
}

fn is_transcript(context: &ReaderContext<'_>) -> bool {
    if context.head.json.is_some() || context.head.bytes.contains(&0) && !is_utf16(&context.head.bytes) {
        return false;
    }
    if messengers::has_messages(context.head.complete_lines()) {
        return true;
    }
    let lines = context.head.complete_lines().filter(|line| !line.trim().is_empty()).take(DETECTION_LINES);
    let (mut all, mut starts) = (0usize, 0usize);
    let mut speakers = BTreeSet::new();
    for line in lines {
        all += 1;
        if let Some(start) = message_start(line) {
            starts += 1;
            speakers.insert(start.speaker.to_owned());
        }
    }
    // A conversation has few speakers with several messages each; a form or a list of terms has many names once each.
    starts >= 2
        && starts * 5 >= all * 2
        && speakers.len() <= DETECTION_SPEAKERS_MAX
        && speakers.len() * 3 <= starts * 2 + 2
}

pub(super) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF")
}

fn open(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    let order = date_order(Lines::new(context.source.open_text()?, LINE_BYTES_MAX))
        .map_err(ImportError::io(context.source.name()))?;
    Ok(reader_of_steps(Transcript {
        order,
        lines: Lines::new(context.source.open_text()?, LINE_BYTES_MAX),
        name: context.source.name().to_owned(),
        is_of_messenger: messengers::has_messages(context.head.complete_lines()),
        conversation: None,
        day: None,
        awaits_speaker: None,
        ids: DigestIds::default(),
        open_message: None,
    }))
}

/// The order of day, month and year in the whole file. Reading stops at the first time if that is unambiguous.
fn date_order(mut lines: Lines<DecodedReader>) -> io::Result<DateOrder> {
    let mut evidence = OrderEvidence::default();
    loop {
        match lines.next_line() {
            Ok(None) => break,
            Ok(Some(Line::TooLong { .. })) => {}
            Ok(Some(Line::Text { text, .. })) => match message_start(&text).and_then(|start| start.time) {
                Some(WrittenTime::Clear(_)) => break,
                Some(time) => time.add_evidence(&mut evidence),
                None => {}
            },
            // The reader finds the damage again, after the readable part.
            Err(error) if crate::head::is_damage(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(evidence.order())
}

struct Transcript {
    order: DateOrder,
    lines: Lines<DecodedReader>,
    name: String,
    /// True if only lines of [`messengers`] begin a message. `Note: buy milk` then continues one.
    is_of_messenger: bool,
    conversation: Option<String>,
    /// The day of the last heading with a day.
    day: Option<Date>,
    /// Time of a message whose speaker is in the next line.
    awaits_speaker: Option<MessageTime>,
    ids: DigestIds,
    open_message: Option<OpenMessage>,
}

struct OpenMessage {
    speaker: String,
    time: MessageTime,
    text: String,
    is_cleaned: bool,
    place: String,
}

impl Step for Transcript {
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        match self.lines.next_line()? {
            None => {
                self.close(items);
                return Ok(false);
            }
            Some(Line::TooLong { number }) => {
                self.close(items);
                items.push_back(too_long(&self.name, number));
            }
            Some(Line::Text { number, text, is_cleaned }) => {
                self.handle_line(&text, number, is_cleaned, items)
            }
        }
        Ok(true)
    }
}

impl Transcript {
    fn handle_line(&mut self, line: &str, number: u64, is_cleaned: bool, items: &mut VecDeque<Item>) {
        let place = format!("{}, line {number}", self.name);
        if self.is_of_messenger {
            return self.messenger_line(line, place, is_cleaned, items);
        }
        if let Some(start) = message_start(line) {
            self.close(items);
            let day = self.day.map_or(MessageTime::Unknown, |day| MessageTime::Local(day.at(12, 0, 0, 0)));
            self.open_message = Some(OpenMessage {
                speaker: speaker_name(start.speaker),
                time: start.time.map_or(day, |time| time.resolve(Some(self.order))),
                text: start.text.to_owned(),
                is_cleaned,
                place,
            });
            return;
        }
        if let Some(day) = heading_day(line) {
            self.close(items);
            self.day = Some(day);
            return;
        }
        self.continue_message(line, place, is_cleaned, items);
    }

    fn messenger_line(&mut self, line: &str, place: String, is_cleaned: bool, items: &mut VecDeque<Item>) {
        if !line.trim().is_empty()
            && let Some(time) = self.awaits_speaker.take()
        {
            let speaker = speaker_name(line.trim());
            self.open_message = Some(OpenMessage { speaker, time, text: String::new(), is_cleaned, place });
            return;
        }
        match messengers::read_line(line) {
            None => self.continue_message(line, place, is_cleaned, items),
            Some(read) => {
                self.close(items);
                match read {
                    MessengerLine::Day(day) => self.day = Some(day),
                    MessengerLine::Time(time) => self.awaits_speaker = Some(time),
                    MessengerLine::Notice => {
                        items.push_back(Item::Skip(Skip::new(
                            place,
                            "it is a notice of the program, not a message",
                        )));
                    }
                    MessengerLine::Message { time, speaker, text } => {
                        let time = match time {
                            LineTime::Whole(time) => time.resolve(None),
                            LineTime::OfDay(time) => self.day.map_or(MessageTime::Unknown, |day| {
                                MessageTime::Local(day.to_datetime(time))
                            }),
                        };
                        let (speaker, text) = (speaker_name(speaker), text.to_owned());
                        self.open_message = Some(OpenMessage { speaker, time, text, is_cleaned, place });
                    }
                }
            }
        }
    }

    /// Handles a line that starts no message: it continues the message before, if there is one.
    fn continue_message(&mut self, line: &str, place: String, is_cleaned: bool, items: &mut VecDeque<Item>) {
        match &mut self.open_message {
            Some(message) if message.text.len() + line.len() > MESSAGE_BYTES_MAX => {
                items.push_back(Item::Skip(Skip::new(&message.place, "the message is too long")));
                self.open_message = None;
            }
            Some(message) => {
                message.text.push('\n');
                message.text.push_str(line);
                message.is_cleaned |= is_cleaned;
            }
            None if line.trim().is_empty()
                || line.starts_with('#')
                || line.trim().chars().all(|c| "-*_=".contains(c)) => {}
            None => items.push_back(Item::Skip(Skip::new(place, "no message begins before it"))),
        }
    }

    fn close(&mut self, items: &mut VecDeque<Item>) {
        let Some(open) = self.open_message.take() else { return };
        let text = open.text.trim_start_matches('\n').trim_end();
        // LINE puts texts of several lines in quotes.
        let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let text =
            quoted.filter(|text| self.is_of_messenger && text.contains('\n')).unwrap_or(text).to_owned();
        let id = match &self.conversation {
            Some(id) => id.clone(),
            None => {
                let id = stable_id(&[&open.speaker, &open.time.to_string(), &text]);
                items.push_back(begin_conversation(&id, None));
                self.conversation = Some(id.clone());
                id
            }
        };
        let external = self.ids.next_id(&id, &open.speaker, open.time, &text);
        let role = role_from_word(&open.speaker).unwrap_or(Role::Other);
        let mut message = build_message(external, &id, (&open.speaker, role), open.time, text, open.place);
        message.is_cleaned = open.is_cleaned;
        items.push_back(check_message(message));
    }
}

/// Parses a time, bare or in brackets, then a name and a colon.
fn message_start(line: &str) -> Option<MessageStart<'_>> {
    let line = line.trim_start_matches(['>', '-', ' ']);
    let (time, rest) = leading_time(line);
    let rest = rest.trim_start();
    let marked = rest.strip_prefix("**").or_else(|| rest.strip_prefix("__"));
    let (speaker, text) = match marked {
        // `**Ann:** hello` and `**Ann**: hello`
        Some(marked) => {
            let (speaker, text) = marked.split_once("**").or_else(|| marked.split_once("__"))?;
            match speaker.strip_suffix([':', '：']) {
                Some(speaker) => (speaker, text),
                None => (speaker, text.strip_prefix([':', '：'])?),
            }
        }
        None => split_at_colon(rest)?,
    };
    let speaker = speaker.trim();
    let is_name = !speaker.is_empty()
        && speaker.chars().count() <= SPEAKER_CHARS_MAX
        && speaker.split_whitespace().count() <= SPEAKER_WORDS_MAX
        && speaker.chars().any(char::is_alphabetic)
        && !speaker.contains(['#', '`', '|', '(', '[', '<', '"', ',', '.', '?', '!', '，', '。'])
        && !matches!(speaker.to_ascii_lowercase().as_str(), "http" | "https" | "file");
    is_name.then(|| MessageStart { time, speaker, text: text.trim_start_matches([' ', '\t']) })
}

/// Splits at a colon that a space or the line's end follows, or at a full-width one.
fn split_at_colon(text: &str) -> Option<(&str, &str)> {
    let (at, colon) = text
        .char_indices()
        .take(SPEAKER_CHARS_MAX + 1)
        .find(|(_, character)| matches!(character, ':' | '：'))?;
    let rest = &text[at + colon.len_utf8()..];
    (colon == '：' || rest.is_empty() || rest.starts_with([' ', '\t'])).then_some((&text[..at], rest))
}

/// `[2026-01-05 10:00]`, `(5/1/2026, 10:00 PM)`, `2026-01-05 10:00 -`.
fn leading_time(line: &str) -> (Option<WrittenTime>, &str) {
    let known = |text: &str| Some(WrittenTime::from_text(text)).filter(|time| *time != WrittenTime::Unknown);
    for (opening, closing) in [('[', ']'), ('(', ')')] {
        if let Some((inner, rest)) = line.strip_prefix(opening).and_then(|line| line.split_once(closing))
            && inner.contains(['-', '/', '.'])
            && let Some(time) = known(inner)
        {
            return (Some(time), rest);
        }
    }
    let is_dated = |part: &&str| part.as_bytes()[0].is_ascii_digit() && part.contains(['-', '/']);
    for length in [25, 20, 19, 16] {
        if let Some(part) = line.get(..length).filter(is_dated)
            && let time @ (MessageTime::Instant(_) | MessageTime::Local(_)) = MessageTime::parse(part)
        {
            return (
                Some(WrittenTime::Clear(time)),
                line[length..].trim_start_matches([' ', '-', '|', '\t', ',']),
            );
        }
    }
    (None, line)
}

/// `# 2026-01-05`, `--- 2026-01-05 ---`, `2026-01-05`.
pub(super) fn heading_day(line: &str) -> Option<Date> {
    let text = line.trim_matches(|character: char| character.is_whitespace() || "#-=*".contains(character));
    (text.len() == 10).then(|| text.replace('/', "-").parse().ok()).flatten()
}
