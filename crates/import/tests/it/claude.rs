use import::{CoreBlock, Item, Role};
use serde_json::{Value, json};

use crate::reading::{items, messages, talk, times};

fn says(id: &str, parent: Option<&str>, sender: &str, text: &str) -> Value {
    json!({"uuid": id, "text": text, "content": [{"type": "text", "text": text}], "sender": sender,
        "created_at": "2025-03-01T10:00:00.123456Z", "updated_at": "2025-03-01T10:00:00.123456Z",
        "attachments": [], "files": [], "parent_message_uuid": parent})
}

pub(crate) fn sample() -> String {
    json!([{"uuid": "k-1", "name": "Garden", "created_at": "2025-03-01T09:00:00Z", "updated_at": "2025-03-01T09:00:00Z",
        "account": {"uuid": "acc"},
        "chat_messages": [says("m1", None, "human", "What grows in shade?"), says("m2", None, "assistant", "Ferns do.")]}])
    .to_string()
}

#[test]
fn a_conversation_is_read_in_its_order() {
    let items = items("conversations.json", sample());
    assert!(
        matches!(&items[0], Item::Conversation(start) if start.id == "k-1" && start.title.as_deref() == Some("Garden"))
    );
    assert_eq!(talk(&items), ["Human: What grows in shade?", "Claude: Ferns do."]);
    assert_eq!(
        messages(&items).iter().map(|message| message.role).collect::<Vec<_>>(),
        [Role::User, Role::Persona]
    );
    assert_eq!(times(&items)[0], "2025-03-01T10:00:00.123456Z");
}

#[test]
fn a_regenerated_answer_is_an_alternative() {
    let root = Some("00000000-0000-4000-8000-000000000000");
    let json = json!({"uuid": "k-2", "name": "", "current_leaf_message_uuid": "m3", "chat_messages": [
        says("m1", root, "human", "one"), says("m2", Some("m1"), "assistant", "two"),
        says("m3", Some("m1"), "assistant", "three")]});
    let items = items("chat.json", json.to_string());
    assert_eq!(talk(&items), ["Human: one", "Claude: three"]);
    assert_eq!(messages(&items)[1].alternatives[0].text, "two");
}

#[test]
fn projects_pasted_texts_and_memories_are_kept() {
    let projects = json!([{"uuid": "p", "name": "Hive", "description": "", "is_private": true, "prompt_template": "Be exact.",
        "docs": [{"uuid": "d", "filename": "plan.md", "content": "Three hives."}]}]);
    let read = items("projects.json", projects.to_string());
    assert!(
        matches!(&read[0], Item::CoreDraft(draft) if draft.block == CoreBlock::Style && draft.text == "Be exact.")
    );
    assert!(
        matches!(&read[1], Item::Document(document) if document.name == "Hive/plan.md" && document.id == "d")
    );
    let memories =
        json!([{"conversations_memory": "Keeps bees.", "project_memories": {}, "account_uuid": "acc"}]);
    let read = items("memories.json", memories.to_string());
    assert!(
        matches!(&read[0], Item::SavedMemory(saved) if saved.source == "Claude" && saved.text == "Keeps bees.")
    );
    let mut message = says("m1", None, "human", "Look.");
    message["attachments"] =
        json!([{"file_name": "log.txt", "file_type": "txt", "extracted_content": "12 frames"}]);
    let json = json!([{"uuid": "k", "name": "", "chat_messages": [message]}]);
    let read = items("conversations.json", json.to_string());
    assert!(read.iter().any(|item| matches!(item, Item::Document(document) if document.text == "12 frames")));
    assert_eq!(messages(&read)[0].text_with_attachments(), "Look.\n[file: log.txt]");
}

#[test]
fn accounts_are_no_talk() {
    let users = json!([{"uuid": "acc", "full_name": "Ann", "email_address": "ann@example.org"}]);
    let read = items("users.json", users.to_string());
    assert!(crate::reading::skips(&read)[0].reason.contains("without messages"));
}
