use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Method, Request};
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::sync::mpsc::{Sender, channel};
use tower::ServiceExt as _;

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
async fn guesses_from_this_machine_are_limited_and_its_owner_is_not() {
    let home = Home::new().await;
    home.set(|settings| (settings.requests_per_second, settings.burst) = (1, 3));
    for _ in 0..30 {
        home.ask_with("guess", Method::GET, "/api/state", None).await.is_problem(401);
    }
    home.ask_with("guess", Method::GET, "/api/state", None).await.is_problem(429);
    assert_eq!(home.get("/api/state").await.status, 200);
    assert_eq!(home.get("/health").await.status, 200);
}

#[tokio::test]
async fn rate_limits_count_all_requests_of_an_address() {
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
    let encrypted = cookie("https").await;
    assert!(encrypted.starts_with("__Host-echovessel_") && encrypted.contains("; Secure"), "{encrypted}");
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

/// A body that is sent in pieces, and ends with its sender.
fn body_of_channel() -> (Sender<Bytes>, Body) {
    let (sender, receiver) = channel(1);
    let chunks = stream::unfold(receiver, |mut receiver| async move {
        let chunk: Bytes = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(chunk), receiver))
    });
    (sender, Body::from_stream(chunks))
}

fn post(path: &str, token: &str, kind: &str, body: Body) -> Request<Body> {
    let request = Request::builder().method(Method::POST).uri(path).header(HOST, HOSTNAME);
    let request = request.header(AUTHORIZATION, format!("Bearer {token}")).header(CONTENT_TYPE, kind);
    request.header(ACCEPT, "application/json, text/event-stream").body(body).unwrap()
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_given_up_on_every_path() {
    let home = Home::new().await;
    for (path, kind) in [
        ("/mcp", "application/json"),
        ("/api/chat/send", "application/json"),
        ("/v1/chat/completions", "application/json"),
        ("/api/admin/imports", "multipart/form-data; boundary=x"),
        ("/api/admin/persona/avatar", "multipart/form-data; boundary=x"),
        ("/api/chat/transcribe", "multipart/form-data; boundary=x"),
    ] {
        let (sender, body) = body_of_channel();
        let trickle = async {
            loop {
                // One byte every five seconds never pauses for long, and never ends.
                let _ = sender.try_send(Bytes::from_static(b"-"));
                home.wait(Duration::from_secs(5)).await;
            }
        };
        tokio::select! {
            answer = home.raw(post(path, TOKEN, kind, body)) => assert_eq!(answer.status(), 408, "{path}"),
            () = trickle => {}
        }
    }
}

#[tokio::test]
async fn a_large_body_may_take_the_time_that_its_bytes_need() {
    let home = Home::new().await;
    let (sender, body) = body_of_channel();
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let steady = async {
        for _ in 0..40 {
            sender.send(Bytes::from(vec![b' '; 512 * 1024])).await.unwrap();
            home.wait(Duration::from_secs(5)).await;
        }
        sender.send(Bytes::from(message)).await.unwrap();
        drop(sender);
    };
    let (answer, ()) = tokio::join!(home.raw(post("/mcp", TOKEN, "application/json", body)), steady);
    assert_eq!(answer.status(), 200, "three minutes at 100 KiB a second");
}

#[tokio::test]
async fn bodies_together_hold_so_much_and_leave_room_for_the_owner_and_for_short_ones() {
    let home = Home::new().await;
    let phone = home.token("phone", &["hub:phone", "chat"], None).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let (sender, body) = body_of_channel();
        let request = post("/mcp", &phone, "application/json", body);
        let answer = tokio::spawn(home.router.clone().oneshot(request));
        for _ in 0..51 {
            sender.send(Bytes::from(vec![b' '; 1024 * 1024])).await.unwrap();
        }
        // The channel has room for one chunk: once it is empty, the server has received all.
        while sender.capacity() == 0 {
            tokio::task::yield_now().await;
        }
        held.push((sender, answer));
    }
    let ask = async |token: &str| {
        let text = format!("{}{}", " ".repeat(4 << 20), json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        Answer::of(home.raw(post("/mcp", token, "application/json", Body::from(text))).await).await
    };
    let refused = ask(&phone).await;
    refused.is_problem(503);
    assert_eq!(refused.header("retry-after"), Some("5"));
    assert_eq!(ask(TOKEN).await.status, 200, "the owner has room of their own");
    let line = home.ask_with(&phone, Method::POST, "/api/chat/send", Some(json!({"content": "hello"}))).await;
    assert_eq!(line.status, 202, "a line of talk always has room");
    for (sender, answer) in held {
        drop(sender);
        assert_eq!(answer.await.unwrap().unwrap().status(), 400);
    }
    assert_eq!(ask(&phone).await.status, 200, "what was held is given back");
}

#[tokio::test]
async fn a_token_has_so_many_streams_and_its_end_ends_them() {
    let home = Home::new().await;
    let phone = home.token("phone", &["chat"], None).await;
    let open = async |token: &str| {
        let request = Request::builder().uri("/api/chat/events").header(HOST, HOSTNAME);
        let request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        home.raw(request.body(Body::empty()).unwrap()).await
    };
    let mut streams = Vec::new();
    for _ in 0..16 {
        let stream = open(&phone).await;
        assert_eq!(stream.status(), 200);
        streams.push(stream.into_body().into_data_stream());
    }
    let refused = Answer::of(open(&phone).await).await;
    refused.is_problem(429);
    assert!(refused.text.contains("streams"), "{}", refused.text);
    let asked = json!({"model": "default", "stream": true, "messages": [{"role": "user", "content": "hi"}]});
    let refused = home.ask_with(&phone, Method::POST, "/v1/chat/completions", Some(asked.clone())).await;
    assert_eq!(refused.status, 429, "no message is taken that could not be answered: {}", refused.text);
    assert_eq!(open(TOKEN).await.status(), 200, "others are not held up");
    streams.pop();
    let answered = home.ask_with(&phone, Method::POST, "/v1/chat/completions", Some(asked)).await;
    assert_eq!(answered.status, 200, "a stream that ended makes room: {}", answered.text);
    home.ask(Method::DELETE, "/api/admin/tokens/phone", None).await;
    for mut stream in streams {
        while let Some(chunk) = stream.next().await {
            chunk.unwrap();
        }
    }
}

#[tokio::test]
async fn requests_from_other_sites_are_refused() {
    let home = Home::new().await;
    let ask = async |path: &str, site: &str| {
        let request = Request::builder().uri(path).header(HOST, HOSTNAME).header("Sec-Fetch-Site", site);
        let request = request.header(AUTHORIZATION, format!("Bearer {TOKEN}"));
        home.raw(request.body(Body::empty()).unwrap()).await
    };
    assert_eq!(ask("/api/state", "cross-site").await.status(), 403);
    assert_eq!(ask("/api/state", "same-origin").await.status(), 200);
    assert_eq!(ask("/api/state", "none").await.status(), 200, "typed into the address bar");
    let page = ask("/settings", "cross-site").await;
    assert_eq!(page.status(), 200, "a link to the page works from anywhere");
    let header = |name: &str| page.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(header("cross-origin-opener-policy").as_deref(), Some("same-origin"));
    assert!(header("permissions-policy").unwrap().contains("camera=()"));
    assert_eq!(header("strict-transport-security"), None, "this connection is not encrypted");
}
