//! Import through the command line and HTTP: real files in the formats of their programs, imported, extracted and
//! undone.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};
use testkit::scripted_model::reconciliation_answer;
use testkit::{Reply, files_containing};

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, command, eventually};
use crate::scripts::{event, extraction, first_line, model};

/// Two afternoons of a chat, as WhatsApp exports it.
fn whatsapp(days: std::ops::Range<i8>) -> String {
    let mut chat = String::new();
    for day in days {
        _ = writeln!(chat, "[{day:02}.03.24, 14:03:05] Nora: Good morning, day {day}");
        _ = writeln!(chat, "[{day:02}.03.24, 14:04:10] Milo: Good morning Nora, shall we walk on day {day}?");
        _ = writeln!(chat, "[{day:02}.03.24, 14:05:00] Nora: Yes, and I bring my dog Pepper");
    }
    chat
}

pub(crate) fn write(home: &Home, name: &str, text: &str) -> String {
    let path = home.path().parent().unwrap().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const WHO: [&str; 5] = ["--me", "Nora", "--them", "Milo", "--yes"];

async fn import(home: &Home, settings: &Settings, file: &str, more: &[&str]) -> Value {
    let arguments: Vec<&str> = ["import", file, "--zone", "Europe/Berlin", "--json"]
        .iter()
        .chain(&WHO)
        .chain(more)
        .copied()
        .collect();
    run(home, settings, &arguments).await.json()
}

pub(crate) async fn messages(home: &Home, settings: &Settings) -> Vec<(String, String, String)> {
    let listed =
        run(home, settings, &["memory", "list", "messages", "--limit", "200", "--json"]).await.json();
    let mut messages: Vec<_> = listed["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            let text = |key: &str| message[key].as_str().unwrap().to_owned();
            (text("created_at"), text("role"), text("content"))
        })
        .collect();
    messages.reverse();
    messages
}

pub(crate) fn is_anywhere(home: &Home, words: &str) -> bool {
    !files_containing(&home.path(), words).unwrap().is_empty() || home.holds(words)
}

#[tokio::test(flavor = "multi_thread")]
async fn look_says_what_is_in_a_file_and_writes_nothing() {
    let (home, settings) = (Home::new(), Settings::offline());
    let file = write(&home, "_chat.txt", &whatsapp(1..3));
    let look = run(&home, &settings, &["import", &file, "--look", "--json"]).await.json();
    assert_eq!((&look["format"], &look["messages"]), (&json!("whatsapp"), &json!(6)), "{look}");
    assert_eq!(look["speakers"][0]["name"], "Nora");
    assert_eq!(look["speakers"][0]["messages"], 4);
    assert!(look["first"].as_str().unwrap().starts_with("2024-03-01T14:03"), "{look}");
    assert_eq!(look["skipped"], json!([]));
    assert!(!home.path().exists(), "looking made a home");

    for (arguments, says) in [
        (&["import", &file, "--yes"][..], "--me"),
        (&["import", &file, "--me", "Nora", "--them", "Milo"], "--yes"),
        (&["import", &file, "--me", "Mira", "--yes"], "Nora (4)"),
        (&["import", "/nowhere.txt", "--look"], "nowhere"),
    ] {
        let refused = run(&home, &settings, arguments).await;
        assert!(refused.code == 1 && refused.err.contains(says), "{arguments:?}: {}", refused.err);
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn pipe_is_refused_instead_of_waited_for() {
    let (home, settings) = (Home::new(), Settings::offline());
    let pipe = home.path().parent().unwrap().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for more in [&["--look"][..], &["--character"], &["--yes"]] {
        let arguments = [&["import", pipe.to_str().unwrap()], more].concat();
        let refused = run(&home, &settings, &arguments).await;
        assert!(refused.code == 1 && refused.err.contains("a pipe or a device"), "{more:?}: {}", refused.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_messages_keep_words_speakers_dates_and_order() {
    let (home, settings) = (Home::new(), Settings::offline());
    let file = write(&home, "_chat.txt", &whatsapp(1..3));
    let ran = import(&home, &settings, &file, &[]).await;
    assert_eq!(
        (&ran["found"], &ran["recorded"], &ran["already_there"], &ran["sessions"]),
        (&json!(6), &json!(6), &json!(0), &json!(2)),
        "{ran}"
    );
    let messages = messages(&home, &settings).await;
    let shown: Vec<_> =
        messages.iter().map(|(at, role, text)| (at.as_str(), role.as_str(), text.as_str())).collect();
    assert_eq!(shown[0], ("2024-03-01T13:03:05Z", "user", "Good morning, day 1"));
    assert_eq!(shown[1].1, "persona");
    assert_eq!(shown[5], ("2024-03-02T13:05:00Z", "user", "Yes, and I bring my dog Pepper"));

    let again = import(&home, &settings, &file, &[]).await;
    assert_eq!((&again["recorded"], &again["already_there"]), (&json!(0), &json!(6)), "{again}");
    let grown = write(&home, "_chat.txt", &whatsapp(1..4));
    let grown = import(&home, &settings, &grown, &[]).await;
    assert_eq!((&grown["recorded"], &grown["already_there"]), (&json!(3), &json!(6)), "{grown}");
    let whole = run(&home, &settings, &["doctor", "--json"]).await.out;
    assert!(whole.contains("intact"), "{whole}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_branches_are_kept_beside_the_shown_one() {
    let (home, settings) = (Home::new(), Settings::offline());
    let chat = "{\"user_name\":\"Nora\",\"character_name\":\"Milo\",\"create_date\":\"2024-03-01@10h00m00s\"}\n\
        {\"name\":\"Nora\",\"is_user\":true,\"send_date\":\"2024-03-01T10:00:00.000Z\",\"mes\":\"Which colour?\"}\n\
        {\"name\":\"Milo\",\"is_user\":false,\"send_date\":\"2024-03-01T10:00:05.000Z\",\"mes\":\"Green.\",\"swipe_id\":1,\"swipes\":[\"Purple.\",\"Green.\"]}\n";
    let file = write(&home, "milo.jsonl", chat);
    let ran = run(&home, &settings, &["import", &file, "--yes", "--json"]).await.json();
    assert_eq!(ran["recorded"], json!(2), "{ran}");
    let messages = messages(&home, &settings).await;
    assert_eq!(messages[1].2, "Green.");
    assert!(is_anywhere(&home, "Purple."), "the version that was not shown is lost");
    let found = run(&home, &settings, &["recall", "Purple", "--json"]).await.json().to_string();
    assert!(!found.contains("Purple."), "a version that was not shown was recalled: {found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_talk_becomes_memory_and_undo_leaves_no_byte_of_it() {
    let (home, model) = (Home::new(), model().await);
    model.answer_task("extraction", |_| {
        Reply::json(extraction([event("The user has a dog called Pepper", "I have a dog called Pepper")]))
    });
    let settings = Settings::talking_to(&model);
    let said = "[01.03.24, 14:03:05] Nora: Good morning, I have a dog called Pepper\n\
        [01.03.24, 14:04:10] Milo: Good morning Nora, shall we walk with Pepper?\n\
        [01.03.24, 14:05:00] Nora: Yes, and I work as a nurse in Berlin until the evening\n";
    let file = write(&home, "_chat.txt", said);
    let before = write(
        &home,
        "other.txt",
        "[05.04.24, 10:00:00] Nora: I like rain\n[05.04.24, 10:01:00] Milo: So do I\n",
    );
    import(&home, &settings, &before, &["--no-remember"]).await;
    let paused = import(&home, &settings, &file, &[]).await;
    let id = paused["run_id"].as_str().unwrap();
    run(&home, &settings, &["import", "pause", id]).await.well();
    let listed = run(&home, &settings, &["import", "list", "--json"]).await.json();
    assert_eq!(listed["runs"][0]["remembering"], "paused", "{listed}");
    run(&home, &settings, &["import", "resume", id]).await.well();

    let daemon = Daemon::start(&home, &settings).await;
    eventually("a memory of the import", async || {
        let events = run(&home, &settings, &["memory", "list", "events", "--json"]).await.json();
        events.to_string().contains("called Pepper").then_some(())
    })
    .await;
    run(&home, &settings, &["stop"]).await.well();
    drop(daemon);

    assert!(is_anywhere(&home, "Pepper"));
    run(&home, &settings, &["import", "undo", id, "--yes"]).await.well();
    assert!(!is_anywhere(&home, "Pepper"), "words of the import are left");
    assert!(!is_anywhere(&home, "_chat.txt"), "the name of the file is left");
    let left = messages(&home, &settings).await;
    assert_eq!(left.iter().map(|message| message.2.as_str()).collect::<Vec<_>>(), ["I like rain", "So do I"]);
    assert!(run(&home, &settings, &["doctor", "--json"]).await.out.contains("intact"));
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_messages_keep_their_dates() {
    let (home, settings) = (Home::new(), Settings::offline().key("session.idle", "1s"));
    let daemon = Daemon::start(&home, &settings).await;
    let said = "[01.03.24, 14:03:05] Nora: My sister Clara lives in Porto and I miss her so much\n\
        [01.03.24, 14:04:10] Milo: That is far away\n";
    let file = write(&home, "_chat.txt", said);
    import(&home, &settings, &file, &[]).await;
    let timeline = eventually("the end of the session", async || {
        let timeline = daemon.get("/api/admin/memory/timeline").await["items"].clone();
        let is_closed = timeline.as_array().unwrap().iter().any(|item| item["kind"] == "session_close");
        is_closed.then_some(timeline)
    })
    .await;
    let of_kind = |kind: &str| {
        let found = timeline.as_array().unwrap().iter().find(|item| item["kind"] == kind);
        found.unwrap_or_else(|| panic!("no {kind}: {timeline}"))["data"].clone()
    };
    assert_eq!(of_kind("event")["said_at"], "2024-03-01T13:03:05Z");
    assert_eq!(of_kind("session_close")["ended_at"], "2024-03-01T13:04:10Z");
    let events = daemon.get("/api/admin/memory/events").await;
    assert_eq!(events["items"][0]["said_at"], "2024-03-01T13:03:05Z", "{events}");
    let thoughts = daemon.get("/api/admin/memory/thoughts").await;
    let thoughts = thoughts["items"].as_array().unwrap();
    assert!(thoughts.iter().all(|thought| thought["said_at"] == "2024-03-01T13:04:10Z"), "{thoughts:?}");
    let listed = run(&home, &settings, &["memory", "list", "events"]).await.well();
    assert!(listed.contains("  2024-03-01  event"), "{listed}");
    daemon.say("self", "I adopted a cat called Pepper today").await;
    let own = eventually("a memory of today", async || {
        let events = daemon.get("/api/admin/memory/events").await["items"].clone();
        let found = events.as_array().unwrap().iter().find(|event| event.to_string().contains("Pepper"));
        found.cloned()
    })
    .await;
    assert!(own["said_at"].as_str().unwrap() > "2026", "{own}");
}

/// The old chat is imported last. Its claims are former ones, whichever of the two imports is undone first.
#[tokio::test(flavor = "multi_thread")]
async fn old_chat_that_is_imported_later_replaces_nothing_said_since() {
    for is_old_undone_first in [true, false] {
        let (home, model) = (Home::new(), model().await);
        model.answer_task("extraction", |request| {
            let line = first_line(request);
            Reply::json(extraction([event(&line.replace("I live", "The user lives"), &line)]))
        });
        // The mock's answer is right about which of the two is newer.
        model.answer_task("reconciliation", |request| reconciliation_answer(request, |_| "replaces"));
        let settings = Settings::talking_to(&model);
        let _daemon = Daemon::start(&home, &settings).await;
        let mut runs = Vec::new();
        for (month, town) in [("06", "Porto"), ("03", "Hamburg")] {
            let said = format!(
                "[05.{month}.24, 10:00:00] Nora: I live in a flat in {town} and I like it\n\
                 [05.{month}.24, 10:01:00] Milo: How nice\n"
            );
            let file = write(&home, &format!("{town}.txt"), &said);
            let ran = import(&home, &settings, &file, &[]).await;
            runs.push(ran["run_id"].as_str().unwrap().to_owned());
            eventually("a memory of the import", async || {
                events(&home, &settings).await.iter().any(|(text, _)| text.contains(town)).then_some(())
            })
            .await;
        }
        let is_former = async |town: &str| -> Option<bool> {
            let events = events(&home, &settings).await;
            events.iter().find(|(text, _)| text.contains(town)).map(|(_, is_former)| *is_former)
        };
        eventually("an answer", async || (is_former("Hamburg").await == Some(true)).then_some(())).await;
        assert_eq!(is_former("Porto").await, Some(false));
        let (first, left) = if is_old_undone_first { (1, "Porto") } else { (0, "Hamburg") };
        run(&home, &settings, &["import", "undo", &runs[first], "--yes"]).await.well();
        let events = events(&home, &settings).await;
        assert!(events.len() == 1 && events[0].0.contains(left) && !events[0].1, "{events:?}");
    }
}

/// Each event, and whether it is former.
async fn events(home: &Home, settings: &Settings) -> Vec<(String, bool)> {
    let listed = run(home, settings, &["memory", "list", "events", "--json"]).await.json();
    let of = |event: &Value| {
        (event["description"].as_str().unwrap().to_owned(), !event["no_longer_current"].is_null())
    };
    listed["items"].as_array().unwrap_or_else(|| panic!("{listed}")).iter().map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn import_killed_at_any_moment_resumes_and_records_nothing_twice() {
    let (home, settings) = (Home::new(), Settings::offline());
    let mut chat = String::new();
    for number in 0..20_000 {
        let speaker = if number % 2 == 0 { "Nora" } else { "Milo" };
        let (hour, minute, second) = (number / 3600 % 24, number / 60 % 60, number % 60);
        _ = writeln!(chat, "[01.03.24, {hour:02}:{minute:02}:{second:02}] {speaker}: line {number}");
    }
    let file = write(&home, "_chat.txt", &chat);
    for milliseconds in [150_u64, 400, 700, 1_000, 1_500] {
        let arguments =
            ["import", &file, "--zone", "UTC", "--json", "--me", "Nora", "--them", "Milo", "--yes"];
        let mut process = command(&home, &settings, &arguments)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        crate::daemon::pause(std::time::Duration::from_millis(milliseconds)).await;
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let arguments = ["import", &file, "--zone", "UTC", "--json", "--me", "Nora", "--them", "Milo", "--yes"];
    let ran = run(&home, &settings, &arguments).await.json();
    let counted = |key: &str| ran[key].as_u64().unwrap();
    assert_eq!(counted("found"), counted("recorded") + counted("already_there") + counted("skipped_count"));
    let listed = run(&home, &settings, &["import", "list", "--json"]).await.json();
    let recorded: u64 =
        listed["runs"].as_array().unwrap().iter().map(|run| run["recorded"].as_u64().unwrap()).sum();
    assert_eq!(recorded, 20_000, "{listed}");
    let again = run(&home, &settings, &arguments).await.json();
    assert_eq!((&again["recorded"], &again["already_there"]), (&json!(0), &json!(20_000)), "{again}");
    assert!(run(&home, &settings, &["doctor", "--json"]).await.out.contains("intact"));
}

#[tokio::test(flavor = "multi_thread")]
async fn import_works_the_same_while_a_daemon_runs() {
    let (home, settings) = (Home::new(), Settings::offline());
    let _daemon = Daemon::start(&home, &settings).await;
    let file = write(&home, "_chat.txt", &whatsapp(1..4));
    let ran = import(&home, &settings, &file, &[]).await;
    assert_eq!(
        (&ran["found"], &ran["recorded"], &ran["sessions"], &ran["skipped"]),
        (&json!(9), &json!(9), &json!(3), &json!([])),
        "{ran}"
    );
    assert_eq!(messages(&home, &settings).await[0].0, "2024-03-01T13:03:05Z");
    let again = import(&home, &settings, &file, &[]).await;
    assert_eq!((&again["recorded"], &again["already_there"]), (&json!(0), &json!(9)), "{again}");
    let uploads = home.path().join("imports");
    assert_eq!(fs::read_dir(uploads).unwrap().count(), 0, "recorded files are still there");

    let listed = run(&home, &settings, &["import", "list", "--json"]).await.json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2, "{listed}");
    run(&home, &settings, &["import", "pause", ran["run_id"].as_str().unwrap()]).await.well();
    run(&home, &settings, &["import", "undo", ran["run_id"].as_str().unwrap(), "--yes"]).await.well();
    assert!(!is_anywhere(&home, "dog Pepper"), "words of the import are left");
    let refused = run(&home, &settings, &["import", "undo", ran["run_id"].as_str().unwrap(), "--yes"]).await;
    assert!(refused.code == 1 && refused.err.contains("not found"), "{}", refused.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn import_of_a_daemon_that_was_killed_goes_on_at_the_next_start() {
    let (home, settings) = (Home::new(), Settings::offline());
    let mut chat = String::new();
    for number in 0..20_000 {
        let speaker = if number % 2 == 0 { "Nora" } else { "Milo" };
        let (hour, minute, second) = (number / 3600 % 24, number / 60 % 60, number % 60);
        _ = writeln!(chat, "[01.03.24, {hour:02}:{minute:02}:{second:02}] {speaker}: line {number}");
    }
    let file = write(&home, "_chat.txt", &chat);
    let daemon = Daemon::start(&home, &settings).await;
    let arguments = ["import", &file, "--zone", "UTC", "--json", "--me", "Nora", "--them", "Milo", "--yes"];
    let mut process = command(&home, &settings, &arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let runs = async || run(&home, &settings, &["import", "list", "--json"]).await.json()["runs"].clone();
    eventually("a run that records", async || {
        let runs = runs().await;
        (runs[0]["recorded"].as_u64().unwrap_or_default() > 0).then_some(())
    })
    .await;
    daemon.kill();
    process.kill().unwrap();
    process.wait().unwrap();

    let _daemon = Daemon::start(&home, &settings).await;
    eventually("the rest of the import", async || {
        let runs = runs().await;
        (runs[0]["finished_at"].is_string()).then_some(())
    })
    .await;
    let runs = runs().await;
    assert_eq!((runs.as_array().unwrap().len(), &runs[0]["recorded"]), (1, &json!(20_000)), "{runs}");
    assert_eq!(runs[0]["already_there"], 0, "{runs}");
    assert_eq!(
        fs::read_dir(home.path().join("imports")).unwrap().count(),
        0,
        "recorded files are still there"
    );
}

/// A text without dates gets the modification time of its file, not the time of the import.
#[tokio::test(flavor = "multi_thread")]
async fn talk_without_dates_has_the_time_of_its_file() {
    for with_daemon in [false, true] {
        let (home, settings) = (Home::new(), Settings::offline());
        let file = write(&home, "talk.txt", "Nora: I keep bees\nMilo: Since when?\nNora: Since spring\n");
        let changed = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_672_653_600);
        fs::File::options().write(true).open(&file).unwrap().set_modified(changed).unwrap();
        let daemon = if with_daemon { Some(Daemon::start(&home, &settings).await) } else { None };
        let imported = import(&home, &settings, &file, &[]).await;
        assert_eq!((&imported["recorded"], &imported["undated"]), (&json!(3), &json!(3)), "{imported}");
        drop(daemon);
        let said = messages(&home, &settings).await;
        assert!(said.iter().all(|(at, _, _)| at.starts_with("2023-01-02T10:00:00")), "{said:?}");
        assert_eq!(said.first().unwrap().2, "I keep bees");
    }
}
