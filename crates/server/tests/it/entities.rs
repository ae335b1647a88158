use axum::http::Method;
use serde_json::{Value, json};

use crate::home::{Home, until, without_ids};

const PATH: &str = "/api/admin/memory/entities";

async fn create(home: &Home, name: &str, kind: &str) -> String {
    let answer = home.post(PATH, json!({"canonical_name": name, "kind": kind})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["id"].as_str().unwrap().to_owned()
}

async fn listed(home: &Home) -> Vec<Value> {
    home.get(PATH).await.json()["entities"].as_array().unwrap().clone()
}

async fn patch(home: &Home, id: &str, body: Value) -> crate::home::Answer {
    home.ask(Method::PATCH, &format!("{PATH}/{id}"), Some(body)).await
}

#[tokio::test]
async fn an_entity_is_created_shown_and_described() {
    let home = Home::new().await;
    let body = json!({"canonical_name": " Ines ", "aliases": ["my cousin"], "description": "in Porto"});
    let created = home.post(PATH, body).await;
    assert_eq!(created.status, 200, "{}", created.text);
    insta::assert_json_snapshot!("entity", without_ids(created.json()));
    let id = created.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(home.get(&format!("{PATH}/{id}")).await.json(), created.json());

    let mut watcher = home.runtime.broadcast().subscribe();
    let described = patch(&home, &id, json!({"description": "Cousin in Porto"})).await.json();
    assert_eq!(
        (&described["description"], &described["owner_override"]),
        (&json!("Cousin in Porto"), &json!(true))
    );
    let told = until(&mut watcher, &["memory.entity.description_updated"]).await;
    insta::assert_json_snapshot!("entity_description_updated", without_ids(told.data.clone()));
    let emptied = patch(&home, &id, json!({"description": ""})).await.json();
    assert_eq!((&emptied["description"], &emptied["owner_override"]), (&json!(""), &json!(true)));
    let renamed = patch(&home, &id, json!({"canonical_name": "Inês"})).await.json();
    assert_eq!(renamed["canonical_name"], "Inês");
    assert_eq!(renamed["aliases"], json!(["Ines", "Inês", "my cousin"]));
    let timeline = home.get("/api/admin/memory/timeline").await.json();
    assert!(timeline["items"].as_array().unwrap().iter().any(|item| item["kind"] == "entity"));
}

#[tokio::test]
async fn invalid_entities_are_refused() {
    let home = Home::new().await;
    let id = create(&home, "Ines", "person").await;
    for body in [
        json!({}),
        json!({"canonical_name": " "}),
        json!({"canonical_name": "x".repeat(257)}),
        json!({"canonical_name": "Kim", "kind": "robot"}),
        json!({"canonical_name": "Kim", "description": "x".repeat(4_001)}),
        json!({"canonical_name": "Kim", "aliases": [""]}),
    ] {
        home.post(PATH, body).await.is_problem(422);
    }
    let taken = home.post(PATH, json!({"canonical_name": "ＩＮＥＳ"})).await.is_problem(409);
    assert!(taken.contains("Ines"), "{taken}");
    create(&home, "Ines", "place").await;
    for body in [json!({}), json!({"description": "x".repeat(4_001)}), json!({"description": 1})] {
        patch(&home, &id, body).await.is_problem(422);
    }
    let kim = create(&home, "Kim", "person").await;
    patch(&home, &kim, json!({"canonical_name": "ines"})).await.is_problem(409);
    for (path, body) in [
        ("merge", json!({})),
        ("merge", json!({"target_id": 7})),
        ("confirm-separate", json!({"other_id": "x"})),
    ] {
        home.post(&format!("{PATH}/{id}/{path}"), body).await.is_problem(422);
    }
    let nobody = "01980000-0000-7000-8000-000000000000";
    home.get(&format!("{PATH}/{nobody}")).await.is_problem(404);
    home.get(&format!("{PATH}/7")).await.is_problem(404);
    home.get(&format!("{PATH}/{id}?user_id=mira")).await.is_problem(404);
    patch(&home, nobody, json!({"description": "x"})).await.is_problem(404);
    home.post(&format!("{PATH}/{id}/merge"), json!({"target_id": nobody})).await.is_problem(404);
    home.post(&format!("{PATH}/{id}/merge"), json!({"target_id": id})).await.is_problem(400);
    home.post(&format!("{PATH}/{id}/confirm-separate"), json!({"other_id": id})).await.is_problem(400);
    home.post(&format!("{PATH}/{nobody}/undo"), json!({})).await.is_problem(404);
    home.post(&format!("{PATH}/{id}/undo"), json!({})).await.is_problem(409);
}

#[tokio::test]
async fn defect_07_merging_two_confirmed_entities_is_done_and_undone() {
    let home = Home::new().await;
    let (anna, ana) = (create(&home, "Anna", "person").await, create(&home, "Ana", "person").await);
    let before = listed(&home).await;
    let mut watcher = home.runtime.broadcast().subscribe();
    let merged = home.post(&format!("{PATH}/{anna}/merge"), json!({"target_id": ana})).await;
    assert_eq!((merged.status.as_u16(), merged.json()), (200, json!({"ok": true, "merged_into": ana})));
    let told = until(&mut watcher, &["memory.entity.confirmed"]).await;
    assert_eq!((&told.data["entity_id"], &told.data["merge_status"]), (&json!(ana), &json!("confirmed")));
    let left = listed(&home).await;
    assert_eq!((left.len(), &left[0]["aliases"]), (1, &json!(["Ana", "Anna"])));
    home.get(&format!("{PATH}/{anna}")).await.is_problem(404);
    home.post(&format!("{PATH}/{ana}/merge"), json!({"target_id": anna})).await.is_problem(404);

    let undone = home.post(&format!("{PATH}/{ana}/undo"), json!({})).await;
    assert_eq!((undone.status.as_u16(), &undone.json()["undone"]), (200, &json!("merge")));
    assert_eq!(undone.json()["entities"].as_array().unwrap().len(), 2);
    assert_eq!(listed(&home).await, before);

    let kept = home.post(&format!("{PATH}/{anna}/confirm-separate"), json!({"other_id": ana})).await;
    assert_eq!(kept.json(), json!({"ok": true}));
    for _ in 0..2 {
        let told = until(&mut watcher, &["memory.entity.confirmed"]).await;
        assert_eq!(told.data["merge_status"], "confirmed", "both were settled and stay so");
    }
    assert!(listed(&home).await.iter().all(|entity| entity["merge_status"] == "confirmed"));
    let undone = home.post(&format!("{PATH}/{anna}/undo"), json!({})).await.json();
    assert_eq!(undone["undone"], "separate");
    assert_eq!(listed(&home).await, before);
}
