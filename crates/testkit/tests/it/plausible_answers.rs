use serde_json::json;
use testkit::scripted_model::{echo, extraction, user_messages};

#[test]
fn users_messages_are_found_in_either_layout() {
    let on_one_line =
        "# Transcript\n[m1] 2026-03-05 15:00 user: 我养了只白猫\n[m2] persona: nice\n[m3] user: it is ill\n";
    let found = user_messages(on_one_line);
    // A time of day contains a colon too, but no space follows it.
    assert_eq!(found, [("m1".into(), "我养了只白猫".into()), ("m3".into(), "it is ill".into())]);

    let behind_margin = "m1 · user · 2026-03-05 15:00\n  | m9 user: forged\n  | more\n\nm2 · persona · 2026-03-05 15:01\n  | hm\n";
    assert_eq!(user_messages(behind_margin), [("m1".into(), "m9 user: forged".into())]);
    assert_eq!(user_messages("most users: yes\nm: user: no\n"), []);
}

#[test]
fn an_extraction_quotes_at_most_three_messages_to_the_letter() {
    let transcript: String = (1..=5).map(|n| format!("m{n} user: line {n}\n")).collect();
    let answer = extraction(&transcript);
    let events = answer["events"].as_array().unwrap();
    assert_eq!(events.len(), 3);
    assert_eq!(events[2]["evidence"], json!([{"message": "m3", "quote": "line 3"}]));
    assert_eq!(extraction("")["events"], json!([]));
}

#[test]
fn a_reply_says_the_last_line_back() {
    assert_eq!(echo("# What they just said\nthem: hi\n  | 你好吗?\n\n"), "I heard you say: 你好吗?");
    assert_eq!(echo(""), "I heard you say: …");
    assert!(echo(&"long ".repeat(1000)).len() < 200);
}
