//! A home that follows another home as its hub: both as processes, connected by real sockets.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::command_line::{Ran, run};
use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::owner_api::Door;

const TOKEN: &str = "ECHOVESSEL_HUB_TOKEN";

/// A running hub, and the token of its embodiment `laptop`.
async fn hub() -> (Home, Daemon, String) {
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::offline().key("hub.instance", "home")).await;
    let token = token(&home, "hub:laptop").await;
    (home, daemon, token)
}

async fn token(home: &Home, scope: &str) -> String {
    let name = scope.replace(':', "-");
    run(home, &Settings::offline(), &["token", "create", "--scope", scope, "--name", &name])
        .await
        .well()
        .trim()
        .to_owned()
}

async fn connect(home: &Home, settings: &Settings, url: &str) -> Ran {
    run(home, settings, &["sync", "connect", url, "--yes", "--json"]).await
}

async fn write(door: &Door, document: &str, content: &str) {
    let answer = door
        .request(Method::PUT, &format!("/api/hub/documents/{document}"))
        .json(&json!({"content": content}))
        .send()
        .await;
    let answer = answer.unwrap();
    assert_eq!(answer.status().as_u16(), 200, "{}", answer.text().await.unwrap());
}

async fn read(door: &Door, document: &str) -> Option<String> {
    let answer = door.try_get(&format!("/api/hub/documents/{document}")).await;
    (answer.status == 200).then(|| answer.body["content"].as_str().unwrap().to_owned())
}

async fn has(door: &Door, document: &str, content: &str) {
    eventually("the document is there", async || {
        (read(door, document).await.as_deref() == Some(content)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_machines_become_one_self_while_both_run() {
    let (home, hub, token) = hub().await;
    write(&hub, "self/persona.md", "I am Luna.").await;
    write(&hub, "relationship/bond.md", "We like rain.\n").await;
    let laptop_home = Home::new();
    let settings = Settings::offline().variable(TOKEN, &token).key("sync.push_every", "10s");
    let laptop = Daemon::start(&laptop_home, &settings).await;
    write(&laptop, "custom/notes.md", "from the laptop\n").await;
    let standing = connect(&laptop_home, &settings, &hub.url).await.json();
    assert_eq!((&standing["state"], &standing["waiting"]), (&json!("ok"), &json!(0)), "{standing}");
    assert_eq!(standing["instance"], "laptop");
    assert!(standing["last_exchange"].is_string());
    has(&laptop, "self/persona.md", "I am Luna.").await;
    has(&laptop, "relationship/bond.md", "We like rain.\n").await;
    has(&hub, "custom/notes.md", "from the laptop\n").await;

    // A change is sent automatically within seconds.
    write(&laptop, "relationship/bond.md", "We like rain.\n\nAnd tea.\n").await;
    has(&hub, "relationship/bond.md", "We like rain.\n\nAnd tea.\n").await;
    // A change on the hub arrives with the next exchange.
    write(&hub, "relationship/bond.md", "We like rain.\n\nAnd green tea.\n").await;
    let status = run(&laptop_home, &settings, &["sync", "now", "--json"]).await.json();
    assert_eq!((&status["state"], &status["error"]), (&json!("ok"), &Value::Null), "{status}");
    assert_eq!(read(&laptop, "relationship/bond.md").await.unwrap(), "We like rain.\n\nAnd green tea.\n");

    // The core blocks are taken from the hub.
    let answer = laptop
        .request(Method::PUT, "/api/hub/documents/self/persona.md")
        .json(&json!({"content": "I am me."}));
    let answer = answer.send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 403);
    assert!(answer.text().await.unwrap().contains("edited on the hub"));

    // A text that is erased on one side is deleted from the files of both.
    write(&laptop, "custom/notes.md", "The code is 4711.\nTea is in the kitchen.\n").await;
    has(&hub, "custom/notes.md", "The code is 4711.\nTea is in the kitchen.\n").await;
    run(&laptop_home, &settings, &["memory", "forget", "--text", "4711", "--yes"]).await.well();
    has(&hub, "custom/notes.md", "Tea is in the kitchen.\n").await;
    eventually("the words are in no file of the hub", async || (!home.holds("4711")).then_some(())).await;
    assert!(!laptop_home.holds("4711"));
    let shown = run(&laptop_home, &settings, &["sync", "status"]).await.well();
    assert!(shown.contains(&hub.url) && shown.contains("0 documents wait"), "{shown}");
    let listed = run(&home, &Settings::offline(), &["sync", "status", "--json"]).await.json();
    assert_eq!((&listed["state"], &listed["connectedInstances"][0]["id"]), (&json!("off"), &json!("laptop")));

    run(&laptop_home, &settings, &["sync", "disconnect"]).await.well();
    write(&laptop, "self/persona.md", "I am me.").await;
    assert_eq!(read(&hub, "self/persona.md").await.unwrap(), "I am Luna.");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_connects_and_exchanges_without_a_daemon_and_sends_the_rest_at_the_stop() {
    let (_home, hub, token) = hub().await;
    write(&hub, "relationship/bond.md", "We like rain.\n").await;
    let laptop_home = Home::new();
    let settings = Settings::offline().variable("MY_TOKEN", &token);
    let asked = ["sync", "connect", &hub.url, "--token-env", "MY_TOKEN"];
    let unconfirmed = run(&laptop_home, &settings, &asked).await;
    assert!(unconfirmed.code == 1 && unconfirmed.err.contains("pass --yes"), "{}", unconfirmed.err);
    assert!(!std::fs::read_to_string(laptop_home.file("config.toml")).unwrap_or_default().contains("[sync]"));
    let standing = run(&laptop_home, &settings, &[&asked[..], &["--yes", "--json"]].concat()).await.json();
    assert_eq!(standing["state"], "ok", "{standing}");
    let quiet = run(&laptop_home, &settings, &["sync", "now"]).await;
    assert!(!quiet.err.contains("another copy"), "{}", quiet.err);
    let mut laptop = Daemon::start(&laptop_home, &settings).await;
    assert_eq!(read(&laptop, "relationship/bond.md").await.unwrap(), "We like rain.\n");
    write(&laptop, "custom/last.md", "said last\n").await;
    laptop.signal("TERM");
    assert!(laptop.ended().await);
    assert_eq!(read(&hub, "custom/last.md").await.unwrap(), "said last\n");
}

/// A hub that accepts connections and never answers delays neither a reply nor the start, and the stop by a few
/// seconds at most.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_hangs_delays_nothing() {
    let (_home, hub, token) = hub().await;
    let laptop_home = Home::new();
    let settings = Settings::offline().variable(TOKEN, &token);
    assert_eq!(connect(&laptop_home, &settings, &hub.url).await.json()["state"], "ok");
    hub.signal("STOP");
    let mut laptop = Daemon::start(&laptop_home, &settings).await;
    write(&laptop, "custom/notes.md", "waits here\n").await;
    let begun = Instant::now();
    assert!(!laptop.complete("self", "hello").await.is_empty());
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(laptop.get("/api/sync").await["waiting"], 1);
    laptop.signal("TERM");
    let begun = Instant::now();
    assert!(laptop.ended().await);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    hub.signal("CONT");
    let _laptop = Daemon::start(&laptop_home, &settings).await;
    has(&hub, "custom/notes.md", "waits here\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_failure_has_its_sentence_and_nothing_is_written() {
    let (home, hub, good) = hub().await;
    let laptop = Home::new();
    let with = |token: &str| Settings::offline().variable(TOKEN, token);
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let chat = token(&home, "chat").await;
    let other = with(&good).key("persona.id", "nova");
    let not_ours = format!("{}/somewhere", hub.url);
    for (settings, url, sentence) in [
        (with(&good), refused.as_str(), "nothing answers at"),
        (with(&good), "home.example", "write it as https://"),
        (with("ev_wrong"), &hub.url, "does not know the token"),
        (with(&chat), &hub.url, "token create --scope hub:NAME"),
        (with(&good), &not_ours, "at this path"),
        (with(&good), &hub.url.replace("http:", "https:"), "does not accept TLS"),
        (other, &hub.url, "set persona.id to"),
    ] {
        let ran = connect(&laptop, &settings, url).await;
        assert!(ran.code == 1 && ran.err.contains(sentence), "{url}: {}", ran.err);
        let config = std::fs::read_to_string(laptop.file("config.toml")).unwrap_or_default();
        assert!(!config.contains("[sync]"), "{config}");
    }
    // A token with the hub's own name.
    let own = token(&home, "hub:home").await;
    let ran = connect(&laptop, &with(&own), &hub.url).await;
    assert!(ran.err.contains("also named `home`"), "{}", ran.err);
}

/// The hub is a program that is started and speaks over its standard input and output.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_process_can_be_the_hub() {
    let hub_home = Home::new();
    let hub = Daemon::start(&hub_home, &Settings::offline().key("hub.instance", "home")).await;
    write(&hub, "relationship/bond.md", "We like rain.\n").await;
    let laptop_home = Home::new();
    let program = env!("CARGO_BIN_EXE_echovessel");
    let config = format!(
        "[hub]\ninstance = \"laptop\"\n[sync]\ncommand = [\"{program}\", \"mcp\", \"--home\", \"{}\", \"--instance\", \"laptop\"]\n",
        hub_home.path().display()
    );
    std::fs::create_dir_all(laptop_home.path()).unwrap();
    std::fs::write(laptop_home.file("config.toml"), config).unwrap();
    let laptop = Daemon::start(&laptop_home, &Settings::offline()).await;
    has(&laptop, "relationship/bond.md", "We like rain.\n").await;
    write(&laptop, "custom/notes.md", "over a pipe\n").await;
    has(&hub, "custom/notes.md", "over a pipe\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_can_not_work_is_an_error_at_the_start() {
    let home = Home::new();
    for (settings, sentence) in [
        (Settings::offline().key("sync.url", "home.example"), "write it as https://"),
        (Settings::offline().key("sync.url", "https://home.example:7777"), "its token is missing"),
    ] {
        let ran = run(&home, &settings, &["run", "--port", "0", "--no-open"]).await;
        assert!(ran.code != 0 && ran.err.contains(sentence), "{}", ran.err);
    }
    let settings = Settings::offline().key("sync.url", "http://127.0.0.1:9").variable(TOKEN, "ev_x");
    let ran = run(&home, &settings, &["doctor"]).await;
    assert!(ran.out.contains("nothing answers at 127.0.0.1:9"), "{}", ran.out);
}
