//! One small sample of each format, for the laws and the kinds of damage.

use base64::Engine;
use serde_json::json;

use crate::reading::png;

/// Format, file name, bytes.
pub(crate) fn samples() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let card = json!({"spec": "chara_card_v2", "spec_version": "2.0", "data": {
        "name": "Mira", "description": "{{char}} keeps bees.", "personality": "calm", "scenario": "A garden.",
        "first_mes": "Hello {{user}}.", "mes_example": "<START>\n{{char}}: Hm.",
        "character_book": {"entries": [{"keys": ["hive"], "content": "There are three hives.", "enabled": true}]}}});
    let encoded = base64::engine::general_purpose::STANDARD.encode(card.to_string());
    let text = [b"chara\0", encoded.as_bytes()].concat();
    let card_png = png(&[(b"IHDR", &[0; 13]), (b"IDAT", b"picture"), (b"tEXt", &text), (b"IEND", b"")]);
    let texts: [(&str, &str, String); 20] = [
        ("chatgpt", "conversations.json", crate::chatgpt::sample()),
        ("claude", "conversations.json", crate::claude::sample()),
        ("librechat", "bees.json", crate::librechat::sample()),
        ("sillytavern", "chat.jsonl", crate::sillytavern::sample()),
        ("card", "mira.json", card.to_string()),
        ("lorebook", "world.json", crate::cards::world_book()),
        ("telegram", "result.json", crate::telegram::sample()),
        ("discord", "general.json", crate::discord::sample()),
        ("discord-package", "messages.csv", crate::discord::PACKAGE_CSV.to_owned()),
        ("signal", "chat.json", crate::signal::sample()),
        ("wechat", "chat.json", crate::wechat::weflow()),
        ("wechat-csv", "chat.csv", crate::wechat::MEMOTRACE_CSV.to_owned()),
        ("wechat-html", "chat.html", crate::wechat::MEMOTRACE_HTML.to_owned()),
        ("whatsapp", "_chat.txt", crate::whatsapp::IOS.to_owned()),
        ("openclaw-session", "s-1.jsonl", crate::openclaw::session()),
        ("jsonl", "talk.jsonl", crate::generic::JSON_LINES.to_owned()),
        ("json", "talk.json", crate::generic::JSON.to_owned()),
        ("csv", "talk.csv", crate::generic::CSV.to_owned()),
        ("text", "talk.txt", crate::generic::TRANSCRIPT.to_owned()),
        ("document", "note.md", "# A walk\n\nWe went to the lake.\n".to_owned()),
    ];
    let texts = texts.into_iter().map(|(format, name, text)| (format, name, text.into_bytes()));
    texts.chain([("card", "mira.png", card_png)]).collect()
}

#[test]
fn every_sample_is_detected_by_its_content() {
    for (format, _, bytes) in samples() {
        let look = crate::reading::inspect_upload("file", &bytes);
        assert_eq!(look.format, format);
        assert!(look.found > look.skipped_count, "{format}: {look:?}");
    }
}

#[test]
fn every_format_has_a_sample_or_a_test_of_its_own() {
    for format in import::formats() {
        let has_sample = samples().iter().any(|(id, _, _)| *id == format.id);
        assert!(has_sample || ["openclaw", "own-words", "facebook"].contains(&format.id), "{}", format.id);
    }
}
