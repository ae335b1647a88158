use memory::core_blocks::CoreBlockLabel;
use memory::mood::Mood;
use memory::ports::{PersonaStore, SessionStore, UserStore};
use serde_json::{Value, json};
use std::time::Duration;

use crate::home::{Home, scope, start, until};

const PATH: &str = "/api/admin/persona";

async fn blocks(home: &Home) -> Value {
    home.get(PATH).await.json()["core_blocks"].clone()
}

#[tokio::test]
async fn a_new_persona_has_no_words_yet() {
    let home = Home::new().await;
    insta::assert_json_snapshot!("persona", home.get(PATH).await.json());
}

#[tokio::test]
async fn saving_a_block_replaces_it_and_an_empty_one_clears_it() {
    let home = Home::new().await;
    for text in ["You are Echo.", "You are Echo.\nYou like rain.", "You like rain."] {
        assert_eq!(home.post(PATH, json!({"persona_block": text})).await.json(), json!({"ok": true}));
        assert_eq!(blocks(&home).await["persona"], text);
    }
    home.post(
        PATH,
        json!({"user_block": "He is called Wen.", "persona_block": null, "display_name": " Mira "}),
    )
    .await;
    assert_eq!(
        blocks(&home).await,
        json!({"persona": "You like rain.", "user": "He is called Wen.", "style": ""})
    );
    assert_eq!(home.get(PATH).await.json()["display_name"], "Mira");
    home.post(PATH, json!({"persona_block": ""})).await;
    assert_eq!(blocks(&home).await["persona"], "");
}

#[tokio::test]
async fn unknown_fields_and_overlong_texts_change_nothing() {
    let home = Home::new().await;
    home.post(PATH, json!({"persona_block": "before"})).await;
    let long = "字".repeat(5_001);
    let refused = [
        json!({"style_block": "loud"}),
        json!({"persona_block": "after", "self_block": "old label"}),
        json!({"persona_block": long.clone()}),
        json!({"persona_block": "after", "user_block": long}),
        json!({"persona_block": 7}),
        json!({"persona_block": "after", "display_name": " "}),
        json!({"persona_block": "after", "display_name": "x".repeat(257)}),
    ];
    for body in refused {
        home.post(PATH, body).await.is_problem(422);
        let now = home.get(PATH).await.json();
        assert_eq!(now["core_blocks"], json!({"persona": "before", "user": "", "style": ""}));
        assert_eq!(now["display_name"], "Echo");
    }
    assert_eq!(home.post(PATH, json!({"persona_block": "字".repeat(5_000)})).await.status, 200);
}

#[tokio::test]
async fn open_pages_hear_of_a_change_after_it_is_stored() {
    let home = Home::new().await;
    let mut watcher = home.runtime.broadcast().subscribe();
    home.post(PATH, json!({"display_name": "Mira"})).await;
    let told = until(&mut watcher, &["chat.settings.updated"]).await;
    assert_eq!(told.data["display_name"], "Mira");
    assert_eq!(told.scope, scope("self"));
}

#[tokio::test]
async fn style_is_set_added_to_and_cleared() {
    let home = Home::new().await;
    let path = "/api/admin/persona/style";
    let edit = async |body: Value| home.post(path, body).await;
    assert_eq!(
        edit(json!({"action": "append", "text": "Short."})).await.json(),
        json!({"ok": true, "action": "append"})
    );
    edit(json!({"action": "append", "text": "Warm."})).await;
    assert_eq!(blocks(&home).await["style"], "Short.\nWarm.");
    edit(json!({"action": "set", "text": "Dry."})).await;
    assert_eq!(blocks(&home).await["style"], "Dry.");
    for action in ["set", "append"] {
        edit(json!({"action": action, "text": " "})).await.is_problem(400);
    }
    edit(json!({"action": "shout", "text": "x"})).await.is_problem(422);
    edit(json!({"action": "append", "text": "x".repeat(4_996)})).await.is_problem(422);
    assert_eq!(blocks(&home).await["style"], "Dry.");
    for _ in 0..2 {
        assert_eq!(edit(json!({"action": "clear"})).await.json(), json!({"ok": true, "action": "clear"}));
        assert_eq!(blocks(&home).await["style"], "");
    }
}

#[tokio::test]
async fn onboarding_happens_once() {
    let home = Home::new().await;
    let path = "/api/admin/persona/onboarding";
    let first =
        json!({"display_name": "Mira", "persona_block": "", "user_block": " ", "facts": {"gender": null}});
    assert_eq!(home.post(path, first).await.json(), json!({"ok": true, "persona_id": "default"}));
    assert_eq!(home.get("/api/state").await.json()["onboarding_required"], true, "blank words are no words");
    let facts =
        json!({"display_name": "M", "persona_block": "x", "user_block": "", "facts": {"timezone": "Mars"}});
    home.post(path, facts).await.is_problem(422);
    home.post(path, json!({"display_name": "M", "persona_block": "x"})).await.is_problem(422);
    home.post(path, json!({"display_name": "M", "persona_block": "x", "user_block": "", "mood": 1}))
        .await
        .is_problem(422);
    let words = json!({"display_name": "Mira", "persona_block": "You are Mira.", "user_block": "He is Wen."});
    assert_eq!(home.post(path, words.clone()).await.status, 200);
    assert_eq!(home.get("/api/state").await.json()["onboarding_required"], false);
    home.post(path, words).await.is_problem(409);
    home.post(PATH, json!({"persona_block": "", "user_block": ""})).await;
    let owner = scope("self");
    home.store.write_core_block(&owner, CoreBlockLabel::Style, "Dry.", "test", start()).await.unwrap();
    let again = json!({"display_name": "Other", "persona_block": "x", "user_block": ""});
    home.post(path, again).await.is_problem(409);
}

#[tokio::test]
async fn onboarding_writes_all_or_nothing() {
    let home = Home::new().await;
    let path = "/api/admin/persona/onboarding";
    let first = json!({"display_name": "Mira", "persona_block": "You are Mira.", "user_block": " ",
        "style_block": "Short.", "facts": {"gender": "female"}});
    assert_eq!(home.post(path, first).await.status, 200);
    let written = home.get(PATH).await.json();
    assert_eq!(written["core_blocks"], json!({"persona": "You are Mira.", "user": "", "style": "Short."}));
    assert_eq!((&written["display_name"], &written["facts"]["gender"]), (&json!("Mira"), &json!("female")));
    let again = json!({"display_name": "Vera", "persona_block": "x", "user_block": "x",
        "facts": {"gender": "male"}});
    home.post(path, again).await.is_problem(409);
    assert_eq!(home.get(PATH).await.json(), written, "neither name nor facts nor blocks");
    let other = Home::new().await;
    let long = json!({"display_name": "Mira", "persona_block": "x", "user_block": "", "style_block": "长".repeat(5_001)});
    other.post(path, long).await.is_problem(422);
    assert_eq!(other.get("/api/state").await.json()["onboarding_required"], true);
}

#[tokio::test]
async fn a_mood_fades_after_twelve_hours() {
    let home = Home::new().await;
    let session = home.talk("what a day").await;
    assert_eq!(session.name, "chat.message.done");
    let open = home.get("/api/admin/sessions").await.json();
    let id = open["sessions"][0]["id"].as_str().unwrap().parse().unwrap();
    let mood = Mood::from_signal("tender", 7, Some("tired"), start());
    crate::memories::extracted(&home, id, |commit| commit.mood = Some(mood)).await;
    home.store.session(id).await.unwrap().unwrap();
    let fresh = home.get(PATH).await.json()["episodic_state"].clone();
    let expected = json!({"mood": "tender", "energy": 7, "last_user_signal": "tired", "updated_at": "2026-05-02T19:04:11Z"});
    assert_eq!(fresh, expected);
    home.clock.set(start() + Duration::from_secs(12 * 3600 + 1));
    let faded = home.get(PATH).await.json()["episodic_state"].clone();
    assert_eq!((&faded["mood"], &faded["energy"]), (&json!("neutral"), &json!(5)));
}

#[tokio::test]
async fn a_users_zone_is_written_once_unless_it_is_overridden() {
    let home = Home::new().await;
    let path = "/api/admin/users/timezone";
    let first = home.post(path, json!({"timezone": "asia/shanghai"})).await;
    assert_eq!(first.json(), json!({"ok": true, "timezone": "Asia/Shanghai", "written": true}));
    let kept = home.post(path, json!({"timezone": "Europe/Lisbon"})).await;
    assert_eq!(kept.json(), json!({"ok": true, "timezone": "Asia/Shanghai", "written": false}));
    let moved = home.post(path, json!({"timezone": "Europe/Lisbon", "override": true})).await;
    assert_eq!(moved.json(), json!({"ok": true, "timezone": "Europe/Lisbon", "written": true}));
    for unknown in
        ["Mars/Olympus", "/etc/passwd", "../../etc/passwd", "Europe/../Europe/Lisbon", " ", "CET\u{0}"]
    {
        home.post(path, json!({"timezone": unknown, "override": true})).await.is_problem(400);
    }
    home.post(path, json!({"timezone": ""})).await.is_problem(422);
    home.post(path, json!({"timezone": "x".repeat(65)})).await.is_problem(422);
    let stored = home.store.ensure_user(&scope("self").user, start()).await.unwrap();
    assert_eq!(stored.timezone.as_deref(), Some("Europe/Lisbon"));
}
