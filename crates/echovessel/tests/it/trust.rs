//! Access control: a request without the token, a page of another site and another user of the machine are refused.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use reqwest::Method;
use reqwest::header::{COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use serde_json::json;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings};
use crate::owner_api::{answer, completion};
use crate::watcher::Watcher;

const SOME_ID: &str = "019c0000-0000-7000-8000-000000000000";

#[tokio::test(flavor = "multi_thread")]
async fn no_path_of_the_api_opens_without_the_token() {
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::offline()).await;
    let mut paths: Vec<String> =
        server::api_paths().iter().map(|path| path.replace("{id}", SOME_ID)).collect();
    paths.extend(["/api", "/api/", "/api/nothing", "/v1/nothing", "/metrics"].map(str::to_owned));
    assert!(paths.iter().any(|path| path == "/v1/chat/completions"));
    for path in &paths {
        for method in [Method::GET, Method::POST, Method::PATCH, Method::DELETE] {
            let bare = daemon.knock(method.clone(), path);
            let wrong = daemon.knock(method.clone(), path).bearer_auth("0".repeat(64));
            let cookie = daemon.knock(method.clone(), path).header(COOKIE, "echovessel=owner; session=1");
            for request in [bare, wrong, cookie] {
                let answer = answer(request.json(&json!({}))).await.unwrap();
                assert_eq!(answer.status, 401, "{method} {path}: {}", answer.body);
            }
        }
    }
    for path in ["/health", "/ready"] {
        let open = answer(daemon.knock(Method::GET, path)).await.unwrap();
        assert_eq!((open.status, open.body), (200, json!({"ok": true})), "{path}");
    }
    daemon.get("/api/state").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_not_this_machines_is_refused() {
    let home = Home::new();
    let settings = Settings::offline().key("server.allowed_hosts", "chat.example");
    let daemon = Daemon::start(&home, &settings).await;
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "0.0.0.0"] {
        for path in ["/", "/health", "/login?code=x", "/api/state"] {
            let refused = answer(daemon.request(Method::GET, path).header(HOST, host)).await.unwrap();
            assert!((400..500).contains(&refused.status), "{host} {path}: {}", refused.status);
            assert_ne!(refused.status, 401, "the token was looked at before the name");
        }
    }
    for host in ["localhost", "127.0.0.1:1", "chat.example"] {
        let taken = answer(daemon.request(Method::GET, "/api/state").header(HOST, host)).await.unwrap();
        assert_eq!(taken.status, 200, "{host}: {}", taken.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_origin_changes_nothing() {
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::offline()).await;
    let changes = [
        ("/api/chat/send", json!({"content": "from elsewhere"})),
        ("/v1/chat/completions", completion("self", "from elsewhere")),
        ("/api/admin/persona", json!({"persona_block": "from elsewhere"})),
        ("/api/admin/stop", json!({})),
    ];
    for origin in ["https://evil.example", "http://127.0.0.1:1", "null"] {
        for (path, body) in &changes {
            let request = daemon.request(Method::POST, path).header(ORIGIN, origin).json(body);
            let refused = answer(request).await.unwrap();
            assert_eq!(refused.status, 403, "{origin} {path}: {}", refused.body);
            assert!(!refused.headers.contains_key("access-control-allow-origin"));
        }
    }
    assert_eq!(daemon.history("self").await.len(), 0);
    assert_eq!(daemon.get("/api/admin/persona").await["core_blocks"]["persona"], "");
    let own = daemon.request(Method::POST, "/api/chat/send").header(ORIGIN, &daemon.url);
    let taken = answer(own.json(&json!({"content": "from here"}))).await.unwrap();
    assert_eq!(taken.status, 202, "{}", taken.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_login_link_works_once_and_gives_a_cookie_that_scripts_can_not_read() {
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::offline()).await;
    let link = daemon.login.strip_prefix(&daemon.url).unwrap();
    let forged = answer(daemon.knock(Method::GET, "/login?code=0000")).await.unwrap();
    assert!(forged.status >= 400 && !forged.headers.contains_key(SET_COOKIE), "{}", forged.status);

    let first = answer(daemon.knock(Method::GET, link)).await.unwrap();
    let page = first.headers[LOCATION].to_str().unwrap().to_owned();
    let page_key = page.strip_prefix("/#login=").unwrap();
    assert_eq!(first.status, 303);
    let cookie = first.headers[SET_COOKIE].to_str().unwrap().to_owned();
    for property in ["HttpOnly", "SameSite=Strict"] {
        assert!(cookie.contains(property), "{cookie}");
    }
    assert!(!cookie.contains(&daemon.token), "the cookie is the token itself");
    let cookie = cookie.split(';').next().unwrap();
    let state = |key: &str| {
        daemon.knock(Method::GET, "/api/state").header(COOKIE, cookie).header("x-echovessel-login", key)
    };
    let half = answer(state("wrong")).await.unwrap();
    assert_eq!((half.status, half.body["code"].as_str()), (401, Some("half_login")));
    let whole = answer(state(page_key)).await.unwrap();
    assert_eq!(whole.status, 200, "{}", whole.body);

    let second = answer(daemon.knock(Method::GET, link)).await.unwrap();
    assert!(second.status >= 400 && !second.headers.contains_key(SET_COOKIE), "the link worked twice");

    let fresh = daemon.post("/api/admin/login-code", &json!({})).await;
    let fresh = fresh["url"].as_str().unwrap().strip_prefix(&daemon.url).unwrap();
    assert_eq!(answer(daemon.knock(Method::GET, fresh)).await.unwrap().status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_on_the_machine_can_read_the_home() {
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::offline()).await;
    let mut watcher = Watcher::open(&daemon).await;
    let said = daemon.say("self", "something private").await;
    watcher.wait_for_reply(&said.turn_id).await;
    let database: &[&str] = if home.is_on_server() { &[] } else { &["echovessel.db", "echovessel.db-wal"] };
    let expected = ["token", "lock", "run.json"].iter().chain(database);
    let (mut found, mut folders) = (Vec::new(), vec![home.path().to_owned()]);
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            assert_eq!(mode(&path), 0o600, "{}", path.display());
            found.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    for name in expected {
        assert!(found.iter().any(|file| file == *name), "{name} is not among {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_the_environment_takes_the_place_of_the_one_in_the_home() {
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::offline()).await;
    let stored = daemon.token.clone();
    daemon.kill();
    let settings = Settings::offline().variable("ECHOVESSEL_TOKEN", "a token of one's own choice");
    let daemon = Daemon::start(&home, &settings).await;
    daemon.get("/api/state").await;
    let old = answer(daemon.knock(Method::GET, "/api/state").bearer_auth(stored)).await.unwrap();
    assert_eq!(old.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_carries_the_headers_that_keep_a_page_in_its_place() {
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::offline()).await;
    for path in ["/", "/api/state", "/health", "/nothing"] {
        let headers = daemon.try_get(path).await.headers;
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'self'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert!(!headers.contains_key("access-control-allow-origin"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_is_refused() {
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::offline().key("limits.body", "64KiB")).await;
    let body = json!({"content": "a".repeat(70 * 1024)});
    assert_eq!(daemon.try_post("/api/chat/send", &body).await.status, 413);
    let too_long = json!({"content": "a".repeat(20_001)});
    assert_eq!(daemon.try_post("/api/chat/send", &too_long).await.status, 422);
    assert_eq!(daemon.try_post("/api/chat/send", &json!({"content": " \n "})).await.status, 422);
    assert_eq!(daemon.history("self").await.len(), 0);
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_with_a_certificate_speaks_tls_and_its_own_commands_find_it() {
    let home = Home::new();
    std::fs::create_dir_all(home.path()).unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["chat.example".to_owned()]).unwrap();
    let (cert, key) = (home.file("cert.pem"), home.file("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let settings = Settings::offline()
        .key("server.tls_cert", cert.display())
        .key("server.tls_key", key.display())
        .key("server.allowed_hosts", "chat.example");
    let daemon = Daemon::start(&home, &settings).await;
    assert!(daemon.url.starts_with("https://127.0.0.1:") && daemon.login.starts_with(&daemon.url));
    let status = run(&home, &settings, &["status"]).await.well();
    assert!(status.contains(&daemon.url), "{status}");
    let refused = answer(daemon.request(Method::GET, "/api/state")).await;
    assert!(refused.is_err(), "a client that checks certificates does not know this one");
    let plain = daemon.url.replace("https://", "http://");
    assert!(outgoing::client_builder().no_proxy().build().unwrap().get(plain).send().await.is_err());
}
