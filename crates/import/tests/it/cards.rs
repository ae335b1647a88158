use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use import::{Card, Item};
use serde_json::{Value, json};

use crate::reading::{items, png, skips, zip};

fn card_of(items: &[Item]) -> &Card {
    items.iter().find_map(|item| if let Item::Card(card) = item { Some(&**card) } else { None }).unwrap()
}

pub(crate) fn v2() -> Value {
    json!({"spec": "chara_card_v2", "spec_version": "2.0", "data": {
        "name": "Mira", "description": "{{char}} keeps bees with {{user}}.", "personality": "calm", "scenario": "A garden.",
        "first_mes": "Hello {{user}}.", "mes_example": "<START>\n{{user}}: Hi\n{{char}}: Hm.",
        "alternate_greetings": ["Back again, {{user}}?"], "system_prompt": "", "post_history_instructions": "",
        "creator_notes": "Test card.", "tags": ["garden"], "creator": "Ann", "character_version": "1.1", "extensions": {},
        "character_book": {"name": "Hives", "extensions": {}, "entries": [
            {"keys": ["hive"], "secondary_keys": ["count"], "content": "{{char}} has three hives.", "enabled": true,
             "insertion_order": 1, "constant": true, "name": "hives", "extensions": {}},
            {"keys": [], "content": " ", "enabled": false, "insertion_order": 2, "extensions": {}}]}}})
}

pub(crate) fn world_book() -> String {
    json!({"entries": {
        "10": {"uid": 10, "key": ["lake"], "keysecondary": [], "comment": "Lake", "content": "The lake is deep.",
               "constant": false, "disable": true, "order": 100},
        "2": {"uid": 2, "key": ["mill"], "keysecondary": ["old"], "comment": "", "content": "The mill is old.",
              "constant": true, "disable": false, "order": 100}}})
    .to_string()
}

#[test]
fn the_three_versions_are_read() {
    let v1 = json!({"name": "Mira", "description": "Keeps bees.", "personality": "calm", "scenario": "", "first_mes": "Hello.",
        "mes_example": ""});
    let read = items("mira.json", v1.to_string());
    assert_eq!((card_of(&read).spec_version.as_str(), card_of(&read).name.as_str()), ("1.0", "Mira"));
    let read = items("mira.json", v2().to_string());
    let card = card_of(&read);
    assert_eq!((card.spec_version.as_str(), card.tags.as_slice()), ("2.0", &["garden".to_owned()][..]));
    let mut v3 = v2();
    v3["spec"] = json!("chara_card_v3");
    v3["data"]["nickname"] = json!("Mi");
    let read = items("mira.json", v3.to_string());
    let card = card_of(&read).resolve_placeholders("Ann");
    assert_eq!((card.spec_version.as_str(), card.description.as_str()), ("3.0", "Mi keeps bees with Ann."));
}

#[test]
fn placeholders_of_a_lorebook_are_resolved() {
    let read = items("mira.json", v2().to_string());
    let card = card_of(&read).resolve_placeholders("Ann");
    let book = card.lorebook.unwrap();
    assert_eq!((book.name.as_str(), book.entries.len()), ("Hives", 1), "an entry without text is none");
    assert_eq!(book.entries[0].content, "Mira has three hives.");
    assert!(book.entries[0].is_constant && book.entries[0].is_enabled);
}

#[test]
fn a_picture_gives_its_card_and_itself_without_it() {
    let mut v3 = v2();
    v3["spec"] = json!("chara_card_v3");
    v3["data"]["name"] = json!("Mira the third");
    let old = [b"chara\0", STANDARD.encode(v2().to_string()).as_bytes()].concat();
    let new = [b"ccv3\0", STANDARD.encode(v3.to_string()).as_bytes()].concat();
    let other = b"Comment\0kept".to_vec();
    let picture = png(&[
        (b"IHDR", &[0; 13]),
        (b"tEXt", &other),
        (b"IDAT", b"x"),
        (b"tEXt", &old),
        (b"tEXt", &new),
        (b"IEND", b""),
    ]);
    let read = items("mira.png", picture);
    let card = card_of(&read);
    assert_eq!(card.name, "Mira the third", "a V3 card stands before a V2 one");
    let stripped = png(&[(b"IHDR", &[0; 13]), (b"tEXt", &other), (b"IDAT", b"x"), (b"IEND", b"")]);
    assert_eq!(card.picture.as_ref().unwrap().bytes, stripped);
}

#[test]
fn an_international_text_chunk_is_read_compressed_or_not() {
    use std::io::Write;
    let encoded = STANDARD.encode(v2().to_string());
    let mut compressor = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    compressor.write_all(encoded.as_bytes()).unwrap();
    let compressed = [b"chara\0\x01\0\0\0".as_slice(), &compressor.finish().unwrap()].concat();
    let plain = [b"chara\0\0\0en\0\0", encoded.as_bytes()].concat();
    for data in [plain, compressed] {
        let read = items("mira.png", png(&[(b"IHDR", &[0; 13]), (b"iTXt", &data), (b"IEND", b"")]));
        assert_eq!(card_of(&read).name, "Mira");
    }
}

#[test]
fn a_charx_archive_gives_card_and_picture() {
    let mut card = v2();
    card["spec"] = json!("chara_card_v3");
    card["data"]["assets"] = json!([{"type": "icon", "uri": "embeded://assets/icon/images/main.png", "name": "main", "ext": "png"}]);
    let picture = png(&[(b"IHDR", &[0; 13]), (b"IEND", b"")]);
    let archive =
        zip(&[("card.json", card.to_string().as_bytes()), ("assets/icon/images/main.png", &picture)]);
    let read = items("mira.charx", archive);
    assert_eq!(card_of(&read).picture.as_ref().unwrap().bytes, picture);
}

#[test]
fn a_world_book_is_read_in_the_order_of_its_numbers() {
    let read = items("world.json", world_book());
    let Item::Lorebook(book) = &read[0] else { panic!("{read:?}") };
    let entries: Vec<_> =
        book.entries.iter().map(|entry| (entry.id.as_str(), entry.is_enabled, entry.is_constant)).collect();
    assert_eq!(entries, [("2", true, true), ("10", false, false)]);
    assert_eq!(book.name, "world");
}

#[test]
fn settings_of_entries_are_read_from_every_form() {
    let world = json!({"name": "Hives", "scan_depth": 3, "entries": {
        "0": {"uid": 0, "key": ["queen", "/qu(ee|e)n/i"], "keysecondary": ["old", "blue"], "selective": true, "selectiveLogic": 3,
              "comment": "Queen", "content": "@@depth 4\n@@role user\nThe queen is old.", "order": 7, "caseSensitive": true,
              "matchWholeWords": false, "scanDepth": null, "position": 4, "probability": 100, "group": "", "sticky": 2},
        "1": {"uid": 1, "key": [], "content": "Never used.", "selective": false, "keysecondary": ["x"]}}});
    let read = items("world.json", world.to_string());
    let Item::Lorebook(book) = &read[0] else { panic!("{read:?}") };
    let queen = &book.entries[0];
    assert_eq!((queen.keys.as_slice(), queen.secondary_keys.len()), (&["queen".to_owned()][..], 2));
    assert_eq!((queen.logic.as_str(), queen.order, queen.scan_depth), ("and_all", 7, Some(3)));
    assert_eq!((queen.is_case_sensitive, queen.whole_words), (true, Some(false)));
    assert_eq!(queen.content, "The queen is old.");
    assert_eq!(
        Value::Object(queen.other.clone()),
        json!({"position": 4, "sticky": 2, "decorators": ["depth 4", "role user"], "patterns": ["/qu(ee|e)n/i"]})
    );
    assert_eq!(book.entries[1].other["secondary_keys"], json!(["x"]));
    assert!(book.entries[1].secondary_keys.is_empty());

    let mut card = v2();
    card["data"]["character_book"]["entries"][0]["extensions"] =
        json!({"selectiveLogic": 2, "scan_depth": 9, "match_whole_words": true, "position": 0, "weight": 10});
    card["data"]["character_book"]["entries"][0]["selective"] = json!(true);
    let read = items("mira.json", card.to_string());
    let entry = &card_of(&read).lorebook.as_ref().unwrap().entries[0];
    assert_eq!((entry.logic.as_str(), entry.order, entry.scan_depth), ("not_any", 1, Some(9)));
    assert_eq!((entry.whole_words, &entry.other), (Some(true), json!({"weight": 10}).as_object().unwrap()));
}

#[test]
fn pictures_that_lie_are_refused_with_a_word() {
    let encoded = STANDARD.encode(v2().to_string());
    let card = [b"chara\0", encoded.as_bytes()].concat();
    let whole = png(&[(b"IHDR", &[0; 13]), (b"tEXt", &card), (b"IEND", b"")]);
    let mut too_long = whole.clone();
    too_long[33] = 0xFF;
    let huge = png(&[(b"tEXt", &[b"chara\0".as_slice(), &[b'A'; 100]].concat())]);
    let no_base64 = png(&[(b"tEXt", b"chara\0!!!not base64!!!"), (b"IEND", b"")]);
    let no_name = png(&[(b"tEXt", &[b"chara\0".as_slice(), STANDARD.encode("{}").as_bytes()].concat())]);
    let no_json =
        png(&[(b"tEXt", &[b"chara\0".as_slice(), STANDARD.encode("{\"data\":").as_bytes()].concat())]);
    let no_zero = png(&[(b"tEXt", b"chara")]);
    let bad_compression = png(&[(b"zTXt", b"chara\0\0garbage")]);
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let deep = png(&[(b"tEXt", &[b"chara\0".as_slice(), STANDARD.encode(deep).as_bytes()].concat())]);
    let no_card = png(&[(b"IHDR", &[0; 13]), (b"IEND", b"")]);
    for (index, bytes) in [
        too_long,
        whole[..60].to_vec(),
        huge,
        no_base64,
        no_name,
        no_json,
        no_zero,
        bad_compression,
        deep,
        no_card,
    ]
    .into_iter()
    .enumerate()
    {
        let read = items("mira.png", bytes);
        assert_eq!((read.len(), skips(&read).len()), (1, 1), "case {index}: {read:?}");
        assert!(skips(&read)[0].reason.len() > 10, "case {index}");
    }
}
