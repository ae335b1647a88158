use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use axum::http::header::{AUTHORIZATION, HOST};
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::conformity;
use crate::home::{HOSTNAME, Home, TOKEN, scope};
use crate::talker::Reply;

/// A client of the event stream.
struct Listener {
    body: BodyDataStream,
    text: String,
}

#[derive(Debug)]
struct Frame {
    id: Option<String>,
    name: String,
    data: Value,
}

impl Listener {
    async fn connect(home: &Home, path: &str, last_event_id: Option<&str>) -> Self {
        Self::connect_with(TOKEN, home, path, last_event_id).await
    }

    async fn connect_with(token: &str, home: &Home, path: &str, last_event_id: Option<&str>) -> Self {
        let mut request = Request::builder()
            .uri(path)
            .header(HOST, HOSTNAME)
            .header(AUTHORIZATION, format!("Bearer {token}"));
        if let Some(id) = last_event_id {
            request = request.header("Last-Event-ID", id);
        }
        let response = home.raw(request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), 200);
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/event-stream"));
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        let mut listener = Self { body: response.into_body().into_data_stream(), text: String::new() };
        let ready = listener.next().await.unwrap();
        assert_eq!(
            (ready.name.as_str(), &ready.data),
            ("chat.connection.ready", &json!({"channel_id": "web"}))
        );
        listener
    }

    /// The next frame; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Frame> {
        while !self.text.contains("\n\n") {
            let piece = self.body.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
        let (frame, rest) = self.text.split_once("\n\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        self.text = rest;
        let field = |name: &str| {
            frame.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
        };
        let data = serde_json::from_str(&field("data:").unwrap()).unwrap();
        let name = field("event:").unwrap();
        conformity::check_event(&name, &data);
        Some(Frame { id: field("id:"), name, data })
    }

    async fn until(&mut self, name: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            frames.push(self.next().await.expect("the stream ended early"));
            if frames.last().unwrap().name == name {
                return frames;
            }
        }
    }
}

#[tokio::test]
async fn a_turn_is_told_in_the_order_of_its_happening() {
    let home = Home::new().await;
    let mut listener = Listener::connect(&home, "/api/chat/events", None).await;
    home.talker.next(Reply::Says(vec!["How was ", "the train?"]));
    let sent =
        home.post("/api/chat/send", json!({"content": "back home", "external_ref": "c-17"})).await.json();
    let frames = listener.until("chat.message.done").await;
    let names: Vec<&str> = frames.iter().map(|frame| frame.name.as_str()).collect();
    let expected = [
        "chat.session.boundary",
        "chat.message.user_appended",
        "chat.message.typing_started",
        "chat.message.token",
        "chat.message.token",
        "chat.message.done",
    ];
    assert_eq!(names, expected);
    assert!(frames.iter().all(|frame| frame.id.is_some()), "each event can be come back to");
    for frame in &frames[1..] {
        assert_eq!(frame.data["turn_id"], sent["turn_id"]);
        assert_eq!(frame.data["source_channel_id"], "web");
    }
    for frame in &frames {
        assert_eq!((&frame.data["persona_id"], &frame.data["user_id"]), (&json!("default"), &json!("self")));
    }
    assert_eq!(frames[1].data["message_id"], sent["accepted"][0]);
    assert_eq!(frames[1].data["external_ref"], "c-17");
    assert_eq!(frames[5].data["content"], "How was the train?");
}

#[tokio::test]
async fn a_failed_turn_is_reported_by_the_older_event_too() {
    let home = Home::new().await;
    let mut listener = Listener::connect(&home, "/api/chat/events", None).await;
    home.talker.next(Reply::Fails { transient: true });
    let sent = home.post("/api/chat/send", json!({"content": "are you there?"})).await.json();
    let frames = listener.until("chat.message.error").await;
    let [.., failed, error] = &frames[..] else { panic!("too little was told") };
    assert_eq!(failed.name, "chat.message.failed");
    let expected = json!({"message_id": sent["turn_id"], "turn_id": sent["turn_id"], "error": failed.data["reason"],
        "source_channel_id": "web", "persona_id": "default", "user_id": "self"});
    assert_eq!(error.data, expected);
    let typing = frames.iter().find(|frame| frame.name == "chat.message.typing_started").unwrap();
    assert_eq!(typing.data["message_id"], error.data["message_id"], "the page drops this bubble");
}

#[tokio::test]
async fn every_event_of_a_talk_carries_the_same_fields() {
    let home = Home::new().await;
    let mut listener = Listener::connect(&home, "/api/chat/events", None).await;
    home.talk("my cat is called Soot and she does tricks").await;
    let open = home.get("/api/admin/sessions?status=open").await.json();
    home.post(
        &format!("/api/admin/sessions/{}/close", open["sessions"][0]["id"].as_str().unwrap()),
        json!({}),
    )
    .await;
    let mut frames = Vec::new();
    while !frames.last().is_some_and(|frame: &Frame| frame.data["closed_session_id"].is_string()) {
        frames.push(listener.next().await.expect("the stream ended early"));
    }
    home.post("/api/admin/persona/voice-toggle", json!({"enabled": true})).await;
    home.runtime.publish_settings(scope("self").user, vec!["recall.k".to_owned()], Vec::new()).await;
    frames.extend(listener.until("chat.settings.updated").await);
    frames.extend(listener.until("chat.settings.updated").await);
    for frame in frames.iter().filter(|frame| frame.name.starts_with("chat.")) {
        for field in ["source_channel_id", "persona_id", "user_id", "turn_id"] {
            assert!(frame.data.get(field).is_some(), "{} has no {field}: {}", frame.name, frame.data);
        }
    }
    let of = |name: &str| frames.iter().filter(|frame| frame.name == name).collect::<Vec<_>>();
    let boundaries = of("chat.session.boundary");
    assert!(boundaries.iter().all(|frame| frame.data["source_channel_id"] == "web"), "{boundaries:?}");
    assert!(boundaries.iter().any(|frame| frame.data["closed_session_id"].is_string()));
    assert_eq!(of("chat.settings.updated").len(), 2);
    assert_eq!(frames.last().unwrap().data["turn_id"], Value::Null);
}

#[tokio::test]
async fn a_returning_subscriber_continues_at_its_position() {
    let home = Home::new().await;
    let mut listener = Listener::connect(&home, "/api/chat/events", None).await;
    home.talk("first").await;
    let seen = listener.until("chat.message.done").await.pop().unwrap().id.unwrap();
    drop(listener);
    home.talk("second").await;
    let path = format!("/api/chat/events?last_event_id={seen}");
    for (path, header) in [("/api/chat/events", Some(seen.as_str())), (path.as_str(), None)] {
        let mut back = Listener::connect(&home, path, header).await;
        let missed = back.until("chat.message.done").await;
        assert_eq!(missed[0].name, "chat.message.user_appended");
        assert_eq!(missed[0].data["content"], "second");
        assert!(missed.iter().all(|frame| frame.data["content"] != "first"));
    }
}

#[tokio::test]
async fn one_that_was_cut_off_before_the_first_event_misses_nothing() {
    let home = Home::new().await;
    let request = Request::builder().uri("/api/chat/events").header(HOST, HOSTNAME);
    let request = request.header(AUTHORIZATION, format!("Bearer {TOKEN}")).body(Body::empty()).unwrap();
    let mut body = home.raw(request).await.into_body().into_data_stream();
    let first = String::from_utf8(body.next().await.unwrap().unwrap().to_vec()).unwrap();
    let place = first.lines().find_map(|line| line.strip_prefix("id:")).unwrap().trim().to_owned();
    drop(body);
    home.talk("said meanwhile").await;
    let mut back = Listener::connect(&home, "/api/chat/events", Some(&place)).await;
    let frames = back.until("chat.message.user_appended").await;
    assert_eq!(frames.last().unwrap().data["content"], "said meanwhile");
}

#[tokio::test]
async fn an_event_id_of_an_earlier_run_reports_lost_events() {
    let home = Home::new().await;
    let mut listener = Listener::connect(&home, "/api/chat/events", Some("another-17")).await;
    assert_eq!(listener.next().await.unwrap().name, "chat.connection.lagged");
    home.talk("hello").await;
    assert_eq!(listener.next().await.unwrap().name, "chat.session.boundary");
}

#[tokio::test]
async fn the_stream_shows_every_thirty_seconds_that_it_lives_and_ends_with_the_program() {
    let home = Home::new().await;
    let sleepers = home.clock.sleepers();
    let mut listener = Listener::connect(&home, "/api/chat/events", None).await;
    home.clock.wait_for_sleepers(sleepers + 1).await;
    for _ in 0..3 {
        home.wait(Duration::from_secs(30)).await;
        let beat = listener.next().await.unwrap();
        assert_eq!((beat.name.as_str(), &beat.data), ("chat.connection.heartbeat", &json!({})));
    }
    home.shutdown.cancel();
    assert!(listener.next().await.is_none());
}

#[tokio::test]
async fn a_token_sees_its_own_user_only_and_ends_with_its_token() {
    let home = Home::new().await;
    let token = home.token("ann", &["chat"], Some("ann")).await;
    let mut ann = Listener::connect_with(&token, &home, "/api/chat/events", None).await;
    let mut owner = Listener::connect(&home, "/api/chat/events", None).await;
    home.talk_as("bob", "for bob's eyes only").await;
    home.talk_as("ann", "for ann").await;
    let first = ann.next().await.unwrap();
    assert_eq!(first.data["user_id"], "ann", "{first:?}");
    let mut users = Vec::new();
    while users.last() != Some(&json!("ann")) {
        users.push(owner.next().await.unwrap().data["user_id"].clone());
    }
    assert!(users.contains(&json!("bob")), "the owner sees all");

    let revoked = home.ask(axum::http::Method::DELETE, "/api/admin/tokens/ann", None).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    while let Some(frame) = ann.next().await {
        assert_eq!(frame.data["user_id"], "ann", "{frame:?}");
    }
}

#[tokio::test]
async fn administrators_see_new_logins_and_tokens() {
    let home = Home::new().await;
    let phone = home.token("phone", &["chat"], None).await;
    let mut owner = Listener::connect(&home, "/api/chat/events", None).await;
    let mut talker = Listener::connect_with(&phone, &home, "/api/chat/events", None).await;
    let link = home.post("/api/admin/login-code", json!({})).await.json()["url"].as_str().unwrap().to_owned();
    home.get(link.strip_prefix("http://127.0.0.1:7777").unwrap()).await;
    home.token("laptop", &["chat"], None).await;
    let login = owner.until("access.created").await.pop().unwrap().data;
    assert_eq!((&login["kind"], &login["address"]), (&json!("login"), &json!("127.0.0.1")));
    let token = owner.until("access.created").await.pop().unwrap().data;
    assert_eq!((&token["kind"], &token["name"]), (&json!("token"), &json!("laptop")));

    home.post("/api/chat/send", json!({"content": "Good morning."})).await;
    let seen = talker.until("chat.message.user_appended").await;
    assert!(seen.iter().all(|frame| frame.name != "access.created"), "{seen:?}");
}
