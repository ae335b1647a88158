//! Edits `config.toml` without changing a person's comments, order and formatting.

use std::ops::Range;

use serde_json::Value as Json;
use toml::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

/// A wish of a person.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConfigChange {
    pub(crate) key: String,
    /// The new value; `None` resets the key to its default.
    pub(crate) value: Option<Value>,
}

/// Parses `{section: {key: value}}` or `{"section.key": value}`. The error is shown to a person.
pub(crate) fn changes_in(wanted: &Json, known: &[(String, Value)]) -> Result<Vec<ConfigChange>, String> {
    let Some(sections) = wanted.as_object().filter(|sections| !sections.is_empty()) else {
        return Err("the body must be an object of sections with at least one key".to_owned());
    };
    let mut leaves = Vec::new();
    for (name, value) in sections {
        if !name.contains('.') && !value.is_object() {
            return Err(format!("{name}: a section must be an object"));
        }
        collect_leaves(name, value, &mut leaves);
    }
    if leaves.is_empty() {
        return Err("the body contains no key. Nothing was changed".to_owned());
    }
    let mut wishes: Vec<ConfigChange> =
        leaves.into_iter().map(|(key, value)| to_change(key, value, known)).collect::<Result<_, _>>()?;
    wishes.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(wishes)
}

fn collect_leaves<'a>(path: &str, value: &'a Json, leaves: &mut Vec<(String, &'a Json)>) {
    match value.as_object() {
        Some(fields) => {
            fields.iter().for_each(|(name, value)| collect_leaves(&format!("{path}.{name}"), value, leaves));
        }
        None => leaves.push((path.to_owned(), value)),
    }
}

fn to_change(key: String, value: &Json, known: &[(String, Value)]) -> Result<ConfigChange, String> {
    let Some((_, default)) = known.iter().find(|(name, _)| *name == key) else {
        return Err(format!("unknown key `{key}`. Nothing was changed"));
    };
    let value = match value {
        Json::Null => None,
        _ => Some(as_toml(value, default).ok_or_else(|| format!("{key}: invalid value {value}"))?),
    };
    Ok(ConfigChange { key, value })
}

/// Converts a JSON value to the TOML type of the key's default. A value that does not fit is refused later, with the
/// key's own reason.
fn as_toml(value: &Json, default: &Value) -> Option<Value> {
    match (value, default) {
        (Json::Number(number), Value::Float(_)) => number.as_f64().map(Value::Float),
        (Json::Number(number), _) => {
            number.as_i64().map(Value::Integer).or_else(|| number.as_f64().map(Value::Float))
        }
        (Json::Bool(flag), _) => Some(Value::Boolean(*flag)),
        (Json::String(text), _) => Some(Value::String(text.clone())),
        (Json::Array(items), _) => items.iter().map(list_item).collect::<Option<Vec<_>>>().map(Value::Array),
        _ => None,
    }
}

/// Converts an item of a list: a text, or a table of plain values.
fn list_item(item: &Json) -> Option<Value> {
    let plain = |value: &Json| as_toml(value, &Value::Boolean(false)).filter(|value| !value.is_array());
    match item {
        Json::String(text) => Some(Value::String(text.clone())),
        Json::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let table = fields.map(|(name, value)| Some((name.clone(), plain(value)?)));
            table.collect::<Option<toml::Table>>().map(Value::Table)
        }
        _ => None,
    }
}

/// Applies changes to the text of `config.toml`. The error says what in the present text prevents it.
pub(crate) fn apply_changes(text: &str, wishes: &[ConfigChange]) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.to_string().trim_end().to_owned())?;
    for wish in wishes {
        let (section, name) = wish.key.rsplit_once('.').unwrap_or(("", &wish.key));
        let mut place: &mut dyn TableLike = document.as_table_mut();
        for part in section.split('.').filter(|part| !part.is_empty()) {
            let entry = place.entry(part).or_insert_with(|| Item::Table(new_section()));
            place = entry.as_table_like_mut().ok_or_else(|| format!("`{part}` is not a section"))?;
        }
        match &wish.value {
            Some(value) => set_value(place, name, value),
            None => {
                place.remove(name);
            }
        }
    }
    Ok(document.to_string())
}

/// A table that is written only if it holds keys of its own, not if it holds only sections.
fn new_section() -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table
}

fn set_value(place: &mut dyn TableLike, name: &str, value: &Value) {
    let mut fresh = to_toml(value);
    if let Some(present) = place.get(name).and_then(Item::as_value) {
        // A comment after the value stays.
        *fresh.decor_mut() = present.decor().clone();
    }
    match place.get_mut(name) {
        Some(item) => *item = Item::Value(fresh),
        None => {
            place.insert(name, Item::Value(fresh));
        }
    }
}

fn to_toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(flag) => (*flag).into(),
        Value::Array(items) => toml_edit::Value::Array(items.iter().map(to_toml).collect::<Array>()),
        Value::Table(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.as_str(), to_toml(value)));
            toml_edit::Value::InlineTable(fields.collect::<InlineTable>())
        }
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

/// True if the text sets a key.
pub(crate) fn has_key(text: &str, key: &str) -> bool {
    key_span(text, key).is_some()
}

/// Number of the line with a key, from 1.
pub(crate) fn key_line(text: &str, key: &str) -> Option<usize> {
    let place = key_span(text, key)?.start;
    Some(text.get(..place)?.matches('\n').count() + 1)
}

/// The text with a key and its value replaced by spaces, so that all other keys stay on their lines; `None` if the
/// result would not be valid TOML.
pub(crate) fn without_key(text: &str, key: &str) -> Option<String> {
    let span = key_span(text, key)?;
    let start = text.get(..span.start)?.rfind('\n').map_or(0, |end| end + 1);
    let blank = |letter: char| if letter == '\n' { letter } else { ' ' };
    let blanked: String = text.get(start..span.end)?.chars().map(blank).collect();
    let without = [text.get(..start)?, &blanked, text.get(span.end..)?].concat();
    without.parse::<toml::Table>().is_ok().then_some(without)
}

/// Range of a key and its value in the text.
fn key_span(text: &str, key: &str) -> Option<Range<usize>> {
    let document = toml_edit::Document::parse(text).ok()?;
    let mut item = document.as_item();
    let mut found = None;
    for part in key.split('.') {
        let (name, next) = item.as_table_like()?.get_key_value(part)?;
        let (of_name, of_value) = (name.span(), next.span());
        let start = of_name.as_ref().or(of_value.as_ref())?.start;
        found = Some(start..of_value.or(of_name)?.end);
        item = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::known_keys;
    use serde_json::json;

    const FILE: &str = "# mine\n[session]\nidle = \"5m\"   # short\n\n# how it finds\n[recall]\nk=10 # ten\n\
                        weight_impact = 2.0\n\n[server]\nport = 7777\n";

    fn edited_file(wanted: Json) -> String {
        apply_changes(FILE, &changes_in(&wanted, &known_keys().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn a_list_of_tables_replaces_the_one_before() {
        let known = known_keys().unwrap();
        let wanted = json!({"llm": {"prices": [{"model": "m", "input": 2, "output": 0.5, "cached": null}]}});
        let wishes = changes_in(&wanted, &known).unwrap();
        for before in ["", "[llm]\nmodel = \"m\"\n[[llm.prices]]\nmodel = \"old\"\ninput = 1.0\n"] {
            let text = apply_changes(before, &wishes).unwrap();
            let config: toml::Table = text.parse().unwrap();
            let prices = config["llm"]["prices"].as_array().unwrap();
            assert_eq!((prices.len(), prices[0]["model"].as_str()), (1, Some("m")), "{text}");
            assert_eq!(prices[0]["input"].as_integer(), Some(2), "{text}");
        }
    }

    #[test]
    fn comments_and_order_stay_as_they_were() {
        assert_eq!(edited_file(json!({"recall": {"k": 7}})), FILE.replace("k=10 #", "k=7 #"));
        assert_eq!(edited_file(json!({"session.idle": "9m"})), FILE.replace("\"5m\"", "\"9m\""));
        assert_eq!(
            edited_file(json!({"session": {"idle": null}})),
            FILE.replace("idle = \"5m\"   # short\n", "")
        );
        let added = edited_file(json!({"llm": {"models": {"small": "tiny"}}}));
        assert!(added.starts_with(FILE) && added.contains("[llm.models]\nsmall = \"tiny\""), "{added}");
        assert!(!added.contains("[llm]\n"), "an empty section says nothing: {added}");
    }

    #[test]
    fn unknown_keys_are_refused() {
        let known = known_keys().unwrap();
        for wanted in [
            json!({}),
            json!([]),
            json!({"recall": 5}),
            json!({"recall": {}}),
            json!({"recall": {"kk": 5}}),
            json!({"memory": {"db_path": "x"}}),
            json!({"runtime": {"data_dir": "x"}}),
            json!({"recall": {"k": [1]}}),
        ] {
            assert!(changes_in(&wanted, &known).is_err(), "{wanted}");
        }
    }

    /// Each seed of the fuzz target `config` is a text, a zero byte and a change.
    #[test]
    fn every_seed_is_read_or_refused_and_a_change_leaves_something_readable() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/config");
        let (mut refused, mut changed) = (0, 0);
        for entry in std::fs::read_dir(folder).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            let Ok(text) = std::str::from_utf8(&bytes[..end]) else { continue };
            let path = std::path::Path::new("config.toml");
            if crate::config::parse(text, path, std::iter::empty()).is_err() {
                refused += 1;
                continue;
            }
            let change = bytes.get(end + 1..).map_or_else(
                || json!({"recall": {"k": 3}}),
                |change| serde_json::from_slice(change).unwrap(),
            );
            let after = apply_changes(text, &changes_in(&change, &known_keys().unwrap()).unwrap()).unwrap();
            crate::config::parse(&after, path, std::iter::empty()).unwrap();
            changed += 1;
        }
        assert!(refused >= 6 && changed >= 4, "{refused} refused, {changed} changed");
    }

    #[test]
    fn a_key_has_a_line_number() {
        assert_eq!(key_line(FILE, "session.idle"), Some(3));
        assert_eq!(key_line(FILE, "recall.weight_impact"), Some(8));
        assert_eq!(key_line(FILE, "recall"), Some(6));
        assert_eq!(key_line(FILE, "llm.model"), None);
    }
}
