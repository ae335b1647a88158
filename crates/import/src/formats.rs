//! The table of all formats, and what their readers share.

mod building;
mod digests;
mod dates;
mod branches;
mod listed;
mod png;
mod records;
mod chatgpt;
mod claude;
mod sillytavern;
mod statements;
mod card_json;
mod character_card;
mod lorebook;
mod whatsapp;
mod telegram;
mod discord;
mod facebook;
mod messengers;
mod ordering;
mod openclaw;
mod openclaw_session;
mod wechat;
mod wechat_html;
mod signal;
mod json_lines;
mod librechat;
mod csv_table;
mod transcript;
mod document;
mod own_words;

use std::collections::VecDeque;
use std::io;

use crate::error::ImportError;
use crate::field_names::FieldNames;
use crate::head::Head;
use crate::item::Item;
use crate::json::{EnteredValue, JsonReader, RawValue};
use crate::sources::{Source, Sources};

pub(crate) use character_card::from_json as card_of_json;
pub(crate) use lorebook::raw_entries;
pub(crate) use png::Png;

/// A supported export format.
#[derive(Clone, Copy)]
pub struct Format {
    /// Name on the command line and in a preview.
    pub id: &'static str,
    /// Name for a person.
    pub name: &'static str,
    /// True if the file has the format, judged by its head and, if the format depends on names, by the files beside
    /// it.
    detect: fn(&ReaderContext<'_>) -> bool,
    /// Starts to read a file.
    pub(crate) open: fn(&ReaderContext<'_>) -> Result<Reader, ImportError>,
}

/// Reads the items of one file. An error of [`crate::head::is_damage`] ends the file as a skip.
pub(crate) type Reader = Box<dyn Iterator<Item = io::Result<Item>> + Send>;

/// A reader that finds several items at a time.
pub(crate) trait Step: Send {
    /// Reads on and adds the items found; false at the end. One call reads at most one element, line or record.
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool>;
}

/// The items of a stepwise reader.
pub(crate) fn reader_of_steps(step: impl Step + 'static) -> Reader {
    Box::new(SteppedItems { step, pending: VecDeque::new(), is_over: false, error: None })
}

struct SteppedItems<S> {
    step: S,
    pending: VecDeque<Item>,
    is_over: bool,
    error: Option<io::Error>,
}

impl<S: Step> Iterator for SteppedItems<S> {
    type Item = io::Result<Item>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.pending.is_empty() && !self.is_over {
            match self.step.read_step(&mut self.pending) {
                Ok(goes_on) => self.is_over = !goes_on,
                Err(error) => {
                    self.is_over = true;
                    self.error = Some(error);
                }
            }
        }
        // Items found before the error come first.
        self.pending.pop_front().map(Ok).or_else(|| self.error.take().map(Err))
    }
}

/// Inputs of every reader.
pub(crate) struct ReaderContext<'a> {
    /// All files of the import, for formats whose files belong together.
    pub(crate) sources: &'a Sources,
    pub(crate) source: &'a Source,
    pub(crate) head: &'a Head,
    /// Fields that a person has mapped.
    pub(crate) fields: &'a FieldNames,
}

/// Formats in the order of detection: those with the clearest features first, the generic ones last.
const FORMATS: &[Format] = &[
    chatgpt::FORMAT,
    claude::FORMAT,
    librechat::FORMAT,
    sillytavern::FORMAT,
    character_card::FORMAT,
    lorebook::FORMAT,
    facebook::FORMAT,
    telegram::FORMAT,
    discord::EXPORTER_FORMAT,
    discord::PACKAGE_FORMAT,
    signal::FORMAT,
    wechat::FORMAT,
    wechat::CSV_FORMAT,
    wechat_html::FORMAT,
    whatsapp::FORMAT,
    openclaw::FORMAT,
    openclaw_session::FORMAT,
    json_lines::FORMAT,
    json_lines::JSON_FORMAT,
    csv_table::FORMAT,
    transcript::FORMAT,
    document::FORMAT,
    own_words::FORMAT,
];

/// The generic format for a file whose fields were mapped by a person.
pub(crate) fn generic_format(context: &ReaderContext<'_>) -> Option<&'static Format> {
    Some(match &context.head.json {
        Some(json) if json.is_array || !json.has_more_values && !json.inner.is_empty() => {
            &json_lines::JSON_FORMAT
        }
        Some(_) => &json_lines::FORMAT,
        None => &csv_table::FORMAT,
    })
}

/// Names of the fields of a JSON or CSV file, so that a person can map them.
pub(crate) fn field_names_of(head: &Head) -> Vec<String> {
    match &head.json {
        Some(json) => {
            let inner = json
                .inner
                .iter()
                .flat_map(|(key, names)| names.iter().map(move |name| format!("{key}.{name}")));
            json.keys.iter().cloned().chain(inner).collect()
        }
        None => csv_table::column_names(head).unwrap_or_default(),
    }
}

/// Maximum length of a field's sample value, in characters. It shows the kind of value in one line of a list.
const FIELD_SAMPLE_LENGTH: usize = 60;

/// Sample values of these fields, from the file's first message; empty for a field without a text or number.
pub(crate) fn field_samples_of(head: &Head, fields: &[String]) -> Vec<String> {
    let sample = |value: &str| -> String {
        let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(FIELD_SAMPLE_LENGTH).collect()
    };
    let Some(outline) = &head.json else {
        let first = csv_table::first_row(head).unwrap_or_default();
        return fields
            .iter()
            .zip(first.iter().map(String::as_str).chain(std::iter::repeat("")))
            .map(|(_, value)| sample(value))
            .collect();
    };
    let first = first_value(head, outline.is_array).unwrap_or_default();
    let value_of = |field: &String| {
        let mut value = Some(&first);
        for key in field.split('.') {
            value = value.map(|value| value.get(0).unwrap_or(value)).and_then(|value| value.get(key));
        }
        match value {
            Some(serde_json::Value::String(text)) => sample(text),
            Some(serde_json::Value::Number(number)) => number.to_string(),
            _ => String::new(),
        }
    };
    fields.iter().map(value_of).collect()
}

/// The first value of a file: its first message, or the object around all of them. `None` if it is longer than the
/// head of the file.
fn first_value(head: &Head, is_array: bool) -> Option<serde_json::Value> {
    let mut json = JsonReader::new(head.text.as_bytes());
    if is_array && !(json.enter_array().ok()? && json.next_element(&mut EnteredValue::default()).ok()?) {
        return None;
    }
    match json.read_raw(head.text.len()).ok()? {
        RawValue::Whole(bytes) => serde_json::from_slice(&bytes).ok(),
        RawValue::Refused(_) => None,
    }
}

/// Every format, in the order of detection.
pub fn formats() -> &'static [Format] {
    FORMATS
}

/// The format of this id.
pub(crate) fn by_id(id: &str) -> Result<&'static Format, ImportError> {
    FORMATS.iter().find(|format| format.id == id).ok_or_else(|| ImportError::UnknownFormat {
        name: id.to_owned(),
        known: FORMATS.iter().map(|format| format.id).collect(),
    })
}

impl Format {
    /// The first format that matches.
    pub(crate) fn detect(context: &ReaderContext<'_>) -> Option<&'static Self> {
        FORMATS.iter().find(|format| (format.detect)(context))
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.id)
    }
}

/// A reader of one item.
pub(crate) fn single_item_reader(item: Item) -> Reader {
    Box::new(std::iter::once(Ok(item)))
}

/// The reason why a file without a format is skipped.
pub(crate) fn reason_unread(context: &ReaderContext<'_>) -> String {
    let bytes = &context.head.bytes;
    let head = context.head;
    let is_account =
        head.has_keys(&["email"]) || head.has_keys(&["email_address"]) || head.has_keys(&["phone_number"]);
    if is_account
        || head.has_keys(&["conversation_id", "rating"])
        || head.has_keys(&["conversation_id", "is_anonymous"])
    {
        return "it is a part of the export without messages".to_owned();
    }
    let reason = match bytes.as_slice() {
        [] => "the file is empty",
        [0x89, b'P', b'N', b'G', ..] | [0xFF, 0xD8, 0xFF, ..] | [b'G', b'I', b'F', b'8', ..] => {
            "it is a picture; the message that contains it mentions it"
        }
        [b'R', b'I', b'F', b'F', ..] | [b'O', b'g', b'g', b'S', ..] | [b'I', b'D', b'3', ..] => {
            "it is sound, video or a picture; the message that contains it mentions it"
        }
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => {
            "it is video or sound; the message that contains it \
            mentions it"
        }
        [b'%', b'P', b'D', b'F', ..] => "it is a PDF; convert it to text to import it as a document",
        [b'S', b'Q', b'L', b'i', b't', b'e', b' ', ..] => {
            "it is a database; import the database of the Python EchoVessel on the command line, with \
                `echovessel import memory.db`"
        }
        _ if bytes.contains(&0) => "it is not text",
        _ => "unknown file format; choose a format to read it anyway",
    };
    reason.to_owned()
}
