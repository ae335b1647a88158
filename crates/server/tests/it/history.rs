use axum::http::StatusCode;
use memory::capture::{MessageInput, Recorder};
use memory::identifiers::TurnId;
use memory::messages::Role;
use memory::ports::{IdGenerator, UserStore};
use memory::sessions::SessionPolicy;
use serde_json::Value;
use testkit::SequentialIds;

use crate::home::{Home, scope, start, without_ids};

/// Messages of turns of many shapes, some without a turn, and two channels' turns interleaved. Returns the ids,
/// newest first. `seed` decides the order.
async fn fill(home: &Home, seed: u64) -> Vec<String> {
    home.store.ensure_user(&scope("self").user, start()).await.unwrap();
    let ids = SequentialIds::new(seed);
    let recorder =
        Recorder { store: &*home.store, clock: &home.clock, ids: &ids, policy: SessionPolicy::default() };
    let mut open = [None, None];
    let mut random = seed;
    let mut written = Vec::new();
    for number in 0..60 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let dice = random >> 33;
        let channel = usize::from(dice & 1 == 0);
        let (turn_id, role) = match (dice >> 1) % 5 {
            0 => (None, Role::Persona),
            1 => (open[channel].take().or_else(|| Some(TurnId(ids.next(start())))), Role::Persona),
            _ => (Some(*open[channel].get_or_insert_with(|| TurnId(ids.next(start())))), Role::User),
        };
        let line = MessageInput {
            id: None,
            scope: scope("self"),
            channel_id: ["web", "openai"][channel].to_owned(),
            turn_id,
            role,
            content: format!("message {number}"),
            incomplete: false,
            external_ref: None,
            channel_write: None,
        };
        let captured = recorder.capture(line, &jiff::tz::TimeZone::UTC, None).await.unwrap();
        written.push(captured.message.id.to_string());
    }
    written.reverse();
    written
}

fn ids(page: &Value) -> Vec<String> {
    page["messages"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn pages_neither_lose_nor_repeat_a_message() {
    for seed in 1..=6 {
        let home = Home::new().await;
        let all = fill(&home, seed).await;
        for limit in [1, 2, 3, 5, 7, 20, 59, 60, 200] {
            for (parameter, field) in [("cursor", "next_cursor"), ("before", "oldest_turn_id")] {
                let mut path = format!("/api/chat/history?limit={limit}");
                let mut seen = Vec::new();
                loop {
                    let page = home.get(&path).await.json();
                    let found = ids(&page);
                    assert!(found.len() <= limit, "a page holds at most {limit}");
                    seen.extend(found);
                    if page["has_more"] == false {
                        break;
                    }
                    let next = page[field].as_str().expect("a page with more behind it says where");
                    path = format!("/api/chat/history?limit={limit}&{parameter}={next}");
                    assert!(seen.len() <= all.len(), "seed {seed}, limit {limit}, {parameter}: pages repeat");
                }
                assert_eq!(seen, all, "seed {seed}, limit {limit}, {parameter}");
            }
        }
    }
}

#[tokio::test]
async fn before_a_turn_means_older_than_its_first_message() {
    let home = Home::new().await;
    let first = home.talk("one").await.data["turn_id"].as_str().unwrap().to_owned();
    let second = home.talk("two").await.data["turn_id"].as_str().unwrap().to_owned();
    let page = home.get(&format!("/api/chat/history?before={second}")).await.json();
    let said: Vec<&str> =
        page["messages"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["I hear you.", "one"]);
    assert_eq!(
        (page["oldest_turn_id"].as_str(), &page["has_more"]),
        (Some(first.as_str()), &Value::Bool(false))
    );
    let nothing = home.get(&format!("/api/chat/history?before={first}")).await.json();
    assert_eq!(nothing["messages"], serde_json::json!([]));
    assert_eq!((&nothing["oldest_turn_id"], &nothing["next_cursor"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn new_messages_do_not_move_the_pages_behind_a_cursor() {
    let home = Home::new().await;
    home.talk("one").await;
    home.talk("two").await;
    let page = home.get("/api/chat/history?limit=2").await.json();
    home.talk("three").await;
    let next = page["next_cursor"].as_str().unwrap();
    let older = home.get(&format!("/api/chat/history?limit=2&cursor={next}")).await.json();
    assert_eq!(older["messages"][1]["content"], "one");
    assert_eq!(older["has_more"], false);
}

#[tokio::test]
async fn an_item_has_its_fields() {
    let home = Home::new().await;
    home.talk("hello").await;
    let answer = home.get("/api/chat/history").await;
    assert_eq!(answer.status, StatusCode::OK);
    insta::assert_json_snapshot!("history", without_ids(answer.json()));
}

#[tokio::test]
async fn places_that_do_not_exist_are_not_found() {
    let home = Home::new().await;
    home.talk_as("mira", "hers").await;
    let of_mira = home.get("/api/chat/history?user_id=mira").await.json();
    let (message, turn) = (ids(&of_mira)[0].clone(), of_mira["oldest_turn_id"].as_str().unwrap().to_owned());
    let unknown = "01980000-0000-7000-8000-000000000000";
    for query in [
        format!("before={unknown}"),
        "before=turn-17".to_owned(),
        format!("cursor={unknown}"),
        "cursor=x".to_owned(),
        format!("before={turn}"),
        format!("cursor={message}"),
    ] {
        home.get(&format!("/api/chat/history?{query}")).await.is_problem(404);
    }
    for query in ["limit=0", "limit=201", "limit=x", "limit=-1", "user_id="] {
        home.get(&format!("/api/chat/history?{query}")).await.is_problem(422);
    }
    home.get(&format!("/api/chat/history?before={turn}&cursor={message}")).await.is_problem(422);
}
