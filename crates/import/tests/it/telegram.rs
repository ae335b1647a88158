use import::{Item, Role};
use serde_json::json;

use crate::reading::{items, messages, skips, talk, times};

pub(crate) fn sample() -> String {
    // In the order of the program: the account before its chats.
    let chats = json!({"chats": {"about": "Chats.", "list": [
            {"name": "Theo", "type": "personal_chat", "id": 501, "messages": [
                {"id": 1, "type": "service", "date": "2024-01-05T10:00:00", "date_unixtime": "1704448800",
                 "actor": "Theo", "actor_id": "user12", "action": "phone_call", "text": "", "text_entities": []},
                {"id": 2, "type": "message", "date": "2024-01-05T11:00:00", "date_unixtime": "1704448800", "from": "Ann",
                 "from_id": "user11", "text": ["See ", {"type": "link", "text": "example.org"}, "!"], "text_entities": []},
                {"id": 3, "type": "message", "date": "2024-01-05T11:01:00", "date_unixtime": "1704448860", "from": "Theo",
                 "from_id": "user12", "text": "", "media_type": "sticker", "sticker_emoji": "🐝",
                 "file": "(File not included. Change data exporting settings to download.)"},
                {"id": 4, "type": "message", "date": "2024-01-05T11:02:00", "date_unixtime": "1704448920", "from": "Theo",
                 "from_id": "user12", "forwarded_from": "Weather", "text": "Rain tomorrow"}]},
            {"name": "Garden", "type": "private_group", "id": 502, "messages": [
                {"id": 1, "type": "message", "date": "2024-01-06T11:00:00", "from": "Ann", "from_id": "user11", "text": "Hi",
                 "photo": "photos/photo_1.jpg"}]}]},
        "left_chats": {"about": "Left.", "list": []}});
    let about = r#""about": "Here is the data you requested.", "personal_information": {"user_id": 11, "first_name": "Ann"}"#;
    format!("{{{about}, {}", &chats.to_string()[1..])
}

#[test]
fn all_chats_of_an_account_are_read() {
    let items = items("result.json", sample());
    let starts = items.iter().filter(|item| matches!(item, Item::Conversation(_))).count();
    assert_eq!(starts, 2);
    assert_eq!(talk(&items), ["Ann: See example.org!", "Theo: ", "Weather: Rain tomorrow", "Ann: Hi"]);
    let messages = messages(&items);
    assert_eq!(messages[0].role, Role::User, "the account's own");
    assert_eq!(messages[2].role, Role::Other);
    assert_eq!(messages[1].text_with_attachments(), "[sticker: 🐝]");
    assert_eq!(messages[3].text_with_attachments(), "Hi\n[image: photo_1.jpg]");
    assert_eq!(times(&items)[0], "2024-01-05T10:00:00Z");
    assert_eq!(times(&items)[3], "2024-01-06T11:00:00", "without an instant, local");
    assert!(skips(&items)[0].reason.contains("notice"));
}

#[test]
fn one_chat_is_read() {
    let chat = json!({"name": "Theo", "type": "personal_chat", "id": 501, "messages": [
        {"id": 7, "type": "message", "date": "2024-01-05T11:00:00", "from": "Theo", "from_id": "user12", "text": "Hello"}]});
    assert_eq!(talk(&items("result.json", chat.to_string())), ["Theo: Hello"]);
}

#[test]
fn a_file_that_breaks_off_keeps_what_came_before() {
    let whole = sample();
    let cut = &whole[..whole.find("Rain tomorrow").unwrap()];
    let items = items("result.json", cut);
    assert_eq!(talk(&items), ["Ann: See example.org!", "Theo: "]);
    assert!(skips(&items).last().unwrap().reason.contains("ends in the middle"));
}
