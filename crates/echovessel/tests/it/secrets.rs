//! Secrets and message texts are only where they belong: not in the log at its most verbose level, in an answer, in
//! an error, or in the output of `config show`.

use reqwest::Method;
use serde_json::json;
use testkit::Reply;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings};
use crate::owner_api::{answer, completion};
use crate::scripts;
use crate::watcher::Watcher;

const KEY: &str = "sk-a-key-that-nobody-may-see";
const WORDS: &str = "we got divorced over my grandmother's recipe for quince jam";

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_and_no_word_leaves_its_place() {
    let model = scripts::model().await;
    let home = Home::new();
    let settings = Settings::talking_to(&model)
        .variable("OPENAI_API_KEY", KEY)
        .variable("ECHOVESSEL_LOG", "trace")
        .variable("RUST_BACKTRACE", "1");
    let daemon = Daemon::start(&home, &settings).await;
    let named =
        daemon.post("/api/admin/tokens", &json!({"scopes": ["chat", "admin"], "name": "deputy"})).await;
    let named = named["token"].as_str().unwrap().to_owned();
    let mut watcher = Watcher::open(&daemon).await;

    // Messages that are answered, messages whose endpoint fails and quotes them, and a session that can't be
    // extracted.
    let said = daemon.say("self", WORDS).await;
    watcher.wait_for_reply(&said.turn_id).await;
    model.next("reply", Reply::error(400, format!("this was not understood: {WORDS} (key {KEY})")));
    let said = daemon.say("self", WORDS).await;
    watcher.wait_for_failure(&said.turn_id).await;
    model.next("extraction", Reply::error(403, format!("flagged by moderation: {WORDS}")));
    daemon.end_session("self").await;
    watcher.until("work.failed", |_| true).await;

    let answers = everything_that_is_answered(&daemon, &named).await;
    let shown = run(&home, &settings, &["config", "show"]).await.well();
    let status = run(&home, &settings, &["status"]).await.well();
    let doctor = run(&home, &settings, &["doctor"]).await.out;
    daemon.try_post("/v1/chat/completions", &completion("self", WORDS)).await;
    let owner = daemon.token.clone();
    daemon.kill();
    let log = std::fs::read_to_string(home.log()).unwrap();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log said too little to prove anything");
    let places = [
        ("answers", &answers),
        ("config show", &shown),
        ("status", &status),
        ("doctor", &doctor),
        ("log", &log),
    ];
    for (place, text) in places {
        for (what, secret) in
            [("owner's token", &owner), ("named token", &named), ("API key", &KEY.to_owned())]
        {
            assert!(!text.contains(secret.as_str()), "the {what} is in {place}: {}", around(text, secret));
        }
    }
    assert!(!log.contains(WORDS), "words are in the log: {}", around(&log, WORDS));
    assert!(!log.contains("quince"), "words are in the log: {}", around(&log, "quince"));

    nothing_of_it_is_stored(&home, [&owner, &named]);
}

/// The answers to valid and invalid questions, with every kind of secret as the token.
async fn everything_that_is_answered(daemon: &Daemon, named: &str) -> String {
    let mut answers = String::new();
    for token in [daemon.token.clone(), named.to_owned(), KEY.to_owned(), format!("{named}0")] {
        for path in [
            "/api/state",
            "/api/admin/config",
            "/api/admin/tokens",
            "/api/admin/audit",
            "/api/admin/status",
            "/api/admin/nothing",
            "/metrics",
            "/v1/models",
        ] {
            let response = daemon.knock(Method::GET, path).bearer_auth(&token).send().await.unwrap();
            answers.push_str(&format!(
                "{:?}\n{}\n",
                response.headers().clone(),
                response.text().await.unwrap()
            ));
        }
        let wrong =
            daemon.knock(Method::POST, "/v1/chat/completions").bearer_auth(&token).body("{\"messages\": 3}");
        answers.push_str(&answer(wrong).await.unwrap().body.to_string());
        let refused = daemon.knock(Method::PATCH, "/api/admin/config").bearer_auth(&token);
        let refused = refused.json(&json!({"llm": {"api_key": KEY.len()}}));
        answers.push_str(&answer(refused).await.unwrap().body.to_string());
    }
    answers
}

/// Only a hash of a named token is stored, and nothing of the owner's token beyond its own file.
fn nothing_of_it_is_stored(home: &Home, secrets: [&str; 2]) {
    for entry in std::fs::read_dir(home.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path.file_name().unwrap() != "token" {
            let bytes = std::fs::read(&path).unwrap();
            for secret in secrets.into_iter().chain([KEY]) {
                let found = testkit::contains_words(&bytes, secret);
                assert!(!found, "a secret is in {}", path.display());
            }
        }
    }
}

fn around(text: &str, found: &str) -> String {
    let place = text.find(found).unwrap_or_default();
    let line = text[..place].rfind('\n').map_or(0, |end| end + 1);
    text[line..].lines().next().unwrap_or_default().to_owned()
}
