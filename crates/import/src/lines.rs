//! Lines of a text, each bounded: a longer one is skipped.

use std::io::{self, BufRead, BufReader, Read};

use crate::item::{Item, Skip};
use crate::limits::LINE_BYTES_MAX;

/// Reads the lines of a file, numbered from 1.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    number: u64,
    bytes_max: usize,
}

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text {
        number: u64,
        text: String,
        /// True if bytes that are not UTF-8 were replaced.
        is_cleaned: bool,
    },
    TooLong {
        number: u64,
    },
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R, bytes_max: usize) -> Self {
        Self { reader: BufReader::with_capacity(64 * 1024, reader), number: 0, bytes_max }
    }

    /// The next line; `None` at the end. Zero bytes are dropped.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let mut is_too_long = false;
        let mut is_end = true;
        loop {
            let buffer = fill_buffer(&mut self.reader)?;
            if buffer.is_empty() {
                break;
            }
            is_end = false;
            let line_end = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..line_end.unwrap_or(buffer.len())];
            is_too_long |= bytes.len() + part.len() > self.bytes_max;
            if is_too_long {
                bytes = Vec::new();
            } else {
                bytes.extend_from_slice(part);
            }
            let consumed = part.len() + usize::from(line_end.is_some());
            self.reader.consume(consumed);
            if line_end.is_some() {
                break;
            }
        }
        if is_end {
            return Ok(None);
        }
        self.number += 1;
        if is_too_long {
            return Ok(Some(Line::TooLong { number: self.number }));
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        let (text, is_cleaned) = clean_text(bytes);
        Ok(Some(Line::Text { number: self.number, text, is_cleaned }))
    }
}

/// UTF-8 without zero characters, and true if anything was replaced or dropped.
pub(crate) fn clean_text(bytes: Vec<u8>) -> (String, bool) {
    let (mut text, mut is_cleaned) = match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    };
    if text.contains('\0') {
        text.retain(|character| character != '\0');
        is_cleaned = true;
    }
    (text, is_cleaned)
}

/// The buffered bytes, or newly read ones; empty at the end. Retries when a signal interrupts it.
pub(crate) fn fill_buffer(reader: &mut impl BufRead) -> io::Result<&[u8]> {
    while let Err(error) = reader.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    reader.fill_buf()
}

/// The skip for a line that is too long to be held in memory.
pub(crate) fn too_long(name: &str, number: u64) -> Item {
    let reason = format!("the line is longer than {LINE_BYTES_MAX} bytes");
    Item::Skip(Skip::new(format!("{name}, line {number}"), reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_cleaned() {
        let mut lines = Lines::new(&b"one\r\ntwenty-one bytes long\n\xffthree\0\n\nend"[..], 10);
        let mut read = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            read.push(line);
        }
        let text = |number, text: &str, is_cleaned| Line::Text { number, text: text.to_owned(), is_cleaned };
        assert_eq!(
            read,
            [
                text(1, "one", false),
                Line::TooLong { number: 2 },
                text(3, "\u{FFFD}three", true),
                text(4, "", false),
                text(5, "end", false)
            ]
        );
    }
}
