use std::time::Duration;

use axum::body::Body;
use axum::http::header::{COOKIE, HOST};
use axum::http::{Method, Request};
use serde_json::json;

use memory::ports::Clock;

use crate::home::{Answer, HOSTNAME, Home, TOKEN};

async fn open(home: &Home, method: Method, path: &str, cookie: Option<&str>) -> Answer {
    let mut request = Request::builder().method(method).uri(path).header(HOST, HOSTNAME);
    if let Some(cookie) = cookie {
        request = request.header(COOKIE, cookie);
    }
    Answer::of(home.raw(request.body(Body::empty()).unwrap()).await).await
}

#[tokio::test]
async fn a_link_logs_a_browser_in_once() {
    let home = Home::new().await;
    let code = home.tokens.mint_login_code(home.clock.now()).code;
    let link = format!("/login?code={code}");
    assert_eq!(open(&home, Method::HEAD, &link, None).await.status, 200);
    let first = open(&home, Method::GET, &link, None).await;
    assert_eq!((first.status.as_u16(), first.header("location")), (303, Some("/")));
    let cookie = first.header("set-cookie").unwrap();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains(TOKEN) && !cookie.contains(&code) && !cookie.contains("Domain"));
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(open(&home, Method::GET, "/api/state", Some(pair)).await.status, 200);
    assert_eq!(open(&home, Method::GET, "/api/state", Some(&pair.replace('=', "=1"))).await.status, 401);

    let second = open(&home, Method::GET, &link, None).await;
    assert_eq!(second.status, 401);
    assert!(second.header("set-cookie").is_none());
    assert!(second.header("content-type").unwrap().starts_with("text/html"));
    assert!(second.text.contains("echovessel token link"));
}

#[tokio::test]
async fn a_link_is_too_old_after_ten_minutes() {
    let home = Home::new().await;
    let code = home.tokens.mint_login_code(home.clock.now()).code;
    home.wait(Duration::from_secs(600)).await;
    assert_eq!(open(&home, Method::GET, &format!("/login?code={code}"), None).await.status, 401);
    assert_eq!(open(&home, Method::GET, "/login", None).await.status, 401);
}

#[tokio::test]
async fn the_owner_can_ask_for_another_link() {
    let home = Home::new().await;
    let answer = home.post("/api/admin/login-code", json!({})).await;
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!(body["expires_at"], "2026-05-02T19:14:11Z");
    let path = body["url"].as_str().unwrap().strip_prefix("http://127.0.0.1:7777").unwrap();
    assert_eq!(open(&home, Method::GET, path, None).await.status, 303);
}
