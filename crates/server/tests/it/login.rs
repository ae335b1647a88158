use std::time::Duration;

use axum::body::Body;
use axum::http::header::{COOKIE, HOST, USER_AGENT};
use axum::http::{Method, Request};
use serde_json::json;

use memory::ports::{AccessStore, Clock};

use crate::home::{Answer, HOSTNAME, Home, TOKEN};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

async fn open(home: &Home, method: Method, path: &str) -> Answer {
    let request = Request::builder().method(method).uri(path).header(HOST, HOSTNAME);
    Answer::of(home.raw(request.header(USER_AGENT, FIREFOX).body(Body::empty()).unwrap()).await).await
}

/// A browser with both halves of a login.
#[derive(Clone)]
struct Browser {
    cookie: String,
    page_key: String,
}

impl Browser {
    async fn log_in(home: &Home, link: &str) -> Self {
        let answer = open(home, Method::GET, link).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap();
        let page_key = answer.header("location").unwrap().strip_prefix("/#login=").unwrap();
        Self { cookie: cookie.to_owned(), page_key: page_key.to_owned() }
    }

    async fn of_owner(home: &Home) -> Self {
        let code = home.tokens.mint_login_code(home.clock.now()).code;
        Self::log_in(home, &format!("/login?code={code}")).await
    }

    fn request(&self, method: Method, path: &str) -> Request<Body> {
        let request = Request::builder().method(method).uri(path).header(HOST, HOSTNAME);
        let request = request.header(COOKIE, &self.cookie).header("x-echovessel-login", &self.page_key);
        request.body(Body::empty()).unwrap()
    }

    async fn ask(&self, home: &Home, method: Method, path: &str) -> Answer {
        Answer::of(home.raw(self.request(method, path)).await).await
    }

    async fn status(&self, home: &Home, path: &str) -> u16 {
        self.ask(home, Method::GET, path).await.status.as_u16()
    }
}

#[tokio::test]
async fn a_link_logs_a_browser_in_once() {
    let home = Home::new().await;
    let code = home.tokens.mint_login_code(home.clock.now()).code;
    let link = format!("/login?code={code}");
    assert_eq!(open(&home, Method::HEAD, &link).await.status, 200);
    let first = open(&home, Method::GET, &link).await;
    assert_eq!(first.status, 303);
    let page_key = first.header("location").unwrap().strip_prefix("/#login=").unwrap().to_owned();
    let cookie = first.header("set-cookie").unwrap();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains(TOKEN) && !cookie.contains(&code) && !cookie.contains("Domain"));
    assert!(!cookie.contains(&page_key));
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let browser = Browser { cookie, page_key };
    assert_eq!(browser.status(&home, "/api/state").await, 200);
    let changed = Browser { cookie: browser.cookie.replace('=', "=1"), ..browser.clone() };
    assert_eq!(changed.status(&home, "/api/state").await, 401);

    let second = open(&home, Method::GET, &link).await;
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
    assert_eq!(open(&home, Method::GET, &format!("/login?code={code}")).await.status, 401);
    assert_eq!(open(&home, Method::GET, "/login").await.status, 401);
}

#[tokio::test]
async fn the_owner_can_ask_for_another_link() {
    let home = Home::new().await;
    let answer = home.post("/api/admin/login-code", json!({})).await;
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!(body["expires_at"], "2026-05-02T19:14:11Z");
    let path = body["url"].as_str().unwrap().strip_prefix("http://127.0.0.1:7777").unwrap();
    assert_eq!(open(&home, Method::GET, path).await.status, 303);
}

#[tokio::test]
async fn the_cookie_alone_loads_pictures_and_nothing_else() {
    let home = Home::new().await;
    let browser = Browser::of_owner(&home).await;
    let half = Browser { page_key: String::new(), ..browser.clone() };
    for path in ["/api/state", "/api/chat/history", "/api/chat/events", "/api/admin/config", "/metrics"] {
        let answer = half.ask(&home, Method::GET, path).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["code"]), (401, &json!("half_login")), "{path}");
    }
    half.ask(&home, Method::POST, "/api/admin/stop").await.is_problem(401);
    half.ask(&home, Method::DELETE, "/api/admin/persona/avatar").await.is_problem(401);
    assert_eq!(half.status(&home, "/api/docs").await, 200);
    half.ask(&home, Method::GET, "/api/admin/persona/avatar").await.is_problem(404);
    half.ask(&home, Method::GET, "/api/chat/voice/019c0000-0000-7000-8000-000000000000.mp3")
        .await
        .is_problem(404);

    let other = Browser::of_owner(&home).await;
    let mixed = Browser { page_key: other.page_key, ..browser };
    assert_eq!(mixed.status(&home, "/api/state").await, 401, "both halves are of one login");
}

#[tokio::test]
async fn logins_are_listed_and_ended() {
    let home = Home::new().await;
    let (desk, phone) = (Browser::of_owner(&home).await, Browser::of_owner(&home).await);
    let list = desk.ask(&home, Method::GET, "/api/admin/logins").await.json();
    let logins = list["logins"].as_array().unwrap();
    assert_eq!(logins.len(), 2);
    let of = |is_current: bool| logins.iter().find(|login| login["is_current"] == is_current).unwrap();
    assert_eq!(of(true)["browser"], "Firefox, Linux");
    assert_eq!((&of(true)["token"], &of(true)["address"]), (&json!("owner"), &json!("127.0.0.1")));
    assert_eq!(of(true)["expires_at"], "2026-06-01T19:04:11Z");

    let path = format!("/api/admin/logins/{}", of(false)["id"].as_str().unwrap());
    let stream = home.raw(phone.request(Method::GET, "/api/chat/events")).await;
    assert_eq!(stream.status(), 200);
    let ended = desk.ask(&home, Method::DELETE, &path).await;
    assert_eq!((ended.json(), ended.header("set-cookie")), (json!({"ended": 1}), None));
    // The stream must end by itself, or the test times out.
    Answer::of(stream).await;
    assert_eq!(phone.status(&home, "/api/state").await, 401);
    desk.ask(&home, Method::DELETE, &path).await.is_problem(404);

    let out = desk.ask(&home, Method::DELETE, "/api/admin/logins/current").await;
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"), "{:?}", out.header("set-cookie"));
    assert_eq!(desk.status(&home, "/api/state").await, 401);

    let both = [Browser::of_owner(&home).await, Browser::of_owner(&home).await];
    assert_eq!(both[0].ask(&home, Method::DELETE, "/api/admin/logins").await.json(), json!({"ended": 2}));
    for browser in both {
        assert_eq!(browser.status(&home, "/api/state").await, 401);
    }
    home.ask(Method::DELETE, "/api/admin/logins/current", None).await.is_problem(404);
}

#[tokio::test]
async fn a_login_lasts_while_it_is_used() {
    let home = Home::new().await;
    let browser = Browser::of_owner(&home).await;
    let days = |days: u64| Duration::from_secs(days * 24 * 3_600);
    for _ in 0..3 {
        home.wait(days(29)).await;
        let seen = home.clock.now();
        let answer = browser.ask(&home, Method::GET, "/api/state").await;
        assert_eq!(answer.status, 200);
        assert!(
            answer.header("set-cookie").unwrap().starts_with(&browser.cookie),
            "the browser keeps it as long"
        );
        // The time is recorded after the request.
        while home.store.logins().await.unwrap()[0].last_seen_at != seen {
            tokio::task::yield_now().await;
        }
    }
    assert!(browser.ask(&home, Method::GET, "/api/state").await.header("set-cookie").is_none());
    home.wait(days(30)).await;
    assert_eq!(browser.status(&home, "/api/state").await, 401);
}

#[tokio::test]
async fn a_token_makes_only_logins_of_its_own_right_and_they_end_with_it() {
    let home = Home::new().await;
    let token = home.token("helper", &["admin"], None).await;
    let answer = home.ask_with(&token, Method::POST, "/api/admin/login-code", None).await.json();
    let path = answer["url"].as_str().unwrap().strip_prefix("http://127.0.0.1:7777").unwrap();
    let browser = Browser::log_in(&home, path).await;
    assert_eq!(browser.status(&home, "/api/admin/logins").await, 200);
    assert_eq!(browser.status(&home, "/api/chat/history").await, 403, "the token does not open it either");
    let logins = home.get("/api/admin/logins").await.json();
    assert_eq!(logins["logins"][0]["token"], "helper");

    home.ask(Method::DELETE, "/api/admin/tokens/helper", None).await;
    assert_eq!(browser.status(&home, "/api/admin/logins").await, 401);
    assert_eq!(home.get("/api/admin/logins").await.json()["logins"], json!([]));
}
