//! A streaming JSON reader: containers are entered, an element is held only up to a limit, the rest is skipped.
//! Invalid JSON is an [`io::ErrorKind::InvalidData`] with the position of the error.

use std::io::{self, BufRead, BufReader, Read};

use crate::limits::{ELEMENT_VALUES_MAX, JSON_DEPTH_MAX};
use crate::lines::fill_buffer;

/// Reads JSON value by value.
pub(crate) struct JsonReader<R> {
    reader: BufReader<R>,
    offset: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RawValue {
    Whole(Vec<u8>),
    /// Why the value was skipped.
    Refused(String),
}

/// The JSON text with lone surrogates (half an emoji, `\ud83d` without its other half) replaced, and true if there
/// were any. Programs that cut texts write them.
pub(crate) fn without_lone_surrogates(text: String) -> (String, bool) {
    let bytes = text.as_bytes();
    let mut lone: Vec<usize> = Vec::new();
    let mut at = 0;
    while at + 1 < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match (surrogate_at(bytes, at), surrogate_at(bytes, at + 6)) {
            (Some(Surrogate::High), Some(Surrogate::Low)) => at += 12,
            (Some(_), _) => {
                lone.push(at);
                at += 6;
            }
            (None, _) => at += 2,
        }
    }
    if lone.is_empty() {
        return (text, false);
    }
    let mut repaired = text.into_bytes();
    for at in lone {
        repaired[at..at + 6].copy_from_slice(br"\ufffd");
    }
    // Only ASCII was replaced by ASCII.
    (String::from_utf8(repaired).unwrap_or_default(), true)
}

#[derive(Clone, Copy)]
enum Surrogate {
    High,
    Low,
}

/// The surrogate that an escape names.
fn surrogate_at(bytes: &[u8], at: usize) -> Option<Surrogate> {
    let escape = bytes.get(at..at + 6)?.strip_prefix(br"\u")?;
    match u16::from_str_radix(std::str::from_utf8(escape).ok()?, 16).ok()? {
        0xD800..=0xDBFF => Some(Surrogate::High),
        0xDC00..=0xDFFF => Some(Surrogate::Low),
        _ => None,
    }
}

/// A container that was entered; true if a comma must precede its next element.
#[derive(Debug, Default)]
pub(crate) struct EnteredValue {
    has_elements: bool,
}

impl<R: Read> JsonReader<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(64 * 1024, reader), offset: 0 }
    }

    /// The first byte of the next token, not consumed; `None` at the end.
    pub(crate) fn peek_byte(&mut self) -> io::Result<Option<u8>> {
        loop {
            let buffer = fill_buffer(&mut self.reader)?;
            if buffer.is_empty() {
                return Ok(None);
            }
            match buffer.iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(at) => {
                    let byte = buffer[at];
                    self.consume_bytes(at);
                    return Ok(Some(byte));
                }
                None => {
                    let length = buffer.len();
                    self.consume_bytes(length);
                }
            }
        }
    }

    /// Enters an array; false if the next value is not one.
    pub(crate) fn enter_array(&mut self) -> io::Result<bool> {
        self.enter_container(b'[')
    }

    /// Enters an object; false if the next value is not one.
    pub(crate) fn enter_object(&mut self) -> io::Result<bool> {
        self.enter_container(b'{')
    }

    fn enter_container(&mut self, mark: u8) -> io::Result<bool> {
        let is_there = self.peek_byte()? == Some(mark);
        self.consume_bytes(usize::from(is_there));
        Ok(is_there)
    }

    /// Moves to the next element of an array; false at its end, which is consumed.
    pub(crate) fn next_element(&mut self, array: &mut EnteredValue) -> io::Result<bool> {
        self.advance(array, b']')
    }

    /// The next key of an object; its value comes next. `None` at its end, which is consumed.
    pub(crate) fn next_key(&mut self, object: &mut EnteredValue) -> io::Result<Option<String>> {
        if !self.advance(object, b'}')? {
            return Ok(None);
        }
        if self.peek_byte()? != Some(b'"') {
            return Err(self.invalid_json("a key in quotes is missing"));
        }
        let key = match self.read_raw(64 * 1024)? {
            RawValue::Whole(bytes) => {
                serde_json::from_slice(&bytes).map_err(|_| self.invalid_json("a key is not valid"))?
            }
            RawValue::Refused(_) => String::new(),
        };
        if self.peek_byte()? != Some(b':') {
            return Err(self.invalid_json("a colon is missing"));
        }
        self.consume_bytes(1);
        Ok(Some(key))
    }

    fn advance(&mut self, container: &mut EnteredValue, end: u8) -> io::Result<bool> {
        let mut next = self.peek_byte()?;
        if container.has_elements && next == Some(b',') {
            self.consume_bytes(1);
            next = self.peek_byte()?;
            // A trailing comma is a common error in hand-made files and harmless.
        } else if container.has_elements && next.is_some() && next != Some(end) {
            return Err(self.invalid_json("a comma is missing"));
        }
        container.has_elements = true;
        match next {
            Some(byte) if byte == end => {
                self.consume_bytes(1);
                Ok(false)
            }
            Some(_) => Ok(true),
            None => Err(self.invalid_json("the file ends in the middle")),
        }
    }

    /// The next value's bytes, up to `bytes_max`.
    pub(crate) fn read_raw(&mut self, bytes_max: usize) -> io::Result<RawValue> {
        let mut raw = RawScan { bytes_max, ..RawScan::default() };
        if self.peek_byte()?.is_none() {
            return Err(self.invalid_json("a value is missing"));
        }
        loop {
            let buffer = fill_buffer(&mut self.reader)?;
            if buffer.is_empty() {
                return if raw.is_at_end_of_scalar() {
                    Ok(raw.finish())
                } else {
                    Err(self.invalid_json("the file ends in the middle"))
                };
            }
            let (used, is_done) = raw.scan_value(buffer);
            self.consume_bytes(used);
            if raw.is_unbalanced {
                return Err(self.invalid_json("a bracket closes nothing"));
            }
            if is_done {
                return Ok(raw.finish());
            }
        }
    }

    /// Skips the next value.
    pub(crate) fn skip(&mut self) -> io::Result<()> {
        self.read_raw(0).map(|_| ())
    }

    fn consume_bytes(&mut self, count: usize) {
        self.offset += count as u64;
        self.reader.consume(count);
    }

    pub(crate) fn invalid_json(&self, what: &str) -> io::Error {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the JSON is broken at byte {}: {what}", self.offset + 1),
        )
    }
}

/// Why JSON in memory must not be parsed: it is too deep, or has so many values that they would need far more memory
/// than its bytes. `None` if it may be parsed, valid or not.
pub(crate) fn parse_refusal(json: &[u8]) -> Option<String> {
    let mut scan = RawScan::default();
    scan.scan_value(json);
    scan.refusal()
}

#[derive(Default)]
struct RawScan {
    bytes: Vec<u8>,
    bytes_max: usize,
    is_too_long: bool,
    is_too_deep: bool,
    /// Number of containers, elements and members: at least half of the values.
    values: usize,
    is_unbalanced: bool,
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    /// True inside a number, `true`, `false` or `null` at depth 0.
    is_in_scalar: bool,
}

impl RawScan {
    /// Number of bytes that belong to the value, and true if it ends there.
    fn scan_value(&mut self, buffer: &[u8]) -> (usize, bool) {
        let mut used = 0;
        let mut is_done = false;
        while used < buffer.len() && !is_done {
            let byte = buffer[used];
            if self.is_in_string {
                // Reads the part of a string without escapes at once.
                let plain = buffer[used..]
                    .iter()
                    .position(|byte| matches!(byte, b'"' | b'\\'))
                    .unwrap_or(buffer.len() - used);
                if plain > 0 && !self.is_escaped {
                    used += plain;
                    continue;
                }
                used += 1;
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => {
                        self.is_in_string = false;
                        is_done = self.depth == 0;
                    }
                    _ => {}
                }
                continue;
            }
            if self.is_in_scalar
                && matches!(
                    byte,
                    b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t' | b':' | b'"' | b'[' | b'{'
                )
            {
                is_done = true;
                break;
            }
            used += 1;
            match byte {
                b'"' => self.is_in_string = true,
                b',' => self.values += 1,
                b'[' | b'{' => {
                    self.values += 1;
                    self.depth += 1;
                    self.is_too_deep |= self.depth > JSON_DEPTH_MAX;
                }
                b']' | b'}' if self.depth == 0 => {
                    self.is_unbalanced = true;
                    is_done = true;
                }
                b']' | b'}' => {
                    self.depth -= 1;
                    is_done = self.depth == 0;
                }
                _ if self.depth == 0 => self.is_in_scalar = true,
                _ => {}
            }
        }
        self.append_bytes(&buffer[..used]);
        (used, is_done)
    }

    fn append_bytes(&mut self, part: &[u8]) {
        self.is_too_long |= self.bytes.len() + part.len() > self.bytes_max;
        if self.is_too_long || self.is_too_deep || self.values > ELEMENT_VALUES_MAX {
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(part);
        }
    }

    fn is_at_end_of_scalar(&self) -> bool {
        self.is_in_scalar && self.depth == 0
    }

    /// Why a value must not be parsed, apart from its length.
    fn refusal(&self) -> Option<String> {
        if self.is_too_deep {
            return Some(format!("it is nested more than {JSON_DEPTH_MAX} levels deep"));
        }
        (self.values > ELEMENT_VALUES_MAX).then(|| format!("it has more than {ELEMENT_VALUES_MAX} values"))
    }

    fn finish(self) -> RawValue {
        if let Some(reason) = self.refusal() {
            RawValue::Refused(reason)
        } else if self.is_too_long {
            RawValue::Refused(format!("it is longer than {} bytes", self.bytes_max))
        } else {
            RawValue::Whole(self.bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives one byte at a time.
    struct Drip<'a>(&'a [u8]);
    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(buffer.len()).min(1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn elements(json: &str, bytes_max: usize) -> io::Result<Vec<RawValue>> {
        let mut reader = JsonReader::new(Drip(json.as_bytes()));
        assert!(reader.enter_array()?);
        let mut array = EnteredValue::default();
        let mut found = Vec::new();
        while reader.next_element(&mut array)? {
            found.push(reader.read_raw(bytes_max)?);
        }
        Ok(found)
    }

    #[test]
    fn elements_are_cut_out_as_they_are() {
        let whole = |text: &str| RawValue::Whole(text.as_bytes().to_vec());
        let found = elements(r#" [ {"a]":"\"}"} , 12,true, "x\\", [[1],{}] , ] "#, 100).unwrap();
        assert_eq!(
            found,
            [whole(r#"{"a]":"\"}"}"#), whole("12"), whole("true"), whole(r#""x\\""#), whole("[[1],{}]")]
        );
    }

    #[test]
    fn long_and_deep_elements_are_read_past() {
        let deep = format!("[{}{},\"next\"]", "[".repeat(100_000), "]".repeat(100_000));
        let found = elements(&deep, 1_000_000).unwrap();
        assert!(matches!(&found[0], RawValue::Refused(reason) if reason.contains("deep")));
        assert_eq!(found[1], RawValue::Whole(b"\"next\"".to_vec()));
        let found = elements(&format!("[\"{}\",1]", "x".repeat(1000)), 100).unwrap();
        assert!(matches!(&found[0], RawValue::Refused(reason) if reason.contains("100 bytes")));
        assert_eq!(found[1], RawValue::Whole(b"1".to_vec()));
    }

    #[test]
    fn invalid_json_reports_its_position() {
        for (json, at) in [("[1 2]", 4), ("[{\"a\":1}", 9), ("[\"abc", 6), ("[}", 3)] {
            let error = elements(json, 100).unwrap_err().to_string();
            assert!(error.contains(&format!("byte {at}:")), "{json}: {error}");
        }
    }
}
