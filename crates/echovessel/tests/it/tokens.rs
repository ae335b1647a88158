//! Named tokens on the command line, with and without a running daemon.

use reqwest::Method;
use serde_json::Value;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings};
use crate::owner_api::answer;

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_made_used_listed_and_revoked_while_the_daemon_runs() {
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    let create = ["token", "create", "--scope", "chat,openai", "--name", "phone", "--user", "ann"];
    let made = run(&home, &settings, &create).await;
    let token = made.out.trim().to_owned();
    assert!(made.code == 0 && token.starts_with("ev_") && !token.contains(char::is_whitespace), "{token}");
    assert!(made.err.contains("not shown again"), "{}", made.err);
    let ask =
        async |path: &str| answer(daemon.knock(Method::GET, path).bearer_auth(&token)).await.unwrap().status;
    assert_eq!(ask("/api/chat/history").await, 200);
    assert_eq!(ask("/api/chat/history?user_id=bob").await, 403);
    assert_eq!(ask("/api/admin/status").await, 403);

    let listed = run(&home, &settings, &["token", "list", "--json"]).await.json();
    assert_eq!(
        (&listed["tokens"][0]["name"], &listed["tokens"][0]["user_id"]),
        (&"phone".into(), &"ann".into())
    );
    let taken = run(&home, &settings, &create).await;
    assert!(taken.code == 1 && taken.err.contains("already"), "{}", taken.err);
    run(&home, &settings, &["token", "revoke", "phone"]).await.well();
    assert_eq!(ask("/api/chat/history").await, 401);
    let gone = run(&home, &settings, &["token", "revoke", "phone"]).await;
    assert!(gone.code == 1 && gone.err.contains("token not found"), "{}", gone.err);
    assert_eq!(run(&home, &settings, &["token", "create", "--scope", "root"]).await.code, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_made_without_a_daemon_opens_the_next_one() {
    let (home, settings) = (Home::new(), Settings::offline());
    let made = run(&home, &settings, &["token", "create", "--scope", "admin", "--json"]).await.json();
    let token = made["token"].as_str().unwrap().to_owned();
    assert_eq!(made["scopes"], serde_json::json!(["admin"]));
    run(&home, &settings, &["token", "create", "--scope", "chat", "--name", "old"]).await.well();
    run(&home, &settings, &["token", "revoke", "old"]).await.well();
    let missing = run(&home, &settings, &["token", "revoke", "old"]).await;
    assert_eq!(missing.code, 1, "{}", missing.err);
    let listed = run(&home, &settings, &["token", "list"]).await.well();
    assert!(listed.contains("admin") && !listed.contains("old") && !listed.contains(&token), "{listed}");

    let daemon = Daemon::start(&home, &settings).await;
    let audit = answer(daemon.knock(Method::GET, "/api/admin/audit").bearer_auth(&token)).await.unwrap();
    assert_eq!(audit.status, 200);
    let acts: Vec<&Value> =
        audit.body["items"].as_array().unwrap().iter().map(|item| &item["object"]).collect();
    assert_eq!(acts[..2], ["token old", "token old"]);
}

/// A client that occupies all network connections.
#[tokio::test(flavor = "multi_thread")]
async fn commands_reach_a_daemon_whose_address_does_not_answer() {
    let (home, settings) = (Home::new(), Settings::offline());
    let _daemon = Daemon::start(&home, &settings).await;
    run(&home, &settings, &["token", "create", "--scope", "chat", "--name", "greedy"]).await.well();
    let file = home.path().join("run.json");
    let mut shown: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    shown["url"] = "http://127.0.0.1:1".into();
    shown["port"] = 1.into();
    std::fs::write(&file, shown.to_string()).unwrap();
    run(&home, &settings, &["token", "revoke", "greedy"]).await.well();
    let listed = run(&home, &settings, &["token", "list", "--json"]).await.json();
    assert_eq!(listed["tokens"], serde_json::json!([]));
}
