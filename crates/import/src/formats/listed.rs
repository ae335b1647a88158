//! JSON files with one long list of messages or conversations, as one value or line by line. One element is held at a
//! time.

use std::collections::VecDeque;
use std::io::{self, Read};

use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Deserializer};
use serde_json::Value;

use super::{Reader, ReaderContext, Step, reader_of_steps};
use crate::error::ImportError;
use crate::item::{Item, Skip};
use crate::json::{EnteredValue, JsonReader, RawValue, parse_refusal, without_lone_surrogates};
use crate::limits::ELEMENT_BYTES_MAX;
use crate::lines::{Line, Lines, clean_text};
use crate::sources::{DecodedReader, Source};

/// Handles the parts of a format whose files have a list of elements.
pub(super) trait ListedFormat: Send {
    /// True if the array under this key of the root object is the list. A root that is an array always is.
    fn is_list(&self, _key: &str) -> bool {
        false
    }

    /// Handles a field of the root object.
    fn read_field(&mut self, _key: &str, _value: &Value) {}

    /// True if a field that the list's elements need was not read yet. Publishers write it before the list. If
    /// another program has moved it behind the list, the file is read twice.
    fn lacks_field(&self) -> bool {
        false
    }

    /// Handles an element of the list.
    fn read_element(&mut self, element: Element<'_>, items: &mut VecDeque<Item>);

    /// Handles the end of a root object without a list. Its fields were handled one by one.
    fn read_end(&mut self, _items: &mut VecDeque<Item>) {}
}

/// One element of a list.
pub(super) struct Element<'a> {
    pub(super) json: &'a [u8],
    /// True if bytes that are not UTF-8 were replaced.
    pub(super) is_cleaned: bool,
    /// File and number of the element, from 1.
    pub(super) place: String,
}

impl Element<'_> {
    /// Parses the element; the error is a skip with the reason.
    pub(super) fn parse<'de, T: serde::Deserialize<'de>>(&'de self) -> Result<T, Item> {
        serde_json::from_slice(self.json).map_err(|error| {
            Item::Skip(Skip::new(&self.place, format!("it is not in the expected form: {error}")))
        })
    }
}

/// Deserializes a field, but treats a value of an unexpected form as missing, so that one odd value does not lose a
/// conversation.
pub(super) fn deserialize_lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Maximum bytes of a field beside the list; a longer one is ignored.
const FIELD_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Starts to read the file.
pub(super) fn open(
    context: &ReaderContext<'_>,
    format: impl ListedFormat + 'static,
) -> Result<Reader, ImportError> {
    Ok(reader_of_steps(ListReader {
        json: JsonReader::new(context.source.open_text()?),
        source: context.source.clone(),
        format,
        place: ListPosition::Start,
        number: 0,
        has_read_fields: false,
    }))
}

/// Starts to read a file with one element on each line; places name the line.
pub(super) fn open_lines(
    context: &ReaderContext<'_>,
    format: impl ListedFormat + 'static,
) -> Result<Reader, ImportError> {
    let lines = Lines::new(context.source.open_text()?, ELEMENT_BYTES_MAX);
    Ok(reader_of_steps(ListedLines { lines, name: context.source.name().to_owned(), format }))
}

struct ListedLines<F> {
    lines: Lines<DecodedReader>,
    name: String,
    format: F,
}

impl<F: ListedFormat> Step for ListedLines<F> {
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        match self.lines.next_line()? {
            None => return Ok(false),
            Some(Line::TooLong { number }) => {
                let place = format!("{}, line {number}", self.name);
                let reason = format!("the line is longer than {ELEMENT_BYTES_MAX} bytes");
                items.push_back(Item::Skip(Skip::new(place, reason)));
            }
            Some(Line::Text { text, .. }) if text.trim().is_empty() => {}
            Some(Line::Text { number, text, is_cleaned }) => {
                let place = format!("{}, line {number}", self.name);
                if let Some(reason) = parse_refusal(text.as_bytes()) {
                    items.push_back(Item::Skip(Skip::new(place, reason)));
                    return Ok(true);
                }
                let (text, is_repaired) = without_lone_surrogates(text);
                let is_cleaned = is_cleaned || is_repaired;
                self.format.read_element(Element { json: text.as_bytes(), is_cleaned, place }, items);
            }
        }
        Ok(true)
    }
}

enum ListPosition {
    Start,
    /// An element of a list, with the object around it if there is one.
    List(EnteredValue, Option<EnteredValue>),
    Object(EnteredValue),
    End,
}

struct ListReader<F> {
    json: JsonReader<DecodedReader>,
    source: Source,
    format: F,
    place: ListPosition,
    number: u64,
    /// True if the file was read for its fields already.
    has_read_fields: bool,
}

impl<F: ListedFormat> Step for ListReader<F> {
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        self.place = match std::mem::replace(&mut self.place, ListPosition::End) {
            ListPosition::Start if self.json.enter_array()? => {
                ListPosition::List(EnteredValue::default(), None)
            }
            ListPosition::Start if self.json.enter_object()? => ListPosition::Object(EnteredValue::default()),
            ListPosition::Start => return Err(self.json.invalid_json("neither a list nor an object")),
            ListPosition::List(mut list, object) => {
                if self.json.next_element(&mut list)? {
                    self.read_list_element(items)?;
                    ListPosition::List(list, object)
                } else {
                    object.map_or(ListPosition::End, ListPosition::Object)
                }
            }
            ListPosition::Object(object) => self.field(object, items)?,
            ListPosition::End => {
                if self.json.peek_byte()?.is_some() {
                    let reason = "more follows the first JSON value; it was not read";
                    items.push_back(Item::Skip(Skip::new(self.source.name(), reason)));
                }
                return Ok(false);
            }
        };
        Ok(true)
    }
}

impl<F: ListedFormat> ListReader<F> {
    fn read_list_element(&mut self, items: &mut VecDeque<Item>) -> io::Result<()> {
        self.number += 1;
        let place = format!("{}, element {}", self.source.name(), self.number);
        match self.json.read_raw(ELEMENT_BYTES_MAX)? {
            RawValue::Whole(bytes) => {
                let (text, is_cleaned) = clean_text(bytes);
                let (text, is_repaired) = without_lone_surrogates(text);
                let is_cleaned = is_cleaned || is_repaired;
                self.format.read_element(Element { json: text.as_bytes(), is_cleaned, place }, items);
            }
            RawValue::Refused(reason) => items.push_back(Item::Skip(Skip::new(place, reason))),
        }
        Ok(())
    }

    fn field(&mut self, mut object: EnteredValue, items: &mut VecDeque<Item>) -> io::Result<ListPosition> {
        let Some(key) = self.json.next_key(&mut object)? else {
            self.format.read_end(items);
            return Ok(ListPosition::End);
        };
        if self.format.is_list(&key) && self.json.enter_array()? {
            if self.format.lacks_field() && !std::mem::replace(&mut self.has_read_fields, true) {
                self.read_fields()?;
            }
            return Ok(ListPosition::List(EnteredValue::default(), Some(object)));
        }
        write_field(&mut self.json, &mut self.format, &key)?;
        Ok(ListPosition::Object(object))
    }

    /// Reads all fields of the root object, skipping the lists.
    fn read_fields(&mut self) -> io::Result<()> {
        let text = self.source.open_text().map_err(io::Error::other)?;
        let mut json = JsonReader::new(text);
        let mut object = EnteredValue::default();
        json.enter_object()?;
        // If the file is cut off, reading the list reaches the same place.
        while let Ok(Some(key)) = json.next_key(&mut object) {
            let read = if self.format.is_list(&key) {
                json.skip()
            } else {
                write_field(&mut json, &mut self.format, &key)
            };
            if read.is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn write_field<R: Read>(
    json: &mut JsonReader<R>,
    format: &mut impl ListedFormat,
    key: &str,
) -> io::Result<()> {
    if let RawValue::Whole(bytes) = json.read_raw(FIELD_BYTES_MAX)?
        && let Ok(value) = serde_json::from_str(&clean_text(bytes).0)
    {
        format.read_field(key, &value);
    }
    Ok(())
}

/// The string under a key.
pub(super) fn string_field<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The string or number under a key, as text.
pub(super) fn read_id(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}
