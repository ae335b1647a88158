use import::Role;
use serde_json::json;

use crate::reading::{items, messages, skips, talk, times};

pub(crate) fn sample() -> String {
    json!([
        {"id": "a", "conversationId": "c1", "type": "outgoing", "sent_at": 1_704_448_800_123_i64, "received_at": 1, "body": "Hello",
         "attachments": [{"contentType": "image/jpeg", "fileName": "bee.jpg", "size": 3}]},
        {"id": "b", "conversationId": "c1", "type": "incoming", "sent_at": 1_704_448_801_000_i64, "body": "Hi",
         "source": "+10000000000", "sourceServiceId": "s-1", "attachments": []},
        {"id": "c", "conversationId": "c1", "type": "keychange", "sent_at": 1_704_448_802_000_i64, "body": null}])
    .to_string()
}

#[test]
fn database_records_are_read() {
    let items = items("Theo.json", sample());
    assert_eq!(talk(&items), ["Me: Hello", "+10000000000: Hi"]);
    assert_eq!(
        messages(&items).iter().map(|message| message.role).collect::<Vec<_>>(),
        [Role::User, Role::Other]
    );
    assert_eq!(times(&items)[0], "2024-01-05T10:00:00.123Z");
    assert_eq!(messages(&items)[0].text_with_attachments(), "Hello\n[image: bee.jpg]");
    assert_eq!(skips(&items).len(), 1);
}

#[test]
fn an_exporters_lines_are_read() {
    let line = json!({"date": "2024-01-05T10:00:00", "sender": "Me", "body": "Hello", "quote": "", "sticker": "",
        "reactions": [], "attachments": []});
    let items = items("data.json", format!("{line}\n{line}\n"));
    assert_eq!(talk(&items), ["Me: Hello", "Me: Hello"]);
    assert_eq!(messages(&items)[0].role, Role::User);
    assert_ne!(messages(&items)[0].id, messages(&items)[1].id);
}
