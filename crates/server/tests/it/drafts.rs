use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::home::Home;

const EXTRACT: &str = "/api/admin/persona/extract-from-input";
const BOOTSTRAP: &str = "/api/admin/persona/bootstrap-from-material";

#[tokio::test]
async fn a_description_becomes_a_draft_and_nothing_is_stored() {
    let home = Home::new().await;
    let asked = json!({"input_type": "blank_write", "user_input": "小雨在杭州开花店。我是护士。",
        "existing_blocks": {"persona_block": ""}, "locale": "zh-CN", "persona_display_name": "小雨"});
    let draft = home.post(EXTRACT, asked).await.json();
    assert_eq!(
        draft["core_blocks"],
        json!({"persona_block": "小雨在杭州开花店。", "user_block": "我是护士。", "style_block": ""})
    );
    assert_eq!((&draft["events"], &draft["thoughts"]), (&json!([]), &json!([])));
    assert_eq!((&draft["pipeline_status"], &draft["input_type"]), (&Value::Null, &json!("blank_write")));
    assert_eq!(draft["facts"].as_object().unwrap().len(), 15);
    assert_eq!(home.get("/api/state").await.json()["onboarding_required"], true);
}

#[tokio::test]
async fn a_draft_refuses_what_it_cannot_be_made_from() {
    let home = Home::new().await;
    let text = "x".repeat(100_001);
    for (body, status) in [
        (json!({"input_type": "blank_write"}), 400),
        (json!({"input_type": "blank_write", "user_input": "  "}), 400),
        (json!({"input_type": "import_upload"}), 400),
        (json!({"input_type": "dream", "user_input": "x"}), 422),
        (json!({"user_input": "x"}), 422),
        (json!({"input_type": "blank_write", "user_input": text}), 413),
        (json!({"input_type": "blank_write", "user_input": "x", "locale": "x".repeat(17)}), 422),
        (json!({"input_type": "import_upload", "upload_id": ""}), 422),
    ] {
        home.post(EXTRACT, body).await.is_problem(status);
    }
    home.talker.refuses_work.store(true, Ordering::Relaxed);
    let asked = json!({"input_type": "blank_write", "user_input": "She is a florist."});
    let refusal = home.post(EXTRACT, asked.clone()).await;
    assert!(refusal.is_problem(502).contains("nothing was written"));
    home.post("/api/admin/persona", json!({"persona_block": "You are Mira."})).await;
    let refusal = home.post(EXTRACT, asked).await;
    refusal.is_problem(409);
    assert_eq!(refusal.json()["code"], "already_onboarded");
}

#[tokio::test]
async fn defect_16_onboarding_from_material_answers_at_once() {
    let home = Home::new().await;
    // The clock does not advance, so anything that waits would wait permanently.
    let material = json!({"text": "Mira is a florist. I'm Wen.", "persona_display_name": "Mira"});
    let answer = home.post(BOOTSTRAP, material).await.json();
    assert_eq!(
        answer,
        json!({"suggested_blocks":
                {"persona_block": "Mira is a florist.", "user_block": "I'm Wen.", "style_block": ""},
            "source_event_count": 0, "source_thought_count": 0, "pipeline_status": "success"})
    );
    for body in [json!({"upload_id": "u1"}), json!({"pipeline_id": "p1"})] {
        let refusal = home.post(BOOTSTRAP, body).await;
        assert!(refusal.is_problem(404).contains("import not found"));
    }
    home.post(BOOTSTRAP, json!({})).await.is_problem(400);
    let late = home.get("/api/admin/import/events?pipeline_id=p1").await;
    late.is_problem(404);
}

#[tokio::test]
async fn bootstrap_drafts_style_and_counts_what_it_was_made_from() {
    let home = Home::new().await;
    crate::memories::remember(&home, 3).await;
    let text = "Mira is a florist. She speaks in short, dry sentences. I'm Wen.";
    let answer = home.post(BOOTSTRAP, json!({"text": text, "persona_display_name": "Mira"})).await.json();
    let blocks = &answer["suggested_blocks"];
    assert_eq!(blocks["persona_block"], "Mira is a florist.");
    assert_eq!(blocks["style_block"], "She speaks in short, dry sentences.");
    assert_eq!((&answer["source_event_count"], &answer["source_thought_count"]), (&json!(3), &json!(1)));
    let of_user = blocks["user_block"].as_str().unwrap();
    assert!(of_user.starts_with("I'm Wen.") && of_user.contains("white cat Soot"), "{of_user}");
}
