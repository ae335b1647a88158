//! A lenient JSON parser: one pass, no backtracking, bounded depth, no panic on any text.

use serde_json::{Map, Number, Value};

/// Maximum nesting depth. Answers nest a few levels deep; deeper nesting could overflow the reader's stack.
const DEPTH_MAX: usize = 64;

/// A parsed value with information about its damage.
pub(super) struct ParsedText {
    pub(super) value: Value,
    /// Length of the value in the text, in bytes.
    pub(super) length: usize,
    /// Number of brackets that were open when the text ended; `None` if the value is complete.
    pub(super) open_at_end: Option<usize>,
}

/// The text does not go on like JSON.
pub(super) struct Unreadable;

/// Parses the object or list at the start of `text`.
pub(super) fn read_leniently(text: &str) -> Result<ParsedText, Unreadable> {
    let mut reader = Reader { text, at: 0, open: 0, open_at_end: None };
    match reader.read_value()? {
        Some(value) => Ok(ParsedText { value, length: reader.at, open_at_end: reader.open_at_end }),
        None => Err(Unreadable),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    open: usize,
    open_at_end: Option<usize>,
}

impl Reader<'_> {
    /// Parses a value; `None` if the text ends before it is complete.
    fn read_value(&mut self) -> Result<Option<Value>, Unreadable> {
        self.skip_blank();
        match self.peek_char() {
            None => Ok(self.note_truncation()),
            Some('{') => self.read_nested(Self::read_object).map(Some),
            Some('[') => self.read_nested(Self::read_list).map(Some),
            Some(quote) if closing_marks(quote).is_some() => Ok(self.read_string().map(Value::String)),
            Some(_) => self.bare_word(),
        }
    }

    fn read_nested(&mut self, read: fn(&mut Self) -> Result<Value, Unreadable>) -> Result<Value, Unreadable> {
        if self.open == DEPTH_MAX {
            return Err(Unreadable);
        }
        self.open += 1;
        self.at += 1;
        let value = read(self)?;
        self.open -= 1;
        Ok(value)
    }

    fn read_object(&mut self) -> Result<Value, Unreadable> {
        let mut members = Map::new();
        loop {
            if let Some(end) = self.between_items('}') {
                return end.map(|()| Value::Object(members));
            }
            let Some(key) = self.read_key()? else { return Ok(Value::Object(members)) };
            self.skip_blank();
            match self.peek_char() {
                None => {
                    self.note_truncation::<()>();
                    return Ok(Value::Object(members));
                }
                Some(':') => self.at += 1,
                Some(_) => return Err(Unreadable),
            }
            match self.read_value()? {
                Some(value) => members.insert(key, value),
                None => return Ok(Value::Object(members)),
            };
        }
    }

    fn read_list(&mut self) -> Result<Value, Unreadable> {
        let mut items = Vec::new();
        loop {
            if let Some(end) = self.between_items(']') {
                return end.map(|()| Value::Array(items));
            }
            match self.read_value()? {
                Some(value) => items.push(value),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    /// Skips commas before the next item; false if there is none.
    fn between_items(&mut self, closer: char) -> Option<Result<(), Unreadable>> {
        loop {
            self.skip_blank();
            match self.peek_char() {
                None => {
                    self.note_truncation::<()>();
                    return Some(Ok(()));
                }
                Some(',') => self.at += 1,
                Some(c) if c == closer => {
                    self.at += 1;
                    return Some(Ok(()));
                }
                // The closing bracket of the outer value: this one's is missing.
                Some('}' | ']') if self.open > 1 => return Some(Ok(())),
                Some('}' | ']' | ':') => return Some(Err(Unreadable)),
                Some(_) => return None,
            }
        }
    }

    fn read_key(&mut self) -> Result<Option<String>, Unreadable> {
        match self.peek_char() {
            Some(quote) if closing_marks(quote).is_some() => Ok(self.read_string()),
            Some(_) => {
                let word = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '-');
                if word.is_empty() { Err(Unreadable) } else { Ok(Some(word.to_owned())) }
            }
            None => Ok(None),
        }
    }

    /// Parses a number, a constant of JSON or Python, or a word without its quotes.
    fn bare_word(&mut self) -> Result<Option<Value>, Unreadable> {
        let word = self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.'));
        if word.is_empty() {
            return Err(Unreadable);
        }
        let value = match word {
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            "null" | "None" | "NULL" | "undefined" | "NaN" => Value::Null,
            _ => number(word).unwrap_or_else(|| Value::String(word.to_owned())),
        };
        // At the very end it is unknown if -1 was to become -10.
        if self.peek_char().is_none() { Ok(self.note_truncation()) } else { Ok(Some(value)) }
    }

    /// Parses a string; `None` if the text ends inside it.
    fn read_string(&mut self) -> Option<String> {
        let opener = self.peek_char()?;
        let closers = closing_marks(opener)?;
        self.at += opener.len_utf8();
        let mut string = String::new();
        while let Some(c) = self.peek_char() {
            self.at += c.len_utf8();
            if c == '\\' {
                self.escape(&mut string)?;
            } else if closers.contains(&c) && self.is_closing_mark() {
                return Some(string);
            } else {
                string.push(c);
            }
        }
        self.note_truncation()
    }

    /// True if the quotation mark before this position ends a string: only if JSON continues after it. Others are
    /// marks that the model forgot to escape.
    fn is_closing_mark(&self) -> bool {
        let rest = &self.text[self.at..];
        let after = rest.trim_start();
        match after.chars().next() {
            None | Some(':' | '}' | ']') => true,
            Some(',') => starts_item(after[1..].trim_start()),
            Some('/') => after.starts_with("//") || after.starts_with("/*"),
            Some(c) => closing_marks(c).is_some() && rest[..rest.len() - after.len()].contains('\n'),
        }
    }

    /// Parses the escape after a backslash; `None` if the text ends inside it.
    fn escape(&mut self, string: &mut String) -> Option<()> {
        let Some(c) = self.peek_char() else { return self.note_truncation() };
        self.at += c.len_utf8();
        match c {
            'n' => string.push('\n'),
            't' => string.push('\t'),
            'r' => string.push('\r'),
            'b' | 'f' => string.push(' '),
            'u' => string.push(self.unicode_escape()),
            '"' | '\'' | '\\' | '/' => string.push(c),
            other => string.extend(['\\', other]),
        }
        Some(())
    }

    fn unicode_escape(&mut self) -> char {
        let first = self.four_hex_digits();
        let Some(high @ 0xD800..0xDC00) = first else {
            return first.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        };
        let mark = self.at;
        if self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            if let Some(low @ 0xDC00..0xE000) = self.four_hex_digits() {
                let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
            self.at = mark;
        }
        char::REPLACEMENT_CHARACTER
    }

    fn four_hex_digits(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    fn skip_blank(&mut self) {
        loop {
            let rest =
                self.text[self.at..].trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            self.at = self.text.len() - rest.len();
            let comment = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += comment;
        }
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &str {
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn peek_char(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Notes that the text ended here.
    fn note_truncation<T>(&mut self) -> Option<T> {
        self.open_at_end.get_or_insert(self.open);
        None
    }
}

/// The marks that can end a string that begins with this one; `None` if it does not begin a string.
fn closing_marks(opener: char) -> Option<&'static [char]> {
    match opener {
        '"' => Some(&['"']),
        '\'' => Some(&['\'']),
        '“' | '”' => Some(&['”', '“', '"']),
        '‘' | '’' => Some(&['’', '‘', '\'']),
        _ => None,
    }
}

/// True if this text can follow a comma in JSON; prose mostly can't.
fn starts_item(text: &str) -> bool {
    const CONSTANTS: [&str; 6] = ["true", "false", "null", "True", "False", "None"];
    match text.chars().next() {
        None | Some('{' | '}' | '[' | ']' | '+' | '-' | '/' | '0'..='9') => true,
        Some(c) => closing_marks(c).is_some() || CONSTANTS.iter().any(|word| text.starts_with(word)),
    }
}

fn number(word: &str) -> Option<Value> {
    let plain = word.strip_prefix('+').unwrap_or(word);
    if !plain.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
        return None;
    }
    if let Ok(whole) = plain.parse::<i64>() {
        return Some(Value::Number(whole.into()));
    }
    plain.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(text: &str) -> Option<Value> {
        read_leniently(text).ok().map(|reading| reading.value)
    }

    #[test]
    fn small_damage_is_repaired() {
        let cases = [
            (r#"{"a": [1, 2,], "b": 3,}"#, json!({"a": [1, 2], "b": 3})),
            (r#"{'a': 'it's fine', 'b': "x"}"#, json!({"a": "it's fine", "b": "x"})),
            ("{“a”: “他说“好”,走了”, “b”: 1}", json!({"a": "他说“好”,走了", "b": 1})),
            ("{\"a\": True, \"b\": None, \"c\": False}", json!({"a": true, "b": null, "c": false})),
            ("{\"a\": +7, \"b\": -2.5}", json!({"a": 7, "b": -2.5})),
            ("{\"a\": \"one\ntwo\"}", json!({"a": "one\ntwo"})),
            (r#"{"a": "he said "hi" to me", "b": 1}"#, json!({"a": "he said \"hi\" to me", "b": 1})),
            ("{\"a\": 1 // why\n, /* or */ \"b\": 2}", json!({"a": 1, "b": 2})),
            ("{a: event, b: 2}", json!({"a": "event", "b": 2})),
            ("{\"a\": \"x\"\n \"b\": \"y\"}", json!({"a": "x", "b": "y"})),
            ("{\"a\": [1, 2}", json!({"a": [1, 2]})),
            (r#"{"a": "\ud83d\ude00 \ud83d \u4f60 \q",}"#, json!({"a": "😀 \u{fffd} 你 \\q"})),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn truncated_values_are_left_out() {
        let cases = [
            (r#"{"a": 1, "b": -1"#, json!({"a": 1}), 1),
            (r#"{"a": [{"b": "half a sen"#, json!({"a": [{}]}), 3),
            (r#"{"a": [1, 2]"#, json!({"a": [1, 2]}), 1),
            (r#"{"a": 1, "b"#, json!({"a": 1}), 1),
            (r#"{"a": 1, "b":"#, json!({"a": 1}), 1),
            ("{", json!({}), 1),
        ];
        for (text, expected, open) in cases {
            let reading = read_leniently(text).ok().unwrap();
            assert_eq!((reading.value, reading.open_at_end), (expected, Some(open)), "{text}");
        }
    }

    #[test]
    fn prose_is_not_json() {
        for text in ["{the result}", "{:}", "[}", "{]", &"[".repeat(1_000)] {
            assert!(value(text).is_none(), "{text}");
        }
    }
}
