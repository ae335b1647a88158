//! A lorebook entry and its document.

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

use crate::names::{Category, DocumentName, InvalidName, LORE_FOLDER};

const FENCE: &str = "---\n";
/// Maximum lengths of the parts of a document's name, in bytes. Together with folder and number they fit into a stem.
const BOOK_BYTES_MAX: usize = 60;
const ENTRY_BYTES_MAX: usize = 100;

/// Condition on the secondary keys of an entry, in addition to a match of its primary keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyLogic {
    /// One of the keys must be named.
    #[default]
    AndAny,
    /// All keys must be named.
    AndAll,
    /// One of the keys must not be named.
    NotAll,
    /// None of the keys may be named.
    NotAny,
}

impl KeyLogic {
    const ALL: [(Self, &'static str); 4] = [
        (Self::AndAny, "and_any"),
        (Self::AndAll, "and_all"),
        (Self::NotAll, "not_all"),
        (Self::NotAny, "not_any"),
    ];

    /// The condition's name in a document.
    pub fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(logic, _)| *logic == self).map_or("and_any", |(_, word)| word)
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == word).map(|(logic, _)| logic)
    }
}

/// One fact about the persona's world.
#[derive(Clone, Debug, PartialEq)]
pub struct LoreEntry {
    /// The book that the entry belongs to.
    pub book: String,
    /// The name that a person gave the entry; may be empty.
    pub name: String,
    /// The keys of the entry: it is used while one of them is named.
    pub keys: Vec<String>,
    /// Secondary keys, which restrict the entry by [`Self::logic`].
    pub secondary_keys: Vec<String>,
    pub logic: KeyLogic,
    /// True if the entry is in every prompt, without any of its keys.
    pub is_constant: bool,
    /// False if the entry is switched off.
    pub is_enabled: bool,
    /// Entries of a higher order are placed closer to the conversation, and are preferred if there is not room for
    /// all.
    pub order: i64,
    /// Number of the newest messages that are searched for keys; a default if it is not set.
    pub scan_depth: Option<u32>,
    /// True if keys are compared letter by letter. By default `Hive` is also named by `hive`.
    pub is_case_sensitive: bool,
    /// True if a key must end at the end of a word, false if it may begin within a word. By default it must begin at the
    /// beginning of a word: `hive` matches `hives`, `elf` does not match `self`.
    pub whole_words: Option<bool>,
    /// Settings of other programs that have no effect here.
    pub other: Map<String, Value>,
    pub content: String,
}

impl Default for LoreEntry {
    fn default() -> Self {
        Self {
            book: String::new(),
            name: String::new(),
            keys: Vec::new(),
            secondary_keys: Vec::new(),
            logic: KeyLogic::default(),
            is_constant: false,
            is_enabled: true,
            order: 0,
            scan_depth: None,
            is_case_sensitive: false,
            whole_words: None,
            other: Map::new(),
            content: String::new(),
        }
    }
}

impl LoreEntry {
    /// The label of the entry in prompts: its name, else its first key, else its book.
    pub fn label(&self) -> &str {
        let key = self.keys.first().map(String::as_str).unwrap_or_default();
        [&self.name, key, &self.book].into_iter().find(|text| !text.trim().is_empty()).unwrap_or("lore")
    }

    /// The name of the entry's document, `custom/lore/BOOK-ENTRY.md`. `number`, from 1, distinguishes entries with
    /// the same name.
    ///
    /// # Errors
    ///
    /// None in practice: characters that a name can't contain are left out.
    pub(super) fn document_name(&self, number: usize) -> Result<DocumentName, InvalidName> {
        let part = |text: &str, bytes_max| {
            let slug = slug(text, bytes_max);
            if slug.is_empty() { "entry".to_owned() } else { slug }
        };
        let (book, entry) = (part(&self.book, BOOK_BYTES_MAX), part(self.label(), ENTRY_BYTES_MAX));
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        DocumentName::parse(Category::Custom.as_str(), &format!("{LORE_FOLDER}{book}-{entry}{number}"))
    }

    /// The document: front matter, in which each value is JSON, and the text.
    pub fn to_document(&self) -> String {
        let mut document = FENCE.to_owned();
        let mut field = |name: &str, value: Value| document.push_str(&format!("{name}: {value}\n"));
        field("book", self.book.as_str().into());
        if !self.name.is_empty() {
            field("name", self.name.as_str().into());
        }
        field("keys", self.keys.clone().into());
        if !self.secondary_keys.is_empty() {
            field("secondary_keys", self.secondary_keys.clone().into());
            field("logic", self.logic.as_str().into());
        }
        field("constant", self.is_constant.into());
        field("enabled", self.is_enabled.into());
        field("order", self.order.into());
        if let Some(depth) = self.scan_depth {
            field("scan_depth", depth.into());
        }
        if self.is_case_sensitive {
            field("case_sensitive", true.into());
        }
        if let Some(whole_words) = self.whole_words {
            field("whole_words", whole_words.into());
        }
        if !self.other.is_empty() {
            field("other", self.other.clone().into());
        }
        document.push_str(FENCE);
        document.push_str(self.content.trim());
        document.push('\n');
        document
    }

    /// Parses a document, also one written by a person: values may be JSON or plain (`keys: hive, queen`), lists may
    /// have one item per line. Unreadable values get their defaults, and a document without front matter has no keys.
    pub fn parse(document: &str) -> Self {
        let document = document.replace("\r\n", "\n");
        let mut entry = Self::default();
        let parts = document.strip_prefix(FENCE).and_then(|rest| rest.split_once("\n---"));
        let Some((head, content)) = parts else {
            entry.content = document.trim().to_owned();
            return entry;
        };
        for (name, value) in front_matter_fields(head) {
            entry.set(name, value);
        }
        entry.content = content.trim().to_owned();
        entry
    }

    fn set(&mut self, name: &str, value: Value) {
        match name {
            "book" => self.book = value_to_text(&value),
            "name" => self.name = value_to_text(&value),
            "keys" => self.keys = keys_of(value),
            "secondary_keys" => self.secondary_keys = keys_of(value),
            "logic" => self.logic = KeyLogic::parse(&value_to_text(&value)).unwrap_or_default(),
            "constant" => self.is_constant = is_true(&value, false),
            "enabled" => self.is_enabled = is_true(&value, true),
            "order" => self.order = value.as_i64().unwrap_or_default(),
            "scan_depth" => self.scan_depth = value.as_u64().and_then(|depth| u32::try_from(depth).ok()),
            "case_sensitive" => self.is_case_sensitive = is_true(&value, false),
            "whole_words" => self.whole_words = value.as_bool(),
            "other" => self.other = value.as_object().cloned().unwrap_or_default(),
            _ => {}
        }
    }
}

/// The fields of a front matter.
fn front_matter_fields(head: &str) -> Vec<(&str, Value)> {
    let mut fields: Vec<(&str, Value)> = Vec::new();
    for line in head.lines() {
        if let Some(item) = line.trim_start().strip_prefix("- ") {
            let Some((_, list)) = fields.last_mut() else { continue };
            if !list.is_array() {
                *list = Value::Array(Vec::new());
            }
            if let Some(list) = list.as_array_mut() {
                list.push(parse_value(item));
            }
        } else if let Some((name, written)) = line.split_once(':') {
            fields.push((name.trim(), parse_value(written)));
        }
    }
    fields
}

/// Parses a value as JSON, else as a list in brackets, else as plain text.
fn parse_value(written: &str) -> Value {
    let written = written.trim();
    if let Ok(value) = serde_json::from_str(written) {
        return value;
    }
    match written.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(list) => Value::Array(list.split(',').map(|item| item.trim().into()).collect()),
        None => written.trim_matches('\'').into(),
    }
}

fn value_to_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned)
}

/// Reads keys from a list, or from a text with commas.
fn keys_of(value: Value) -> Vec<String> {
    let words: Vec<String> = match value {
        Value::Array(list) => list.iter().map(value_to_text).collect(),
        Value::Null => Vec::new(),
        value => value_to_text(&value).split([',', '，', '、']).map(str::to_owned).collect(),
    };
    words.into_iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

fn is_true(value: &Value, default: bool) -> bool {
    match value {
        Value::Bool(value) => *value,
        Value::String(word) => match word.to_ascii_lowercase().as_str() {
            "yes" | "on" => true,
            "no" | "off" => false,
            _ => default,
        },
        _ => default,
    }
}

/// Letters and digits in lower case; everything between them becomes one hyphen.
fn slug(text: &str, bytes_max: usize) -> String {
    // As names are compared: some letters are decomposed into a letter and a mark, which a name can't contain.
    let text: String = text.to_lowercase().nfc().collect();
    let mut slug = String::new();
    for word in text.split(|character: char| !character.is_alphanumeric()) {
        if word.is_empty() {
            continue;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(word);
    }
    let end = (0..=bytes_max.min(slug.len())).rev().find(|end| slug.is_char_boundary(*end)).unwrap_or(0);
    slug.truncate(end);
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_come_back_from_their_documents() {
        let entry = LoreEntry {
            book: "Hives: north".to_owned(),
            name: "Queen \"B\"".to_owned(),
            keys: vec!["queen, old".to_owned(), "蜂王".to_owned()],
            secondary_keys: vec!["crown".to_owned()],
            logic: KeyLogic::NotAny,
            is_constant: true,
            is_enabled: false,
            order: -3,
            scan_depth: Some(7),
            is_case_sensitive: true,
            whole_words: Some(false),
            other: json!({"position": 4, "probability": 50}).as_object().unwrap().clone(),
            content: "She rules.\n\n---\n\nStill.".to_owned(),
        };
        assert_eq!(LoreEntry::parse(&entry.to_document()), entry);
        let name = entry.document_name(2).unwrap();
        assert_eq!(name.to_string(), "custom/lore/hives-north-queen-b-2.md");
    }

    #[test]
    fn names_of_any_script_make_documents() {
        for (name, stem) in
            [("蜂王", "蜂王"), ("\u{9dc} key", "ড-key"), ("🐝", "entry"), ("Élan e\u{301}", "élan-é")]
        {
            let entry = LoreEntry { book: "B".to_owned(), name: name.to_owned(), ..LoreEntry::default() };
            assert_eq!(entry.document_name(1).unwrap().stem(), format!("lore/b-{stem}"), "{name}");
        }
    }

    #[test]
    fn people_may_write_plain_values() {
        let entry = LoreEntry::parse(
            "---\r\nkeys: hive, queen\r\nsecondary_keys:\r\n  - old\r\n  - \"crown\"\r\nconstant: yes\r\norder: 5\r\n---\r\nText.",
        );
        assert_eq!(entry.keys, ["hive", "queen"]);
        assert_eq!(entry.secondary_keys, ["old", "crown"]);
        assert!(entry.is_constant && entry.is_enabled);
        assert_eq!((entry.order, entry.content.as_str()), (5, "Text."));
        assert_eq!(LoreEntry::parse("---\nkeys: [蜂巢, 蜂王]\n---\n").keys, ["蜂巢", "蜂王"]);
        assert_eq!(LoreEntry::parse("No front matter").content, "No front matter");
    }

    proptest! {
        #[test]
        fn any_document_is_read_and_any_name_can_be_stored(document in ".{0,80}", book in ".{0,200}", name in ".{0,300}") {
            LoreEntry::parse(&document);
            LoreEntry::parse(&format!("---\n{document}\n---\nx"));
            let entry = LoreEntry { book, name, ..LoreEntry::default() };
            prop_assert!(entry.document_name(10_000).is_ok());
        }
    }
}
