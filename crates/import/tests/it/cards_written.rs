//! A persona that was imported from a card is exported as the same card, with the changes that a person made.

use import::export::{CardContainer, CardPersona, card_file, card_json};
use import::{Card, CharacterDraft, Item, Picture};
use serde_json::{Value, json};

use crate::characters::{draft_for, options_for};
use crate::reading::{items, png};

/// A card with fields that only other programs use.
fn v3() -> Value {
    r#"{"spec": "chara_card_v3", "spec_version": "3.0", "data": {
        "name": "Mira Okafor", "nickname": "Mira", "description": "{{char}} keeps bees with {{user}}.\r\n\n",
        "personality": "calm, {{original}}", "scenario": "A garden.", "first_mes": "Hello {{user}}.",
        "mes_example": "<START>\n{{user}}: Hi\n{{char}}: Hm.", "alternate_greetings": ["Back again, {{user}}?", " "],
        "group_only_greetings": ["Hello all."], "system_prompt": "Be brief.", "post_history_instructions": "No emoji.",
        "creator_notes": "Test card.", "creator_notes_multilingual": {"zh": "测试卡"}, "source": ["https://cards.example/7"],
        "tags": ["garden", "蜜蜂"], "creator": "Ann", "character_version": "1.1", "creation_date": 1700000000,
        "extensions": {"depth_prompt": {"depth": 4, "prompt": "She hums."}, "talkativeness": "0.5"},
        "character_book": {"name": "Hives", "description": "of the garden", "scan_depth": 3, "extensions": {"own": 1},
            "entries": [
                {"id": 4, "keys": ["hive", "/h[iy]ve/i"], "secondary_keys": ["count"], "selective": true, "name": "hives",
                 "content": "@@depth 5\n{{char}} has three hives. ", "enabled": true, "insertion_order": 10,
                 "constant": true, "use_regex": false, "position": "after_char", "priority": 7,
                 "extensions": {"selectiveLogic": 3, "match_whole_words": true, "probability": 80}},
                {"keys": [], "content": " ", "enabled": false, "insertion_order": 2, "use_regex": false, "extensions": {}},
                {"keys": ["queen"], "content": "The queen is old.", "enabled": false, "insertion_order": 2,
                 "comment": "Queen", "use_regex": false, "extensions": {}}]}}}"#
        .parse()
        .unwrap()
}

/// The persona as saving the draft creates it.
fn saved(draft: &CharacterDraft) -> CardPersona {
    let mut lorebooks = draft.lore.clone();
    for entry in lorebooks.iter_mut().flat_map(|book| &mut book.entries) {
        // Documents contain neither.
        entry.id.clear();
        entry.content = entry.content.trim().to_owned();
    }
    // They are returned in the order of their documents' names.
    lorebooks.iter_mut().for_each(|book| book.entries.reverse());
    CardPersona {
        name: draft.name.clone().unwrap(),
        persona_block: draft.persona_block.clone(),
        style_block: draft.style_block.clone(),
        lorebooks,
    }
}

fn read(name: &str, bytes: impl AsRef<[u8]>) -> Box<Card> {
    let card = items(name, bytes).into_iter().find_map(|item| match item {
        Item::Card(card) => Some(card),
        _ => None,
    });
    card.unwrap()
}

#[test]
fn every_field_of_a_card_comes_back_as_it_arrived() {
    for user_name in [Some("Tom"), None] {
        let draft = draft_for("mira.json", v3().to_string(), user_name);
        let written = card_json(draft.card.as_ref(), &saved(&draft), options_for(user_name));
        assert_eq!(written, v3(), "{user_name:?}");
        // A user who has a name now, or another one, has changed nothing in the card.
        let no_name = draft_for("mira.json", v3().to_string(), None);
        let written = card_json(no_name.card.as_ref(), &saved(&no_name), options_for(Some("Ann")));
        assert_eq!(written, v3());
    }
}

#[test]
fn fields_that_are_null_stay_null() {
    let mut card = v3();
    for name in ["character_book", "creator_notes", "assets"] {
        card["data"][name] = Value::Null;
    }
    let draft = draft_for("mira.json", card.to_string(), None);
    assert_eq!(card_json(draft.card.as_ref(), &saved(&draft), options_for(None)), card);
}

#[test]
fn a_card_contains_edits_and_keeps_all_other_fields() {
    let draft = draft_for("mira.json", v3().to_string(), Some("Tom"));
    let mut persona = saved(&draft);
    persona.name = "Mirabel".to_owned();
    persona.persona_block = "Mirabel keeps goats.".to_owned();
    let entries = &mut persona.lorebooks[0].entries;
    entries.iter_mut().find(|entry| entry.name == "hives").unwrap().content = "Four hives.".to_owned();
    entries.retain(|entry| entry.name != "Queen");
    entries.push(import::LoreEntry {
        name: "goats".to_owned(),
        keys: vec!["goat".to_owned()],
        content: "Two goats.".to_owned(),
        is_enabled: true,
        scan_depth: Some(2),
        ..import::LoreEntry::default()
    });
    let written = card_json(draft.card.as_ref(), &persona, options_for(Some("Tom")));
    let mut expected = v3();
    let data = expected["data"].as_object_mut().unwrap();
    data.remove("nickname");
    data["name"] = json!("Mirabel");
    data["description"] = json!("Mirabel keeps goats.");
    for emptied in ["personality", "scenario", "system_prompt"] {
        data[emptied] = json!("");
    }
    let entries = data["character_book"]["entries"].as_array_mut().unwrap();
    entries[0]["content"] = json!("@@depth 5\nFour hives.");
    entries[2] = json!({"name": "goats", "keys": ["goat"], "secondary_keys": [], "selective": false,
        "content": "Two goats.", "enabled": true, "insertion_order": 0, "constant": false, "case_sensitive": false,
        "use_regex": false, "extensions": {"scan_depth": 2}});
    assert_eq!(written, expected);

    persona.style_block = "Short sentences.".to_owned();
    let written = card_json(draft.card.as_ref(), &persona, options_for(Some("Tom")));
    assert_eq!(written["data"]["post_history_instructions"], "Short sentences.");
    assert_eq!(written["data"]["mes_example"], "");
    assert_eq!(written["data"]["first_mes"], "Hello {{user}}.");
}

#[test]
fn cards_of_older_versions_and_personas_without_one_leave_as_version_3() {
    let v1 = json!({"char_name": "露娜", "char_persona": "猫的朋友。", "world_scenario": "", "char_greeting": "你好。",
        "example_dialogue": ""});
    let draft = draft_for("luna.json", v1.to_string(), None);
    let written = card_json(draft.card.as_ref(), &saved(&draft), options_for(None));
    assert_eq!(written["spec"], "chara_card_v3");
    assert_eq!((&written["data"]["name"], &written["data"]["first_mes"]), (&json!("露娜"), &json!("你好。")));
    assert_eq!(written["data"]["description"], "猫的朋友。");
    assert!(written["data"].get("char_name").is_none());
    let by_hand = CardPersona {
        name: "Vess".to_owned(),
        persona_block: "A harbour pilot.".to_owned(),
        style_block: "Dry.".to_owned(),
        lorebooks: Vec::new(),
    };
    let written = card_json(None, &by_hand, options_for(Some("Tom")));
    let read = read("vess.json", written.to_string());
    assert_eq!((read.name.as_str(), read.description.as_str()), ("Vess", "A harbour pilot."));
    assert_eq!(read.post_history_instructions, "Dry.");
    assert!(read.lorebook.is_none());
}

#[test]
fn each_container_is_read_again_with_card_and_picture() {
    let plain = png(&[(b"IHDR", &[0; 13]), (b"tEXt", b"Comment\0kept"), (b"IDAT", b"x"), (b"IEND", b"")]);
    let picture = Picture { media_type: "image/png".to_owned(), bytes: plain.clone(), place: String::new() };
    for (container, name) in
        [(CardContainer::Json, "a.json"), (CardContainer::Png, "a.png"), (CardContainer::Charx, "a.charx")]
    {
        let bytes = card_file(container, v3(), Some(&picture)).unwrap();
        let mut card = read(name, &bytes);
        assert_eq!(card.spec_version, "3.0");
        let found = card.picture.take().map(|picture| picture.bytes);
        assert_eq!(found, (container != CardContainer::Json).then(|| plain.clone()), "{name}");
        card.json["data"].as_object_mut().unwrap().remove("assets");
        assert_eq!(card.json, v3(), "{name}");
    }
    // A second card replaces the first.
    let once = card_file(CardContainer::Png, v3(), Some(&picture)).unwrap();
    let again = Picture { media_type: "image/png".to_owned(), bytes: once.clone(), ..picture.clone() };
    assert_eq!(card_file(CardContainer::Png, v3(), Some(&again)).unwrap(), once);
    assert!(card_file(CardContainer::Png, v3(), None).is_err());
    let broken = Picture { media_type: "image/png".to_owned(), bytes: b"GIF89a".to_vec(), ..picture };
    assert!(card_file(CardContainer::Png, v3(), Some(&broken)).is_err());
}

#[test]
fn files_that_only_the_first_container_had_are_not_named() {
    let mut card = v3();
    card["data"]["assets"] = json!([
        {"type": "icon", "uri": "embeded://assets/icon/images/main.png", "name": "main", "ext": "png"},
        {"type": "background", "uri": "https://cards.example/garden.png", "name": "garden", "ext": "png"}]);
    let draft = draft_for("mira.json", card.to_string(), None);
    let written = card_json(draft.card.as_ref(), &saved(&draft), options_for(None));
    assert_eq!(written["data"]["assets"].as_array().map(Vec::len), Some(1));
    assert_eq!(written["data"]["assets"][0]["type"], "background");
    let picture = Picture {
        media_type: "image/webp".to_owned(),
        bytes: b"RIFF....WEBP".to_vec(),
        place: String::new(),
    };
    let archive = card_file(CardContainer::Charx, written, Some(&picture)).unwrap();
    let read = read("mira.charx", archive);
    assert_eq!(read.picture.unwrap().bytes, picture.bytes);
}
