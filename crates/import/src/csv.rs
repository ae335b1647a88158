//! Parser of CSV records: quoted fields with line breaks, doubled quotes, any of four separators. An unclosed quote
//! costs one bounded record.

use std::io::{self, BufRead, BufReader, Read};

use crate::limits::CSV_FIELDS_MAX;
use crate::lines::{clean_text, fill_buffer};

/// Parser of the records of a CSV file.
pub(crate) struct CsvRecords<R> {
    reader: BufReader<R>,
    separator: u8,
    line: u64,
    bytes_max: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CsvRecord {
    Fields {
        /// Line on which the record begins, from 1.
        line: u64,
        fields: Vec<String>,
        /// True if bytes that are not UTF-8 were replaced.
        is_cleaned: bool,
    },
    /// The record is longer than the limit, or has too many fields.
    TooLong { line: u64 },
}

enum ParserState {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote inside a quoted field: the end of the field, or half of a doubled quote.
    QuoteInQuoted,
}

impl<R: Read> CsvRecords<R> {
    pub(crate) fn new(reader: R, separator: u8, bytes_max: usize) -> Self {
        Self { reader: BufReader::with_capacity(64 * 1024, reader), separator, line: 1, bytes_max }
    }

    /// The next non-empty record; `None` at the end.
    pub(crate) fn next_record(&mut self) -> io::Result<Option<CsvRecord>> {
        loop {
            let line = self.line;
            let mut record = Record { bytes_max: self.bytes_max, ..Record::default() };
            if !self.read_record(&mut record)? {
                return Ok(None);
            }
            if record.is_too_long {
                return Ok(Some(CsvRecord::TooLong { line }));
            }
            if record.fields.len() == 1 && record.fields[0].is_empty() {
                continue;
            }
            let mut is_cleaned = false;
            let fields = record
                .fields
                .into_iter()
                .map(|bytes| {
                    let (text, cleaned) = clean_text(bytes);
                    is_cleaned |= cleaned;
                    text
                })
                .collect();
            return Ok(Some(CsvRecord::Fields { line, fields, is_cleaned }));
        }
    }

    /// False at the end.
    fn read_record(&mut self, record: &mut Record) -> io::Result<bool> {
        let mut place = ParserState::FieldStart;
        let mut has_read = false;
        loop {
            let buffer = fill_buffer(&mut self.reader)?;
            if buffer.is_empty() {
                record.end_field();
                return Ok(has_read);
            }
            has_read = true;
            let mut used = 0;
            let mut is_end = false;
            for &byte in buffer {
                used += 1;
                self.line += u64::from(byte == b'\n');
                place = match (place, byte) {
                    (ParserState::FieldStart, b'"') => ParserState::Quoted,
                    (ParserState::Quoted, b'"') => ParserState::QuoteInQuoted,
                    (ParserState::QuoteInQuoted, b'"') => {
                        record.push_byte(byte);
                        ParserState::Quoted
                    }
                    (ParserState::Quoted, _) => {
                        record.push_byte(byte);
                        ParserState::Quoted
                    }
                    (_, b'\n') => {
                        is_end = true;
                        ParserState::FieldStart
                    }
                    (_, byte) if byte == self.separator => {
                        record.end_field();
                        ParserState::FieldStart
                    }
                    (_, b'\r') => ParserState::Plain,
                    (_, byte) => {
                        record.push_byte(byte);
                        ParserState::Plain
                    }
                };
                // An unclosed quote must not swallow the file: the record ends at the next line break.
                if record.is_too_long && byte == b'\n' {
                    is_end = true;
                }
                if is_end {
                    break;
                }
            }
            self.reader.consume(used);
            if is_end {
                record.end_field();
                return Ok(true);
            }
        }
    }
}

#[derive(Default)]
struct Record {
    fields: Vec<Vec<u8>>,
    field: Vec<u8>,
    bytes: usize,
    bytes_max: usize,
    is_too_long: bool,
}

impl Record {
    fn push_byte(&mut self, byte: u8) {
        self.bytes += 1;
        self.is_too_long |= self.bytes > self.bytes_max;
        if self.is_too_long {
            self.fields = Vec::new();
            self.field = Vec::new();
        } else {
            self.field.push(byte);
        }
    }

    fn end_field(&mut self) {
        self.is_too_long |= self.fields.len() >= CSV_FIELDS_MAX;
        if !self.is_too_long {
            self.fields.push(std::mem::take(&mut self.field));
        }
    }
}

/// The separator in a header line: the most frequent of comma, semicolon, tab and bar outside quotes.
pub(crate) fn detect_separator(header: &str) -> Option<u8> {
    let mut is_quoted = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    for byte in header.bytes() {
        is_quoted ^= byte == b'"';
        if let Some(count) = counts.iter_mut().find(|(separator, _)| !is_quoted && *separator == byte) {
            count.1 += 1;
        }
    }
    counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .max_by_key(|(_, count)| *count)
        .map(|(separator, _)| separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str, bytes_max: usize) -> Vec<CsvRecord> {
        let mut records = CsvRecords::new(text.as_bytes(), b',', bytes_max);
        let mut read = Vec::new();
        while let Some(record) = records.next_record().unwrap() {
            read.push(record);
        }
        read
    }

    #[test]
    fn quotes_line_breaks_and_endings_are_read() {
        let fields = |line, fields: &[&str]| CsvRecord::Fields {
            line,
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            is_cleaned: false,
        };
        let text = "a,b\r\n\"x\ny\",\"say \"\"hi\"\"\"\n\n,last";
        assert_eq!(
            records(text, 100),
            [fields(1, &["a", "b"]), fields(2, &["x\ny", "say \"hi\""]), fields(5, &["", "last"])]
        );
    }

    #[test]
    fn a_quote_that_never_ends_costs_one_record() {
        let text = format!("a,\"{}\nb,c\n", "x".repeat(50));
        let read = records(&text, 20);
        assert_eq!(read[0], CsvRecord::TooLong { line: 1 });
        assert!(
            matches!(&read[1], CsvRecord::Fields { line: 2, fields, .. } if fields == &["b", "c"]),
            "{read:?}"
        );
    }
}
