use import::{CoreBlock, Input, Item, Sources};
use serde_json::json;

use crate::reading::{found, items, messages, skips, talk};

#[test]
fn a_home_becomes_drafts_and_a_diary() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("workspace");
    std::fs::create_dir_all(root.join("memory")).unwrap();
    for (name, text) in [
        ("SOUL.md", "Calm: always.\nWarm: often."),
        ("USER.md", "Ann keeps bees."),
        ("MEMORY.md", "- three hives"),
        ("TOOLS.md", "use the shell"),
        ("memory/2026-01-05.md", "We counted frames."),
        ("memory/2026-01-05-evening.md", "We talked."),
        ("memory/projects.md", ""),
    ] {
        std::fs::write(root.join(name), text).unwrap();
    }
    let sources = Sources::open(&[Input::Path(root)]).unwrap();
    let found = found(&sources);
    assert!(found.iter().all(|found| found.format == "openclaw"), "{found:?}");
    let texts: Vec<String> = found
        .into_iter()
        .map(|found| match found.item {
            Item::CoreDraft(draft) => format!("{:?} {}", draft.block, draft.title),
            Item::Document(document) => {
                format!("{} {:?}", document.name, document.day.map(|day| day.to_string()))
            }
            Item::SavedMemory(saved) => format!("saved: {}", saved.text),
            Item::Skip(skip) => format!("{}: {}", skip.place, skip.reason),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        texts,
        [
            "saved: three hives",
            &format!("{:?} SOUL.md", CoreBlock::Persona),
            "workspace/TOOLS.md: it contains instructions for tools, not memories",
            &format!("{:?} USER.md", CoreBlock::User),
            "memory/2026-01-05-evening.md Some(\"2026-01-05\")",
            "memory/2026-01-05.md Some(\"2026-01-05\")",
            "workspace/memory/projects.md: the file is empty",
        ]
    );
}

pub(crate) fn session() -> String {
    let lines = [
        json!({"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-02-06T07:49:00.000Z", "cwd": "workspace"}),
        json!({"type": "model_change", "id": "x", "parentId": null, "timestamp": "2026-02-06T07:49:01.000Z"}),
        json!({"type": "message", "id": "a", "parentId": "x", "timestamp": "2026-02-06T07:49:03.491Z",
            "message": {"role": "user", "content": [{"type": "text", "text": "How is the hive?"}], "timestamp": 1}}),
        json!({"type": "message", "id": "b", "parentId": "a", "timestamp": "2026-02-06T07:49:04Z",
            "message": {"role": "assistant", "model": "m", "content": [{"type": "thinking", "thinking": "hm"},
                {"type": "toolCall", "name": "read"}]}}),
        json!({"type": "message", "id": "c", "parentId": "b", "timestamp": "2026-02-06T07:49:05Z",
            "message": {"role": "toolResult", "content": [{"type": "text", "text": "file"}]}}),
        json!({"type": "message", "id": "d", "parentId": "c", "timestamp": "2026-02-06T07:49:06Z",
            "message": {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "Busy."}]}}),
    ];
    lines.map(|line| line.to_string()).join("\n")
}

#[test]
fn a_session_is_talk_without_its_tools() {
    let read = items("s-1.jsonl", session());
    assert_eq!(talk(&read), ["User: How is the hive?", "Assistant: Busy."]);
    assert_eq!(messages(&read)[1].model.as_deref(), Some("m"));
    assert_eq!((messages(&read)[0].conversation.as_str(), skips(&read).len()), ("s-1", 2));
}
