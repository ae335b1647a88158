//! Erasure through the whole program: an erased text is in no file of the home and in no answer.

use serde_json::{Value, json};
use testkit::{Reply, ScriptedModel, files_containing};

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::scripts::{event, extraction, model, thought};
use crate::watcher::Watcher;

const SECRET: &str = "我的保险箱密码是蓝色海豚 bluedolphin";
const HARMLESS: &str = "我养了一只猫,今天它很乖";

/// A mock model that repeats the secret wherever it can.
async fn blabbing_model() -> ScriptedModel {
    let model = model().await;
    model.answer_task("reply", |_| Reply::text("蓝色海豚?BlueDolphin,我记住了。"));
    model.answer_task("extraction", |_| {
        let mut answer = extraction([
            event("用户的保险箱密码是蓝色海豚", "我的保险箱密码是蓝色海豚"),
            event("用户养了一只猫", "我养了一只猫"),
            event("用户的保险箱在银行,密码是蓝色海豚", "保险箱在银行"),
        ]);
        answer["mentioned_entities"] =
            json!([{"canonical_name": "蓝色海豚", "aliases": ["bluedolphin"], "kind": "other"}]);
        answer["session_summary"] = json!("他们谈到了蓝色海豚。");
        answer["session_mood_signal"] =
            json!({"mood": "curious", "energy": 6, "last_user_signal": "蓝色海豚"});
        Reply::json(answer)
    });
    model.answer_task("reflection", |_| Reply::json(thought("TA 信任我,把蓝色海豚告诉了我。")));
    model
}

/// A home in which the user mentioned the secret, which was then extracted, recalled and mentioned again.
async fn home_with_secret() -> (Home, Settings, Daemon, ScriptedModel) {
    let (home, model) = (Home::new(), blabbing_model().await);
    let settings = Settings::talking_to(&model).key("consolidate.max_retries", 0);
    let daemon = Daemon::start(&home, &settings).await;
    let mut watcher = Watcher::open(&daemon).await;
    for line in [SECRET, HARMLESS] {
        let said = daemon.say("self", line).await;
        watcher.wait_for_reply(&said.turn_id).await;
    }
    let session = daemon.end_session("self").await;
    watcher.wait_for_boundary(&session).await;
    let again = daemon.say("self", "你还记得蓝色海豚吗").await;
    watcher.wait_for_reply(&again.turn_id).await;
    (home, settings, daemon, model)
}

/// Names of the home's files that contain the bytes, with their log files.
fn holding(home: &Home, piece: &str) -> Vec<String> {
    // The folder above the home contains the daemon's output.
    let found = files_containing(home.path().parent().unwrap(), piece).unwrap();
    found.iter().map(|path| path.display().to_string()).collect()
}

async fn erase_text(daemon: &Daemon, text: &str) -> Value {
    let shown = daemon.post("/api/admin/memory/erase", &json!({"text": text, "dry_run": true})).await;
    let confirmed = json!({"text": text, "confirm": shown["id"]});
    daemon.post("/api/admin/memory/erase", &confirmed).await
}

/// Freed blocks, logs and copies of a database server belong to its operator, and the receipt says so.
fn assert_overwritten(home: &Home, receipt: &Value) {
    assert_eq!(receipt["overwritten_at"].is_string(), !home.is_on_server(), "{receipt}");
    let of_server = receipt["not_reached"].as_array().unwrap().iter().filter(|left| left["what"] == "server");
    assert_eq!(of_server.count(), usize::from(home.is_on_server()), "{receipt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_text_is_in_no_file_and_no_answer() {
    let (home, settings, daemon, _model) = home_with_secret().await;
    let in_diary = || holding(&home, "蓝色海豚").iter().any(|path| path.contains("memories/daily"));
    eventually("the diary tells it", async || in_diary().then_some(())).await;
    let place = {
        let mut watcher = Watcher::open(&daemon).await;
        let said = daemon.say("self", "嗯嗯").await;
        watcher.wait_for_reply(&said.turn_id).await;
        watcher.seen().iter().find(|frame| !frame.id.is_empty()).unwrap().id.clone()
    };
    let mut watcher = Watcher::open(&daemon).await;
    let receipt = erase_text(&daemon, "蓝色海豚").await;
    assert!(receipt["counts"]["messages"].as_u64().unwrap() >= 4, "{receipt}");
    assert_eq!(receipt["counts"]["entities"], 1, "{receipt}");
    assert_overwritten(&home, &receipt);
    let told = watcher.until("memory.forgotten", |_| true).await;
    assert_eq!((&told["receipt_id"], &told["message_ids"]), (&receipt["id"], &receipt["erased"]["messages"]));

    for piece in ["蓝色海豚", "bluedolphin", "BlueDolphin", "保险箱"] {
        assert_eq!(holding(&home, piece), [] as [String; 0], "{piece}");
    }
    let mut answers = vec![receipt];
    for path in [
        "/api/chat/history?limit=200",
        "/api/admin/memory/events",
        "/api/admin/memory/thoughts",
        "/api/admin/memory/entities",
        "/api/admin/memory/timeline",
        "/api/admin/memory/rejected",
        "/api/admin/memory/receipts",
        "/api/admin/sessions",
        "/api/admin/persona",
    ] {
        answers.push(daemon.get(path).await);
    }
    let question = json!({"text": "保险箱的密码是什么?"});
    answers.push(daemon.post("/api/admin/memory/recall", &question).await);
    for answer in &answers {
        let text = answer.to_string();
        assert!(!text.contains("蓝色海豚") && !text.to_lowercase().contains("bluedolphin"), "{text}");
    }
    let mut late = Watcher::open_after(&daemon, &place).await;
    let said = daemon.say("self", HARMLESS).await;
    late.until("chat.message.user_appended", |data| data["turn_id"] == said.turn_id.as_str()).await;
    let replayed = format!("{:?}", late.seen());
    assert!(replayed.contains("chat.connection.lagged"), "{replayed}");
    assert!(!replayed.contains("保险箱"), "{replayed}");

    let events = daemon.events("self").await;
    assert_eq!(events.len(), 1, "what was not meant stays: {events:?}");
    assert_eq!(events[0]["description"], "用户养了一只猫");
    drop((watcher, late));
    daemon.kill();
    let report = run(&home, &settings, &["doctor", "--json"]).await;
    assert!(report.out.contains("no orphaned rows"), "{}", report.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_message_takes_its_memory_and_its_bytes() {
    let (home, settings, daemon, _model) = home_with_secret().await;
    let history = daemon.history("self").await;
    for message in history.iter().filter(|message| !message["content"].as_str().unwrap().contains("猫")) {
        let path = format!("/api/admin/memory/messages/{}?choice=cascade", message["id"].as_str().unwrap());
        let answer = daemon.try_delete(&path).await;
        assert_eq!((answer.status, &answer.body["deleted"]), (200, &json!(true)), "{}", answer.body);
        assert_eq!(daemon.try_delete(&path).await.status, 404);
    }
    let events = daemon.events("self").await;
    assert_eq!(events.iter().map(|event| &event["description"]).collect::<Vec<_>>(), ["用户养了一只猫"]);
    assert!(daemon.thoughts("self").await.is_empty(), "it rested on what is gone");
    let found = daemon.recall("self", "蓝色海豚").await;
    assert!(found.iter().all(|candidate| !candidate["text"].as_str().unwrap().contains("海豚")), "{found:?}");
    eventually("the freed pages are overwritten", async || {
        holding(&home, "蓝色海豚").is_empty().then_some(())
    })
    .await;
    daemon.kill();
    let report = run(&home, &settings, &["doctor", "--json"]).await;
    assert!(report.out.contains("no orphaned rows"), "{}", report.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_leaves_nothing_of_the_persona() {
    let (home, _, daemon, _model) = home_with_secret().await;
    let blocks = json!({"persona_block": "我守着蓝色海豚", "user_block": "TA 有蓝色海豚"});
    daemon.post("/api/admin/persona", &blocks).await;
    let unconfirmed = daemon.try_post("/api/admin/reset", &json!({"persona_id": "default"})).await;
    assert_eq!(unconfirmed.status, 422, "{}", unconfirmed.body);
    let answer =
        daemon.post("/api/admin/reset", &json!({"persona_id": "default", "confirm": "default"})).await;
    assert_eq!((&answer["ok"], &answer["persona_id"]), (&json!(true), &json!("default")));
    assert_eq!(holding(&home, "蓝色海豚"), [] as [String; 0]);
    let state = daemon.get("/api/state").await;
    assert_eq!(
        (&state["onboarding_required"], &state["memory_counts"]["messages"]),
        (&json!(true), &json!(0))
    );
    let mut watcher = Watcher::open(&daemon).await;
    let said = daemon.say("self", "你好").await;
    watcher.wait_for_reply(&said.turn_id).await;
    assert_eq!(daemon.history("self").await.len(), 2, "life goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_forgets_with_and_without_a_daemon() {
    let (home, settings, daemon, _model) = home_with_secret().await;
    let listed = run(&home, &settings, &["memory", "list", "--json"]).await.json();
    let cat = listed["items"].as_array().unwrap().iter().find(|item| item["description"] == "用户养了一只猫");
    let cat = cat.unwrap()["id"].as_str().unwrap().to_owned();
    let shown = run(&home, &settings, &["memory", "show", &cat]).await.well();
    assert!(shown.contains("我养了一只猫"), "{shown}");
    let asked = run(&home, &settings, &["memory", "forget", "--text", "海豚"]).await;
    assert_eq!(asked.code, 1, "nobody was there to say yes");
    let shows_words = |line: &str| line.contains("message") && line.contains("海豚");
    assert!(asked.out.lines().any(shows_words), "what would go is not shown: {}", asked.out);
    assert!(
        asked.out.contains("would be erased") && asked.err.contains("--yes"),
        "{}{}",
        asked.out,
        asked.err
    );
    let dry = run(&home, &settings, &["memory", "forget", &cat, "--dry-run", "--json"]).await.json();
    assert_eq!((&dry["dry_run"], &dry["counts"]["events"]), (&json!(true), &json!(1)), "{dry}");
    assert_eq!(dry["left"]["message_ids"].as_array().unwrap().len(), 1, "{dry}");
    let gone = run(&home, &settings, &["memory", "forget", &cat, "--with-messages", "--yes"]).await.well();
    assert!(gone.contains("erased permanently") && gone.contains("receipt "), "{gone}");
    assert!(holding(&home, "今天它很乖").is_empty());
    daemon.kill();

    let listed = run(&home, &settings, &["memory", "list", "messages"]).await.well();
    assert!(listed.contains("蓝色海豚"), "{listed}");
    let receipt =
        run(&home, &settings, &["memory", "forget", "--text", "海豚", "--yes", "--json"]).await.json();
    assert_overwritten(&home, &receipt);
    assert_eq!(holding(&home, "海豚"), [] as [String; 0]);
    let receipts = run(&home, &settings, &["memory", "list", "receipts", "--json"]).await.json();
    assert_eq!(receipts["receipts"].as_array().unwrap().len(), 2, "{receipts}");
}
