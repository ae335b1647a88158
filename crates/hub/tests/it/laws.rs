//! Laws of merging for any text and any history.

use std::collections::BTreeSet;

use hub::documents::Version;
use hub::mirror::{FrontMatter, MirroredText, digest};
use hub::sections::{append_to_section, rewrite_section};
use hub::versions::{MergeOutcome, merge_version};
use hub::{VersionVector, daily};
use jiff::Timestamp;
use proptest::prelude::*;

const AUTHORS: [&str; 3] = ["a", "b", "c"];

fn version(content: Option<String>, vector: VersionVector, author: &str, at: i64) -> Version {
    Version {
        number: 0,
        content,
        vector,
        author: author.parse().unwrap(),
        edited_by: author.to_owned(),
        by_person: false,
        chat_ids: BTreeSet::new(),
        participants: BTreeSet::new(),
        written_at: Timestamp::from_second(at).unwrap(),
    }
}

/// Three replicas that write independently and sometimes receive all versions of another one.
fn history() -> impl Strategy<Value = Vec<Version>> {
    proptest::collection::vec((0usize..3, 0usize..3, any::<bool>(), 0i64..100), 1..24).prop_map(|steps| {
        let mut replicas: [Vec<Version>; 3] = Default::default();
        let mut counters = [0u64; 3];
        let mut all = Vec::new();
        for (number, (who, from, takes, at)) in steps.into_iter().enumerate() {
            if takes && who != from {
                for head in replicas[from].clone() {
                    replicas[who] = merge_version(std::mem::take(&mut replicas[who]), head, &[]).0;
                }
                continue;
            }
            counters[who] += 1;
            let mut seen = VersionVector::default();
            for head in &replicas[who] {
                seen.join(&head.vector);
            }
            let vector = seen.with_change(&AUTHORS[who].parse().unwrap(), counters[who]);
            let content = (at % 7 != 0).then(|| format!("text {number}"));
            let written = version(content, vector, AUTHORS[who], at);
            replicas[who] = merge_version(std::mem::take(&mut replicas[who]), written.clone(), &[]).0;
            all.push(written);
        }
        all
    })
}

fn met(versions: &[Version]) -> Vec<Version> {
    versions.iter().fold(Vec::new(), |heads, version| merge_version(heads, version.clone(), &[]).0)
}

proptest! {
    /// Whatever the order and number of deliveries, the same versions are live and the same one is shown.
    #[test]
    fn replicas_converge(versions in history(), seed in any::<u64>()) {
        let expected = met(&versions);
        let mut shuffled: Vec<Version> = versions.iter().chain(&versions).cloned().collect();
        shuffled.sort_by_key(|version| {
            digest(&format!("{seed}{:?}", version.content)) + &digest(&format!("{:?}", version.vector))
        });
        prop_assert_eq!(met(&shuffled), expected.clone());
        for version in &versions {
            let (after, meeting) = merge_version(expected.clone(), version.clone(), &[]);
            prop_assert_eq!(meeting, MergeOutcome::AlreadySeen);
            prop_assert_eq!(&after, &expected);
        }
    }

    /// Groups of replicas that merged among themselves first reach the same result.
    #[test]
    fn meeting_is_associative(versions in history(), at in 0usize..24) {
        let at = at.min(versions.len());
        let (one, other) = (met(&versions[..at]), met(&versions[at..]));
        let joined = other.iter().fold(one, |heads, version| merge_version(heads, version.clone(), &[]).0);
        prop_assert_eq!(joined, met(&versions));
    }

    /// Every version that no later one has seen is still there.
    #[test]
    fn no_edit_is_lost(versions in history()) {
        let heads = met(&versions);
        for version in &versions {
            prop_assert!(heads.iter().any(|head| head.vector.covers(&version.vector)));
        }
    }

    #[test]
    fn a_file_reads_as_it_was_written(content in ".{0,200}", label in proptest::option::of(".{0,20}")) {
        let front = FrontMatter {
            version: 3,
            version_vector: VersionVector::default().with_change(&"a-b".parse().unwrap(), 7),
            source_instance: "a-b".parse().unwrap(),
            participating_instances: BTreeSet::from(["c".parse().unwrap()]),
            chat_ids: BTreeSet::from(["chat: 1\n---\n".to_owned()]),
            edited_by: "someone: else".to_owned(),
            by_person: true,
            prompt_label: label,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            digest: digest(&content),
        };
        let file = front.file_with_text(&content);
        let read = MirroredText::parse(&file);
        prop_assert_eq!(read.front_matter.as_ref(), Some(&front));
        prop_assert_eq!(read.content, content.as_str());
        prop_assert!(!read.is_edited());
    }

    #[test]
    fn any_file_is_read(file in "(---\n)?(echovessel: 1\n)?.{0,80}(\n---\n)?.{0,80}") {
        let read = MirroredText::parse(&file);
        prop_assert!(file.ends_with(read.content));
    }

    /// Rewriting a section leaves every other line unchanged, and a second rewriting changes nothing.
    #[test]
    fn a_section_is_edited_alone(
        before in "[a-z \n#*`-]{0,60}",
        after in "([a-z ]{1,10}\n){0,4}",
        text in "[a-z]{1,12}",
    ) {
        let document = format!("{before}\n\n## Wishes here\n\nold\n\n## Last\n\n{after}");
        let edited = rewrite_section(&document, "Wishes here", &text);
        prop_assert_eq!(rewrite_section(&edited, "Wishes here", &text), edited.clone());
        let has_fence = before.contains("```");
        if !has_fence {
            prop_assert_eq!(edited.matches("## Wishes here").count(), 1);
            let ending = format!("## Last\n\n{after}");
            prop_assert!(edited.ends_with(&ending));
            prop_assert!(edited.starts_with(&before));
        }
        let longer = append_to_section(&document, "Wishes here", &text);
        prop_assert!(longer.contains("old") && longer.contains(&text));
    }

    /// Merging a day again adds nothing, and no text of either side is lost.
    #[test]
    fn a_day_is_merged_once(
        one in proptest::collection::vec("[a-z]{1,6}", 1..6),
        other in proptest::collection::vec("[a-z]{1,6}", 1..6),
        chat in 0u8..3,
    ) {
        let day = |words: &[String], chat: u8| {
            let lines: Vec<String> = words.iter().map(|word| format!("- {word} [chat:{chat}] [via:x]")).collect();
            format!("# Day\n\n{}\n\nA word of prose {chat}.\n", lines.join("\n"))
        };
        let (one, other) = (day(&one, 0), day(&other, chat));
        let merged = daily::merge_diaries(&one, &other);
        prop_assert_eq!(daily::merge_diaries(&merged, &other), merged.clone());
        prop_assert_eq!(daily::merge_diaries(&merged, &one), merged.clone());
        for line in one.lines().chain(other.lines()).filter(|line| !line.is_empty()) {
            prop_assert!(merged.contains(line), "{} lost {}", merged, line);
        }
    }
}

#[test]
fn prose_after_a_tagged_bullet_is_a_paragraph_of_its_own() {
    let day = "# Day\n\n- a cat [chat:1] [via:x]\n- a call\n  from Ann [chat:1] [via:x]\n";
    let merged = daily::merge_diaries(day, "- a cat [chat:1] [via:x]\nIt rained.\n");
    assert_eq!(merged, format!("{day}\nIt rained.\n"));
    let longer = daily::merge_diaries(day, "- a cat [chat:1] [via:x]\n  white\n");
    assert_eq!(longer, format!("{day}- a cat [chat:1] [via:x]\n  white\n"), "what is said anew is kept");
}

#[test]
fn a_section_is_added_once_behind_code_that_is_never_closed() {
    for fence in ["```", "~~~"] {
        let document = format!("{fence}sh\nls\n\n## Wishes\n");
        let once = rewrite_section(&document, "Wishes", "tea");
        assert_eq!(once, format!("{fence}sh\nls\n\n## Wishes\n{fence}\n\n## Wishes\n\ntea\n"));
        assert_eq!(rewrite_section(&once, "Wishes", "tea"), once);
    }
}
