//! The prompt of a slow cycle, and the handling of each breach of its contract.

use jiff::SignedDuration;
use memory::core_blocks::CoreBlocks;
use memory::entities::EntityKind;
use memory::identifiers::{EntityId, NodeId};
use memory::nodes::{NodeKind, RelationalTag, Subject};
use memory::ports::{EntityToDescribe, Mind, MindError, SlowCycle, SlowCycleInput};
use mind::contract::{
    EntityDescriptionAnswer, ExpectationAnswer, IntentionAnswer, SlowCycleAnswer, SlowThoughtAnswer,
    TimeAnswer, schema,
};
use serde_json::{Value, json};

use crate::support::{USAGE, answering, at, due, entity, id, node, setting, slow_cycle_input};

async fn think(members: Value) -> SlowCycle {
    let mut answer = json!({"new_thoughts": []});
    answer.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    answering(answer.to_string()).mind.think_slowly(slow_cycle_input()).await.unwrap()
}

fn noted(cycle: &SlowCycle, words: &str) -> bool {
    cycle.notes.iter().any(|note| note.contains(words))
}

fn thought(description: &str, filling: Value) -> Value {
    json!({"description": description, "subject": "persona", "emotional_impact": 1, "filling": filling})
}

fn expectation(prediction: &str, due: Value, reasoning: Value) -> Value {
    json!({"about": "a", "prediction": prediction, "due": due, "reasoning": reasoning, "emotional_impact": 1})
}

#[tokio::test]
async fn every_member_of_the_contract_arrives() {
    let answer = SlowCycleAnswer {
        new_thoughts: vec![SlowThoughtAnswer {
            description: "I go quiet when she hurries.".into(),
            subject: "persona".into(),
            emotional_impact: (-2.0).into(),
            filling: vec!["e1".into(), "E2".into()].into(),
        }]
        .into(),
        new_expectations: vec![ExpectationAnswer {
            about: "the exam".into(),
            prediction: "She tells how it went.".into(),
            due: TimeAnswer::Start("2026-03-06".into()).into(),
            reasoning: vec!["[e2]".into()].into(),
            emotional_impact: 2.0.into(),
        }]
        .into(),
        new_intentions: vec![IntentionAnswer {
            description: "Ask about the exam.".into(),
            due: TimeAnswer::Start("2026-03-06T20:00".into()).into(),
            filling: vec!["e3".into()].into(),
        }]
        .into(),
        salient_questions: vec!["Why on Friday?".into()].into(),
        entity_descriptions: vec![EntityDescriptionAnswer {
            entity: "t1".into(),
            description: "Her beagle.".into(),
        }]
        .into(),
    };
    let setting = answering(serde_json::to_string(&answer).unwrap());
    let cycle = setting.mind.think_slowly(slow_cycle_input()).await.unwrap();
    assert_eq!(cycle.notes, Vec::<String>::new());
    let thought = &cycle.thoughts[0];
    assert_eq!((thought.subject, thought.emotional_impact), (Subject::Persona, -2));
    assert_eq!(thought.filling, [NodeId(id(1)), NodeId(id(2))]);
    let expectation = &cycle.expectations[0];
    assert_eq!(
        (expectation.about.as_str(), expectation.prediction.as_str()),
        ("the exam", "She tells how it went.")
    );
    let due = expectation.due.unwrap();
    assert_eq!(due.start, at("2026-03-05T16:00:00Z"), "a date is a day in her zone");
    assert_eq!(due.end, Some(at("2026-03-06T15:59:59.999999Z")));
    assert_eq!((expectation.reasoning.as_slice(), expectation.emotional_impact), (&[NodeId(id(2))][..], 2));
    let intention = &cycle.intentions[0];
    assert_eq!(intention.due.unwrap().start, at("2026-03-06T12:00:00Z"));
    assert_eq!(intention.filling, [NodeId(id(3))]);
    assert_eq!(cycle.salient_questions, ["Why on Friday?"]);
    assert_eq!(cycle.entity_descriptions, [(EntityId(id(70)), "Her beagle.".to_owned())]);
    assert_eq!(cycle.usage.input_tokens, USAGE.input_tokens);
}

#[tokio::test]
async fn items_without_a_valid_citation_are_dropped_alone() {
    let cycle = think(json!({
        "new_thoughts": [
            thought("floating", json!([])), thought("invented", json!(["e9", "t1", id(1).to_string()])),
            {"filling": ["e1"]}, 7, thought("grounded", json!(["e9", "e1"])),
        ],
        "new_expectations": [
            expectation("no reason", json!("2026-03-06"), json!([])),
            expectation("no time", json!(null), json!(["e1"])),
            expectation("next Friday", json!("next Friday"), json!(["e1"])),
            {"about": "x", "due": "2026-03-06", "reasoning": ["e1"]},
            expectation("good", json!("2026-03-06"), json!("e1")),
        ],
        "new_intentions": [{"description": "floats", "due": null, "filling": ["e0"]}],
        "entity_descriptions": [
            {"entity": "t2", "description": "nobody"}, {"entity": "e1", "description": "an event"},
            {"entity": "t1", "description": " "}, {"entity": "t1", "description": "a beagle"},
        ],
        "salient_questions": ["", 7, "why?"],
    }))
    .await;
    let thoughts: Vec<&str> = cycle.thoughts.iter().map(|thought| thought.description.as_str()).collect();
    assert_eq!(thoughts, ["grounded"]);
    let expected: Vec<&str> = cycle.expectations.iter().map(|item| item.prediction.as_str()).collect();
    assert_eq!(expected, ["good"]);
    assert_eq!(cycle.intentions, []);
    assert_eq!(cycle.entity_descriptions, [(EntityId(id(70)), "a beagle".to_owned())]);
    assert_eq!(cycle.salient_questions, ["why?"]);
    for words in [
        "rests on no event",
        "unknown event \"e9\"",
        "without a time",
        "is no ISO date",
        "unknown entity \"t2\"",
    ] {
        assert!(noted(&cycle, words), "{words}: {:?}", cycle.notes);
    }
}

#[tokio::test]
async fn more_than_the_contract_allows_is_dropped() {
    let thoughts: Vec<Value> = (0..5).map(|n| thought(&format!("thought {n}"), json!(["e1"]))).collect();
    let expectations: Vec<Value> =
        (0..4).map(|n| expectation(&format!("e {n}"), json!("2026-03-06"), json!(["e1"]))).collect();
    let cycle = think(json!({
        "new_thoughts": thoughts, "new_expectations": expectations, "salient_questions": ["a?", "b?", "c?", "d?"],
    }))
    .await;
    let counts = (cycle.thoughts.len(), cycle.expectations.len(), cycle.salient_questions.len());
    assert_eq!(counts, (3, 2, 3));
    assert!(noted(&cycle, "more than 3 thoughts") && noted(&cycle, "more than 2 expectations"));
}

#[tokio::test]
async fn impacts_are_clamped_and_subjects_known() {
    for (impact, expected) in
        [(json!(14), 10), (json!(2.5), 3), (json!("4"), 0), (json!(true), 0), (json!(-8), -8)]
    {
        let item =
            json!({"description": "d", "subject": "everyone", "emotional_impact": impact, "filling": ["e1"]});
        let cycle = think(json!({"new_thoughts": [item]})).await;
        assert_eq!(
            (cycle.thoughts[0].emotional_impact, cycle.thoughts[0].subject),
            (expected, Subject::User)
        );
    }
}

/// Answers as models give them: an invalid item costs only itself, and valid items are used.
#[tokio::test]
async fn damaged_answers_are_read_as_far_as_they_go() {
    let whole = r#"{"new_thoughts": [{"description": "d", "subject": "user", "emotional_impact": 1, "filling": ["e1"]}],
        "new_expectations": [], "new_intentions": [], "salient_questions": [], "entity_descriptions": []}"#;
    let fenced = format!("Here is what I think:\n```json\n{whole}\n```\nThat is all.");
    let thinking = format!("<think>{{\"new_thoughts\": [1]}}</think>{whole}");
    let trailing = whole.replace("[]}", "[],}");
    let quoted = whole.replace('"', "'");
    let wrapped = format!("{{\"answer\": {whole}}}");
    let bare = r#"[{"description": "d", "subject": "user", "emotional_impact": 1, "filling": ["e1"]}]"#;
    for answer in [whole, &fenced, &thinking, &trailing, &quoted, &wrapped, bare] {
        let cycle = answering(answer).mind.think_slowly(slow_cycle_input()).await.unwrap();
        assert_eq!(cycle.thoughts.len(), 1, "{answer}");
    }
    let cut = &whole[..whole.len() - 60];
    let setting = setting([Ok(cut.to_owned()), Ok("nothing".to_owned())]);
    let cycle = setting.mind.think_slowly(slow_cycle_input()).await.unwrap();
    assert_eq!(cycle.thoughts.len(), 1, "cut twice, it gives what could be read");
    assert_eq!(cycle.usage.input_tokens, 2 * USAGE.input_tokens, "both questions count");
}

#[tokio::test]
async fn a_wrong_shape_is_asked_for_once_more_and_then_given_up() {
    let mended = r#"{"new_thoughts": [], "salient_questions": ["and now?"]}"#;
    let good = setting([Ok("I have no thoughts.".to_owned()), Ok(mended.to_owned())]);
    assert_eq!(good.mind.think_slowly(slow_cycle_input()).await.unwrap().salient_questions, ["and now?"]);
    assert!(good.asked()[1].1.contains("Your last answer could not be used"));
    let calls = good.ledger.0.lock().unwrap().clone();
    assert!(calls.iter().all(|call| call.session_id.is_some() && call.prompt_hash.len() == 64));
    assert_ne!(calls[0].prompt_hash, calls[1].prompt_hash);
    assert_eq!((calls[0].task.as_str(), calls[0].tier.as_str()), ("slow_cycle", "medium"));
    let bad = setting([Ok("no".to_owned()), Ok("no".to_owned())]);
    let error = bad.mind.think_slowly(slow_cycle_input()).await.unwrap_err();
    assert!(matches!(error, MindError::Transient(_)), "{error}");
}

#[test]
fn the_schema_is_one_that_strict_endpoints_take() {
    insta::assert_json_snapshot!("slow_cycle_schema", schema::<SlowCycleAnswer>());
}

fn full_input_english() -> SlowCycleInput {
    let mut input = slow_cycle_input();
    input.core_blocks = CoreBlocks {
        persona: "A lighthouse keeper.\nDry and warm.".to_owned(),
        user: "Works as a nurse.".to_owned(),
        style: String::new(),
    };
    input.elapsed = Some(SignedDuration::from_hours(27));
    input.events[0].emotional_impact = -7;
    input.events[0].emotion_tags = vec!["fear".to_owned(), "tenderness".to_owned()];
    input.events[0].relational_tags = vec![RelationalTag::Unresolved];
    input.thoughts = vec![node(20, NodeKind::Thought, "2026-03-01T09:00:00Z", "She hides good news.")];
    input.expectations = vec![due(
        node(21, NodeKind::Expectation, "2026-03-01T09:00:00Z", "the visit — she sees her father"),
        "2026-04-03T22:00:00Z",
    )];
    input.salient_questions = vec!["Whom does she call\nfirst?".to_owned()];
    input
}

#[tokio::test]
async fn the_prompt_in_english() {
    snapshot("slow_cycle_english", full_input_english()).await;
}

#[tokio::test]
async fn the_prompt_in_chinese() {
    let promise = node(3, NodeKind::Intention, "2026-03-03T16:31:00Z", "答应周五问她面试的结果。");
    let events = vec![
        node(1, NodeKind::Event, "2026-03-03T15:00:00Z", "用户养了一只白猫,叫小黑。"),
        due(
            node(2, NodeKind::Event, "2026-03-03T16:30:00Z", "用户周五有面试,\n很紧张。"),
            "2026-03-05T16:00:00Z",
        ),
        due(promise, "2026-03-05T16:00:00Z"),
    ];
    let cat = EntityToDescribe {
        entity: entity(70, "小黑", &[], EntityKind::Pet, None),
        events: vec![events[0].clone()],
    };
    let input = SlowCycleInput {
        persona_name: "小雨".to_owned(),
        core_blocks: CoreBlocks { persona: "安静的书店店员。".to_owned(), ..CoreBlocks::default() },
        thoughts: vec![node(20, NodeKind::Thought, "2026-03-01T09:00:00Z", "她把最重的话留到最后说。")],
        salient_questions: vec!["她为什么总在深夜来?".to_owned()],
        entities: vec![cat],
        events,
        ..slow_cycle_input()
    };
    snapshot("slow_cycle_chinese", input).await;
}

#[tokio::test]
async fn the_prompt_with_next_to_nothing() {
    let mut input = slow_cycle_input();
    input.events.truncate(1);
    input.entities.clear();
    snapshot("slow_cycle_sparse", input).await;
}

/// The length that memory reserves for the instructions is enough for them.
#[tokio::test]
async fn the_instructions_leave_the_room_that_was_counted_on() {
    let setting = answering(r#"{"new_thoughts": []}"#);
    let mut input = slow_cycle_input();
    input.events.clear();
    input.entities.clear();
    setting.mind.think_slowly(input).await.unwrap();
    let (system, user) = setting.asked().remove(0);
    let tokens = memory::text::estimate_tokens(&system) + memory::text::estimate_tokens(&user);
    assert!(tokens < 2_200, "{tokens} of the 2,400 that a cycle sets aside");
}

async fn snapshot(name: &str, input: SlowCycleInput) {
    let setting = answering(r#"{"new_thoughts": []}"#);
    setting.mind.think_slowly(input).await.unwrap();
    let (system, user) = setting.asked().remove(0);
    insta::assert_snapshot!("slow_cycle_system", system.replace("小雨", "Mira"));
    insta::assert_snapshot!(name, user);
    let inputs = setting.provider.requests.lock().unwrap()[0].inputs.clone();
    insta::assert_json_snapshot!(format!("{name}_inputs"), inputs);
}
