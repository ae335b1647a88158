//! Lorebooks: in a card, as SillyTavern's world info, and as files of Character Card V3.

use serde_json::{Map, Value};

use super::card_json::{parse, skipping_reader};
use super::listed::{read_id, string_field};
use super::{Format, Reader, ReaderContext, single_item_reader};
use crate::card::{LoreEntry, Lorebook};
use crate::error::ImportError;
use crate::item::Item;
use crate::limits::{DOCUMENT_BYTES_MAX, LORE_ENTRIES_MAX};
use crate::lines::clean_text;

pub(super) const FORMAT: Format = Format { id: "lorebook", name: "world book", detect, open };

/// Fields of an entry that are used, or that only concern its display in another program.
const KNOWN_FIELDS: [&str; 31] = [
    "keys",
    "key",
    "secondary_keys",
    "keysecondary",
    "selective",
    "selectiveLogic",
    "selective_logic",
    "content",
    "name",
    "comment",
    "constant",
    "enabled",
    "disable",
    "insertion_order",
    "order",
    "scan_depth",
    "scanDepth",
    "case_sensitive",
    "caseSensitive",
    "match_whole_words",
    "matchWholeWords",
    "use_regex",
    "id",
    "uid",
    "extensions",
    "displayIndex",
    "display_index",
    "addMemo",
    "useProbability",
    "vectorized",
    "characterFilter",
];

fn detect(context: &ReaderContext<'_>) -> bool {
    let Some(json) = &context.head.json else { return false };
    let text = &context.head.text;
    !json.is_array
        && (json.has_top_keys(&["entries"]) && text.contains("\"key") && text.contains("\"content\"")
            || json.has_top_keys(&["data"]) && text.contains("lorebook_v"))
}

fn open(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    let name = context.source.name();
    let Some(bytes) = context.source.read_text(DOCUMENT_BYTES_MAX)? else {
        return Ok(skipping_reader(name, format!("it is longer than {DOCUMENT_BYTES_MAX} bytes")));
    };
    let book = parse(&clean_text(bytes).0).and_then(|json| {
        let book = json.get("data").filter(|_| json.get("entries").is_none()).unwrap_or(&json);
        read(book, context.source.stem(), name)
    });
    Ok(match book {
        Ok(book) => single_item_reader(Item::Lorebook(book)),
        Err(reason) => skipping_reader(name, reason),
    })
}

/// Reads the book of a card (a list of entries with `keys`) or a separate book (entries by number, with `key`).
pub(super) fn read(book: &Value, fallback_name: &str, place: &str) -> Result<Lorebook, String> {
    let entries = numbered_entries(book).ok_or("the book has no entries")?;
    if entries.len() > LORE_ENTRIES_MAX {
        return Err(format!("the book has more than {LORE_ENTRIES_MAX} entries"));
    }
    let depth = read_depth(book, &["scan_depth", "scanDepth"]);
    let name = string_field(book, "name").filter(|name| !name.trim().is_empty()).unwrap_or(fallback_name);
    Ok(Lorebook {
        name: name.to_owned(),
        entries: entries.into_iter().filter_map(|(at, entry)| read_entry(at, entry, depth)).collect(),
        place: place.to_owned(),
    })
}

/// The entries of a book as they are stored, in the order of [`read`], each with true if it is used: an entry without
/// a text is not.
pub(crate) fn raw_entries(book: &Value) -> Vec<(&Value, bool)> {
    let entries = numbered_entries(book).unwrap_or_default().into_iter();
    entries.map(|(_, entry)| (entry, entry_text(entry).is_some())).collect()
}

fn numbered_entries(book: &Value) -> Option<Vec<(String, &Value)>> {
    Some(match book.get("entries") {
        Some(Value::Array(entries)) => {
            entries.iter().enumerate().map(|(at, entry)| (at.to_string(), entry)).collect()
        }
        Some(Value::Object(entries)) => {
            let mut entries: Vec<_> = entries.iter().map(|(key, entry)| (key.clone(), entry)).collect();
            entries.sort_by_key(|(key, _)| (key.parse::<u64>().unwrap_or(u64::MAX), key.clone()));
            entries
        }
        _ => return None,
    })
}

fn entry_text(entry: &Value) -> Option<&str> {
    string_field(entry, "content").filter(|content| !content.trim().is_empty())
}

/// An entry with a text.
fn read_entry(at: String, entry: &Value, depth_of_book: Option<u32>) -> Option<LoreEntry> {
    let content = entry_text(entry)?;
    let (content, decorators) = without_decorators(content);
    let is_true = |names: &[&str]| entry_field(entry, names).and_then(Value::as_bool);
    let mut other = other_fields(entry);
    if !decorators.is_empty() {
        other.insert("decorators".to_owned(), decorators.into());
    }
    let (patterns, first_keys): (Vec<String>, Vec<String>) = entry_keys(entry, &["keys", "key"])
        .into_iter()
        .partition(|key| is_true(&["use_regex"]) == Some(true) || is_pattern(key));
    if !patterns.is_empty() {
        other.insert("patterns".to_owned(), patterns.into());
    }
    let mut secondary_keys = entry_keys(entry, &["secondary_keys", "keysecondary"]);
    if is_true(&["selective"]) == Some(false) && !secondary_keys.is_empty() {
        other.insert("secondary_keys".to_owned(), std::mem::take(&mut secondary_keys).into());
    }
    Some(LoreEntry {
        id: read_id(entry, "uid").or_else(|| read_id(entry, "id")).unwrap_or(at),
        name: ["name", "comment"]
            .iter()
            .filter_map(|key| string_field(entry, key))
            .find(|name| !name.trim().is_empty())
            .unwrap_or_default()
            .to_owned(),
        keys: first_keys,
        secondary_keys,
        logic: match entry_field(entry, &["selectiveLogic", "selective_logic"]).and_then(Value::as_u64) {
            Some(1) => "not_all",
            Some(2) => "not_any",
            Some(3) => "and_all",
            _ => "and_any",
        }
        .to_owned(),
        content,
        is_constant: is_true(&["constant"]).unwrap_or(false),
        is_enabled: is_true(&["enabled"]).unwrap_or_else(|| !is_true(&["disable"]).unwrap_or(false)),
        order: entry_field(entry, &["insertion_order", "order"]).and_then(whole_number).unwrap_or_default(),
        scan_depth: read_depth(entry, &["scan_depth", "scanDepth"]).or(depth_of_book),
        is_case_sensitive: is_true(&["case_sensitive", "caseSensitive"]).unwrap_or(false),
        whole_words: is_true(&["match_whole_words", "matchWholeWords"]),
        other,
    })
}

/// A field of an entry, or of its `extensions`, into which SillyTavern writes fields of cards. Nulls count as
/// missing.
fn entry_field<'a>(entry: &'a Value, names: &[&str]) -> Option<&'a Value> {
    let places = [Some(entry), entry.get("extensions")];
    places
        .into_iter()
        .flatten()
        .find_map(|place| names.iter().find_map(|name| place.get(*name).filter(|value| !value.is_null())))
}

fn read_depth(place: &Value, names: &[&str]) -> Option<u32> {
    let depth = whole_number(entry_field(place, names)?)?;
    u32::try_from(depth).ok()
}

fn whole_number(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "an order beyond all numbers is the last one")]
    value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))
}

fn entry_keys(entry: &Value, names: &[&str]) -> Vec<String> {
    let keys: Vec<String> = match names.iter().find_map(|name| entry.get(*name)) {
        Some(Value::Array(keys)) => keys.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(keys)) => keys.split(',').map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    keys.into_iter().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).collect()
}

/// True if a key is a regular expression of SillyTavern: `/frost(bite)?/i`.
fn is_pattern(key: &str) -> bool {
    let rest = key.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
    rest.is_some_and(|(pattern, flags)| {
        !pattern.is_empty() && flags.chars().all(|flag| "gimsuy".contains(flag))
    })
}

/// The text without its leading lines `@@name value` (decorators of Character Card V3).
fn without_decorators(content: &str) -> (String, Vec<String>) {
    let mut rest = content.trim_start();
    let mut decorators = Vec::new();
    while rest.starts_with("@@") {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        decorators.push(line.trim_start_matches('@').trim().to_owned());
        rest = after.trim_start();
    }
    if decorators.is_empty() { (content.to_owned(), decorators) } else { (rest.to_owned(), decorators) }
}

/// Settings of an entry beyond the known fields.
fn other_fields(entry: &Value) -> Map<String, Value> {
    let fields = [entry.get("extensions"), Some(entry)].into_iter().flatten().filter_map(Value::as_object);
    let is_set = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) => true,
    };
    let is_default = |name: &str, value: &Value| name == "probability" && value.as_f64() == Some(100.0);
    let others = fields.flatten().filter(|(name, value)| {
        !KNOWN_FIELDS.contains(&name.as_str()) && is_set(value) && !is_default(name, value)
    });
    others.map(|(name, value)| (name.clone(), value.clone())).collect()
}
