//! Decodes text by the beginning of the file: a byte-order mark is dropped, UTF-16 becomes UTF-8.

use std::io::{self, BufRead, BufReader, Read};

const BUFFER_BYTES: usize = 64 * 1024;

/// A reader of text as UTF-8. Invalid bytes in a file without a UTF-16 mark pass through.
pub(crate) struct DecodedReader {
    reader: BufReader<Box<dyn Read + Send>>,
    form: Encoding,
    /// Converted bytes that are not read yet.
    pending: Vec<u8>,
    pending_at: usize,
    /// First half of a UTF-16 surrogate pair.
    high: Option<u16>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Unread,
    Utf8,
    Utf16Little,
    Utf16Big,
}

impl DecodedReader {
    pub(super) fn new(reader: Box<dyn Read + Send>) -> Self {
        let reader = BufReader::with_capacity(BUFFER_BYTES, reader);
        Self { reader, form: Encoding::Unread, pending: Vec::new(), pending_at: 0, high: None }
    }

    fn read_byte_order_mark(&mut self) -> io::Result<()> {
        let head = self.reader.fill_buf()?;
        let (form, length) = match head {
            [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8, 3),
            [0xFF, 0xFE, ..] => (Encoding::Utf16Little, 2),
            [0xFE, 0xFF, ..] => (Encoding::Utf16Big, 2),
            _ => (Encoding::Utf8, 0),
        };
        self.reader.consume(length);
        self.form = form;
        Ok(())
    }

    /// Converts the buffered bytes; false at the end.
    fn convert_buffered(&mut self) -> io::Result<bool> {
        self.pending.clear();
        self.pending_at = 0;
        let bytes = self.reader.fill_buf()?;
        if bytes.is_empty() {
            if self.high.take().is_some() {
                self.pending.extend("\u{FFFD}".bytes());
            }
            return Ok(!self.pending.is_empty());
        }
        if bytes.len() == 1 {
            // The buffer ends with half a unit: continue byte by byte.
            let first = bytes[0];
            self.reader.consume(1);
            let second = self.reader.fill_buf()?.first().copied();
            self.reader.consume(usize::from(second.is_some()));
            let unit = second.map_or(0xFFFD, |second| self.decode_unit(first, second));
            self.push(unit);
            return Ok(true);
        }
        let whole = bytes.len() / 2 * 2;
        let little = self.form == Encoding::Utf16Little;
        let units: Vec<u16> = bytes[..whole]
            .chunks_exact(2)
            .map(|pair| {
                let pair = [pair[0], pair[1]];
                if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
            })
            .collect();
        self.reader.consume(whole);
        for unit in units {
            self.push(unit);
        }
        Ok(true)
    }

    fn decode_unit(&self, first: u8, second: u8) -> u16 {
        if self.form == Encoding::Utf16Little {
            u16::from_le_bytes([first, second])
        } else {
            u16::from_be_bytes([first, second])
        }
    }

    fn push(&mut self, unit: u16) {
        let units = self.high.take().into_iter().chain([unit]);
        for decoded in char::decode_utf16(units) {
            match decoded {
                Ok(character) => self.pending.extend(character.encode_utf8(&mut [0; 4]).bytes()),
                Err(error) if error.unpaired_surrogate() == unit && (0xD800..0xDC00).contains(&unit) => {
                    self.high = Some(unit);
                }
                Err(_) => self.pending.extend("\u{FFFD}".bytes()),
            }
        }
    }
}

impl Read for DecodedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.form == Encoding::Unread {
            self.read_byte_order_mark()?;
        }
        if self.form == Encoding::Utf8 {
            return self.reader.read(buffer);
        }
        while self.pending_at == self.pending.len() {
            if !self.convert_buffered()? {
                return Ok(0);
            }
        }
        let count = buffer.len().min(self.pending.len() - self.pending_at);
        buffer[..count].copy_from_slice(&self.pending[self.pending_at..self.pending_at + count]);
        self.pending_at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_all(bytes: &[u8]) -> String {
        let mut text = String::new();
        DecodedReader::new(Box::new(io::Cursor::new(bytes.to_vec()))).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn marks_are_dropped_and_utf_16_becomes_utf_8() {
        let text = "a你🙂\n";
        assert_eq!(decode_all(b"\xEF\xBB\xBFabc"), "abc");
        let little: Vec<u8> =
            [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert_eq!(decode_all(&little), text);
        let big: Vec<u8> =
            [0xFE, 0xFF].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect();
        assert_eq!(decode_all(&big), text);
        assert_eq!(decode_all(b"\xFF\xFEa\0\x3d\xd8"), "a\u{FFFD}", "half a pair at the end");
        assert_eq!(
            decode_all(b"\xFF\xFEa\0\x3d\xd8b\0c"),
            "a\u{FFFD}b\u{FFFD}",
            "half a pair and half a unit"
        );
    }
}
