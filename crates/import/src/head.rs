//! The start of a file, by which its format is detected.

use std::io::{self, Read};

use crate::error::ImportError;
use crate::json::{EnteredValue, JsonReader};
use crate::limits::HEAD_BYTES;
use crate::sources::Source;

/// The beginning of a file, which is enough to recognise its format.
pub(crate) struct Head {
    /// The first bytes of the file, at most [`HEAD_BYTES`].
    pub(crate) bytes: Vec<u8>,
    /// The decoded text; bytes that are not UTF-8 are replaced.
    pub(crate) text: String,
    /// True if the file is longer than this head.
    pub(crate) is_cut: bool,
    /// The outline of its JSON, if it is JSON.
    pub(crate) json: Option<KeyOutline>,
}

/// Keys of the first JSON value, as far as the head reaches.
#[derive(Debug, Default)]
pub(crate) struct KeyOutline {
    /// True if the value is an array; then the keys are those of its first elements.
    pub(crate) is_array: bool,
    /// Keys in their order.
    pub(crate) keys: Vec<String>,
    /// Keys of the objects that are values, or of the first object in the arrays that are values.
    pub(crate) inner: Vec<(String, Vec<String>)>,
    /// True if the value is an array without elements.
    is_empty: bool,
    /// True if another value follows the first one: JSON Lines.
    pub(crate) has_more_values: bool,
}

/// Elements of an array whose keys are collected: the first may be unusual.
const ELEMENTS_MAX: usize = 20;

impl Head {
    pub(crate) fn read(source: &Source) -> Result<Self, ImportError> {
        let mut bytes = Vec::new();
        let limited = source.open()?.take(HEAD_BYTES as u64 + 1).read_to_end(&mut bytes);
        match limited {
            Ok(_) => {}
            // A damaged entry of an archive: the readable part shows the format, and the reader reports the damage.
            Err(error) if is_damage(&error) => {}
            Err(error) => return Err(ImportError::io(source.name())(error)),
        }
        let is_cut = bytes.len() > HEAD_BYTES;
        bytes.truncate(HEAD_BYTES);
        let mut text = Vec::new();
        match source.open_text()?.take(HEAD_BYTES as u64).read_to_end(&mut text) {
            Ok(_) => {}
            Err(error) if is_damage(&error) => {}
            Err(error) => return Err(ImportError::io(source.name())(error)),
        }
        let json = KeyOutline::from_text(&text);
        Ok(Self { bytes, text: String::from_utf8_lossy(&text).into_owned(), is_cut, json })
    }

    /// The complete lines of the head. If the whole file is in the head, its last line is complete even without a newline.
    pub(crate) fn complete_lines(&self) -> impl Iterator<Item = &str> {
        let whole =
            if self.is_cut { self.text.rfind('\n').unwrap_or(self.text.len()) } else { self.text.len() };
        self.text[..whole].lines()
    }

    /// True if the JSON has all these keys at its top (in its first element, if it is an array).
    pub(crate) fn has_keys(&self, keys: &[&str]) -> bool {
        self.json.as_ref().is_some_and(|outline| outline.has_top_keys(keys))
    }

    /// True if the JSON is an array of objects with all these keys.
    pub(crate) fn is_array_of(&self, keys: &[&str]) -> bool {
        self.json.as_ref().is_some_and(|outline| outline.is_array && outline.has_top_keys(keys))
    }

    /// True if the JSON is one object with all these keys.
    pub(crate) fn is_object_with(&self, keys: &[&str]) -> bool {
        self.json.as_ref().is_some_and(|outline| !outline.is_array && outline.has_top_keys(keys))
    }
}

impl KeyOutline {
    fn from_text(text: &[u8]) -> Option<Self> {
        if !matches!(text.iter().find(|byte| !byte.is_ascii_whitespace()), Some(b'{' | b'[')) {
            return None;
        }
        let mut outline = Self::default();
        let mut json = JsonReader::new(text);
        // The head may end anywhere: the outline has what was read until then.
        let _ended: io::Result<()> = outline.read_structure(&mut json);
        // `[2026-01-05 10:00] Ann: hello` begins like an array.
        (!outline.is_array || outline.is_empty || !outline.keys.is_empty()).then_some(outline)
    }

    fn read_structure(&mut self, json: &mut JsonReader<&[u8]>) -> io::Result<()> {
        self.is_array = json.enter_array()?;
        if !self.is_array {
            self.walk_object(json)?;
            self.has_more_values = json.peek_byte()? == Some(b'{');
            return Ok(());
        }
        let mut array = EnteredValue::default();
        for number in 0..ELEMENTS_MAX {
            if !json.next_element(&mut array)? {
                self.is_empty = number == 0;
                break;
            }
            match json.peek_byte()? {
                Some(b'{') => self.walk_object(json)?,
                // `[2026-01-05 10:00] Ann: hello` begins like an array.
                _ if number == 0 && json.peek_byte()?.is_some_and(|byte| byte.is_ascii_digit()) => break,
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    fn walk_object(&mut self, json: &mut JsonReader<&[u8]>) -> io::Result<()> {
        if !json.enter_object()? {
            return Ok(());
        }
        let mut object = EnteredValue::default();
        while let Some(key) = json.next_key(&mut object)? {
            if !self.keys.contains(&key) {
                self.keys.push(key.clone());
            }
            match json.peek_byte()? {
                Some(b'{') => self.read_inner_keys(json, key)?,
                Some(b'[') => self.walk_array(json, key)?,
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    fn walk_array(&mut self, json: &mut JsonReader<&[u8]>, key: String) -> io::Result<()> {
        json.enter_array()?;
        let mut array = EnteredValue::default();
        if json.next_element(&mut array)? {
            if json.peek_byte()? == Some(b'{') {
                self.read_inner_keys(json, key)?;
            } else {
                json.skip()?;
            }
            while json.next_element(&mut array)? {
                json.skip()?;
            }
        }
        Ok(())
    }

    fn read_inner_keys(&mut self, json: &mut JsonReader<&[u8]>, key: String) -> io::Result<()> {
        self.inner.push((key, Vec::new()));
        let at = self.inner.len() - 1;
        json.enter_object()?;
        let mut object = EnteredValue::default();
        while let Some(key) = json.next_key(&mut object)? {
            self.inner[at].1.push(key);
            json.skip()?;
        }
        Ok(())
    }

    pub(crate) fn has_top_keys(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.keys.iter().any(|own| own == key))
    }

    /// True if the value of `key` is an object, or an array of objects, with all these keys.
    pub(crate) fn inner_object_has_keys(&self, key: &str, keys: &[&str]) -> bool {
        self.inner
            .iter()
            .any(|(own, inner)| own == key && keys.iter().all(|key| inner.iter().any(|own| own == key)))
    }
}

/// True if the error is about the content rather than the file system.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof
    )
}
