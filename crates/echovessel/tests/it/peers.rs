//! Peers at the front door: what their token opens, and which pages are refused.

use reqwest::Method;
use serde_json::json;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings};
use crate::owner_api::answer;

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_peer_opens_nothing_else_and_a_false_page_is_refused() {
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    let create = ["token", "create", "--scope", "peer:kitchen", "--name", "kitchen", "--json"];
    let token = run(&home, &settings, &create).await.json()["token"].as_str().unwrap().to_owned();
    let ask = async |method: Method, path: &str, body: Vec<u8>| {
        answer(daemon.knock(method, path).bearer_auth(&token).body(body)).await.unwrap().status
    };
    for path in ["/api/chat/history", "/api/admin/sync", "/api/admin/conflicts", "/v1/models", "/metrics"] {
        assert_eq!(ask(Method::GET, path, Vec::new()).await, 403, "{path}");
    }
    assert_eq!(ask(Method::POST, "/api/sync/exchange", b"not a page".to_vec()).await, 422);
    assert_eq!(
        daemon.try_post("/api/sync/exchange", &json!({})).await.status,
        403,
        "the owner is not a peer"
    );
    let mixed = ["token", "create", "--scope", "peer:kitchen,chat", "--name", "mixed"];
    assert_ne!(run(&home, &settings, &mixed).await.code, 0);
    let plain = run(&home, &settings, &["sync", "add", "http://192.0.2.7:7777", "--token-env", "X"]).await;
    assert!(plain.code != 0 && plain.err.contains("unencrypted"), "{}", plain.err);
}
