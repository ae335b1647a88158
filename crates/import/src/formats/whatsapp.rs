//! WhatsApp's `_chat.txt`: one line per message, in the format of the phone's language, with further lines for its
//! text.

mod header;
mod placeholders;

use std::collections::{BTreeSet, VecDeque};
use std::io;

use super::building::{begin_conversation, build_message, check_message, is_invisible_mark, speaker_name};
use super::dates::{DateOrder, OrderEvidence};
use super::digests::{DigestIds, stable_id};
use super::{Format, Reader, ReaderContext, Step, reader_of_steps};
use crate::error::ImportError;
use crate::item::{Item, Message, Role, Skip};
use crate::limits::{LINE_BYTES_MAX, MESSAGE_BYTES_MAX};
use crate::lines::{Line, Lines, too_long};
use crate::message_time::MessageTime;
use crate::sources::DecodedReader;

use header::{Header, HeaderRest, parse_header};

pub(super) const FORMAT: Format = Format { id: "whatsapp", name: "WhatsApp chat", detect: is_whatsapp, open };

/// Lines of the head to examine. A first message may have many lines.
const DETECTION_LINES: usize = 50;

fn is_whatsapp(context: &ReaderContext<'_>) -> bool {
    if context.head.json.is_some() && !context.head.text.trim_start().starts_with('[') {
        return false;
    }
    let lines: Vec<&str> = context.head.complete_lines().take(DETECTION_LINES).collect();
    let headers: Vec<Header<'_>> = lines.iter().filter_map(|line| parse_header(line)).collect();
    let first = lines.iter().find(|line| !line.trim().is_empty());
    let has_speaker = headers.iter().any(|header| matches!(header.rest, HeaderRest::Message { .. }));
    first.is_some_and(|line| parse_header(line).is_some()) && has_speaker
}

fn open(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    let survey = FileSurvey::from_lines(Lines::new(context.source.open_text()?, LINE_BYTES_MAX))
        .map_err(ImportError::io(context.source.name()))?;
    let title = chat_name(context.source.name());
    // A chat of two is identified by its speakers, because an export without media begins later than one with media.
    // A group is identified by its first line, because its members change.
    let id = if survey.speakers.len() <= 2 {
        let names: Vec<&str> = survey.speakers.iter().map(String::as_str).collect();
        stable_id(&names)
    } else {
        stable_id(&[survey.first_line.as_deref().unwrap_or_default()])
    };
    Ok(reader_of_steps(Chat {
        lines: Lines::new(context.source.open_text()?, LINE_BYTES_MAX),
        name: context.source.name().to_owned(),
        order: survey.evidence.order(),
        id,
        title,
        has_begun: false,
        ids: DigestIds::default(),
        open_message: None,
    }))
}

/// The chat's name in the name of the export: `WhatsApp Chat with Ann.txt`, `WhatsApp Chat - Ann.zip/_chat.txt`.
fn chat_name(name: &str) -> Option<String> {
    name.rsplit('/').find_map(|part| {
        let stem = part.trim_end_matches(".txt").trim_end_matches(".zip");
        let chat = ["WhatsApp Chat with ", "WhatsApp Chat - ", "WhatsApp-Chat mit ", "Chat de WhatsApp con "];
        chat.iter().find_map(|start| stem.strip_prefix(start)).map(str::to_owned)
    })
}

/// Facts about the whole file that its first message depends on.
#[derive(Default)]
struct FileSurvey {
    evidence: OrderEvidence,
    speakers: BTreeSet<String>,
    first_line: Option<String>,
}

impl FileSurvey {
    fn from_lines(mut lines: Lines<DecodedReader>) -> io::Result<Self> {
        let mut survey = Self::default();
        loop {
            match lines.next_line() {
                Ok(None) => return Ok(survey),
                Ok(Some(Line::TooLong { .. })) => {}
                Ok(Some(Line::Text { text, .. })) => {
                    let Some(header) = parse_header(&text) else { continue };
                    survey.evidence.add(&header.date, header.clock.is_twelve_hour());
                    if let HeaderRest::Message { speaker, .. } = header.rest
                        && survey.speakers.len() < 3
                    {
                        survey.speakers.insert(speaker_name(speaker));
                    }
                    survey.first_line.get_or_insert(text);
                }
                // The reader finds the damage again, after the readable part.
                Err(error) if crate::head::is_damage(&error) => return Ok(survey),
                Err(error) => return Err(error),
            }
        }
    }
}

struct Chat {
    lines: Lines<DecodedReader>,
    name: String,
    order: DateOrder,
    id: String,
    title: Option<String>,
    has_begun: bool,
    ids: DigestIds,
    /// The message or notice that further lines continue.
    open_message: Option<PendingMessage>,
}

enum PendingMessage {
    Message { speaker: String, time: MessageTime, text: String, is_cleaned: bool, place: String },
    Notice { place: String },
    TooLong { place: String },
}

impl Step for Chat {
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        if !std::mem::replace(&mut self.has_begun, true) {
            items.push_back(begin_conversation(&self.id, self.title.as_deref()));
        }
        match self.lines.next_line()? {
            None => {
                self.close(items);
                return Ok(false);
            }
            Some(Line::TooLong { number }) => {
                self.close(items);
                items.push_back(too_long(&self.name, number));
            }
            Some(Line::Text { number, text, is_cleaned }) => match parse_header(&text) {
                Some(header) => {
                    self.close(items);
                    self.open_message = Some(self.pending_message(&header, number, is_cleaned));
                }
                None => self.continue_message(&text, number, is_cleaned, items),
            },
        }
        Ok(true)
    }
}

impl Chat {
    fn pending_message(&self, header: &Header<'_>, number: u64, is_cleaned: bool) -> PendingMessage {
        let place = format!("{}, line {number}", self.name);
        let local = self.order.date(&header.date).map(|date| date.to_datetime(header.clock.time()));
        match header.rest {
            HeaderRest::Notice => PendingMessage::Notice { place },
            HeaderRest::Message { speaker, text } => PendingMessage::Message {
                speaker: speaker_name(speaker),
                time: local.map_or(MessageTime::Unknown, MessageTime::Local),
                text: text.to_owned(),
                is_cleaned,
                place,
            },
        }
    }

    fn continue_message(
        &mut self,
        line: &str,
        number: u64,
        line_is_cleaned: bool,
        items: &mut VecDeque<Item>,
    ) {
        match &mut self.open_message {
            Some(PendingMessage::Message { text, is_cleaned, place, .. }) => {
                if text.len() + line.len() > MESSAGE_BYTES_MAX {
                    self.open_message = Some(PendingMessage::TooLong { place: std::mem::take(place) });
                    return;
                }
                text.push('\n');
                text.push_str(line);
                *is_cleaned |= line_is_cleaned;
            }
            Some(PendingMessage::Notice { .. } | PendingMessage::TooLong { .. }) => {}
            None if line.trim_matches(|c: char| c.is_whitespace() || is_invisible_mark(c)).is_empty() => {}
            None => {
                let place = format!("{}, line {number}", self.name);
                items.push_back(Item::Skip(Skip::new(place, "no message begins before it")));
            }
        }
    }

    fn close(&mut self, items: &mut VecDeque<Item>) {
        let item = match self.open_message.take() {
            None => return,
            Some(PendingMessage::Notice { place }) => {
                Item::Skip(Skip::new(place, "it is a notice of the program, not a message"))
            }
            Some(PendingMessage::TooLong { place }) => {
                Item::Skip(Skip::new(place, format!("the message is longer than {MESSAGE_BYTES_MAX} bytes")))
            }
            Some(PendingMessage::Message { speaker, time, text, is_cleaned, place }) => {
                self.finish_message(&speaker, time, text, is_cleaned, place)
            }
        };
        items.push_back(item);
    }

    fn finish_message(
        &mut self,
        speaker: &str,
        time: MessageTime,
        text: String,
        is_cleaned: bool,
        place: String,
    ) -> Item {
        if placeholders::is_deleted(&text) {
            return Item::Skip(Skip::new(place, "its sender deleted it"));
        }
        let id = self.ids.next_id(&self.id, speaker, time, &text);
        let (text, attachment) = placeholders::split_file(text);
        if attachment.is_none() && placeholders::is_notice(&text) {
            return Item::Skip(Skip::new(place, "it is a notice of the program, not a message"));
        }
        let mut message: Message = build_message(id, &self.id, (speaker, Role::Other), time, text, place);
        message.attachments.extend(attachment);
        message.is_cleaned = is_cleaned;
        check_message(message)
    }
}
