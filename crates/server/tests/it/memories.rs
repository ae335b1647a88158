use std::time::Duration;

use axum::http::Method;
use jiff::Timestamp;
use memory::entities::EntityKind;
use memory::identifiers::{EntityId, NodeId, ReflectionId, RejectedId, SessionId};
use memory::messages::Message;
use memory::mood::Mood;
use memory::nodes::{
    Evidence, NewNode, NodeKind, Proposal, RejectedMemory, RejectedQuote, RelationalTag, Subject,
};
use memory::ports::{
    Clock, ConsolidationStore, ExtractionCommit, IdGenerator, MessageStore, NewEntity, ReflectionCommit,
    SessionStore,
};
use memory::sessions::CloseTrigger;
use serde_json::{Value, json};
use testkit::SequentialIds;

use crate::home::{Home, scope, start, without_ids};

/// Ends the session and commits an extraction of it like the consolidation worker.
pub(crate) async fn extracted(home: &Home, session_id: SessionId, fill: impl FnOnce(&mut ExtractionCommit)) {
    home.store.end_session(session_id, CloseTrigger::Explicit).await.unwrap();
    let claimed = home.store.claim_closing_session(start()).await.unwrap().unwrap();
    assert_eq!(claimed.id, session_id);
    let mut commit = ExtractionCommit::empty(session_id, scope("self"), start());
    fill(&mut commit);
    home.store.commit_extraction(commit).await.unwrap();
}

pub(crate) fn event(ids: &SequentialIds, number: usize, said: &Message) -> NewNode {
    let description = format!("Wen's white cat Soot did her trick number {number}");
    NewNode {
        id: NodeId(ids.next(start())),
        kind: NodeKind::Event,
        terms: memory::text::index_terms(&description),
        description,
        emotional_impact: 3,
        emotion_tags: vec!["fondness".to_owned()],
        relational_tags: vec![RelationalTag::IdentityBearing],
        subject: Subject::User,
        event_time: None,
        evidence: vec![Evidence { message_id: said.id, quote: "cat".to_owned(), start: 3, end: 6 }],
        filling: Vec::new(),
        embedding: None,
    }
}

/// A session that became `count` events, a thought about the user, one about the persona, an entity, and a refusal.
pub(crate) async fn remember(home: &Home, count: usize) -> (SessionId, Vec<NodeId>) {
    home.talk("my cat is called Soot and she does tricks").await;
    let listed = home.get("/api/admin/sessions").await.json();
    let session_id: SessionId = listed["sessions"][0]["id"].as_str().unwrap().parse().unwrap();
    let said = home.store.session_messages(session_id).await.unwrap().remove(0);
    let ids = SequentialIds::new(99);
    let events: Vec<NewNode> = (0..count).map(|number| event(&ids, number, &said)).collect();
    let event_ids: Vec<NodeId> = events.iter().map(|event| event.id).collect();
    let soot = EntityId(ids.next(start()));
    let refused = RejectedMemory {
        id: RejectedId(ids.next(start())),
        session_id,
        description: "Wen has a dog".to_owned(),
        emotional_impact: Some(2.0),
        evidence: vec![RejectedQuote { message_id: Some(said.id), quote: "my dog".to_owned() }],
        reason: "the quote does not appear in the conversation".to_owned(),
        created_at: start(),
        proposal: Proposal::default(),
    };
    extracted(home, session_id, |commit| {
        commit.links = event_ids.iter().map(|id| (*id, soot)).collect();
        commit.nodes = events;
        commit.rejected = vec![refused];
        commit.entities = vec![NewEntity::settled(soot, "Soot", EntityKind::Pet)];
        commit.aliases = vec![(soot, "Soot".to_owned(), "soot".to_owned())];
        commit.summary = Some("Wen told of his cat.".to_owned());
    })
    .await;
    let thought = |subject, description: &str| NewNode {
        kind: NodeKind::Thought,
        id: NodeId(ids.next(start())),
        description: description.to_owned(),
        terms: memory::text::index_terms(description),
        subject,
        evidence: Vec::new(),
        filling: event_ids.iter().take(1).copied().collect(),
        ..event(&ids, 0, &said)
    };
    let reflection = ReflectionCommit {
        session_id,
        scope: scope("self"),
        id: ReflectionId(ids.next(start())),
        at: start(),
        thoughts: vec![
            thought(Subject::User, "He adores that cat"),
            thought(Subject::Persona, "I like these talks"),
        ],
        fingerprint: None,
    };
    home.store.commit_reflection(reflection).await.unwrap();
    home.store.finish_session(session_id, start()).await.unwrap();
    // The hub writes the diary in the background; from here on it is written.
    home.runtime.hub().unwrap().write_diary().await.unwrap();
    (session_id, event_ids)
}

/// Every item of a list, page by page.
async fn walk(home: &Home, path: &str, items: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut next = path.to_owned();
    loop {
        let page = home.get(&next).await.json();
        let on_page = page[items].as_array().unwrap_or_else(|| panic!("{page}"));
        found.extend(on_page.iter().cloned());
        assert!(found.len() < 1_000, "pages repeat");
        match page["next_cursor"].as_str() {
            Some(cursor) => next = format!("{path}&cursor={cursor}"),
            None => return found,
        }
    }
}

#[tokio::test]
async fn events_are_listed_newest_first_in_pages() {
    let home = Home::new().await;
    let (_, mut events) = remember(&home, 7).await;
    events.reverse();
    let events: Vec<Value> = events.into_iter().map(|id| json!(id)).collect();
    for limit in [1, 2, 3, 7, 200] {
        let listed = walk(&home, &format!("/api/admin/memory/events?limit={limit}"), "items").await;
        assert_eq!(listed.iter().map(|item| item["id"].clone()).collect::<Vec<_>>(), events);
    }
    let second = home.get("/api/admin/memory/events?limit=3&offset=3").await.json();
    assert_eq!(
        (&second["total"], &second["offset"], &second["node_type"]),
        (&json!(7), &json!(3), &json!("event"))
    );
    assert_eq!(second["items"][0]["id"], events[3]);
    home.get("/api/admin/memory/events?limit=0").await.is_problem(422);
    home.get("/api/admin/memory/events?cursor=x").await.is_problem(422);
    let foreign = format!("/api/admin/memory/events?user_id=mira&cursor={}", events[0].as_str().unwrap());
    home.get(&foreign).await.is_problem(404);
    assert_eq!(home.get("/api/admin/memory/events?user_id=mira").await.json()["items"], json!([]));
}

#[tokio::test]
async fn a_node_carries_its_fields_and_its_evidence() {
    let home = Home::new().await;
    remember(&home, 1).await;
    insta::assert_json_snapshot!("events", without_ids(home.get("/api/admin/memory/events").await.json()));
    insta::assert_json_snapshot!(
        "thoughts",
        without_ids(home.get("/api/admin/memory/thoughts").await.json())
    );
}

#[tokio::test]
async fn thoughts_are_listed_by_whom_they_are_about() {
    let home = Home::new().await;
    let (_, events) = remember(&home, 3).await;
    let about =
        async |subject: &str| home.get(&format!("/api/admin/memory/thoughts?subject={subject}")).await.json();
    let user = about("user").await;
    assert_eq!((&user["total"], &user["subject"]), (&json!(1), &json!("user")));
    assert_eq!(user["items"][0]["description"], "He adores that cat");
    assert_eq!(user["items"][0]["filling_event_ids"], json!([events[0]]));
    assert_eq!(about("persona").await["items"][0]["description"], "I like these talks");
    assert_eq!(about("shared").await["total"], 0);
    home.get("/api/admin/memory/thoughts?subject=nobody").await.is_problem(422);
    assert_eq!(walk(&home, "/api/admin/memory/thoughts?limit=1", "items").await.len(), 2);
}

#[tokio::test]
async fn intentions_and_expectations_are_listed_in_pages() {
    let home = Home::new().await;
    home.talk("my cat is called Soot and she does tricks").await;
    let session: SessionId =
        home.get("/api/admin/sessions").await.json()["sessions"][0]["id"].as_str().unwrap().parse().unwrap();
    let said = home.store.session_messages(session).await.unwrap().remove(0);
    let ids = SequentialIds::new(99);
    let of_kind = |kind, number| NewNode { kind, subject: Subject::Persona, ..event(&ids, number, &said) };
    extracted(&home, session, |commit| {
        commit.nodes = (0..3).map(|number| of_kind(NodeKind::Intention, number)).collect();
        commit.nodes.extend((3..5).map(|number| of_kind(NodeKind::Expectation, number)));
    })
    .await;
    for (list, kind, count) in [("intentions", "intention", 3), ("expectations", "expectation", 2)] {
        let path = format!("/api/admin/memory/{list}");
        let walked = walk(&home, &format!("{path}?limit=1"), "items").await;
        assert_eq!(walked.len(), count, "{list}");
        assert!(walked.iter().all(|item| item["node_type"] == kind));
        let all = home.get(&path).await.json();
        assert_eq!(all["items"], json!(walked), "newest first in any pages");
        assert_eq!((&all["total"], &all["node_type"]), (&json!(count), &json!(kind)));
        assert_eq!(home.get(&format!("{path}?subject=user")).await.json()["total"], 0);
        assert_eq!(home.get(&format!("{path}?user_id=mira")).await.json()["items"], json!([]));
    }
    assert_eq!(home.get("/api/admin/memory/thoughts").await.json()["total"], 0);
}

/// One session with the mood that it left.
async fn session_with_mood(home: &Home, line: &str, mood: &str) -> SessionId {
    home.talk(line).await;
    let sessions = home.get("/api/admin/sessions").await.json();
    let session: SessionId = sessions["sessions"][0]["id"].as_str().unwrap().parse().unwrap();
    let at = home.clock.now();
    extracted(home, session, |commit| {
        commit.mood = Some(Mood::from_signal(mood, 6, Some("worried about the biopsy"), at));
    })
    .await;
    home.wait(Duration::from_secs(20 * 86_400)).await;
    session
}

#[tokio::test]
async fn mood_history_keeps_every_shift_until_its_cause_is_forgotten() {
    let home = Home::new().await;
    let first = session_with_mood(&home, "the biopsy is on Monday", "tender").await;
    session_with_mood(&home, "the garden is in bloom", "glad").await;
    session_with_mood(&home, "nothing much today", "calm").await;
    let path = "/api/admin/memory/mood/history";
    let moods = |items: &[Value]| {
        items.iter().map(|item| item["mood"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let walked = walk(&home, &format!("{path}?limit=1"), "items").await;
    assert_eq!(moods(&walked), ["calm", "glad", "tender"]);
    assert_eq!(walked[2]["session_id"], json!(first));
    assert_eq!((&walked[2]["at"], &walked[2]["energy"]), (&json!(start()), &json!(6)));
    assert_eq!(walked.iter().map(|item| &item["neutral"]).collect::<Vec<_>>(), [true, false, false]);
    let recent = home.get(&format!("{path}?days=45")).await.json();
    assert_eq!(moods(recent["items"].as_array().unwrap()), ["calm", "glad"]);
    assert_eq!(home.get(&format!("{path}?user_id=mira")).await.json()["items"], json!([]));
    for query in ["days=0", "days=36501", "limit=0", "cursor=x"] {
        home.get(&format!("{path}?{query}")).await.is_problem(422);
    }
    let shifts = async || {
        let shown = walk(&home, "/api/admin/memory/timeline?limit=2", "items").await;
        let shifts = shown.into_iter().filter(|item| item["kind"] == "mood");
        shifts.map(|item| item["data"]["mood"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(shifts().await, ["calm", "glad", "tender"]);
    let gone = home.ask(Method::DELETE, &format!("/api/admin/memory/sessions/{first}"), None).await;
    assert_eq!(gone.status, 200, "{}", gone.text);
    assert_eq!(moods(&walk(&home, &format!("{path}?limit=1"), "items").await), ["calm", "glad"]);
    assert_eq!(shifts().await, ["calm", "glad"]);
    assert!(!home.get(path).await.text.contains("tender"));
}

#[tokio::test]
async fn the_timeline_loses_nothing_that_happened_in_one_moment() {
    let home = Home::new().await;
    remember(&home, 9).await;
    let all = home.get("/api/admin/memory/timeline?limit=200").await.json();
    let whole = all["items"].as_array().unwrap().clone();
    let of_kind = |kind: &str| whole.iter().filter(|item| item["kind"] == kind).count();
    assert_eq!(
        [of_kind("event"), of_kind("thought"), of_kind("entity"), of_kind("session_close")],
        [9, 2, 1, 1]
    );
    for limit in [1, 2, 5, 12, 13] {
        let walked = walk(&home, &format!("/api/admin/memory/timeline?limit={limit}"), "items").await;
        assert_eq!(walked, whole, "limit {limit}");
    }
    let close = whole.iter().find(|item| item["kind"] == "session_close").unwrap();
    assert_eq!((&close["data"]["events_count"], &close["data"]["trivial"]), (&json!(9), &json!(false)));
    let later: Timestamp = start() + std::time::Duration::from_secs(1);
    for (since, count) in
        [(start().to_string(), 0), (later.to_string(), 13), ("2026-05-02T19:04:12".to_owned(), 13)]
    {
        let page = home.get(&format!("/api/admin/memory/timeline?since={since}")).await.json();
        assert_eq!(page["items"].as_array().unwrap().len(), count, "{since}");
    }
    home.get("/api/admin/memory/timeline?since=yesterday").await.is_problem(422);
    home.get("/api/admin/memory/timeline?cursor=yesterday").await.is_problem(422);
}

#[tokio::test]
async fn entities_and_refusals_are_listed() {
    let home = Home::new().await;
    remember(&home, 2).await;
    insta::assert_json_snapshot!(
        "entities",
        without_ids(home.get("/api/admin/memory/entities").await.json())
    );
    insta::assert_json_snapshot!(
        "rejected",
        without_ids(home.get("/api/admin/memory/rejected").await.json())
    );
    home.get("/api/admin/memory/entities?cursor=01980000-0000-7000-8000-000000000000").await.is_problem(404);
}

#[tokio::test]
async fn recall_tells_what_it_found_and_why() {
    let home = Home::new().await;
    let (_, events) = remember(&home, 1).await;
    let path = "/api/admin/memory/recall";
    let answer =
        home.post(path, json!({"text": "what tricks does Soot do?", "now": "2026-05-16T19:04:11Z"})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.json();
    let found = body["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .find(|candidate| candidate["id"] == json!(events[0]))
        .unwrap();
    let fields = [
        "id",
        "kind",
        "type",
        "text",
        "created_at",
        "total",
        "recency",
        "relevance",
        "vector_relevance",
        "word_relevance",
        "readable",
        "impact",
        "emotional_impact",
        "relational_bonus",
        "entity_anchor",
        "used",
        "reason",
    ];
    for field in fields {
        assert!(found.get(field).is_some(), "{field} is missing in {found}");
    }
    assert_eq!(
        (&found["kind"], &found["type"], &found["used"]),
        (&json!("node"), &json!("event"), &json!(true))
    );
    assert_eq!((&found["impact"], &found["emotional_impact"]), (&json!(0.3), &json!(3)));
    assert!((found["recency"].as_f64().unwrap() - 0.5).abs() < 1e-9, "two weeks are half a life: {found}");
    assert_eq!(body["entities"][0]["canonical_name"], "Soot");
    for phase in ["embed", "fetch", "score"] {
        assert!(body["elapsed_ms"][phase].is_number());
    }
    let message = body["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .find(|candidate| candidate["kind"] == "message")
        .unwrap();
    assert!(message["parts"].is_object() && message["relevance"].is_null(), "{message}");
    for body in [
        json!({}),
        json!({"text": " "}),
        json!({"text": "x", "now": "soon"}),
        json!({"text": "x", "user_id": ""}),
    ] {
        home.post(path, body).await.is_problem(422);
    }
    home.post(path, json!({"text": "x", "persona_id": "nobody"})).await.is_problem(404);
}
