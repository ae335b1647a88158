use std::time::Duration;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{Method, Request};
use serde_json::json;

use crate::home::{Answer, HOSTNAME, Home, TOKEN};

async fn from(home: &Home, address: &str, path: &str, token: Option<&str>) -> Answer {
    let mut request = Request::builder().uri(path).header(HOST, HOSTNAME).header("X-Forwarded-For", address);
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    Answer::of(home.raw(request.body(Body::empty()).unwrap()).await).await
}

#[tokio::test]
async fn a_token_may_ask_so_much_and_then_has_to_wait() {
    let home = Home::new().await;
    let token = home.token("phone", &["chat"], None).await;
    home.set(|settings| (settings.requests_per_second, settings.burst) = (1, 3));
    let ask = |path: &'static str| home.ask_with(&token, Method::GET, path, None);
    for _ in 0..3 {
        assert_eq!(ask("/api/chat/history").await.status, 200);
    }
    let refused = ask("/api/chat/history").await;
    refused.is_problem(429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    let openai = ask("/v1/models").await;
    assert_eq!((openai.status.as_u16(), openai.header("retry-after")), (429, Some("1")));
    assert_eq!(openai.json()["error"]["code"], "rate_limit_exceeded");
    for _ in 0..20 {
        assert_eq!(
            home.get("/api/chat/history").await.status,
            200,
            "the owner on this machine is not limited"
        );
    }
    home.wait(Duration::from_secs(1)).await;
    assert_eq!(ask("/api/chat/history").await.status, 200);
}

#[tokio::test]
async fn an_address_may_ask_so_much_whoever_asks_from_it() {
    let home = Home::new().await;
    home.set(|settings| {
        (settings.requests_per_second, settings.burst, settings.behind_proxy) = (1, 2, true);
    });
    for _ in 0..2 {
        assert_eq!(from(&home, "192.0.2.7", "/api/state", None).await.status, 401);
    }
    from(&home, "192.0.2.7", "/api/state", None).await.is_problem(429);
    from(&home, "192.0.2.7", "/api/state", Some(TOKEN)).await.is_problem(429);
    from(&home, "192.0.2.7", "/", None).await.is_problem(429);
    assert_eq!(from(&home, "192.0.2.7", "/health", None).await.status, 200, "a sign of life is always given");
    assert_eq!(
        from(&home, "192.0.2.8", "/api/state", Some(TOKEN)).await.status,
        200,
        "others are not held up"
    );
    assert_eq!(from(&home, "10.0.0.1, 127.0.0.1", "/api/state", Some(TOKEN)).await.status, 200);
}

#[tokio::test]
async fn without_a_proxy_nobody_says_where_they_come_from() {
    let home = Home::new().await;
    home.set(|settings| (settings.requests_per_second, settings.burst) = (1, 2));
    for _ in 0..10 {
        assert_eq!(from(&home, "192.0.2.7", "/api/state", Some(TOKEN)).await.status, 200);
    }
    let request =
        Request::builder().uri("/health").header(HOST, HOSTNAME).header("X-Forwarded-Host", "evil.example");
    let request = request.body(Body::empty()).unwrap();
    assert_eq!(home.raw(request).await.status(), 200, "a header of a client is not a proxy's word");
}

#[tokio::test]
async fn behind_a_proxy_the_name_that_was_asked_for_is_checked_too() {
    let home = Home::new().await;
    home.set(|settings| settings.behind_proxy = true);
    let ask = async |host: &str| {
        let request =
            Request::builder().uri("/health").header(HOST, HOSTNAME).header("X-Forwarded-Host", host);
        home.raw(request.body(Body::empty()).unwrap()).await.status().as_u16()
    };
    assert_eq!(ask("chat.example").await, 200);
    assert_eq!(ask("evil.example").await, 421);
}

#[tokio::test]
async fn behind_a_proxy_that_encrypts_the_cookie_is_secure() {
    let home = Home::new().await;
    let cookie = async |scheme: &str| {
        let url =
            home.post("/api/admin/login-code", json!({})).await.json()["url"].as_str().unwrap().to_owned();
        let path = url.strip_prefix("http://127.0.0.1:7777").unwrap().to_owned();
        let request = Request::builder().uri(path).header(HOST, HOSTNAME).header("X-Forwarded-Proto", scheme);
        let answer = Answer::of(home.raw(request.body(Body::empty()).unwrap()).await).await;
        answer.header("set-cookie").unwrap().to_owned()
    };
    assert!(!cookie("https").await.contains("Secure"), "only a proxy is believed");
    home.set(|settings| settings.behind_proxy = true);
    assert!(cookie("https").await.contains("; Secure"));
    assert!(!cookie("http").await.contains("Secure"));
}

#[tokio::test]
async fn a_body_limit_that_was_changed_holds_at_once() {
    let home = Home::new().await;
    let line = json!({"content": "x".repeat(2_000)});
    assert_eq!(home.post("/api/chat/send", line.clone()).await.status, 202);
    home.set(|settings| settings.body_limit = 1_000);
    home.post("/api/chat/send", line).await.is_problem(413);
}
