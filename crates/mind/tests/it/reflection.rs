//! The prompt of a reflection, and the handling of each breach of its contract.

use memory::core_blocks::CoreBlocks;
use memory::identifiers::NodeId;
use memory::nodes::{NodeKind, Subject};
use memory::ports::{Mind, Reflection, ReflectionInput};
use mind::contract::{ReflectionAnswer, ThoughtAnswer, schema};
use serde_json::{Value, json};

use crate::support::{answering, due, id, node, reflection_input};

async fn reflect(thoughts: Value) -> Reflection {
    let answer = json!({ "thoughts": thoughts }).to_string();
    answering(answer).mind.reflect(reflection_input()).await.unwrap()
}

fn thought(description: &str, impact: Value, filling: Value) -> Value {
    json!({"description": description, "subject": "user", "emotional_impact": impact, "filling": filling})
}

fn noted(reflection: &Reflection, words: &str) -> bool {
    reflection.notes.iter().any(|note| note.contains(words))
}

#[tokio::test]
async fn every_member_of_the_contract_arrives() {
    let answer = ReflectionAnswer {
        thoughts: vec![ThoughtAnswer {
            description: "She hides good news.".into(),
            subject: "shared".into(),
            emotional_impact: (-3.0).into(),
            filling: vec!["e1".into(), "e3".into()].into(),
        }]
        .into(),
    };
    let setting = answering(serde_json::to_string(&answer).unwrap());
    let reflection = setting.mind.reflect(reflection_input()).await.unwrap();
    let thought = &reflection.thoughts[0];
    assert_eq!(thought.description, "She hides good news.");
    assert_eq!(thought.subject, Subject::Shared);
    assert_eq!(thought.emotional_impact, -3);
    assert_eq!(thought.filling, [NodeId(id(1)), NodeId(id(3))]);
    assert_eq!(reflection.notes, Vec::<String>::new());
}

#[tokio::test]
async fn a_thought_without_a_valid_handle_is_dropped() {
    let reflection = reflect(json!([
        thought("floating", json!(1), json!([])),
        thought("invented", json!(1), json!(["e4", "k1", id(1).to_string(), 1])),
        thought("half", json!(1), json!(["e9", "e2", "E2"])),
        {"emotional_impact": 1, "filling": ["e1"]},
    ]))
    .await;
    assert_eq!(reflection.thoughts.len(), 1);
    assert_eq!(reflection.thoughts[0].filling, [NodeId(id(2))]);
    assert!(noted(&reflection, "rests on no event, dropped: \"floating\""));
    assert!(noted(&reflection, "unknown event \"e4\"") && noted(&reflection, "without a description"));
}

#[tokio::test]
async fn a_third_thought_is_dropped_and_an_invalid_one_takes_no_place() {
    let reflection = reflect(json!([
        thought("no event", json!(1), json!([])),
        thought("one", json!(1), json!(["e1"])),
        thought("two", json!(1), json!(["e2"])),
        thought("three", json!(1), json!(["e3"])),
    ]))
    .await;
    let kept: Vec<&str> = reflection.thoughts.iter().map(|thought| thought.description.as_str()).collect();
    assert_eq!(kept, ["one", "two"]);
    assert!(noted(&reflection, "more than 2 thoughts, dropped: \"three\""));
}

#[tokio::test]
async fn an_impact_is_clamped_and_a_heavy_one_noted() {
    for (impact, expected, note) in [
        (json!(14), 10, "clamped"),
        (json!(-1e9), -10, "clamped"),
        (json!(9), 9, "rarely"),
        (json!(-9), -9, "rarely"),
        (json!(2.5), 3, "rounded"),
        (json!(true), 0, "no number"),
        (json!("4"), 0, "no number"),
    ] {
        let reflection = reflect(json!([thought("heavy", impact.clone(), json!(["e1"]))])).await;
        assert_eq!(reflection.thoughts[0].emotional_impact, expected, "{impact}");
        assert!(noted(&reflection, note), "{impact}: {:?}", reflection.notes);
    }
    let quiet = reflect(json!([thought("quiet", json!(8), json!(["e1"]))])).await;
    assert_eq!(quiet.notes, Vec::<String>::new());
}

#[tokio::test]
async fn a_long_thought_is_noted_and_a_very_long_one_truncated() {
    let reflection = reflect(json!([
        thought(&"想".repeat(501), json!(1), json!(["e1"])),
        thought(&"想".repeat(2_001), json!(1), json!(["e1"])),
    ]))
    .await;
    let lengths: Vec<usize> =
        reflection.thoughts.iter().map(|thought| thought.description.chars().count()).collect();
    assert_eq!(lengths, [501, 2_000]);
    assert!(noted(&reflection, "over 500") && noted(&reflection, "longer than 2000"));
}

#[tokio::test]
async fn a_bare_list_is_taken_for_the_thoughts() {
    let answer = json!([thought("one", json!(1), json!(["e1"]))]).to_string();
    let reflection = answering(answer).mind.reflect(reflection_input()).await.unwrap();
    assert_eq!(reflection.thoughts.len(), 1);
    assert!(noted(&reflection, "bare list"));
}

#[test]
fn the_schema_is_one_that_strict_endpoints_take() {
    insta::assert_json_snapshot!("reflection_schema", schema::<ReflectionAnswer>());
}

#[tokio::test]
async fn the_prompt_in_english() {
    let mut input = reflection_input();
    input.core_blocks.persona = "A lighthouse keeper.".to_owned();
    input.core_blocks.user = "Works as a nurse.".to_owned();
    let first = &mut input.events[0];
    first.description = "The user's father is in hospital.".to_owned();
    first.emotional_impact = -7;
    first.emotion_tags = vec!["fear".to_owned(), "tenderness".to_owned()];
    snapshot("reflection_english", input).await;
}

#[tokio::test]
async fn the_prompt_in_chinese() {
    let events = vec![
        due(node(1, NodeKind::Event, "2026-03-03T15:00:00Z", "用户的外婆去世了。"), "2026-03-01T16:00:00Z"),
        node(2, NodeKind::Event, "2026-03-03T16:30:00Z", "用户请了三天假,\n还是照常回了消息。"),
    ];
    let core_blocks = CoreBlocks { persona: "安静的书店店员。".to_owned(), ..CoreBlocks::default() };
    let input =
        ReflectionInput { persona_name: "小雨".to_owned(), core_blocks, events, ..reflection_input() };
    snapshot("reflection_chinese", input).await;
}

#[tokio::test]
async fn the_prompt_with_next_to_nothing() {
    let mut input = reflection_input();
    input.events.truncate(1);
    snapshot("reflection_sparse", input).await;
}

async fn snapshot(name: &str, input: ReflectionInput) {
    let setting = answering(r#"{"thoughts": []}"#);
    setting.mind.reflect(input).await.unwrap();
    let (system, user) = setting.asked().remove(0);
    insta::assert_snapshot!("reflection_system", system.replace("小雨", "Mira"));
    insta::assert_snapshot!(name, user);
    let inputs = setting.provider.requests.lock().unwrap()[0].inputs.clone();
    insta::assert_json_snapshot!(format!("{name}_inputs"), inputs);
}
