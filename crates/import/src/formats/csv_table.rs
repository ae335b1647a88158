//! Generic CSV with a header: a message per row.

use std::collections::VecDeque;
use std::io;

use super::dates::{DateOrder, OrderEvidence, WrittenTime};
use super::records::{Columns, RecordItems};
use super::{Format, Reader, ReaderContext, Step, reader_of_steps, single_item_reader};
use crate::csv::{CsvRecord, CsvRecords, detect_separator};
use crate::error::ImportError;
use crate::head::Head;
use crate::item::{Item, Skip};
use crate::limits::MESSAGE_BYTES_MAX;
use crate::sources::DecodedReader;

pub(super) const FORMAT: Format = Format {
    id: "csv",
    name: "CSV, one message per row",
    detect: |context| columns(context).is_some(),
    open,
};

/// Separator and columns of the header.
fn columns(context: &ReaderContext<'_>) -> Option<(u8, Columns)> {
    if context.head.bytes.starts_with(b"%") || context.head.json.is_some() {
        return None;
    }
    let separator = detect_separator(header_line(context.head)?)?;
    Some((separator, Columns::from_header(&header(context)?, context.fields)?))
}

/// Names of the columns.
fn header(context: &ReaderContext<'_>) -> Option<Vec<String>> {
    column_names(context.head)
}

/// Names of the columns, if the first line has several.
pub(super) fn column_names(head: &Head) -> Option<Vec<String>> {
    let line = header_line(head)?;
    let mut records = CsvRecords::new(line.as_bytes(), detect_separator(line)?, 64 * 1024);
    match records.next_record() {
        Ok(Some(CsvRecord::Fields { fields, .. })) => Some(fields),
        _ => None,
    }
}

/// The row below the header, if it is whole.
pub(super) fn first_row(head: &Head) -> Option<Vec<String>> {
    let separator = detect_separator(header_line(head)?)?;
    let mut records = CsvRecords::new(head.text.as_bytes(), separator, RECORD_BYTES_MAX);
    records.next_record().ok()?;
    match records.next_record() {
        Ok(Some(CsvRecord::Fields { fields, .. })) => Some(fields),
        _ => None,
    }
}

/// True if the text is a table: by the file's name, or because its first lines have the same number of columns, three
/// or more.
pub(super) fn is_table(context: &ReaderContext<'_>) -> bool {
    let name = context.source.name().to_lowercase();
    if name.ends_with(".csv") || name.ends_with(".tsv") {
        return true;
    }
    let head = context.head;
    let Some(separator) = header_line(head).and_then(detect_separator) else { return false };
    let lines: Vec<&str> =
        head.complete_lines().filter(|line| !line.trim().is_empty()).take(TABLE_LINES).collect();
    let columns = |line: &str| line.bytes().filter(|byte| *byte == separator).count() + 1;
    let first = lines.first().map_or(0, |line| columns(line));
    lines.len() > 1 && first >= 3 && lines.iter().all(|line| columns(line) == first)
}

fn header_line(head: &Head) -> Option<&str> {
    head.complete_lines().find(|line| !line.trim().is_empty())
}

fn open(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    let Some((separator, columns)) = columns(context) else {
        let columns = header(context).unwrap_or_default().join(", ");
        let reason = format!("its first line names no column of a text and of a speaker or time: {columns}");
        return Ok(single_item_reader(Item::Skip(Skip::new(context.source.name(), reason))));
    };
    let open = || Ok(CsvRecords::new(context.source.open_text()?, separator, RECORD_BYTES_MAX));
    let order = date_order(open()?, &columns).map_err(ImportError::io(context.source.name()))?;
    Ok(reader_of_steps(CsvTable {
        records: open()?,
        columns,
        name: context.source.name().to_owned(),
        items: RecordItems::with_date_order(order),
        has_header: false,
    }))
}

/// Lines that decide if a text is a table. Two lines of a poem may have the same number of commas, but not five.
const TABLE_LINES: usize = 5;
/// Maximum bytes of a record. Quotes are doubled in a table, so a message can take twice its size.
const RECORD_BYTES_MAX: usize = MESSAGE_BYTES_MAX * 2;

/// The order of day, month and year in the whole file. Reading stops at the first time if that is unambiguous.
fn date_order(mut records: CsvRecords<DecodedReader>, columns: &Columns) -> io::Result<DateOrder> {
    let mut evidence = OrderEvidence::default();
    loop {
        match records.next_record() {
            Ok(None) => break,
            Ok(Some(CsvRecord::TooLong { .. })) => {}
            Ok(Some(CsvRecord::Fields { fields, .. })) => {
                let time = columns.record(&fields).time;
                if matches!(time, WrittenTime::Clear(_)) {
                    break;
                }
                time.add_evidence(&mut evidence);
            }
            // The reader finds the damage again, after the readable part.
            Err(error) if crate::head::is_damage(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(evidence.order())
}

struct CsvTable {
    records: CsvRecords<DecodedReader>,
    columns: Columns,
    name: String,
    items: RecordItems,
    has_header: bool,
}

impl Step for CsvTable {
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        match self.records.next_record()? {
            None => return Ok(false),
            Some(_) if !std::mem::replace(&mut self.has_header, true) => {}
            Some(CsvRecord::TooLong { line }) => {
                let place = format!("{}, line {line}", self.name);
                items.push_back(Item::Skip(Skip::new(
                    place,
                    "the row is too long; a closing quote may be \
                        missing",
                )));
            }
            Some(CsvRecord::Fields { line, fields, is_cleaned }) => {
                let place = format!("{}, line {line}", self.name);
                if self.columns.is_notice(&fields) {
                    let reason = "it is a notice of the program, not a message";
                    items.push_back(Item::Skip(Skip::new(place, reason)));
                    return Ok(true);
                }
                self.items.add(self.columns.record(&fields), place, is_cleaned, items);
            }
        }
        Ok(true)
    }
}
