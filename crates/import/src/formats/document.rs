//! Text or Markdown without a conversation: one document.

use jiff::civil::Date;

use super::csv_table;
use super::openclaw::leading_day;
use super::transcript::is_utf16;
use super::{Format, Reader, ReaderContext, single_item_reader};
use crate::error::ImportError;
use crate::item::{Document, Item, Skip};
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::lines::clean_text;

pub(super) const FORMAT: Format =
    Format { id: "document", name: "document as text or Markdown", detect: is_text, open };

/// Divisor for the maximum share of the head's characters that may be replaced or control characters: 5 %, far below
/// any binary file.
const BROKEN_DIVISOR: usize = 20;

fn is_text(context: &ReaderContext<'_>) -> bool {
    let head = context.head;
    if head.json.is_some()
        || head.bytes.contains(&0) && !is_utf16(&head.bytes)
        || head.bytes.starts_with(b"%PDF")
    {
        return false;
    }
    let is_broken =
        |character: char| character == '\u{FFFD}' || character.is_control() && !character.is_whitespace();
    let all = head.text.chars().count();
    let broken = head.text.chars().filter(|character| is_broken(*character)).count();
    let is_markup = head.text.trim_start().get(..5).is_some_and(|start| {
        let start = start.to_ascii_lowercase();
        start.starts_with("<html") || start.starts_with("<!doc") || start.starts_with("<?xml")
    });
    !head.text.trim().is_empty()
        && !csv_table::is_table(context)
        && broken * BROKEN_DIVISOR <= all
        && !is_markup
}

fn open(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    let source = context.source;
    let Some(bytes) = source.read_text(DOCUMENT_BYTES_MAX)? else {
        let reason = format!("it is longer than {DOCUMENT_BYTES_MAX} bytes");
        return Ok(single_item_reader(Item::Skip(Skip::new(source.name(), reason))));
    };
    let (text, is_cleaned) = clean_text(bytes);
    if text.trim().is_empty() {
        return Ok(single_item_reader(Item::Skip(Skip::new(source.name(), "the file is empty"))));
    }
    Ok(single_item_reader(Item::Document(Document {
        id: source.name().to_owned(),
        name: source.name().to_owned(),
        day: leading_day(source.stem()).or_else(|| first_day(&text)),
        text,
        is_cleaned,
        place: source.name().to_owned(),
    })))
}

/// The day in the first line, if that is a heading such as `# 2026-01-05`.
fn first_day(text: &str) -> Option<Date> {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .and_then(|line| leading_day(line.trim_start_matches(['#', ' '])))
}
