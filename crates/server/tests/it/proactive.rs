//! Why the persona sent a proactive message, and why it did not, over HTTP.

use jiff::SignedDuration;
use memory::identifiers::DecisionId;
use memory::ports::{Clock as _, ProactiveStore as _};
use memory::proactive::{ProactiveDecision, ProactiveGate, ProactiveOutcome, ProactiveTrigger, TriggerRef};
use serde_json::json;
use uuid::Uuid;

use crate::home::{Home, scope};

fn decision(home: &Home, number: u128, user: &str) -> ProactiveDecision {
    ProactiveDecision {
        id: DecisionId(Uuid::from_u128(number)),
        scope: scope(user),
        at: home.clock.now() + SignedDuration::from_mins(i64::try_from(number).unwrap()),
        outcome: Some(ProactiveOutcome::Dropped),
        gate: Some(ProactiveGate::QuietHours),
        trigger: Some(TriggerRef {
            trigger: ProactiveTrigger::LongSilence,
            key: format!("silence:{number}"),
            node: None,
        }),
        detail: None,
        message_id: None,
        channel_id: None,
    }
}

#[tokio::test]
async fn decisions_are_listed_newest_first_with_their_reasons_page_by_page() {
    let home = Home::new().await;
    home.talk("hello").await;
    home.talk_as("bo", "hello").await;
    for number in 1..=3 {
        home.store.store_decision(decision(&home, number, "self")).await.unwrap();
    }
    home.store.store_decision(decision(&home, 4, "bo")).await.unwrap();
    home.store
        .store_decision(ProactiveDecision { outcome: None, ..decision(&home, 5, "self") })
        .await
        .unwrap();
    let all = home.get("/api/admin/proactive").await.json();
    assert_eq!(all["decisions"].as_array().unwrap().len(), 4, "one that is being made is not listed");
    assert_eq!(all["decisions"][0]["user_id"], "bo");
    let newest = &all["decisions"][1];
    assert_eq!((&newest["outcome"], &newest["gate"]), (&json!("dropped"), &json!("quiet_hours")));
    assert_eq!(newest["trigger"], "long_silence");
    assert_eq!(
        newest["reason"],
        "the user had not written for a long time, but it was a quiet hour in the \
        user's time zone"
    );
    let page = home.get("/api/admin/proactive?limit=2&user_id=self").await.json();
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = home.get(&format!("/api/admin/proactive?limit=2&user_id=self&cursor={cursor}")).await.json();
    assert_eq!(rest["decisions"].as_array().unwrap().len(), 1);
    assert_eq!(rest["next_cursor"], json!(null));
    home.get("/api/admin/proactive?limit=0").await.is_problem(422);
}

#[tokio::test]
async fn a_user_is_muted_until_a_moment_and_heard_again() {
    let home = Home::new().await;
    home.talk("hello").await;
    let mute = async |body| home.post("/api/admin/proactive/mute", body).await;
    let until = "2026-05-04T00:00:00Z";
    let answer = mute(json!({"user_id": "self", "until": until})).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["until"]), (200, &json!(until)));
    assert_eq!(home.get("/api/admin/proactive").await.json()["muted_until"], until);
    mute(json!({"user_id": "self", "until": null})).await;
    assert_eq!(home.get("/api/admin/proactive").await.json()["muted_until"], json!(null));
    mute(json!({"user_id": "nobody", "until": until})).await.is_problem(404);
    mute(json!({"user_id": "self", "until": "tomorrow"})).await.is_problem(422);
    home.talk("/quiet").await;
    let muted = home.get("/api/admin/proactive").await.json()["muted_until"].clone();
    let day_later = home.clock.now() + SignedDuration::from_hours(24);
    assert_eq!(muted.as_str().unwrap()[..13], day_later.to_string()[..13]);
}
