//! Regression tests of `docs/regressions.md`, named by number.

use hub::api::conflicts::{ConflictQuery, ConflictResolve, Resolution};
use hub::api::identity::SectionText;
use hub::api::memories::{MemoryConsolidate, MemoryGrep, MemorySearch, MemoryUpdate};
use hub::api::snapshots::SnapshotQuery;
use hub::api::sync::{IdentityChange, ItemStatus, PushingInstance, SyncPull, SyncPush};
use hub::{DiaryDate, DocumentName, FileName, InstanceId, Slug};

use crate::home::{Home, change, identity_text, reference};

#[tokio::test]
async fn defect_01_parallel_writers_lose_nothing() {
    let home = Home::open().await;
    let appends = (0..20).map(|number| {
        let (hub, caller) = (home.hub.clone(), home.caller.clone());
        tokio::spawn(async move {
            let text = identity_text("self", "my_wants.md", &format!("- wish {number} end"));
            hub.identity_append(&caller, text).await.unwrap();
            let daily = hub::api::memories::MemoryCreate {
                granularity: "daily".parse().unwrap(),
                date: "2026-07-14".parse().unwrap(),
                content: format!("- fact {number} end [chat:c] [via:home]"),
                chat_ids: Vec::new(),
                instance_id: "home".parse().unwrap(),
                participating_instances: Vec::new(),
                slug: None,
            };
            hub.memory_create(&caller, daily).await.unwrap();
        })
    });
    for append in appends.collect::<Vec<_>>() {
        append.await.unwrap();
    }
    let wants = home.identity("my_wants.md").await.unwrap();
    let daily = home.text("daily", "2026-07-14").await.unwrap();
    for number in 0..20 {
        assert!(wants.contains(&format!("- wish {number} end")), "{wants}");
        assert!(daily.contains(&format!("- fact {number} end")), "{daily}");
    }
}

/// Two hubs on one database represent two processes.
#[tokio::test]
async fn defect_01_two_hubs_on_one_database_lose_nothing() {
    let one = Home::open().await;
    let other = Home::for_instance("home", one.folder.clone(), "home.db").await;
    for number in 0..10 {
        let text = |who: &str| identity_text("custom", "notes.md", &format!("- {who} {number} end"));
        let (a, b) = tokio::join!(
            one.hub.identity_append(&one.caller, text("one")),
            other.hub.identity_append(&other.caller, text("other"))
        );
        assert!(a.unwrap().success && b.unwrap().success);
    }
    let notes = one.identity("notes.md").await.unwrap();
    assert_eq!(notes.lines().filter(|line| line.ends_with(" end")).count(), 20, "{notes}");
}

/// A week belongs to the month of its Thursday, so a month can include days of its neighbours.
#[tokio::test]
async fn defect_03_the_days_at_a_months_end_reach_the_month() {
    let home = Home::open().await;
    for day in ["2026-06-01", "2026-06-15", "2026-06-24", "2026-06-30", "2026-07-02"] {
        home.create("daily", day, &format!("- lived {day} [chat:c] [via:home]")).await;
    }
    let (written, failed) = home.hub.roll_up().await.unwrap();
    assert_eq!((written, failed), (5, 0), "four weeks and June; July and the year are not over");
    let june = home.text("monthly", "2026-06").await.unwrap();
    for day in ["2026-06-01", "2026-06-15", "2026-06-24"] {
        assert!(june.contains(&format!("lived {day}")), "{june}");
    }
    // The week of 29 June has its Thursday in July.
    assert!(!june.contains("2026-06-30"));
    home.clock.set("2026-08-04T12:00:00Z".parse().unwrap());
    home.hub.roll_up().await.unwrap();
    let july = home.text("monthly", "2026-07").await.unwrap();
    assert!(july.contains("lived 2026-06-30") && july.contains("lived 2026-07-02"), "{july}");
}

#[tokio::test]
async fn defect_04_a_failed_roll_up_is_tried_again_soon() {
    let home = Home::open().await;
    home.create("daily", "2026-07-06", "- walked [chat:c] [via:home]").await;
    *home.scribe.failing.lock().unwrap() = true;
    assert_eq!(home.hub.roll_up().await.unwrap(), (0, 1));
    *home.scribe.failing.lock().unwrap() = false;
    assert_eq!(home.hub.roll_up().await.unwrap(), (0, 0), "it waits a second first");
    home.clock.advance(std::time::Duration::from_secs(1)).await;
    assert_eq!(home.hub.roll_up().await.unwrap(), (1, 0));
    assert!(home.text("weekly", "2026-W28").await.is_some());
}

#[tokio::test]
async fn defect_05_an_update_reaches_the_memory_that_it_names() {
    let home = Home::open().await;
    home.create("significant", "2026-07-01/wedding", "# Wedding\nin June").await;
    home.create("significant", "2026-07-01/funeral", "# Funeral\nit rained").await;
    home.create_as("phone", "daily", "2026-07-02", "- rang [chat:c] [via:phone]").await;
    home.create_as("desk", "daily", "2026-07-02", "- wrote [chat:d] [via:desk]").await;
    let update = |granularity: &str, date: &str, slug: Option<&str>, instance: Option<&str>| MemoryUpdate {
        granularity: granularity.parse().unwrap(),
        date: date.parse().unwrap(),
        content: "corrected".to_owned(),
        edited_by: Some("person".to_owned()),
        slug: slug.map(|slug| slug.parse().unwrap()),
        instance_id: instance.map(|instance| instance.parse().unwrap()),
    };
    let unclear = home.hub.memory_update(&home.caller, update("significant", "2026-07-01", None, None)).await;
    assert!(!unclear.unwrap().success);
    let named = update("significant", "2026-07-01", Some("wedding"), None);
    let written = home.hub.memory_update(&home.caller, named).await.unwrap();
    assert_eq!(written.memory_id.unwrap(), "significant-2026-07-01_wedding");
    assert!(home.text("significant", "2026-07-01/funeral").await.unwrap().contains("it rained"));
    let named = update("daily", "2026-07-02", None, Some("phone"));
    home.hub.memory_update(&home.caller, named).await.unwrap();
    let mut read = reference("daily", "2026-07-02");
    read.instance_id = Some("desk".parse().unwrap());
    let desk = home.hub.memory_read(&home.caller, read.clone()).await.unwrap().memory.unwrap();
    assert!(desk.content.contains("wrote"));
    read.instance_id = Some("phone".parse().unwrap());
    let phone = home.hub.memory_read(&home.caller, read).await.unwrap().memory.unwrap();
    assert_eq!(
        (phone.content.as_str(), phone.version, phone.edited_by.as_str()),
        ("corrected\n", 2, "person")
    );
    assert_eq!(phone.source_instance.as_str(), "phone");
}

#[tokio::test]
async fn defect_06_a_section_is_rewritten_without_its_neighbours() {
    let home = Home::open().await;
    let document = "# Me\n\n## One\n\nold\n\n### Part\n\ninner\n\n## Two\n\nkept\n";
    home.hub.identity_write(&home.caller, identity_text("self", "my_identity.md", document)).await.unwrap();
    let rewrite = |section: &str, content: &str| SectionText {
        category: "self".parse().unwrap(),
        filename: "my_identity.md".parse().unwrap(),
        section: section.to_owned(),
        content: content.to_owned(),
        instance_id: "home".parse().unwrap(),
    };
    home.hub.identity_rewrite_section(&home.caller, rewrite("Part", "### Part\nnew")).await.unwrap();
    let text = home.identity("my_identity.md").await.unwrap();
    assert_eq!(text, "# Me\n\n## One\n\nold\n\n### Part\n\nnew\n\n## Two\n\nkept\n");
    home.hub.identity_rewrite_section(&home.caller, rewrite("One", "short")).await.unwrap();
    let text = home.identity("my_identity.md").await.unwrap();
    assert_eq!(text, "# Me\n\n## One\n\nshort\n\n## Two\n\nkept\n");
}

#[tokio::test]
async fn defect_07_old_snapshots_go() {
    let home = Home::open().await;
    home.hub.identity_write(&home.caller, identity_text("self", "my_wants.md", "tea\n")).await.unwrap();
    home.hub.snapshot_create(&home.caller).await.unwrap();
    home.hub.identity_write(&home.caller, identity_text("self", "my_wants.md", "coffee\n")).await.unwrap();
    let list = || home.hub.snapshot_list(&home.caller, SnapshotQuery::default());
    assert_eq!(list().await.unwrap().snapshots.len(), 1, "one moment, one snapshot");
    home.clock.set("2026-08-13T12:00:00Z".parse().unwrap());
    home.hub.snapshot_create(&home.caller).await.unwrap();
    assert_eq!(list().await.unwrap().snapshots.len(), 2);
    home.clock.set("2026-08-15T12:00:00Z".parse().unwrap());
    assert_eq!(home.hub.prune_snapshots().await.unwrap(), 1);
    let left = list().await.unwrap().snapshots;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].date, "2026-08-13");
}

#[tokio::test]
async fn defect_11_a_push_with_a_bad_item_takes_the_good_ones() {
    let home = Home::open().await;
    let mut bad = change("bad", Some("x"), "2026-07-02T00:00:00Z", "a:1");
    bad.date = "2026-13-99".to_owned();
    let good = change("good", Some("it is here"), "2026-07-02T00:00:00Z", "a:2");
    let pushed = home.push("a", vec![bad, good]).await;
    assert!(pushed.success);
    let statuses: Vec<ItemStatus> = pushed.results.iter().map(|result| result.status).collect();
    assert_eq!(statuses, [ItemStatus::Refused, ItemStatus::Applied]);
    assert!(pushed.results[0].reason.as_ref().unwrap().contains("2026-13-99"));
    assert_eq!(home.text("significant", "2026-07-01/good").await.unwrap(), "it is here");
}

#[tokio::test]
async fn defect_12_search_works_above_4096_memories() {
    let home = Home::without_files().await;
    let changes = (0..4_200)
        .map(|number| {
            let text = format!("word{number} and nothing else");
            change(&format!("m{number}"), Some(&text), "2026-07-02T00:00:00Z", &format!("a:{}", number + 1))
        })
        .collect();
    home.push("a", changes).await;
    let search = MemorySearch {
        query: "word4111".to_owned(),
        instance_id: "home".parse().unwrap(),
        query_embedding: None,
        min_score: None,
        max_results: None,
    };
    let found = home.hub.memory_search(&home.caller, search).await.unwrap();
    assert_eq!(found.results[0].id, "significant-2026-07-01_m4111");
}

#[tokio::test]
async fn defect_13_nothing_deleted_comes_back() {
    let home = Home::open().await;
    home.push("a", vec![change("trip", Some("to Rome"), "2026-07-02T00:00:00Z", "a:1")]).await;
    home.hub.memory_delete(&home.caller, reference("significant", "2026-07-01/trip")).await.unwrap();
    // The same push again, a change that has not seen the deletion, and a change from a client without version
    // vectors.
    let again = home.push("a", vec![change("trip", Some("to Rome"), "2026-07-02T00:00:00Z", "a:1")]).await;
    assert_eq!(again.results[0].status, ItemStatus::Known);
    let blind = home.push("b", vec![change("trip", Some("to Oslo"), "2026-09-02T00:00:00Z", "b:1")]).await;
    assert_eq!(blind.results[0].status, ItemStatus::Conflict);
    let old = home.push("c", vec![change("trip", Some("to Rome"), "2026-09-03T00:00:00Z", "")]).await;
    assert_eq!(old.results[0].status, ItemStatus::Conflict);
    assert_eq!(home.text("significant", "2026-07-01/trip").await, None);
    assert_eq!(
        home.hub.conflict_list(&home.caller, ConflictQuery::default()).await.unwrap().conflicts.len(),
        2
    );
    // A pull reports the deletion.
    let since = hub::VersionVector::default().with_change(&"a".parse::<InstanceId>().unwrap(), 1);
    let pull = SyncPull {
        instance_id: "a".parse().unwrap(),
        since: Some(since),
        cursor: None,
        limit: None,
        last_sync_version: None,
    };
    let pulled = home.hub.sync_pull(&home.caller, pull).await.unwrap();
    assert!(pulled.memories[0].deleted && pulled.memories[0].content.is_none());
}

#[tokio::test]
async fn defect_13_a_deleted_day_leaves_no_summary() {
    let home = Home::open().await;
    home.create("daily", "2026-07-06", "- saw the whale [chat:c] [via:home]").await;
    home.hub.roll_up().await.unwrap();
    assert!(home.text("weekly", "2026-W28").await.unwrap().contains("whale"));
    home.hub.memory_delete(&home.caller, reference("daily", "2026-07-06")).await.unwrap();
    home.hub.roll_up().await.unwrap();
    assert_eq!(home.text("weekly", "2026-W28").await, None);
}

#[tokio::test]
async fn defect_14_no_name_leaves_its_folder() {
    for name in ["../x.md", "a/b.md", "..\\x.md", ".md", "x.sh", "a\0.md", "x.md/..", "/etc.md"] {
        assert!(name.parse::<FileName>().is_err(), "{name:?}");
    }
    for name in ["../x", "a/b", "..", "", "a\0", "a.b"] {
        assert!(name.parse::<Slug>().is_err(), "{name:?}");
    }
    for name in ["../x", "a/b", "..", ".hidden", "", "a b"] {
        assert!(name.parse::<InstanceId>().is_err(), "{name:?}");
    }
    for date in
        ["2026-13-99", "2026-02-30", "2026-W54", "2025-W53", "../2026", "2026-1-1", "0000", "2026-07-01/.."]
    {
        assert!(date.parse::<DiaryDate>().is_err(), "{date:?}");
    }
    for (kind, stem) in [("daily", "2026-07-01_../x"), ("significant", "2026-07-01_a/b"), ("self", "../x")] {
        assert!(DocumentName::parse(kind, stem).is_err(), "{stem:?}");
    }
    let home = Home::open().await;
    let pushed = home
        .hub
        .sync_push(
            &home.caller,
            SyncPush {
                instance: PushingInstance {
                    id: "a".parse().unwrap(),
                    kind: "other".to_owned(),
                    name: None,
                    version: 1,
                },
                identity_changes: vec![IdentityChange {
                    category: "self".to_owned(),
                    filename: "../../ESCAPED.sh".to_owned(),
                    content: Some("x".to_owned()),
                    version: 1,
                    last_modified: None,
                    modified_by: None,
                    source_instance: None,
                    by_person: false,
                    version_vector: None,
                    deleted: false,
                    deleted_at: None,
                }],
                erasures: Vec::new(),
                memory_changes: vec![change("../../x", Some("x"), "2026-07-02T00:00:00Z", "")],
                last_sync_version: None,
            },
        )
        .await
        .unwrap();
    assert!(pushed.results.iter().all(|result| result.status == ItemStatus::Refused));
}

#[tokio::test]
async fn defect_15_the_losing_edit_is_kept_until_a_person_decides() {
    let home = Home::open().await;
    home.push("a", vec![change("plan", Some("first"), "2026-07-02T00:00:00Z", "a:1")]).await;
    home.push("b", vec![change("plan", Some("by b"), "2026-07-03T00:00:00Z", "a:1 b:1")]).await;
    let pushed = home.push("a", vec![change("plan", Some("by a"), "2026-07-04T00:00:00Z", "a:2")]).await;
    assert_eq!(pushed.results[0].status, ItemStatus::Conflict);
    assert_eq!(pushed.conflicts.len(), 1);
    assert_eq!(home.text("significant", "2026-07-01/plan").await.unwrap(), "by a");
    let open = home.hub.conflict_list(&home.caller, ConflictQuery::default()).await.unwrap().conflicts;
    assert_eq!(open[0].kept.content.as_deref(), Some("by b"));
    let resolve =
        ConflictResolve { conflict_id: open[0].id.clone(), resolution: Resolution::Kept, content: None };
    assert!(home.hub.conflict_resolve(&home.person(), resolve).await.unwrap().success);
    assert_eq!(home.text("significant", "2026-07-01/plan").await.unwrap(), "by b");
    assert!(
        home.hub.conflict_list(&home.caller, ConflictQuery::default()).await.unwrap().conflicts.is_empty()
    );
    let late = home.push("a", vec![change("plan", Some("by a"), "2026-07-04T00:00:00Z", "a:2")]).await;
    assert_eq!(late.results[0].status, ItemStatus::Known, "the decision has seen both");
}

#[tokio::test]
async fn defect_16_grep_finds_words_in_every_script() {
    let home = Home::open().await;
    home.create("daily", "2026-07-01", "- Мы гуляли у моря [chat:c] [via:home]").await;
    home.create("daily", "2026-07-02", "- 我们去了海边,看见一只白猫 [chat:d] [via:home]").await;
    home.create("significant", "2026-07-03/sea", "# The sea\nWe swam").await;
    for (query, date) in [("МОРЯ", "2026-07-01"), ("白猫", "2026-07-02"), ("swam", "2026-07-03")] {
        let grep = MemoryGrep { query: query.to_owned(), max_results: None };
        let found = home.hub.memory_grep(&home.caller, grep).await.unwrap();
        assert_eq!(found.results.len(), 1, "{query}");
        assert_eq!(found.results[0].date.to_string(), date);
        assert_eq!(found.total_scanned, 3);
    }
}

#[tokio::test]
async fn grep_finds_words_verbatim_in_texts_of_any_language() {
    let home = Home::open().await;
    home.create("significant", "2026-07-01/fr", "Nous avons mangé des gâteaux dans la cuisine").await;
    home.create("significant", "2026-07-02/en", "The nationalizations were discussed, O’Brien's node.js too")
        .await;
    home.create("significant", "2026-07-03/zh", "我們去了海邊🎉,看見一隻白貓").await;
    home.create("significant", "2026-07-04/de", "Die Gemütlichkeit der Häuser").await;
    let expected = [
        ("GÂTEAUX", "fr"),
        ("gâtea", "fr"),
        ("nationalizations", "en"),
        ("nationaliza", "en"),
        ("O'Brien's", "en"),
        ("node.js", "en"),
        ("白貓", "zh"),
        ("🎉", "zh"),
        ("häuser", "de"),
        ("gemüt", "de"),
        ("âteau", "fr"),
        ("tionaliz", "en"),
        ("ien's", "en"),
        ("e.j", "en"),
        ("ütl", "de"),
        ("äu", "de"),
        ("🎉,看", "zh"),
        ("the", "en"),
    ];
    for (query, slug) in expected {
        let grep = MemoryGrep { query: query.to_owned(), max_results: None };
        let found = home.hub.memory_grep(&home.caller, grep).await.unwrap();
        let slugs: Vec<String> =
            found.results.iter().map(|memory| memory.slug.clone().unwrap().to_string()).collect();
        assert_eq!(slugs, [slug], "{query}");
    }
    let grep = MemoryGrep { query: "die gâteaux 白貓 cuisine".to_owned(), max_results: Some(2) };
    let found = home.hub.memory_grep(&home.caller, grep).await.unwrap();
    let scores: Vec<f64> = found.results.iter().map(|memory| memory.score).collect();
    assert_eq!(scores, [0.5, 0.25], "the most words first, then the newest");
    assert_eq!(found.results[1].date.to_string(), "2026-07-04");
}

#[tokio::test]
async fn defect_17_a_push_of_what_is_there_makes_nothing_newer() {
    let home = Home::open().await;
    home.push("a", vec![change("note", Some("text"), "2026-07-02T00:00:00Z", "")]).await;
    let before =
        home.hub.memory_read(&home.caller, reference("significant", "2026-07-01/note")).await.unwrap();
    let again = home.push("b", vec![change("note", Some("text"), "2026-08-02T00:00:00Z", "")]).await;
    assert_eq!(again.results[0].status, ItemStatus::Known);
    let after =
        home.hub.memory_read(&home.caller, reference("significant", "2026-07-01/note")).await.unwrap();
    assert_eq!(before, after);
    let unreadable = home.push("b", vec![change("note", Some("other"), "yesterday", "")]).await;
    assert_eq!(unreadable.results[0].status, ItemStatus::Refused);
    assert_eq!(home.text("significant", "2026-07-01/note").await.unwrap(), "text");
}

/// A period that can't be summarised says why, and an unfinished period can be requested.
#[tokio::test]
async fn consolidation_says_what_it_did() {
    let home = Home::open().await;
    home.create("daily", "2026-07-14", "- now [chat:c] [via:home]").await;
    let ask = |granularity: Option<&str>, date: Option<&str>| MemoryConsolidate {
        granularity: granularity.map(|granularity| granularity.parse().unwrap()),
        target_date: date.map(|date| date.parse().unwrap()),
        all: false,
    };
    let consolidate = |input| home.hub.memory_consolidate(&home.caller, input);
    assert!(!consolidate(ask(None, None)).await.unwrap().success);
    let none = consolidate(ask(Some("weekly"), Some("2026-W02"))).await.unwrap();
    let error = none.consolidations[0].error.clone().unwrap();
    assert_eq!(error, "No daily source files found for this period");
    let day = consolidate(ask(Some("weekly"), Some("2026-07-15"))).await.unwrap();
    assert!(day.success && day.consolidations[0].date_str == "2026-W29");
    let again = consolidate(ask(Some("weekly"), Some("2026-W29"))).await.unwrap();
    assert_eq!(again.consolidations[0].error.as_deref(), Some("Already consolidated"));
}
