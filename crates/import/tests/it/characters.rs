use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use import::{
    CharacterDraft, CoreBlock, DraftOptions, Input, LorebookSummary, ReadOptions, Sources, draft_character,
};
use serde_json::json;

use crate::cards::v2;
use crate::reading::png;

const BLOCK_LENGTH_MAX: usize = 5_000;
const PICTURE_SIZE_MAX: usize = 4_194_304;

fn draft_of(files: &[(&str, String)], user_name: Option<&str>) -> Option<CharacterDraft> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    draft_in(folder.path(), user_name)
}

fn draft_in(folder: &Path, user_name: Option<&str>) -> Option<CharacterDraft> {
    let sources = Sources::open(&[Input::Path(folder.to_owned())]).unwrap();
    draft_character(&sources, &ReadOptions::default(), options_for(user_name)).unwrap()
}

pub(crate) fn options_for(user_name: Option<&str>) -> DraftOptions<'_> {
    DraftOptions {
        user_name,
        persona_name: "Mira",
        block_length_max: BLOCK_LENGTH_MAX,
        picture_size_max: PICTURE_SIZE_MAX,
    }
}

/// The draft from one file.
pub(crate) fn draft_for(name: &str, text: String, user_name: Option<&str>) -> CharacterDraft {
    draft_of(&[(name, text)], user_name).unwrap()
}

#[test]
fn card_becomes_blocks_and_greetings() {
    let draft = draft_of(&[("mira.json", v2().to_string())], Some("Ann")).unwrap();
    assert_eq!(draft.name.as_deref(), Some("Mira"));
    assert_eq!(draft.persona_block, "Mira keeps bees with Ann.\n\nPersonality: calm\n\nScenario: A garden.");
    assert_eq!(draft.user_block, "");
    assert_eq!(
        draft.style_block,
        "Examples of how they talk:\nAnn: Hi\nMira: Hm.\n\n\
         Ways in which they begin a conversation:\nHello Ann.\n\nBack again, Ann?"
    );
    assert_eq!(draft.greetings, ["Hello Ann.", "Back again, Ann?"]);
    assert_eq!(draft.lorebooks, [LorebookSummary { name: "Hives".to_owned(), entries: 1 }]);
    assert!(draft.overflow.is_empty() && !draft.has_picture);
    assert_eq!(draft.unused.len(), 1, "the creator's notes: {:?}", draft.unused);
}

#[test]
fn picture_that_is_too_large_is_named() {
    for (size, has_picture) in [(1_000, true), (PICTURE_SIZE_MAX, false)] {
        let folder = tempfile::tempdir().unwrap();
        let card = [b"chara\0".as_slice(), BASE64_STANDARD.encode(v2().to_string()).as_bytes()].concat();
        let picture =
            png(&[(b"IHDR", &[0; 13]), (b"tEXt", &card), (b"IDAT", &vec![0; size]), (b"IEND", &[])]);
        std::fs::write(folder.path().join("mira.png"), picture).unwrap();
        let draft = draft_in(folder.path(), None).unwrap();
        assert_eq!((draft.has_picture, draft.picture.is_some()), (has_picture, has_picture));
        let named = draft.unused.iter().any(|skip| skip.reason == "the picture is larger than 4 MB");
        assert_eq!(named, !has_picture, "{:?}", draft.unused);
    }
}

#[test]
fn lorebooks_come_along_with_what_has_no_effect() {
    let world = json!({"name": "Hives", "entries": {
        "0": {"key": ["queen"], "content": "{{char}} calls her Bee, {{user}} does not.", "sticky": 2},
        "1": {"key": ["/x/"], "content": "Never used."}}});
    let draft = draft_of(&[("world.json", world.to_string())], Some("Ann")).unwrap();
    assert_eq!((draft.name, draft.persona_block.as_str()), (None, ""));
    assert_eq!(draft.lore[0].entries[0].content, "Mira calls her Bee, Ann does not.");
    let reasons: Vec<&str> = draft.unused.iter().map(|skip| skip.reason.as_str()).collect();
    assert_eq!(
        reasons,
        ["settings of entries that have no effect here: patterns, sticky", "entries without a usable key: 1"]
    );
}

#[test]
fn chinese_card_gets_chinese_words() {
    let card = json!({"spec": "chara_card_v2", "data": {"name": "小雨", "description": "{{char}}是{{user}}的邻居。",
        "personality": "安静", "scenario": "图书馆", "first_mes": "{{user}}，你来了。", "mes_example": ""}});
    let draft = draft_of(&[("xiaoyu.json", card.to_string())], None).unwrap();
    assert_eq!(draft.persona_block, "小雨是用户的邻居。\n\n性格：安静\n\n场景：图书馆");
    assert_eq!(draft.style_block, "开场白的例子：\n你，你来了。");
}

#[test]
fn text_beyond_a_block_becomes_a_document() {
    let mut card = v2();
    let paragraph = "She knows every hive by its sound. ".repeat(30);
    card["data"]["description"] = json!([paragraph.trim(); 8].join("\n\n"));
    card["data"]["alternate_greetings"] = json!(vec!["x".repeat(900); 10]);
    let draft = draft_of(&[("mira.json", card.to_string())], None).unwrap();
    for (block, text, end) in [
        (CoreBlock::Persona, &draft.persona_block, "Scenario: A garden."),
        (CoreBlock::Style, &draft.style_block, "xxx"),
    ] {
        let rest = &draft.overflow.iter().find(|overflow| overflow.block == block).unwrap().text;
        assert!(text.chars().count() <= BLOCK_LENGTH_MAX && text.chars().count() > 4_000);
        assert!(rest.ends_with(end), "{rest}");
    }
    assert_eq!(draft.greetings.len(), 11);
    let whole = format!("{}\n\n{}", draft.persona_block, draft.overflow[0].text);
    assert_eq!(whole.matches("every hive").count(), 240);
}

#[test]
fn instructions_and_notes_of_other_programs_are_drafts() {
    let home = [
        ("SOUL.md", "You are Mira. Calm, and curious about bees.".to_owned()),
        ("USER.md", "Ann keeps bees.".to_owned()),
        ("MEMORY.md", "- three hives".to_owned()),
    ];
    let draft = draft_of(&home, None).unwrap();
    assert_eq!(
        (draft.name, draft.persona_block.as_str()),
        (None, "You are Mira. Calm, and curious about bees.")
    );
    assert_eq!(draft.user_block, "Ann keeps bees.");

    let conversations = [("conversations.json", crate::chatgpt::sample())];
    let draft = draft_of(&conversations, None).unwrap();
    assert!(!draft.user_block.is_empty() && draft.unused.iter().any(|skip| skip.reason.contains("messages")));
}

#[test]
fn talk_alone_holds_no_character() {
    assert_eq!(draft_of(&[("_chat.txt", crate::whatsapp::IOS.to_owned())], None), None);
}

#[test]
fn second_card_is_named_and_not_mixed_in() {
    let mut other = v2();
    other["data"]["name"] = json!("Otto");
    let draft = draft_of(&[("a.json", v2().to_string()), ("b.json", other.to_string())], None).unwrap();
    assert_eq!(draft.name.as_deref(), Some("Mira"));
    assert!(draft.unused.iter().any(|skip| skip.reason.contains("Otto")), "{:?}", draft.unused);
}
