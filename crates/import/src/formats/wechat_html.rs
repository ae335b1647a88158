//! MemoTrace's HTML: a page whose script contains a list of messages, each a small object in its own notation.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, BufReader};

use super::building::{attachment_from_path, begin_conversation, build_message, check_message};
use super::digests::{DigestIds, stable_id};
use super::{Format, Reader, ReaderContext, Step, reader_of_steps};
use crate::error::ImportError;
use crate::item::{Attachment, AttachmentKind, Item, Role, Skip};
use crate::limits::MESSAGE_BYTES_MAX;
use crate::lines::{clean_text, fill_buffer};
use crate::message_time::MessageTime;
use crate::sources::DecodedReader;

pub(super) const FORMAT: Format =
    Format { id: "wechat-html", name: "WeChat (MemoTrace HTML)", detect: is_page, open };

/// Maximum bytes of an object; its text may be twice its length because of escapes.
const OBJECT_BYTES_MAX: usize = MESSAGE_BYTES_MAX * 2;

fn is_page(context: &ReaderContext<'_>) -> bool {
    let text = &context.head.text;
    text.trim_start().starts_with('<')
        && ["chatMessages", "is_send", "avatar_path"].iter().all(|word| text.contains(word))
}

fn open(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    let text = &context.head.text;
    let title =
        text.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).map(|(title, _)| title);
    let title = title.map(|title| unescape_html(title.trim())).filter(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| context.source.stem().to_owned());
    Ok(reader_of_steps(Page {
        reader: BufReader::new(context.source.open_text()?),
        name: context.source.name().to_owned(),
        id: stable_id(&["memotrace", &title]),
        title,
        number: 0,
        ids: DigestIds::default(),
    }))
}

struct Page {
    reader: BufReader<DecodedReader>,
    name: String,
    id: String,
    title: String,
    /// Number of objects found so far.
    number: u64,
    ids: DigestIds,
}

impl Step for Page {
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        let object = match self.next_object()? {
            Object::None => {
                if self.number == 0 {
                    items.push_back(Item::Skip(Skip::new(&self.name, "the page has no messages")));
                }
                return Ok(false);
            }
            Object::Whole(bytes) => Some(clean_text(bytes)),
            Object::TooLong => None,
        };
        if self.number == 0 {
            items.push_back(begin_conversation(&self.id, Some(&self.title)));
        }
        self.number += 1;
        let place = format!("{}, message {}", self.name, self.number);
        match object {
            Some((text, is_cleaned)) => items.extend(self.read_item(&parse_fields(&text), is_cleaned, place)),
            None => items.push_back(Item::Skip(Skip::new(
                place,
                "the message is too long, or its closing quote is \
                    missing",
            ))),
        }
        Ok(true)
    }
}

enum Object {
    /// The text between `{` and `}`.
    Whole(Vec<u8>),
    TooLong,
    None,
}

impl Page {
    /// Finds the next object, which begins with its `type`.
    fn next_object(&mut self) -> io::Result<Object> {
        const OBJECT_MARK: &[u8] = b"type:";
        let mut matched: Option<usize> = None;
        let mut object = Vec::new();
        let mut length = 0usize;
        let (mut is_quoted, mut is_escaped) = (false, false);
        loop {
            let buffer = fill_buffer(&mut self.reader)?;
            if buffer.is_empty() {
                return Ok(if matched == Some(OBJECT_MARK.len()) { Object::TooLong } else { Object::None });
            }
            for (at, &byte) in buffer.iter().enumerate() {
                if matched != Some(OBJECT_MARK.len()) {
                    matched = match matched {
                        _ if byte == b'{' => Some(0),
                        Some(0) if byte.is_ascii_whitespace() => Some(0),
                        Some(done) if byte == OBJECT_MARK[done] => Some(done + 1),
                        _ => None,
                    };
                    if matched == Some(OBJECT_MARK.len()) {
                        object.extend_from_slice(OBJECT_MARK);
                    }
                    continue;
                }
                length += 1;
                let is_end = !is_quoted && byte == b'}' || length > OBJECT_BYTES_MAX;
                if is_end {
                    self.reader.consume(at + 1);
                    return Ok(if length > OBJECT_BYTES_MAX {
                        Object::TooLong
                    } else {
                        Object::Whole(object)
                    });
                }
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' if is_quoted => is_escaped = true,
                    b'\'' => is_quoted = !is_quoted,
                    _ => {}
                }
                object.push(byte);
            }
            let used = buffer.len();
            self.reader.consume(used);
        }
    }

    /// Parses one message. Times that the page shows between messages are dropped.
    fn read_item(
        &mut self,
        fields: &HashMap<String, String>,
        is_cleaned: bool,
        place: String,
    ) -> Option<Item> {
        let field = |key: &str| fields.get(key).map(String::as_str).unwrap_or_default();
        let text = unescape_html(field("text"));
        let kind = field("type");
        if kind == "0" {
            let is_divider = MessageTime::parse(&text) != MessageTime::Unknown;
            let notice = Skip::new(place, "it is a notice of the program, not a message");
            return (!is_divider).then_some(Item::Skip(notice));
        }
        let is_own = field("is_send") == "1";
        let name = unescape_html(field("displayname"));
        let speaker = match (name.is_empty(), is_own) {
            (false, _) => name,
            (true, true) => "我".to_owned(),
            (true, false) => self.title.clone(),
        };
        let seconds = field("timestamp").parse().ok();
        let time = seconds.map_or(MessageTime::Unknown, MessageTime::from_number);
        let (text, attachment) = content(kind, field("sub_type"), text, fields);
        let shown = attachment.as_ref().map(ToString::to_string).unwrap_or_default();
        let id = self.ids.next_id(&self.id, &speaker, time, &format!("{text}{shown}"));
        let role = if is_own { Role::User } else { Role::Other };
        let mut message = build_message(id, &self.id, (&speaker, role), time, text, place);
        message.attachments.extend(attachment);
        message.is_cleaned = is_cleaned;
        Some(check_message(message))
    }
}

/// The text and the file of a message of this type.
fn content(
    kind: &str,
    sub_kind: &str,
    text: String,
    fields: &HashMap<String, String>,
) -> (String, Option<Attachment>) {
    let field = |key: &str| fields.get(key).map(|value| unescape_html(value)).unwrap_or_default();
    let named = |kind: AttachmentKind, path: &str| {
        let name = attachment_from_path(path).name;
        Some(Attachment { kind, name })
    };
    match (kind, sub_kind) {
        ("3" | "47", _) => (String::new(), named(AttachmentKind::Image, &text)),
        ("34", _) => (field("voice_to_text"), named(AttachmentKind::Audio, &text)),
        ("43", _) => (String::new(), named(AttachmentKind::Video, &text)),
        ("49", "6") => (String::new(), named(AttachmentKind::File, &field("file_name"))),
        ("49", "3" | "5") => (field("title"), None),
        _ => (text, None),
    }
}

/// Parses `key:value` pairs; values are bare or in single quotes.
fn parse_fields(object: &str) -> HashMap<String, String> {
    let mut fields = HashMap::new();
    let mut rest = object;
    while let Some((key, after)) = rest.split_once(':') {
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('\'') {
            Some(quoted) => read_quoted(quoted),
            None => {
                let end = after.find(',').unwrap_or(after.len());
                (after[..end].trim().to_owned(), &after[end..])
            }
        };
        fields.insert(key.trim_matches([',', ' ', '\n', '\r', '\t']).to_owned(), value);
        rest = next;
    }
    fields
}

/// The text up to its closing quote with escapes resolved, and the rest.
fn read_quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' => return (value, &text[at + 1..]),
            '\\' => match characters.next().map(|(_, escaped)| escaped) {
                Some('n') => value.push('\n'),
                Some('r') => {}
                Some('t') => value.push('\t'),
                Some(escaped) => value.push(escaped),
                None => {}
            },
            character => value.push(character),
        }
    }
    (value, "")
}

/// The text with HTML escapes resolved.
fn unescape_html(html: &str) -> String {
    let broken = html.replace("<br>", "\n").replace("&emsp;", "\t");
    broken.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
