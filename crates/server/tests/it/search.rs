use serde_json::{Value, json};

use crate::home::Home;
use crate::memories::remember;

const PATH: &str = "/api/admin/memory/search";

#[tokio::test]
async fn a_memory_is_found_by_its_words() {
    let home = Home::new().await;
    remember(&home, 3).await;
    let found = home.get(&format!("{PATH}?q=cats")).await.json();
    assert_eq!((&found["q"], &found["type"], &found["tag"]), (&json!("cats"), &json!("all"), &Value::Null));
    assert_eq!((&found["limit"], &found["offset"], &found["total"]), (&json!(20), &json!(0), &json!(4)));
    let items = found["items"].as_array().unwrap();
    let snippets = found["matched_snippets"].as_array().unwrap();
    assert_eq!(items.len(), snippets.len());
    for (item, snippet) in items.iter().zip(snippets) {
        assert_eq!(item["id"], snippet["node_id"]);
        assert!(snippet["snippet"].as_str().unwrap().contains("<b>cat</b>"), "{snippet}");
    }
    let events = home.get(&format!("{PATH}?q=cat&type=events&tag=identity-bearing")).await.json();
    assert_eq!(events["total"], 3);
    assert_eq!(home.get(&format!("{PATH}?q=cat&type=thoughts")).await.json()["total"], 1);
    assert_eq!(home.get(&format!("{PATH}?q=cat&tag=sorrow")).await.json()["total"], 0);
    assert_eq!(home.get(&format!("{PATH}?q=white&user_id=bob")).await.json()["total"], 0, "another's memory");
    assert_eq!(home.get(&format!("{PATH}?q=that")).await.json()["total"], 1, "a word that is no index term");
    assert_eq!(home.get(&format!("{PATH}?q=%20")).await.json()["total"], 0);
}

#[tokio::test]
async fn search_finds_what_both_sides_said() {
    let home = Home::new().await;
    for line in ["the heron stood in the river", "I fed the heron again", "nothing else happened"] {
        home.talk(line).await;
    }
    let found = home.get(&format!("{PATH}?q=herons")).await.json();
    assert_eq!((&found["total"], &found["items"]), (&json!(0), &json!([])), "no memory holds it");
    let messages = found["messages"].as_array().unwrap();
    assert_eq!(found["messages_total"], messages.len());
    let of_user: Vec<&Value> = messages.iter().filter(|hit| hit["role"] == "user").collect();
    assert_eq!(of_user.len(), 2, "{found}");
    for hit in messages {
        assert_eq!(hit["type"], "message");
        assert!(hit["snippet"].as_str().unwrap().contains("<b>heron</b>"), "{hit}");
        assert!(hit["message_id"].is_string() && hit["session_id"].is_string() && hit["score"].is_number());
    }
    let first = home.get(&format!("{PATH}?q=heron&limit=1")).await.json();
    let cursor = first["next_messages_cursor"].as_str().unwrap();
    let mut seen = vec![first["messages"][0].clone()];
    let mut next = format!("{PATH}?q=heron&limit=1&type=messages&cursor={cursor}");
    loop {
        let page = home.get(&next).await.json();
        assert_eq!(page["items"], json!([]));
        seen.extend(page["messages"].as_array().unwrap().iter().cloned());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        next = format!("{PATH}?q=heron&limit=1&type=messages&cursor={cursor}");
    }
    assert_eq!(&seen, messages);
    assert_eq!(home.get(&format!("{PATH}?q=heron&type=events")).await.json()["messages"], json!([]));
    let others = home.get(&format!("{PATH}?q=heron&user_id=bob")).await.json();
    assert_eq!(others["messages_total"], 0, "another's messages");
    let none = home.get(&format!("{PATH}?q=zzzqq")).await.json();
    assert_eq!((&none["total"], &none["messages_total"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn pages_of_a_search_neither_lose_nor_repeat() {
    let home = Home::new().await;
    let (_, events) = remember(&home, 7).await;
    let mut seen = Vec::new();
    let mut next = format!("{PATH}?q=cat&type=events&limit=2");
    loop {
        let page = home.get(&next).await.json();
        seen.extend(
            page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()),
        );
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        next = format!("{PATH}?q=cat&type=events&limit=2&cursor={cursor}");
    }
    let mut wanted: Vec<String> = events.iter().map(ToString::to_string).collect();
    let mut sorted = seen.clone();
    wanted.sort();
    sorted.sort();
    assert_eq!(sorted, wanted);
    let second = home.get(&format!("{PATH}?q=cat&type=events&limit=2&offset=2")).await.json();
    assert_eq!(second["items"][0]["id"], seen[2].as_str());
}

#[tokio::test]
async fn a_search_refuses_what_does_not_fit() {
    let home = Home::new().await;
    for query in ["", "?q=", "?q=x&type=dreams", "?q=x&limit=0", "?q=x&cursor=zz"] {
        home.get(&format!("{PATH}{query}")).await.is_problem(422);
    }
    home.get(&format!("{PATH}?q={}", "x".repeat(257))).await.is_problem(422);
    home.get(&format!("{PATH}?q=x&tag={}", "x".repeat(65))).await.is_problem(422);
}
