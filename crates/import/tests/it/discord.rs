use import::{Item, Role};
use serde_json::json;

use crate::reading::{items, messages, skips, talk, times, zip};

pub(crate) fn sample() -> String {
    json!({"guild": {"id": "1", "name": "Garden", "iconUrl": ""},
        "channel": {"id": "22", "type": "GuildTextChat", "categoryId": "3", "category": "Text", "name": "bees", "topic": null},
        "dateRange": {"after": null, "before": null}, "exportedAt": "2024-02-01T00:00:00+00:00",
        "messages": [
            {"id": "900", "type": "Default", "timestamp": "2024-01-05T11:00:00.5+01:00", "timestampEdited": null,
             "isPinned": false, "content": "Hello", "author": {"id": "5", "name": "ann", "nickname": "Ann", "isBot": false},
             "attachments": [{"id": "8", "url": "x", "fileName": "bee.png", "fileSizeBytes": 9}], "embeds": [],
             "stickers": [], "reactions": [], "mentions": []},
            {"id": "901", "type": "GuildMemberJoin", "timestamp": "2024-01-05T11:01:00+01:00", "content": "joined",
             "author": {"id": "6", "name": "theo"}, "attachments": []},
            {"id": "902", "type": "Reply", "timestamp": "2024-01-05T11:02:00+01:00", "content": "Hi",
             "author": {"id": "6", "name": "theo", "isBot": false}, "attachments": []},
            {"id": "903", "type": "Default", "timestamp": "2024-01-05T11:03:00+01:00", "content": "",
             "author": {"id": "6", "name": "theo", "isBot": false}, "attachments": [],
             "forwardedMessage": {"timestamp": "2024-01-01T00:00:00+01:00", "content": "Rain.", "attachments": []}}],
        "messageCount": 3})
    .to_string()
}

pub(crate) const PACKAGE_CSV: &str = "ID,Timestamp,Contents,Attachments
901,2024-01-05 10:01:00.123000+00:00,\"two, with a comma
and a line\",
900,2024-01-05 10:00:00.000000+00:00,one,https://cdn.example/attachments/1/2/bee.png?ex=1
";

#[test]
fn an_exported_channel_is_read() {
    let items = items("bees.json", sample());
    assert!(
        matches!(&items[0], Item::Conversation(start) if start.id == "22" && start.title.as_deref() == Some("Garden / bees"))
    );
    assert_eq!(talk(&items), ["Ann: Hello", "theo: Hi", "forwarded by theo: Rain."]);
    assert_eq!(times(&items)[2], "2024-01-05T10:03:00Z", "when it was forwarded");
    assert_eq!(times(&items)[0], "2024-01-05T10:00:00.5Z");
    assert_eq!(messages(&items)[0].text_with_attachments(), "Hello\n[image: bee.png]");
    assert_eq!(skips(&items).len(), 1);
}

#[test]
fn the_data_package_has_the_users_own_messages() {
    let channel = json!({"id": "22", "type": 0, "name": "bees", "guild": {"id": "1", "name": "Garden"}});
    let user = json!({"id": "5", "username": "ann", "global_name": "Ann"});
    let messages_json =
        json!([{"ID": 7, "Timestamp": "2024-01-06 10:00:00", "Contents": "three", "Attachments": ""}]);
    let archive = zip(&[
        ("account/user.json", user.to_string().as_bytes()),
        ("messages/c22/channel.json", channel.to_string().as_bytes()),
        ("messages/c22/messages.csv", PACKAGE_CSV.as_bytes()),
        ("messages/c23/messages.json", messages_json.to_string().as_bytes()),
    ]);
    let items = items("package.zip", archive);
    assert_eq!(
        talk(&items),
        ["Ann: one", "Ann: two, with a comma\nand a line", "Ann: three"],
        "the oldest first"
    );
    assert!(messages(&items).iter().all(|message| message.role == Role::User));
    assert_eq!(times(&items), ["2024-01-05T10:00:00Z", "2024-01-05T10:01:00.123Z", "2024-01-06T10:00:00Z"]);
    assert_eq!(messages(&items)[2].conversation, "23", "the folder names the channel that nothing else does");
}
