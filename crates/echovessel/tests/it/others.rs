//! Group chats: messages of other people are stored as theirs, can be found, and are no evidence about the user.

use std::fs;

use serde_json::{Value, json};
use testkit::Reply;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::import::is_anywhere;
use crate::scripts::{event, extraction, model};
use crate::watcher::Watcher;

const GROUP: &str = "\
[05.03.24, 14:03:05] Nora: Who comes to the lake on Sunday?
[05.03.24, 14:04:10] Milo: I do, with my boat
[05.03.24, 14:05:00] Tom: I quit my job at the bakery yesterday
[05.03.24, 14:05:30] Tom: and I am allergic to walnuts
[05.03.24, 14:06:00] Nora: Then I bring a cake without nuts for the lake
";

fn who(message: &Value) -> (&str, Option<&str>) {
    (message["role"].as_str().unwrap(), message["speaker"].as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_others_are_theirs_everywhere() {
    let model = model().await;
    // A mock model that attributes the bakery to the user.
    model.answer_task("extraction", |request| {
        let quotes = ["I quit my job at the bakery", "Then I bring a cake"];
        let handle = |quote: &str| {
            let user = request.user();
            let before = user[..user.find(quote).unwrap()].rfind("\nm").unwrap() + 1;
            user[before..].split(' ').next().unwrap().to_owned()
        };
        let events = quotes.map(|quote| {
            let mut event = event(&format!("The user: {quote}"), quote);
            event["evidence"][0]["message"] = json!(handle(quote));
            event
        });
        Reply::json(extraction(events))
    });
    let (home, settings) = (Home::new(), Settings::talking_to(&model));
    let path = home.path().parent().unwrap().join("_chat.txt");
    fs::write(&path, GROUP).unwrap();
    let file = path.to_str().unwrap();
    let arguments =
        ["import", file, "--zone", "Europe/Berlin", "--me", "Nora", "--them", "Milo", "--yes", "--json"];
    let imported = run(&home, &settings, &arguments).await.json();
    let counts = ["found", "recorded", "skipped_count"].map(|name| imported[name].as_u64());
    assert_eq!(counts, [5, 5, 0].map(Some), "{imported}");
    let run_id = imported["run_id"].as_str().unwrap().to_owned();

    let daemon = Daemon::start(&home, &settings).await;
    let history = daemon.history("self").await;
    let mut said: Vec<_> = history.iter().map(who).collect();
    said.sort_unstable();
    let tom = ("other", Some("Tom"));
    assert_eq!(said, [tom, tom, ("persona", None), ("user", None), ("user", None)]);

    let events = eventually("the memory of the cake", async || {
        let events = daemon.get("/api/admin/memory/events").await;
        events["items"].as_array().is_some_and(|items| !items.is_empty()).then_some(events)
    })
    .await;
    assert!(!events.to_string().contains("bakery"), "{events}");
    let rejected = daemon.get("/api/admin/memory/rejected").await.to_string();
    assert!(rejected.contains("bakery") && rejected.contains("was said by someone else"), "{rejected}");
    let asked = model.requests_for("extraction");
    assert!(asked[0].user().contains(" · other (Tom) · "), "{}", asked[0].user());

    let found = daemon.get("/api/admin/memory/search?q=walnuts").await;
    assert_eq!(who(&found["messages"][0]), tom, "{found}");
    let mut watcher = Watcher::open(&daemon).await;
    let turn = daemon.say("self", "Who was allergic to walnuts?").await.turn_id;
    watcher.wait_for_reply(&turn).await;
    let prompt = model.requests_for("reply").pop().unwrap();
    assert!(prompt.user().contains("Tom said: and I am allergic to walnuts"), "{}", prompt.user());
    let recalled =
        daemon.post("/api/admin/memory/recall", &json!({"text": "Who was allergic to walnuts?"})).await;
    let candidates = recalled["candidates"].as_array().unwrap();
    assert!(candidates.iter().any(|one| one["type"] == "other" && one["speaker"] == "Tom"), "{recalled}");

    run(&home, &settings, &["stop"]).await.well();
    drop(daemon);
    let archive = home.path().parent().unwrap().join("archive.zip");
    run(&home, &settings, &["export", archive.to_str().unwrap()]).await.well();
    let markdown = home.path().parent().unwrap().join("talk.md");
    run(&home, &settings, &["export", markdown.to_str().unwrap(), "--format", "markdown"]).await.well();
    let markdown = fs::read_to_string(markdown).unwrap();
    assert!(markdown.contains("**Tom** (13:05 UTC): I quit my job"), "{markdown}");
    let other = Home::new();
    run(&other, &settings, &["import", archive.to_str().unwrap(), "--yes"]).await.well();
    let daemon = Daemon::start(&other, &settings).await;
    assert_eq!(daemon.history("self").await.iter().filter(|message| who(message) == tom).count(), 2);
    drop(daemon);

    run(&home, &settings, &["import", "undo", &run_id, "--yes"]).await.well();
    assert!(!is_anywhere(&home, "quit my job at the bakery") && !is_anywhere(&home, "Tom"));
}
