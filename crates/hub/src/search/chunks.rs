//! Splits memories into chunks that an embedding model reads completely.

use std::ops::Range;

use crate::names::{DiaryDate, DiaryName, Granularity};

/// Maximum characters of a chunk: about as many as all-MiniLM-L6-v2 reads, which ignores the rest.
const PIECE_LENGTH: usize = 900;

/// Splits a text at line ends; a longer line between words, else anywhere. Chunks are byte ranges of the text; blank
/// ones are left out.
pub fn split_into_chunks(content: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let (mut start, mut end, mut length) = (0, 0, 0);
    for line in content.split_inclusive('\n') {
        let in_line = line.chars().count();
        if length > 0 && length + in_line > PIECE_LENGTH {
            pieces.push(start..end);
            (start, length) = (end, 0);
        }
        if in_line > PIECE_LENGTH {
            pieces.extend(cut_line(line, end));
            end += line.len();
            (start, length) = (end, 0);
            continue;
        }
        end += line.len();
        length += in_line;
    }
    if start < end {
        pieces.push(start..end);
    }
    pieces.retain(|piece| !content[piece.clone()].trim().is_empty());
    pieces
}

fn cut_line(line: &str, offset: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let (mut start, mut last_blank, mut length) = (0, None, 0);
    for (at, character) in line.char_indices() {
        if length >= PIECE_LENGTH {
            let end = last_blank.filter(|blank| *blank > start).unwrap_or(at);
            pieces.push(offset + start..offset + end);
            start = end;
            length = line[start..at].chars().count();
        }
        if character.is_whitespace() {
            last_blank = Some(at);
        }
        length += 1;
    }
    pieces.push(offset + start..offset + line.len());
    pieces
}

/// The text that is embedded: the date in words, then the chunk.
pub(super) fn text_to_embed(name: &DiaryName, piece: &str) -> String {
    let month = |date: jiff::civil::Date| date.strftime("%B %Y").to_string();
    let day = |date: jiff::civil::Date| date.strftime("%B %-d, %Y").to_string();
    let (label, date) = match (name.granularity(), name.date()) {
        (Granularity::Daily, date) => ("Daily memory", day(date.first_day())),
        (Granularity::Significant, date) => ("Significant memory", day(date.first_day())),
        (_, date @ DiaryDate::Week(_)) => {
            ("Weekly summary", format!("the week of {}", day(date.first_day())))
        }
        (_, DiaryDate::Month(first)) => ("Monthly summary", month(first)),
        (_, date) => ("Yearly summary", date.to_string()),
    };
    format!("{label} from {date}. {}", piece.trim())
}
