//! Reading an answer member by member: what is wrong is left out and noted, what is right stays.

use serde_json::{Map, Value};

/// Most notes that one answer leaves.
const NOTES_MAX: usize = 50;
/// Longest piece of an answer that a note repeats, in characters.
const SNIPPET_LENGTH: usize = 60;

/// What a parser dropped, truncated or clamped.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<String>);

impl Notes {
    pub(crate) fn of(notes: Vec<String>) -> Self {
        Self(notes)
    }

    pub(crate) fn add(&mut self, note: impl Into<String>) {
        if self.0.len() < NOTES_MAX {
            self.0.push(note.into());
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

/// A string that says something, without blank ends.
pub(crate) fn text(members: &Map<String, Value>, name: &str) -> Option<String> {
    members
        .get(name)
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// A text of at most `length` characters; what is longer is truncated and noted.
pub(crate) fn bounded(text: String, length: usize, what: &str, notes: &mut Notes) -> String {
    match text.char_indices().nth(length) {
        None => text,
        Some((end, _)) => {
            notes.add(format!("{what} longer than {length} characters, truncated: \"{}\"", snippet(&text)));
            text[..end].to_owned()
        }
    }
}

/// The strings of a list that say something; a bare string counts as a list of one.
pub(crate) fn strings(members: &Map<String, Value>, name: &str, notes: &mut Notes) -> Vec<String> {
    let items = match members.get(name) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(items)) => items.as_slice(),
        Some(single @ Value::String(_)) => std::slice::from_ref(single),
        Some(_) => {
            notes.add(format!("`{name}` is no list, dropped"));
            return Vec::new();
        }
    };
    let mut texts = Vec::new();
    for item in items {
        match item.as_str().map(str::trim) {
            Some(text) if !text.is_empty() => texts.push(text.to_owned()),
            Some(_) => {}
            None => notes.add(format!("an item of `{name}` is no string, dropped")),
        }
    }
    texts
}

/// The items of a list that are objects.
pub(crate) fn objects<'a>(
    members: &'a Map<String, Value>,
    name: &str,
    notes: &mut Notes,
) -> Vec<&'a Map<String, Value>> {
    let items = match members.get(name) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(items)) => items.as_slice(),
        Some(single @ Value::Object(_)) => std::slice::from_ref(single),
        Some(_) => {
            notes.add(format!("`{name}` is no list, dropped"));
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for item in items {
        match item.as_object() {
            Some(object) => found.push(object),
            None => notes.add(format!("an item of `{name}` is no object, dropped")),
        }
    }
    found
}

/// A number as an answer gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Impact {
    /// A whole number within ±10 (2.0 is whole).
    Valid(i8),
    /// A number beyond the bounds.
    OutOfRange(f64),
    /// A number with a fraction.
    Fraction(f64),
    /// A boolean, a string, nothing.
    NoNumber,
}

/// Reads an emotional impact.
pub(crate) fn impact(value: Option<&Value>) -> Impact {
    let Some(number) = value.and_then(Value::as_f64) else { return Impact::NoNumber };
    if number.fract() != 0.0 {
        return Impact::Fraction(number);
    }
    let bound = f64::from(memory::nodes::IMPACT_MAX);
    if !(-bound..=bound).contains(&number) {
        return Impact::OutOfRange(number);
    }
    // Whole and within ±10, so nothing is lost.
    Impact::Valid(number as i8)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_whole_numbers_within_bounds_are_impacts() {
        for (value, expected) in [
            (json!(-10), Impact::Valid(-10)),
            (json!(10), Impact::Valid(10)),
            (json!(2.0), Impact::Valid(2)),
            (json!(-0.0), Impact::Valid(0)),
            (json!(2.5), Impact::Fraction(2.5)),
            (json!(11), Impact::OutOfRange(11.0)),
            (json!(-1e300), Impact::OutOfRange(-1e300)),
            (json!(true), Impact::NoNumber),
            (json!("5"), Impact::NoNumber),
            (json!(null), Impact::NoNumber),
        ] {
            assert_eq!(impact(Some(&value)), expected, "{value}");
        }
        assert_eq!(impact(None), Impact::NoNumber);
    }
}
