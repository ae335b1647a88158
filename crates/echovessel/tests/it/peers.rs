//! Peers at the front door: what their token opens, and which pages are refused.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use reqwest::Method;
use serde_json::{Value, json};

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
    let plain = run(&home, &settings, &["sync", "add", "http://192.0.2.7:7777", "--token-env", "HOME"]).await;
    assert!(plain.code != 0 && plain.err.contains("unencrypted"), "{}", plain.err);
}

/// Who numbers its own changes once more each time that somebody lies about them is kept busy without end.
#[tokio::test(flavor = "multi_thread")]
async fn a_home_takes_a_new_identity_at_most_once_a_day() {
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    let create = ["token", "create", "--scope", "peer:kitchen", "--name", "kitchen", "--json"];
    let token = run(&home, &settings, &create).await.json()["token"].as_str().unwrap().to_owned();
    let exchange = async |heads: Value| -> (u16, Vec<u8>) {
        let request = json!({"actor": "kitchen~0000000000000007", "heads": heads});
        let mut body = GzEncoder::new(Vec::new(), Compression::fast());
        body.write_all(request.to_string().as_bytes()).unwrap();
        let request = daemon.knock(Method::POST, "/api/sync/exchange").bearer_auth(&token);
        let response = request.body(body.finish().unwrap()).send().await.unwrap();
        (response.status().as_u16(), response.bytes().await.unwrap().to_vec())
    };
    let actor = |(status, body): (u16, Vec<u8>)| -> String {
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        let mut text = String::new();
        GzDecoder::new(&*body).read_to_string(&mut text).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["actor"].as_str().unwrap().to_owned()
    };
    let first = actor(exchange(json!({})).await);
    let claim = |own: &str| json!({own: {"index": 1_000_000, "digest": "f".repeat(64)}});
    let second = actor(exchange(claim(&first)).await);
    assert_ne!(first, second, "it may have been restored from a backup");
    let (status, body) = exchange(claim(&second)).await;
    let says = String::from_utf8_lossy(&body);
    assert!(status == 422 && says.contains("second time in a day"), "{status} {says}");
    assert_eq!(actor(exchange(json!({})).await), second);
}
