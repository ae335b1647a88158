//! Real exports with one unusual value: the rest of the conversation is imported.

use import::{Attachment, AttachmentKind, Item};
use serde_json::{Value, json};

use crate::reading::{inspect_upload, items, messages, skips, talk};

fn chatgpt(odd: Value) -> String {
    let said = |id: &str, parent: Option<&str>, child: Option<&str>, message: Value| {
        (
            id.to_owned(),
            json!({"id": id, "parent": parent, "children": child.into_iter().collect::<Vec<_>>(), "message": message}),
        )
    };
    let says = |role: &str, text: &str| {
        json!({"id": text, "author": {"role": role}, "create_time": 1700000001.0, "recipient": "all",
            "content": {"content_type": "text", "parts": [text]}, "metadata": {}})
    };
    let mapping: serde_json::Map<String, Value> = [
        said("a", None, Some("b"), says("user", "Hello")),
        said("b", Some("a"), Some("c"), odd),
        said("c", Some("b"), None, says("user", "Still there?")),
    ]
    .into_iter()
    .collect();
    json!([{"title": "Odd", "conversation_id": "c-1", "current_node": "c", "mapping": mapping}]).to_string()
}

#[test]
fn nulls_and_odd_types_of_chatgpt_lose_nothing_else() {
    let says = |change: &dyn Fn(&mut Value)| {
        let mut message = json!({"id": "b", "author": {"role": "assistant"}, "create_time": 1700000002.0, "recipient": "all",
            "content": {"content_type": "text", "parts": ["Hi there"]}, "metadata": {"attachments": []}});
        change(&mut message);
        message
    };
    for change in [
        &(|message: &mut Value| message["metadata"] = Value::Null) as &dyn Fn(&mut Value),
        &|message| message["metadata"]["attachments"] = Value::Null,
        &|message| message["create_time"] = json!("yesterday"),
        &|message| message["metadata"] = json!([]),
    ] {
        assert_eq!(
            talk(&items("c.json", chatgpt(says(change)))),
            ["User: Hello", "ChatGPT: Hi there", "User: Still there?"]
        );
    }
    for odd in [
        says(&|message| message["content"]["parts"] = Value::Null),
        json!(null),
        json!("what"),
        json!({"id": 7}),
    ] {
        let read = items("c.json", chatgpt(odd));
        assert_eq!(talk(&read), ["User: Hello", "User: Still there?"], "{read:?}");
    }
    let read = items("c.json", chatgpt(json!("what")));
    assert_eq!(skips(&read).len(), 1, "what could not be read is named: {read:?}");
}

#[test]
fn half_an_emoji_loses_no_conversation() {
    let text = chatgpt(json!(null))
        .replace("Hello", "cut emoji \\ud83d")
        .replace("Still there?", "whole \\ud83d\\udc1d \\\\ud83d");
    let read = items("c.json", text);
    assert_eq!(talk(&read), ["User: cut emoji \u{FFFD}", "User: whole 🐝 \\ud83d"]);
    assert!(messages(&read)[0].is_cleaned);
}

#[test]
fn nulls_of_claude_lose_nothing_else() {
    let says = |id: &str, parent: &str, sender: &str, text: &str| {
        json!({"uuid": id, "parent_message_uuid": parent, "sender": sender, "text": text, "created_at": "2024-05-01T10:00:00Z",
            "content": null, "attachments": null, "files": null})
    };
    let conversation = json!([{"uuid": "k", "name": "Bees", "chat_messages":
        [says("m1", "0", "human", "one"), null, says("m2", "m1", "assistant", "two"), {"uuid": 5}]}]);
    let read = items("conversations.json", conversation.to_string());
    assert_eq!(talk(&read), ["Human: one", "Claude: two"]);
    assert_eq!(skips(&read).len(), 2, "{read:?}");
}

/// The first version was never answered, so it is not the branch that the user continued.
#[test]
fn edited_first_message_of_claude_is_a_version() {
    let says = |id: &str, parent: &str, sender: &str, text: &str| json!({"uuid": id, "parent_message_uuid": parent, "sender": sender, "text": text, "created_at": "2024-05-01T10:00:00Z"});
    let root = "00000000-0000-4000-8000-000000000000";
    let conversation = json!([{"uuid": "k", "name": "Bees", "current_leaf_message_uuid": "m3", "chat_messages":
        [says("m1", root, "human", "How many bes?"), says("m2", root, "human", "How many bees?"), says("m3", "m2", "assistant", "Many.")]}]);
    let read = items("conversations.json", conversation.to_string());
    assert_eq!(talk(&read), ["Human: How many bees?", "Claude: Many."]);
}

#[test]
fn odd_first_element_does_not_hide_the_format() {
    let mut conversations: Value = serde_json::from_str(&chatgpt(json!(null))).unwrap();
    conversations.as_array_mut().unwrap().insert(0, json!({"title": "Gone", "id": "x"}));
    conversations.as_array_mut().unwrap().insert(0, json!(null));
    let read = items("conversations.json", conversations.to_string());
    assert_eq!(talk(&read), ["User: Hello", "User: Still there?"]);
    assert_eq!(skips(&read).len(), 2);
}

#[test]
fn text_after_the_first_value_is_listed_as_skipped() {
    let text = "[{\"role\": \"user\", \"content\": \"one\"}]\n[{\"role\": \"user\", \"content\": \"two\"}]";
    let read = items("talk.json", text);
    assert_eq!(talk(&read), ["user: one"]);
    assert!(skips(&read)[0].reason.contains("more follows"), "{read:?}");
}

#[test]
fn words_of_whatsapp_itself_are_not_talk() {
    let chat = "[01.03.24, 14:03:05] Nora: \u{200E}Messages and calls are end-to-end encrypted. Only people in this chat can read them.\n\
        [01.03.24, 14:03:06] Nora: Good morning\n\
        \u{200E}[01.03.24, 14:04:10] Nora: \u{200E}Missed voice call, \u{200E}Tap to call back\n\
        \u{200E}[01.03.24, 14:04:20] Nora: \u{200E}image omitted\n\
        [01.03.24, 14:05:00] Milo: \u{200E}Your security code with Nora changed. Tap to learn more.\n\
        [01.03.24, 14:06:00] Milo: \u{200E}Location: https://maps.google.com/?q=1,2\n";
    let read = items("_chat.txt", chat);
    let said: Vec<String> = messages(&read).iter().map(|message| message.text_with_attachments()).collect();
    assert_eq!(said, ["Good morning", "[image]", "\u{200E}Location: https://maps.google.com/?q=1,2"]);
    assert_eq!(skips(&read).len(), 3);
}

#[test]
fn answers_of_bots_on_discord_are_talk() {
    let says = |kind: &str, content: &str, embeds: Value| {
        json!({"id": format!("{kind}{}", content.len()), "type": kind, "timestamp": "2024-05-01T10:00:00+00:00", "content": content,
            "author": {"id": "1", "name": "Mira", "isBot": true}, "attachments": [], "embeds": embeds, "stickers": []})
    };
    let embed = json!([{"title": "Mira says", "url": null, "description": "The bees are fine.",
        "fields": [{"name": "Hives", "value": "three", "isInline": true}]}]);
    let export = json!({"guild": {"id": "0", "name": "Direct Messages"}, "channel": {"id": "9", "name": "Mira"},
        "messages": [says("20", "Hello Ann", json!([])), says("23", "", embed), says("ChannelPinnedMessage", "pinned", json!([]))]});
    let read = items("mira.json", export.to_string());
    let said: Vec<&str> = messages(&read).iter().map(|message| message.text.as_str()).collect();
    assert_eq!(said, ["Hello Ann", "Mira says\nThe bees are fine.\nHives: three"]);
    assert_eq!(skips(&read).len(), 1);
}

#[test]
fn heartbeats_of_openclaw_are_not_talk() {
    let entry = |id: &str, role: &str, text: &str| {
        json!({"type": "message", "id": id, "parentId": null, "timestamp": "2026-02-06T07:49:03Z",
            "message": {"role": role, "content": [{"type": "text", "text": text}]}})
        .to_string()
    };
    let log = [
        entry("a", "user", "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly. If nothing needs attention, reply HEARTBEAT_OK."),
        entry("b", "assistant", "HEARTBEAT_OK"),
        entry("c", "user", "How is the hive?"),
        entry("d", "assistant", "Quiet."),
    ]
    .join("\n");
    let read = items("s.jsonl", log);
    assert_eq!(talk(&read), ["User: How is the hive?", "Assistant: Quiet."]);
    assert_eq!(skips(&read).len(), 2);
}

/// The newest message comes first, and each UTF-8 byte is written as a character of its own.
#[test]
fn messenger_chat_is_read_in_its_order_and_letters() {
    let export = json!({"participants": [{"name": "Zo\u{c3}\u{ab}"}, {"name": "Milo"}],
        "messages": [
            {"sender_name": "Milo", "timestamp_ms": 1_714_557_700_000_i64, "photos": [{"uri": "inbox/photos/bees.jpg", "creation_timestamp": 1}]},
            {"sender_name": "Milo", "timestamp_ms": 1_714_557_600_000_i64, "content": "Gone", "is_unsent": true},
            {"sender_name": "Zo\u{c3}\u{ab}", "timestamp_ms": 1_714_557_500_000_i64, "content": "I keep bees \u{f0}\u{9f}\u{90}\u{9d}"}],
        "title": "Milo", "thread_path": "inbox/milo_1", "magic_words": []});
    let read = items("message_1.json", export.to_string());
    assert_eq!(inspect_upload("message_1.json", export.to_string().as_bytes()).format, "facebook");
    assert_eq!(talk(&read), ["Zoë: I keep bees 🐝", "Milo: "]);
    let photo = Attachment { kind: AttachmentKind::Image, name: Some("bees.jpg".to_owned()) };
    assert_eq!(messages(&read)[1].attachments, [photo]);
    assert!(
        matches!(&read[0], Item::Conversation(conversation) if conversation.title.as_deref() == Some("Milo"))
    );
    assert_eq!(messages(&read)[0].time.civil_day().unwrap().to_string(), "2024-05-01");
}

#[test]
fn usual_names_of_times_are_known() {
    for (key, time) in [
        ("timestamp_ms", json!(1_714_557_500_000_i64)),
        ("createdAt", json!("2024-05-01T09:58:20Z")),
        ("date_unixtime", json!("1714557500")),
        ("sentAt", json!(1_714_557_500)),
    ] {
        let talk = json!([{"sender": "Ann", "text": "Hello", key: time}]);
        let read = items("talk.json", talk.to_string());
        assert_eq!(messages(&read)[0].time.to_string(), "2024-05-01T09:58:20Z", "{key}");
    }
}
