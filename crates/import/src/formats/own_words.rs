//! Text without a conversation, as messages of the user: diaries, letters, notes. A paragraph is a message, and a
//! heading with a day dates the following ones. This format is never detected: a person selects it, or a caller that
//! accepts any text.

use std::collections::VecDeque;
use std::io;

use jiff::civil::Date;

use super::building::{begin_conversation, build_message, check_message};
use super::digests::{DigestIds, stable_id};
use super::openclaw::leading_day;
use super::transcript::heading_day;
use super::{Format, Reader, ReaderContext, Step, reader_of_steps};
use crate::error::ImportError;
use crate::item::{Item, Role};
use crate::limits::LINE_BYTES_MAX;
use crate::lines::{Line, Lines, too_long};
use crate::message_time::MessageTime;
use crate::sources::DecodedReader;

pub(super) const FORMAT: Format =
    Format { id: "own-words", name: "any text, as messages of the user", detect: |_| false, open };

/// Name of the speaker of each paragraph.
const WRITER_NAME: &str = "writer";
/// Maximum length of a message, in characters; a longer paragraph is split at the end of a sentence.
const PARAGRAPH_CHARS_MAX: usize = 4_000;

fn open(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    let source = context.source;
    Ok(reader_of_steps(OwnWords {
        lines: Lines::new(source.open_text()?, LINE_BYTES_MAX),
        name: source.name().to_owned(),
        conversation: None,
        day: leading_day(source.stem()),
        ids: DigestIds::default(),
        paragraph: None,
    }))
}

struct OwnWords {
    lines: Lines<DecodedReader>,
    name: String,
    conversation: Option<String>,
    day: Option<Date>,
    ids: DigestIds,
    paragraph: Option<Paragraph>,
}

struct Paragraph {
    text: String,
    is_cleaned: bool,
    /// Number of the paragraph's first line.
    line: u64,
}

impl Step for OwnWords {
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        match self.lines.next_line()? {
            None => {
                self.close(items);
                return Ok(false);
            }
            Some(Line::TooLong { number }) => {
                self.close(items);
                items.push_back(too_long(&self.name, number));
            }
            Some(Line::Text { number, text, is_cleaned }) => {
                self.handle_line(&text, number, is_cleaned, items)
            }
        }
        Ok(true)
    }
}

impl OwnWords {
    fn handle_line(&mut self, line: &str, number: u64, is_cleaned: bool, items: &mut VecDeque<Item>) {
        if line.trim().is_empty() {
            return self.close(items);
        }
        if let Some(day) = heading_day(line) {
            self.close(items);
            self.day = Some(day);
            return;
        }
        let is_full = |open: &Paragraph| open.text.chars().count() >= PARAGRAPH_CHARS_MAX;
        if self.paragraph.as_ref().is_some_and(is_full) {
            self.close(items);
        }
        match &mut self.paragraph {
            Some(open) => {
                open.text.push('\n');
                open.text.push_str(line);
                open.is_cleaned |= is_cleaned;
            }
            None => self.paragraph = Some(Paragraph { text: line.to_owned(), is_cleaned, line: number }),
        }
    }

    fn close(&mut self, items: &mut VecDeque<Item>) {
        let Some(Paragraph { text, is_cleaned, line }) = self.paragraph.take() else { return };
        let time = self.day.map_or(MessageTime::Unknown, |day| MessageTime::Local(day.at(12, 0, 0, 0)));
        for piece in split_paragraph(text.trim_end()) {
            let id = match &self.conversation {
                Some(id) => id.clone(),
                None => {
                    let id = stable_id(&[WRITER_NAME, piece]);
                    items.push_back(begin_conversation(&id, Some(&self.name)));
                    self.conversation = Some(id.clone());
                    id
                }
            };
            let external = self.ids.next_id(&id, WRITER_NAME, time, piece);
            let place = format!("{}, line {line}", self.name);
            let mut written =
                build_message(external, &id, (WRITER_NAME, Role::User), time, piece.to_owned(), place);
            written.is_cleaned = is_cleaned;
            items.push_back(check_message(written));
        }
    }
}

/// Splits a paragraph into parts of at most [`PARAGRAPH_CHARS_MAX`] characters, after a sentence, else after a space.
fn split_paragraph(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while let Some((most, _)) = text.char_indices().nth(PARAGRAPH_CHARS_MAX) {
        let window = &text[..most];
        let after = |is_place: fn(char) -> bool| {
            window.rfind(is_place).map(|at| at + window[at..].chars().next().map_or(1, char::len_utf8))
        };
        let end = after(|letter| matches!(letter, '.' | '!' | '?' | '。' | '！' | '？' | '\n'))
            .or_else(|| after(char::is_whitespace))
            .unwrap_or(most);
        let (piece, rest) = text.split_at(end);
        pieces.push(piece.trim_end());
        text = rest.trim_start();
    }
    pieces.push(text);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_paragraph_is_cut_after_sentences_and_loses_no_word() {
        let sentence = "今天我们去了海边,风很大。";
        let text = sentence.repeat(1_000);
        let cut = split_paragraph(&text);
        assert!(cut.len() > 1);
        assert!(
            cut.iter().all(|piece| piece.ends_with('。') && piece.chars().count() <= PARAGRAPH_CHARS_MAX)
        );
        assert_eq!(cut.concat(), text);
        let unbroken = "x".repeat(PARAGRAPH_CHARS_MAX * 2 + 1);
        assert_eq!(split_paragraph(&unbroken).concat(), unbroken);
    }
}
