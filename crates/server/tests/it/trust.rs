use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{Method, Request};
use serde_json::json;

use crate::home::{Answer, BODY_LIMIT, HOSTNAME, Home, TOKEN, scope};
use memory::ports::MessageStore;

/// Every path of the API with values in place of its ids, and some paths that do not exist.
fn guarded() -> Vec<String> {
    let known = server::api_paths()
        .into_iter()
        .map(|path| path.replace("{id}", "01980000-0000-7000-8000-000000000000"));
    let unknown = [
        "/api",
        "/api/",
        "/api/nothing",
        "/v1/nothing",
        "/v1",
        "/mcp",
        "/metrics",
        "/api/admin/nothing/at/all",
        "//api/state",
    ];
    known.chain(unknown.map(str::to_owned)).collect()
}

fn request(method: &Method, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header(HOST, HOSTNAME)
}

#[tokio::test]
async fn nothing_of_the_api_answers_without_the_token() {
    let home = Home::new().await;
    assert!(guarded().len() > 25);
    for path in guarded() {
        for method in [Method::GET, Method::POST, Method::DELETE, Method::PATCH, Method::OPTIONS] {
            let bare = request(&method, &path).body(Body::empty()).unwrap();
            let wrong =
                request(&method, &path).header(AUTHORIZATION, "Bearer wrong").body(Body::empty()).unwrap();
            let basic =
                request(&method, &path).header(AUTHORIZATION, format!("Basic {TOKEN}")).body(Body::empty());
            let query = request(&method, &format!("{path}?token={TOKEN}")).body(Body::empty()).unwrap();
            for refused in [bare, wrong, basic.unwrap(), query] {
                let answer = Answer::of(home.raw(refused).await).await;
                assert_eq!(answer.status, 401, "{method} {path}");
                assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
                let body = answer.json();
                if path.starts_with("/v1/") {
                    assert_eq!(body["error"]["code"], "invalid_api_key", "{path}");
                } else {
                    answer.is_problem(401);
                }
            }
        }
        let owner = request(&Method::GET, &path).header(AUTHORIZATION, format!("Bearer {TOKEN}"));
        assert_ne!(home.raw(owner.body(Body::empty()).unwrap()).await.status(), 401, "{path}");
    }
}

#[tokio::test]
async fn public_paths_need_no_token() {
    let home = Home::new().await;
    for path in ["/health", "/ready", "/", "/any/place/in/the/page", "/favicon.svg", "/API/state"] {
        let answer =
            Answer::of(home.raw(request(&Method::GET, path).body(Body::empty()).unwrap()).await).await;
        assert!(answer.status == 200, "{path}: {}", answer.status);
        assert!(!answer.text.contains("display_name"), "{path}");
    }
    assert_eq!(home.get("/health").await.json(), json!({"ok": true}));
    assert_eq!(home.get("/ready").await.json(), json!({"ok": true}));
}

#[tokio::test]
async fn a_foreign_host_name_gets_nothing() {
    let home = Home::new().await;
    let open = ["/".to_owned(), "/login?code=1".to_owned(), "/health".to_owned()];
    for path in guarded().into_iter().chain(open) {
        for host in ["evil.example", "127.0.0.1.evil.example:7777", "10.0.0.1:7777", ""] {
            let request = Request::builder()
                .uri(&path)
                .header(HOST, host)
                .header(AUTHORIZATION, format!("Bearer {TOKEN}"));
            let answer = Answer::of(home.raw(request.body(Body::empty()).unwrap()).await).await;
            assert_eq!(answer.status, 421, "{path} under {host:?}");
        }
    }
    // Only health checks of proxies, which use HTTP/1.0, may send no Host header.
    for (path, status) in [("/", 421), ("/api/state", 421), ("/health", 200), ("/ready", 200)] {
        let none = Request::builder().uri(path).body(Body::empty()).unwrap();
        assert_eq!(home.raw(none).await.status(), status, "{path}");
    }
    let two = Request::builder().uri("/health").header(HOST, HOSTNAME).header(HOST, "evil.example");
    assert_eq!(home.raw(two.body(Body::empty()).unwrap()).await.status(), 421);
    let absolute = Request::builder().uri("http://evil.example/health").header(HOST, HOSTNAME);
    assert_eq!(home.raw(absolute.body(Body::empty()).unwrap()).await.status(), 421);
    for host in ["localhost:1", "[::1]:7777", "127.0.0.1", "chat.example"] {
        let own = Request::builder().uri("/health").header(HOST, host).body(Body::empty()).unwrap();
        assert_eq!(home.raw(own).await.status(), 200, "{host}");
    }
}

#[tokio::test]
async fn a_page_of_another_origin_changes_nothing() {
    let home = Home::new().await;
    let send = |origin: &'static str| {
        let line = json!({"content": "written by another page"}).to_string();
        request(&Method::POST, "/api/chat/send")
            .header(AUTHORIZATION, format!("Bearer {TOKEN}"))
            .header(CONTENT_TYPE, "application/json")
            .header(ORIGIN, origin)
            .body(Body::from(line))
            .unwrap()
    };
    for origin in ["http://evil.example", "http://127.0.0.1:3000", "https://127.0.0.1", "null", ""] {
        let answer = Answer::of(home.raw(send(origin)).await).await;
        answer.is_problem(403);
    }
    assert!(home.store.messages_before(&scope("self"), None, 10).await.unwrap().is_empty());
    assert_eq!(home.raw(send("http://127.0.0.1:7777")).await.status(), 202);
    assert_eq!(home.raw(send("https://chat.example")).await.status(), 202);
    for path in guarded() {
        let foreign = request(&Method::POST, &path)
            .header(AUTHORIZATION, format!("Bearer {TOKEN}"))
            .header(ORIGIN, "http://evil.example");
        assert_eq!(home.raw(foreign.body(Body::empty()).unwrap()).await.status(), 403, "{path}");
    }
}

#[tokio::test]
async fn every_answer_carries_the_security_headers() {
    let home = Home::new().await;
    let answers = [
        home.get("/").await,
        home.get("/api/state").await,
        home.get("/api/nothing").await,
        home.get("/v1/nothing").await,
        home.get("/login?code=wrong").await,
        Answer::of(
            home.raw(Request::builder().uri("/").header(HOST, "evil.example").body(Body::empty()).unwrap())
                .await,
        )
        .await,
    ];
    for answer in &answers {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'self'") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control-")));
    }
    for answer in &answers[1..] {
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_before_and_while_it_is_read() {
    let home = Home::new().await;
    let line = json!({"content": "x".repeat(BODY_LIMIT)}).to_string();
    let post = || {
        request(&Method::POST, "/api/chat/send")
            .header(AUTHORIZATION, format!("Bearer {TOKEN}"))
            .header(CONTENT_TYPE, "application/json")
    };
    let announced = post().header("content-length", line.len()).body(Body::from(line.clone())).unwrap();
    Answer::of(home.raw(announced).await).await.is_problem(413);
    let pieces = line
        .into_bytes()
        .chunks(1_000)
        .map(|piece| Ok::<_, std::io::Error>(piece.to_vec()))
        .collect::<Vec<_>>();
    let in_pieces = post().body(Body::from_stream(futures_util::stream::iter(pieces))).unwrap();
    Answer::of(home.raw(in_pieces).await).await.is_problem(413);
    assert!(home.store.messages_before(&scope("self"), None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn unknown_paths_wrong_methods_and_wrong_bodies_have_their_own_errors() {
    let home = Home::new().await;
    home.get("/api/nothing").await.is_problem(404);
    let wrong = home.get("/api/chat/send").await;
    wrong.is_problem(405);
    assert_eq!(wrong.header("allow"), Some("POST"));
    assert_eq!(home.get("/v1/nothing").await.json()["error"]["code"], "unknown_url");
    home.ask(Method::POST, "/some/page", None).await.is_problem(405);
    home.get("/assets/nothing.js").await.is_problem(404);
    let form = request(&Method::POST, "/api/chat/send")
        .header(AUTHORIZATION, format!("Bearer {TOKEN}"))
        .header(CONTENT_TYPE, "text/plain")
        .body(Body::from(r#"{"content": "hello"}"#))
        .unwrap();
    Answer::of(home.raw(form).await).await.is_problem(415);
}

#[tokio::test]
async fn no_path_leads_out_of_the_page() {
    let home = Home::new().await;
    for path in [
        "/../../etc/passwd",
        "/assets/../../../etc/passwd",
        "/assets/..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/assets/%5c..%5c..%5cetc%5cpasswd",
        "/assets/%00/etc/passwd",
        "//etc/passwd",
    ] {
        let asked = request(&Method::GET, path).body(Body::empty()).unwrap();
        let answer = Answer::of(home.raw(asked).await).await;
        assert!(!answer.text.contains("root:"), "{path}: {}", answer.text);
        let is_the_page = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
        assert!(answer.status.is_client_error() || is_the_page, "{path}: {}", answer.status);
    }
    for path in ["/api/admin/tokens/..%2f..%2fstop", "/api/chat/../admin/stop", "/api/chat/%2e%2e/admin/stop"]
    {
        let chat = home.token(&format!("t{}", path.len()), &["chat"], None).await;
        let answer = home.ask_with(&chat, Method::POST, path, None).await;
        assert!(answer.status.is_client_error(), "{path}: {}", answer.status);
    }
    assert!(!home.shutdown.is_cancelled());
}
