use import::{Item, Role};
use serde_json::json;

use crate::reading::{items, messages, skips, talk, times};

pub(crate) fn sample() -> String {
    let lines = [
        json!({"user_name": "Ann", "character_name": "Mira", "create_date": "2024-1-5@10h00m00s",
            "chat_metadata": {"integrity": "chat-1", "note_prompt": ""}}),
        json!({"name": "Mira", "is_user": false, "is_system": false, "send_date": "January 5, 2024 10:00am",
            "mes": "Hello {{user}}, I am {{char}}.", "extra": {}}),
        json!({"name": "Ann", "is_user": true, "is_system": false, "send_date": "January 5, 2024 10:01am", "mes": "Hello."}),
        json!({"name": "Mira", "is_user": false, "is_system": false, "send_date": "January 5, 2024 10:02am",
            "mes": "It rains.", "swipe_id": 1, "swipes": ["It snows.", "It rains.", "It is dry."],
            "swipe_info": [{"send_date": "January 5, 2024 10:02am"}, {}, {}], "extra": {"model": "local"}}),
    ];
    lines.map(|line| line.to_string()).join("\n")
}

#[test]
fn a_chat_is_read_with_its_swipes() {
    let items = items("chat.jsonl", sample());
    assert!(
        matches!(&items[0], Item::Conversation(start) if start.id == "chat-1" && start.title.as_deref() == Some("Mira"))
    );
    assert_eq!(talk(&items), ["Mira: Hello Ann, I am Mira.", "Ann: Hello.", "Mira: It rains."]);
    assert_eq!(times(&items)[2], "2024-01-05T10:02:00");
    let messages = messages(&items);
    assert_eq!(
        messages.iter().map(|message| message.role).collect::<Vec<_>>(),
        [Role::Persona, Role::User, Role::Persona]
    );
    let last = messages[2];
    assert_eq!((last.shown_index, last.model.as_deref()), (1, Some("local")));
    let versions: Vec<_> =
        last.alternatives.iter().map(|version| (version.text.as_str(), version.follows.is_none())).collect();
    assert_eq!(versions, [("It snows.", true), ("It is dry.", true)]);
    assert_ne!(last.alternatives[0].id, last.alternatives[1].id);
}

/// A version before the swipe, so that a reply that was shown earlier is recognised.
#[test]
fn a_version_has_the_id_that_it_has_when_it_is_shown() {
    let reply = |shown: usize| {
        let swipes = ["Purple.", "Green."];
        let times = ["2024-03-01T10:00:05Z", "2024-03-01T10:00:45Z"];
        json!({"name": "Mira", "is_user": false, "mes": swipes[shown], "send_date": times[shown], "swipes": swipes,
            "swipe_id": shown, "swipe_info": times.map(|time| json!({"send_date": time}))})
    };
    let ids = |shown| {
        let text = format!(
            "{}\n{}",
            json!({"user_name": "Ann", "character_name": "Mira",
            "chat_metadata": {"integrity": "chat-9"}}),
            reply(shown)
        );
        let items = items("chat.jsonl", text);
        let message = messages(&items)[0];
        (message.id.as_str().to_owned(), message.alternatives[0].id.clone())
    };
    let (before, after) = (ids(0), ids(1));
    assert_eq!((before.0, before.1), (after.1, after.0));
}

#[test]
fn a_group_chat_names_each_speaker() {
    let lines = [
        json!({"chat_metadata": {}, "user_name": "unused", "character_name": "unused"}),
        json!({"name": "Mira", "is_user": false, "mes": "One.", "send_date": 1_704_448_800_000_i64, "original_avatar": "mira.png"}),
        json!({"name": "Theo", "is_user": false, "mes": "Two.", "send_date": 1_704_448_860_000_i64, "original_avatar": "theo.png"}),
        json!({"name": "SillyTavern System", "is_user": false, "is_system": true, "mes": "A notice.", "send_date": 0}),
        json!({"name": "Ann", "is_user": true, "mes": "Three.", "send_date": 1_704_448_920_000_i64}),
    ];
    let items = items("group.jsonl", lines.map(|line| line.to_string()).join("\n"));
    assert_eq!(talk(&items), ["Mira: One.", "Theo: Two.", "Ann: Three."]);
    assert_eq!(times(&items)[0], "2024-01-05T10:00:00Z");
    assert_eq!(skips(&items)[0].place, "group.jsonl, line 4");
}

#[test]
fn a_grown_chat_keeps_the_ids_of_what_was_there() {
    let grown =
        format!("{}\n{}", sample(), json!({"name": "Ann", "is_user": true, "mes": "Hello.", "send_date": 1}));
    let ids = |text: String| {
        messages(&items("chat.jsonl", text)).iter().map(|message| message.id.clone()).collect::<Vec<_>>()
    };
    let (before, after) = (ids(sample()), ids(grown));
    assert_eq!(before, after[..3]);
    assert!(!before.contains(&after[3]));
}
