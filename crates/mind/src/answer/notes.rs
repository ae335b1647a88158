//! Notes about dropped, truncated or clamped parts of an answer, for the trace.

/// Maximum notes of one answer. They are stored with the trace of each phase, and the first ones show what is wrong.
const NOTES_MAX: usize = 50;
/// Maximum characters of an answer that a note repeats. A note is one line of a list.
const SNIPPET_LENGTH: usize = 60;

/// The notes of one answer, at most [`NOTES_MAX`].
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<String>);

impl Notes {
    pub(crate) fn from_notes(notes: Vec<String>) -> Self {
        Self(notes)
    }

    pub(crate) fn add(&mut self, note: impl Into<String>) {
        if self.0.len() < NOTES_MAX {
            self.0.push(note.into());
        }
    }

    /// Cuts a list to the maximum that the contract allows.
    pub(crate) fn cut_list<T>(&mut self, items: &mut Vec<T>, most: usize, what: &str) {
        if items.len() > most {
            self.add(format!("more than {most} {what}, the rest dropped"));
            items.truncate(most);
        }
    }

    /// A text of at most `length` characters; what is longer is truncated.
    pub(crate) fn cut_text(&mut self, text: &str, length: usize, what: &str) -> String {
        match text.char_indices().nth(length) {
            None => text.to_owned(),
            Some((end, _)) => {
                self.add(format!("{what} longer than {length} characters, truncated: \"{}\"", snippet(text)));
                text[..end].to_owned()
            }
        }
    }

    pub(crate) fn into_list(self) -> Vec<String> {
        self.0
    }
}

/// The start of a text on one line, for a note.
pub(crate) fn snippet(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(SNIPPET_LENGTH).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut
}
