//! Exports a persona as a character card: the original card with the changes made since.

use serde_json::{Map, Value, json};

use crate::card::{LoreEntry, Lorebook};
use crate::character::{CharacterDraft, DraftOptions, draft_of_card};
use crate::formats::{card_of_json, raw_entries};

/// The stored texts of a persona, for export as a card.
#[derive(Clone, Debug, Default)]
pub struct CardPersona {
    pub name: String,
    /// The core block that describes the persona.
    pub persona_block: String,
    /// The core block that describes how the persona speaks.
    pub style_block: String,
    pub lorebooks: Vec<Lorebook>,
}

/// Fields that every card of version 3 must have.
const TEXT_FIELDS: [&str; 10] = [
    "name",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "post_history_instructions",
    "creator",
    "character_version",
];
/// Fields of old cards that were renamed, with their new names.
const RENAMED_FIELDS: [(&str, &str); 6] = [
    ("char_name", "name"),
    ("char_persona", "description"),
    ("world_scenario", "scenario"),
    ("char_greeting", "first_mes"),
    ("example_dialogue", "mes_example"),
    ("creatorcomment", "creator_notes"),
];

/// Exports the persona as a card of version 3. All fields of `original`, the JSON of the card that it was made from,
/// are returned unchanged, except for those that a person has changed. Nothing about the user is included except the
/// user's name, if a block that a person changed contains it.
///
/// `options` are those of the draft: they help to find out if a block is still the one from the card.
pub fn card_json(original: Option<&Value>, persona: &CardPersona, options: DraftOptions<'_>) -> Value {
    let mut data = original.map(current_fields).unwrap_or_default();
    let drafts: Vec<CharacterDraft> = original
        .and_then(|json| card_of_json(json, "").ok())
        .map(|card| {
            let names = [options.user_name, None];
            names.map(|user_name| draft_of_card(card.clone(), DraftOptions { user_name, ..options }))
        })
        .into_iter()
        .flatten()
        .collect();
    let is_drafted = |part: fn(&CharacterDraft) -> &str, now: &str| {
        drafts.iter().any(|draft| part(draft).trim() == now.trim())
    };
    if !is_drafted(|draft| draft.name.as_deref().unwrap_or_default(), &persona.name) {
        data.insert("name".to_owned(), json!(persona.name));
        data.remove("nickname");
    }
    if !is_drafted(|draft| &draft.persona_block, &persona.persona_block) {
        for emptied in ["personality", "scenario", "system_prompt"] {
            data.insert(emptied.to_owned(), json!(""));
        }
        data.insert("description".to_owned(), json!(persona.persona_block));
    }
    if !is_drafted(|draft| &draft.style_block, &persona.style_block) {
        data.insert("mes_example".to_owned(), json!(""));
        data.insert("post_history_instructions".to_owned(), json!(persona.style_block));
    }
    if let Some(book) =
        merge_lorebooks(data.get("character_book").filter(|book| book.is_object()), &drafts, persona)
    {
        data.insert("character_book".to_owned(), book);
    }
    json!({"spec": "chara_card_v3", "spec_version": "3.0", "data": complete_version_3(data)})
}

/// The fields of a card of any version, under their current names.
fn current_fields(card: &Value) -> Map<String, Value> {
    if let Some(data) = card.get("data").and_then(Value::as_object) {
        return data.clone();
    }
    let mut fields = card.as_object().cloned().unwrap_or_default();
    for (old, name) in RENAMED_FIELDS {
        if let Some(value) = fields.remove(old)
            && !fields.contains_key(name)
        {
            fields.insert(name.to_owned(), value);
        }
    }
    fields
}

/// Adds required fields of version 3, and removes files that only the original container had.
fn complete_version_3(mut data: Map<String, Value>) -> Map<String, Value> {
    for name in TEXT_FIELDS.into_iter().chain(["creator_notes"]) {
        data.entry(name).or_insert_with(|| json!(""));
    }
    for name in ["alternate_greetings", "tags", "group_only_greetings"] {
        data.entry(name).or_insert_with(|| json!([]));
    }
    data.entry("extensions").or_insert_with(|| json!({}));
    if let Some(Value::Array(assets)) = data.get_mut("assets") {
        assets.retain(|asset| {
            let uri = asset.get("uri").and_then(Value::as_str).unwrap_or_default();
            !["embeded://", "embedded://", "__asset:"].iter().any(|scheme| uri.starts_with(scheme))
        });
        if assets.is_empty() {
            data.remove("assets");
        }
    }
    data
}

/// The persona's lorebooks as the book of its card; `None` if it has none and never had one.
fn merge_lorebooks(
    original: Option<&Value>,
    drafts: &[CharacterDraft],
    persona: &CardPersona,
) -> Option<Value> {
    let name = persona.lorebooks.first().map(|book| book.name.as_str()).unwrap_or_default();
    let mut present: Vec<Option<&LoreEntry>> =
        persona.lorebooks.iter().flat_map(|book| &book.entries).map(Some).collect();
    if original.is_none() && present.is_empty() {
        return None;
    }
    let mut entries = Vec::new();
    let mut number = 0;
    for (raw, has_text) in original.map(raw_entries).unwrap_or_default() {
        if !has_text {
            entries.push(raw.clone());
            continue;
        }
        let at = number;
        number += 1;
        let drafted = drafts.iter().filter_map(|draft| draft.lore.first()?.entries.get(at));
        let drafted: Vec<LoreEntry> = drafted.map(comparable_entry).collect();
        let mut take = |is_it: &dyn Fn(&LoreEntry) -> bool| {
            present
                .iter_mut()
                .find(|entry| entry.is_some_and(|entry| is_it(&comparable_entry(entry))))?
                .take()
        };
        if take(&|entry| drafted.contains(entry)).is_some() {
            entries.push(raw.clone());
        } else if let Some(changed) =
            take(&|entry| drafted.iter().any(|was| was.name == entry.name && was.keys == entry.keys))
        {
            entries.push(entry_json(raw.as_object().cloned().unwrap_or_default(), drafted.first(), changed));
        }
    }
    entries.extend(present.into_iter().flatten().map(|entry| entry_json(Map::new(), None, entry)));
    for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
        for (name, default) in [
            ("use_regex", json!(false)),
            ("extensions", json!({})),
            ("enabled", json!(true)),
            ("insertion_order", json!(0)),
        ] {
            entry.entry(name).or_insert(default);
        }
    }
    let mut book = original.and_then(Value::as_object).cloned().unwrap_or_default();
    book.entry("name").or_insert_with(|| json!(name));
    book.entry("extensions").or_insert_with(|| json!({}));
    book.insert("entries".to_owned(), Value::Array(entries));
    Some(Value::Object(book))
}

/// A lorebook entry without the fields that stored documents do not have.
fn comparable_entry(entry: &LoreEntry) -> LoreEntry {
    let mut entry = LoreEntry { id: String::new(), ..entry.clone() };
    entry.content = entry.content.trim().to_owned();
    if entry.secondary_keys.is_empty() {
        entry.logic = "and_any".to_owned();
    }
    entry
}

/// The JSON of an entry. Of the original `raw`, which was parsed as `before`, only changed fields are replaced.
fn entry_json(mut raw: Map<String, Value>, before: Option<&LoreEntry>, now: &LoreEntry) -> Value {
    let mut set = |name: &str, aliases: &[&str], is_same: &dyn Fn(&LoreEntry) -> bool, value: Value| {
        if !before.is_some_and(is_same) {
            aliases.iter().for_each(|alias| _ = raw.remove(*alias));
            raw.insert(name.to_owned(), value);
        }
    };
    set("name", &["comment"], &|was| was.name == now.name, json!(now.name));
    set("keys", &["key"], &|was| was.keys == now.keys, json!(now.keys));
    let decorators = now.other.get("decorators").and_then(Value::as_array).into_iter().flatten();
    let decorators = decorators.filter_map(Value::as_str).map(|decorator| format!("@@{decorator}\n"));
    let content = decorators.collect::<String>() + &now.content;
    set("content", &[], &|was| was.content.trim() == now.content.trim(), json!(content));
    set("enabled", &["disable"], &|was| was.is_enabled == now.is_enabled, json!(now.is_enabled));
    set("insertion_order", &["order"], &|was| was.order == now.order, json!(now.order));
    set("constant", &[], &|was| was.is_constant == now.is_constant, json!(now.is_constant));
    let is_same_case = |was: &LoreEntry| was.is_case_sensitive == now.is_case_sensitive;
    set("case_sensitive", &["caseSensitive"], &is_same_case, json!(now.is_case_sensitive));
    let is_same_second = |was: &LoreEntry| was.secondary_keys == now.secondary_keys;
    set("secondary_keys", &["keysecondary"], &is_same_second, json!(now.secondary_keys));
    set("selective", &[], &is_same_second, json!(!now.secondary_keys.is_empty()));
    let extensions = raw.entry("extensions").or_insert_with(|| json!({}));
    if let Some(extensions) = extensions.as_object_mut() {
        // SillyTavern stores fields there that the standard does not have.
        let mut set = |name: &str, is_same: bool, value: Option<Value>| match value {
            Some(value) if !is_same => _ = extensions.insert(name.to_owned(), value),
            _ => {}
        };
        let logic = ["and_any", "not_all", "not_any", "and_all"].iter().position(|word| *word == now.logic);
        let logic = logic.filter(|_| !now.secondary_keys.is_empty()).map(|number| json!(number));
        let is_same = |test: &dyn Fn(&LoreEntry) -> bool| before.is_some_and(test);
        set("selectiveLogic", is_same(&|was| was.logic == now.logic), logic);
        let depth = now.scan_depth.map(|depth| json!(depth));
        set("scan_depth", is_same(&|was| was.scan_depth == now.scan_depth), depth);
        let whole_words = now.whole_words.map(|whole_words| json!(whole_words));
        set("match_whole_words", is_same(&|was| was.whole_words == now.whole_words), whole_words);
        if before.is_none() {
            let others = now.other.iter().filter(|(name, _)| *name != "decorators");
            extensions.extend(others.map(|(name, value)| (name.clone(), value.clone())));
        }
    }
    Value::Object(raw)
}
