//! LibreChat's JSON export, nested and as one list.

use serde_json::{Value, json};

use crate::reading::{items, messages, skips, talk, times};

const NO_PARENT: &str = "00000000-0000-0000-0000-000000000000";

fn said(id: &str, parent: &str, is_user: bool, minute: u32, text: &str) -> Value {
    json!({"_id": format!("mongo-{id}"), "messageId": id, "conversationId": "c1", "parentMessageId": parent,
        "sender": if is_user { "User" } else { "GPT-4o" }, "isCreatedByUser": is_user, "endpoint": "openAI",
        "model": if is_user { Value::Null } else { json!("gpt-4o") }, "text": text, "tokenCount": 3, "unfinished": false,
        "error": false, "createdAt": format!("2026-01-05T10:{minute:02}:00.000Z"), "children": []})
}

fn exported(messages: Value) -> String {
    json!({"conversationId": "c1", "endpoint": "openAI", "title": "Bees", "exportAt": "Mon Jan 05 2026", "branches": true,
        "recursive": true, "options": {"presetId": null, "model": "gpt-4o"}, "messages": messages})
    .to_string()
}

pub(crate) fn sample() -> String {
    let mut question = said("m1", NO_PARENT, true, 0, "Do bees sleep?");
    question["children"] =
        json!([said("m2", "m1", false, 1, "Yes."), said("m3", "m1", false, 2, "They do.")]);
    exported(json!([question]))
}

#[test]
fn nested_replies_are_read_along_the_branch_that_was_written_last() {
    let mut question = said("m1", NO_PARENT, true, 0, "Do bees sleep?");
    let mut first = said("m2", "m1", false, 1, "Yes.");
    let mut again = said("m3", "m1", false, 2, "They do, at night.");
    again["text"] = json!("");
    again["content"] =
        json!([{"type": "think", "think": "Hm."}, {"type": "text", "text": {"value": "They do, at night."}}]);
    first["children"] = json!([said("m4", "m2", true, 1, "Thanks")]);
    again["children"] = json!([said("m5", "m3", true, 3, "Where?")]);
    question["children"] = json!([first, again]);
    let read = items("bees.json", exported(json!([question])));
    assert_eq!(talk(&read), ["User: Do bees sleep?", "GPT-4o: They do, at night.", "User: Where?"]);
    assert_eq!(times(&read)[2], "2026-01-05T10:03:00Z");
    let answer = messages(&read)[1];
    assert_eq!(answer.model.as_deref(), Some("gpt-4o"));
    let versions: Vec<&str> = answer.alternatives.iter().map(|version| version.text.as_str()).collect();
    assert_eq!(versions, ["Yes.", "Thanks"]);
    assert_eq!(skips(&read).len(), 0);
}

#[test]
fn one_list_of_messages_is_read_by_the_same_rules() {
    let flat = json!([
        said("m1", NO_PARENT, true, 0, "Do bees sleep?"),
        said("m2", "m1", false, 1, "Yes."),
        said("m3", "m2", true, 2, "Where?"),
        said("m4", "m3", false, 3, ""),
    ]);
    let read = items("bees.json", exported(flat));
    assert_eq!(talk(&read), ["User: Do bees sleep?", "GPT-4o: Yes.", "User: Where?"]);
    assert!(skips(&read)[0].place.ends_with("message m4"), "{:?}", skips(&read));
}

#[test]
fn long_conversation_is_nested_as_deep_as_it_is_long() {
    let mut nested = said("m500", "m499", false, 59, "the end");
    for number in (1..500).rev() {
        let parent = if number == 1 { NO_PARENT.to_owned() } else { format!("m{}", number - 1) };
        let mut outer = said(&format!("m{number}"), &parent, number % 2 == 1, number / 10, "on and on");
        outer["children"] = json!([nested]);
        nested = outer;
    }
    let read = items("long.json", exported(json!([nested])));
    assert_eq!((talk(&read).len(), skips(&read).len()), (500, 0));
}
