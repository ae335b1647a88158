use import::{CoreBlock, Input, Item, Sources};

use crate::reading::found;

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
    let told: Vec<String> = found
        .into_iter()
        .map(|found| match found.item {
            Item::CoreDraft(draft) => format!("{:?} {}", draft.block, draft.title),
            Item::Document(document) => {
                format!("{} {:?}", document.name, document.day.map(|day| day.to_string()))
            }
            Item::Skip(skip) => format!("{}: {}", skip.place, skip.reason),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        told,
        [
            "MEMORY.md None",
            &format!("{:?} SOUL.md", CoreBlock::Persona),
            "workspace/TOOLS.md: it has instructions for tools, not memory",
            &format!("{:?} USER.md", CoreBlock::User),
            "memory/2026-01-05-evening.md Some(\"2026-01-05\")",
            "memory/2026-01-05.md Some(\"2026-01-05\")",
            "workspace/memory/projects.md: the file is empty",
        ]
    );
}
