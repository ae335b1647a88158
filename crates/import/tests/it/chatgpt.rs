use import::{CoreBlock, Item, MessageTime, Role};
use serde_json::{Value, json};

use crate::reading::{items, messages, skips, talk};

fn node(id: &str, parent: Option<&str>, children: &[&str], message: Value) -> (String, Value) {
    (id.to_owned(), json!({"id": id, "parent": parent, "children": children, "message": message}))
}

fn says(id: &str, role: &str, time: f64, text: &str) -> Value {
    json!({"id": id, "author": {"role": role, "name": null, "metadata": {}}, "create_time": time, "update_time": null,
        "content": {"content_type": "text", "parts": [text]}, "status": "finished_successfully", "weight": 1.0,
        "metadata": {"model_slug": "gpt-x"}, "recipient": "all"})
}

fn conversation(nodes: Vec<(String, Value)>, current: &str) -> String {
    let mapping: serde_json::Map<String, Value> = nodes.into_iter().collect();
    json!([{"title": "Bees", "create_time": 1700000000.0, "update_time": 1700000100.0, "mapping": mapping,
        "moderation_results": [], "current_node": current, "conversation_id": "c-1"}])
    .to_string()
}

/// A question asked in two versions. The second was answered three times, and the second answer is shown.
pub(crate) fn sample() -> String {
    let hidden = json!({"id": "sys", "author": {"role": "system"}, "content": {"content_type": "text", "parts": [""]},
        "metadata": {"is_visually_hidden_from_conversation": true}});
    let profile = json!({"id": "ctx", "author": {"role": "user"},
        "content": {"content_type": "user_editable_context", "user_profile": "I keep bees.", "user_instructions": "Be brief."},
        "metadata": {"is_visually_hidden_from_conversation": true, "is_user_system_message": true}});
    let tool = json!({"id": "t", "author": {"role": "tool", "name": "browser"},
        "content": {"content_type": "tether_quote", "text": "a page"}, "metadata": {}});
    conversation(
        vec![
            node("root", None, &["sys"], Value::Null),
            node("sys", Some("root"), &["ctx"], hidden),
            node("ctx", Some("sys"), &["q1", "q2"], profile),
            node("q1", Some("ctx"), &["a0"], says("q1", "user", 1700000001.0, "How many bees?")),
            node("a0", Some("q1"), &[], says("a0", "assistant", 1700000002.0, "Many.")),
            node(
                "q2",
                Some("ctx"),
                &["t"],
                says("q2", "user", 1700000003.5, "How many bees live in a hive?"),
            ),
            node("t", Some("q2"), &["a1", "a2", "a3"], tool),
            node("a1", Some("t"), &[], says("a1", "assistant", 1700000004.0, "Ten thousand.")),
            node("a2", Some("t"), &[], says("a2", "assistant", 1700000005.0, "Up to fifty thousand.")),
            node("a3", Some("t"), &[], says("a3", "assistant", 1700000006.0, "It depends.")),
        ],
        "a2",
    )
}

#[test]
fn the_shown_branch_is_talk_and_the_others_are_alternatives() {
    let items = items("conversations.json", sample());
    assert_eq!(talk(&items), ["User: How many bees live in a hive?", "ChatGPT: Up to fifty thousand."]);
    let messages = messages(&items);
    let question = messages[0];
    assert_eq!(question.role, Role::User);
    assert_eq!(question.time, MessageTime::Instant("2023-11-14T22:13:23.5Z".parse().unwrap()));
    assert_eq!((question.shown_index, question.conversation.as_str()), (1, "c-1"));
    let follows: Vec<_> = question
        .alternatives
        .iter()
        .map(|version| (version.id.as_str(), version.follows.as_deref()))
        .collect();
    assert_eq!(follows, [("q1", None), ("a0", Some("q1"))]);
    let answer = messages[1];
    assert_eq!((answer.shown_index, answer.role, answer.model.as_deref()), (1, Role::Persona, Some("gpt-x")));
    let texts: Vec<_> = answer.alternatives.iter().map(|version| version.text.as_str()).collect();
    assert_eq!(texts, ["Ten thousand.", "It depends."]);
}

#[test]
fn custom_instructions_are_drafts_and_tools_are_skipped() {
    let items = items("conversations.json", sample());
    let drafts: Vec<_> = items
        .iter()
        .filter_map(|item| {
            if let Item::CoreDraft(draft) = item { Some((draft.block, draft.text.as_str())) } else { None }
        })
        .collect();
    assert_eq!(drafts, [(CoreBlock::User, "I keep bees."), (CoreBlock::Style, "Be brief.")]);
    assert_eq!(skips(&items).len(), 1);
    assert!(skips(&items)[0].place.contains("node t"));
}

#[test]
fn a_tree_that_loops_or_has_lost_parents_loses_nothing() {
    let looped = conversation(
        vec![
            node("a", Some("b"), &["b"], says("a", "user", 1.0, "one")),
            node("b", Some("a"), &["a"], says("b", "assistant", 2.0, "two")),
            node("c", Some("gone"), &[], says("c", "user", 3.0, "three")),
        ],
        "b",
    );
    let items = items("conversations.json", looped);
    assert_eq!(talk(&items), ["User: one", "ChatGPT: two"]);
    assert!(skips(&items)[0].reason.contains("not part of any branch"));
}

#[test]
fn branches_after_the_last_shown_message_follow_it() {
    let nodes = vec![
        node("q", None, &["a"], says("q", "user", 1.0, "one")),
        node("a", Some("q"), &[], says("a", "assistant", 2.0, "two")),
    ];
    let items = items("conversations.json", conversation(nodes, "q"));
    assert_eq!(talk(&items), ["User: one"]);
    let alternative = &messages(&items)[0].alternatives[0];
    assert_eq!((alternative.text.as_str(), alternative.follows.as_deref()), ("two", Some("q")));
}

#[test]
fn pictures_and_files_are_attachments() {
    let mut message = says("q", "user", 1.0, "");
    message["content"] = json!({"content_type": "multimodal_text",
        "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}, "What is this?"]});
    message["metadata"]["attachments"] = json!([{"name": "bee.jpg", "id": "f"}]);
    let items = items("conversations.json", conversation(vec![node("q", None, &[], message)], "q"));
    let message = messages(&items)[0];
    assert_eq!(message.text_with_attachments(), "What is this?\n[image]\n[image: bee.jpg]");
}

/// Every conversation repeats the list as it was at its time.
#[test]
fn saved_memories_are_found_once_and_have_their_day() {
    let context = |text: &str| {
        json!({"id": "ctx", "author": {"role": "assistant"}, "content": {"content_type": "model_editable_context",
            "model_set_context": text, "repository": null, "repo_summary": null}, "metadata": {}})
    };
    let bio = json!({"id": "b", "author": {"role": "assistant"}, "create_time": 1714557600.0, "recipient": "bio",
        "content": {"content_type": "code", "text": "Keeps bees in Lyon."}, "metadata": {}});
    let told = json!({"id": "t", "author": {"role": "tool", "name": "bio"},
        "content": {"content_type": "text", "parts": ["Model set context updated."]}, "metadata": {}});
    let first = "1. [2024-04-05]. Has a dog named Pepper.";
    let later = "1. [2024-04-05]. Has a dog named Pepper.\n\n2. [2024-05-01]. Keeps bees in Lyon.";
    let json = conversation(
        vec![
            node("root", None, &["ctx"], Value::Null),
            node("ctx", Some("root"), &["q"], context(first)),
            node("q", Some("ctx"), &["b"], says("q", "user", 1714557500.0, "I keep bees in Lyon.")),
            node("b", Some("q"), &["t"], bio),
            node("t", Some("b"), &["c2"], told),
            node("c2", Some("t"), &["a"], context(later)),
            node("a", Some("c2"), &[], says("a", "assistant", 1714557700.0, "Noted.")),
        ],
        "a",
    );
    let items = items("conversations.json", json);
    let mut saved: Vec<String> = items
        .iter()
        .filter_map(|item| match item {
            Item::SavedMemory(saved) => {
                Some(format!("{:?} {}", saved.day.map(|day| day.to_string()), saved.text))
            }
            _ => None,
        })
        .collect();
    saved.sort();
    assert_eq!(
        saved,
        ["Some(\"2024-04-05\") Has a dog named Pepper.", "Some(\"2024-05-01\") Keeps bees in Lyon."]
    );
    assert_eq!(talk(&items), ["User: I keep bees in Lyon.", "ChatGPT: Noted."]);
}
