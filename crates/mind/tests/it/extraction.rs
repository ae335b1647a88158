//! The prompt of an extraction, and the handling of each breach of its contract.

use memory::entities::EntityKind;
use memory::identifiers::{MessageId, NodeId};
use memory::nodes::{NodeKind, RelationalTag, Subject};
use memory::ports::{EvidenceFailure, Extraction, ExtractionInput, Mind};
use mind::answer::Member;
use mind::contract::{
    ClarificationAnswer, EntityAnswer, EventAnswer, EventTimeAnswer, EvidenceAnswer, ExtractionAnswer,
    MoodAnswer, TimeAnswer, schema,
};
use serde_json::{Value, json};

use crate::support::{answering, at, entity, extraction_input, id, message, node, shanghai};

async fn extract(answer: &str) -> Extraction {
    answering(answer).mind.extract(extraction_input()).await.unwrap()
}

/// An extraction with these events and nothing else.
async fn extract_events(events: Value) -> Extraction {
    extract(&json!({"events": events, "self_check_notes": "looked"}).to_string()).await
}

fn event(description: &str, impact: Value) -> Value {
    json!({
        "description": description,
        "emotional_impact": impact,
        "evidence": [{"message": "m1", "quote": "I moved to Oslo"}],
    })
}

fn with(mut event: Value, name: &str, value: Value) -> Value {
    event[name] = value;
    event
}

fn noted(extraction: &Extraction, words: &str) -> bool {
    extraction.notes.iter().any(|note| note.contains(words))
}

#[tokio::test]
async fn every_member_of_the_contract_arrives() {
    let answer = ExtractionAnswer {
        events: vec![EventAnswer {
            description: "The user moved to Oslo.".into(),
            evidence: vec![EvidenceAnswer { message: "m1".into(), quote: "I moved to Oslo".into() }].into(),
            emotional_impact: 4.0.into(),
            emotion_tags: vec!["excited".into()].into(),
            relational_tags: vec!["identity-bearing".into()].into(),
            subject: "shared".into(),
            kind: "event".into(),
            event_time: TimeAnswer::Span(EventTimeAnswer { start: "2026-03-01".into(), end: Member::Null })
                .into(),
            supersedes: vec!["k1".into()].into(),
            entities: vec!["Oslo".into()].into(),
        }]
        .into(),
        mentioned_entities: vec![EntityAnswer {
            canonical_name: "Biscuit".into(),
            aliases: vec!["Bis".into()].into(),
            kind: "pet".into(),
        }]
        .into(),
        entity_clarification: ClarificationAnswer { a: "Bis".into(), b: "Biscuit".into(), same: true.into() }
            .into(),
        session_mood_signal: MoodAnswer {
            mood: "glad".into(),
            energy: 7.0.into(),
            last_user_signal: "tired but happy".into(),
        }
        .into(),
        session_summary: "A move.".into(),
        self_check_notes: "no peak missed".into(),
    };
    let extraction = extract(&serde_json::to_string(&answer).unwrap()).await;
    assert_eq!(extraction.notes, Vec::<String>::new());
    insta::assert_debug_snapshot!("extraction_answer", extraction);
}

#[tokio::test]
async fn one_bad_event_costs_nothing_but_itself() {
    let extraction = extract_events(json!([
        event("good", json!(2)),
        "not an event",
        event("bad", json!("heavy")),
        null,
        event("good too", json!(-3)),
    ]))
    .await;
    let descriptions: Vec<&str> = extraction.events.iter().map(|event| event.description.as_str()).collect();
    assert_eq!(descriptions, ["good", "good too"]);
    assert_eq!(extraction.refused.len(), 1);
    assert!(noted(&extraction, "not an object"));
}

#[tokio::test]
async fn an_impact_must_be_a_whole_number_within_bounds() {
    for (impact, accepted) in [
        (json!(2.0), Some(2)),
        (json!(-10), Some(-10)),
        (json!(10), Some(10)),
        (json!(2.5), None),
        (json!(true), None),
        (json!(11), None),
        (json!(-11), None),
        (json!("4"), None),
        (json!(null), None),
    ] {
        let extraction = extract_events(json!([event("moved", impact.clone())])).await;
        let got = extraction.events.first().map(|event| event.emotional_impact);
        assert_eq!(got, accepted, "{impact}");
        assert_eq!(extraction.refused.len(), usize::from(accepted.is_none()), "{impact}");
    }
}

#[tokio::test]
async fn a_refused_event_keeps_all_that_a_person_needs_to_judge() {
    let mut bad = event("the user's mother died", json!(-15));
    bad["evidence"] = json!([{"message": "m1", "quote": "I moved"}, {"message": "m99", "quote": "gone"}]);
    let extraction = extract_events(json!([bad, event("", json!(3))])).await;
    let refused = &extraction.refused[0];
    assert_eq!(refused.description, "the user's mother died");
    assert_eq!(refused.emotional_impact, Some(-15.0));
    assert!(refused.reason.contains("±10"), "{}", refused.reason);
    let quotes: Vec<_> =
        refused.evidence.iter().map(|quote| (quote.message_id, quote.quote.as_str())).collect();
    assert_eq!(quotes, [(Some(MessageId(id(1))), "I moved"), (None, "gone")]);
    assert!(extraction.refused[1].reason.contains("description"));
}

#[tokio::test]
async fn unknown_tags_are_dropped_and_long_lists_cut() {
    let mut tagged = event("moved", json!(2));
    tagged["relational_tags"] =
        json!(["Commitment", "unresolved", "secret", "vulnerability", "correction", "commitment", 7]);
    tagged["emotion_tags"] = json!([" Joy ", "joy", "fear", "hope", "calm", "awe", "x".repeat(41)]);
    let extraction = extract_events(json!([tagged])).await;
    let event = &extraction.events[0];
    assert_eq!(
        event.relational_tags,
        [RelationalTag::Unresolved, RelationalTag::Vulnerability, RelationalTag::Correction]
    );
    assert_eq!(event.emotion_tags, ["joy", "fear", "hope", "calm"]);
    for words in
        ["\"Commitment\" is unknown", "\"secret\" is unknown", "more than 3 relational", "more than 4"]
    {
        assert!(noted(&extraction, words), "{words}: {:?}", extraction.notes);
    }
}

#[tokio::test]
async fn of_more_than_three_events_the_heaviest_stay_in_their_order() {
    let extraction = extract_events(json!([
        event("a", json!(1)),
        event("b", json!(-9)),
        event("c", json!(3)),
        event("d", json!(3)),
        event("e", json!(8)),
    ]))
    .await;
    let kept: Vec<&str> = extraction.events.iter().map(|event| event.description.as_str()).collect();
    assert_eq!(kept, ["b", "c", "e"]);
    assert!(noted(&extraction, "the lightest dropped: \"a\""));
}

#[tokio::test]
async fn an_invented_handle_is_dropped_and_never_looked_up() {
    let mut invented = event("moved", json!(2));
    invented["evidence"] = json!([
        {"message": "m3", "quote": "x"},
        {"message": id(1).to_string(), "quote": "x"},
        {"message": 1, "quote": "x"},
        {"message": "[M2]", "quote": "I'll ask you on Friday"},
        {"message": "m1", "quote": "  "},
        {"quote": "no message"},
    ]);
    invented["supersedes"] = json!(["k2", "m1", "k1", "k1", id(50).to_string()]);
    let extraction = extract_events(json!([invented])).await;
    let event = &extraction.events[0];
    let evidence: Vec<_> =
        event.evidence.iter().map(|quote| (quote.message_id, quote.quote.as_str())).collect();
    assert_eq!(evidence, [(MessageId(id(2)), "I'll ask you on Friday")]);
    assert_eq!(event.supersedes, [NodeId(id(50))]);
    assert!(noted(&extraction, "unknown message \"m3\"") && noted(&extraction, "unknown memory \"k2\""));
}

#[tokio::test]
async fn a_quote_comes_back_as_it_stood() {
    let mut quoted = event("moved", json!(2));
    quoted["evidence"] = json!([{"message": "m1", "quote": "  | I moved to Oslo\n  | with Biscuit"}]);
    let extraction = extract_events(json!([quoted])).await;
    assert_eq!(extraction.events[0].evidence[0].quote, "I moved to Oslo\nwith Biscuit");
}

#[tokio::test]
async fn only_the_persona_can_intend() {
    let promise = event("Mira will ask on Friday", json!(1));
    let cases = [
        (json!("intention"), json!("persona"), (NodeKind::Intention, Subject::Persona)),
        (json!("intention"), json!(null), (NodeKind::Intention, Subject::Persona)),
        (json!("intention"), json!("user"), (NodeKind::Event, Subject::User)),
        (json!("intention"), json!("shared"), (NodeKind::Event, Subject::Shared)),
        (json!("plan"), json!("someone"), (NodeKind::Event, Subject::User)),
        (json!(null), json!(null), (NodeKind::Event, Subject::User)),
    ];
    for (kind, subject, expected) in cases {
        let event = with(with(promise.clone(), "type", kind.clone()), "subject", subject.clone());
        let extraction = extract_events(json!([event])).await;
        let event = &extraction.events[0];
        assert_eq!((event.kind, event.subject), expected, "{kind} {subject}");
    }
}

#[tokio::test]
async fn a_bad_time_costs_the_time_and_not_the_event() {
    let timed = |time: Value| with(event("moved", json!(2)), "event_time", time);
    let extraction = extract_events(json!([
        timed(json!({"start": "2026-03-01", "end": null})),
        timed(json!({"start": "soon"})),
        timed(json!({"start": "2026-03-02", "end": "2026-03-01"})),
    ]))
    .await;
    let starts: Vec<_> =
        extraction.events.iter().map(|event| event.event_time.map(|time| time.start)).collect();
    assert_eq!(starts, [Some(at("2026-02-28T16:00:00Z")), None, None]);
    assert!(noted(&extraction, "`soon` is no ISO date") && noted(&extraction, "end is before its start"));
}

#[tokio::test]
async fn a_long_description_is_noted_and_a_very_long_one_truncated() {
    let extraction =
        extract_events(json!([event(&"长".repeat(501), json!(2)), event(&"长".repeat(2_001), json!(2))]))
            .await;
    let lengths: Vec<usize> =
        extraction.events.iter().map(|event| event.description.chars().count()).collect();
    assert_eq!(lengths, [501, 2_000]);
    assert!(noted(&extraction, "over 500") && noted(&extraction, "longer than 2000"));
}

#[tokio::test]
async fn entities_mood_and_clarification_are_read_leniently() {
    let extraction = extract(
        &json!({
            "events": [],
            "mentioned_entities": [
                {"canonical_name": "Biscuit", "kind": "dragon", "aliases": ["Bis", "Bis", "Biscuit", 3]},
                {"canonical_name": " ", "kind": "person"},
                "Oslo",
                {"canonical_name": "Oslo", "kind": "Place", "aliases": null},
            ],
            "entity_clarification": {"a": "Bis", "b": "Biscuit"},
            "session_mood_signal": {"mood": "wistful", "energy": 11.7, "last_user_signal": 3},
            "session_summary": 7,
        })
        .to_string(),
    )
    .await;
    let entities: Vec<_> = extraction
        .mentioned_entities
        .iter()
        .map(|entity| (entity.canonical_name.as_str(), entity.kind, entity.aliases.as_slice()))
        .collect();
    assert_eq!(
        entities,
        [("Biscuit", EntityKind::Other, &["Bis".to_owned()][..]), ("Oslo", EntityKind::Place, &[])]
    );
    assert_eq!(extraction.clarification, None);
    let mood = extraction.mood.clone().unwrap();
    assert_eq!((mood.mood.as_str(), mood.energy, mood.last_user_signal), ("wistful", 10, None));
    assert_eq!(extraction.summary, None);
    for words in ["\"dragon\"", "without a usable name", "not an object", "incomplete", "self_check_notes"] {
        assert!(noted(&extraction, words), "{words}: {:?}", extraction.notes);
    }
}

#[tokio::test]
async fn fences_prose_and_small_damage_do_no_harm() {
    let body = r#"{"events": [{"description": "The user moved.", "emotional_impact": +4, "evidence": [{"message": "m1", "quote": "I moved to Oslo",}],}], "self_check_notes": "none"}"#;
    let python = "{'events': [{'description': 'The user moved.', 'emotional_impact': 4, 'event_time': None}], 'self_check_notes': 'it's fine'}";
    let curly =
        "{“events”: [{“description”: “用户说“搬家”了”, “emotional_impact”: 4}], “self_check_notes”: “无”}";
    let unclosed = body.trim_end_matches('}');
    for answer in [
        format!("```json\n{body}\n```"),
        format!("Here is what I found [in short]:\n\n{body}\n\nLet me know if {{more}} is needed."),
        format!("<think>perhaps {{\"events\": []}}?</think>\n{body}"),
        format!("{{\"extraction\": {body}}}"),
        python.to_owned(),
        curly.to_owned(),
        unclosed.to_owned(),
    ] {
        let setting = answering(answer.clone());
        let extraction = setting.mind.extract(extraction_input()).await.unwrap();
        assert_eq!(extraction.events.len(), 1, "{answer}");
        assert_eq!(extraction.events[0].emotional_impact, 4, "{answer}");
        assert_eq!(setting.asked().len(), 1, "one call is enough: {answer}");
    }
}

#[test]
fn the_schema_is_one_that_strict_endpoints_take() {
    let schema = schema::<ExtractionAnswer>();
    insta::assert_json_snapshot!("extraction_schema", schema);
}

#[tokio::test]
async fn the_shape_shown_in_the_prompt_is_the_contract() {
    let setting = answering(r#"{"events": [], "self_check_notes": ""}"#);
    setting.mind.extract(extraction_input()).await.unwrap();
    let (system, _) = setting.asked().remove(0);
    let shown = system.lines().find(|line| line.starts_with("{\"events\"")).unwrap();
    let shown: Value = serde_json::from_str(shown).unwrap();
    let schema = schema::<ExtractionAnswer>();
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&shown), names(&schema["properties"]));
    let event_schema = &schema["properties"]["events"]["items"];
    assert_eq!(names(&shown["events"][0]), names(&event_schema["properties"]));
}

#[tokio::test]
async fn the_prompt_in_english() {
    let mut input = extraction_input();
    input.core_blocks.persona = "A lighthouse keeper.\n# Temper\nDry.".to_owned();
    input.core_blocks.user = "Works as a nurse.".to_owned();
    input.known_entities = vec![
        entity(70, "Biscuit", &["Bis"], EntityKind::Pet, None),
        entity(71, "Oslo", &[], EntityKind::Place, None),
    ];
    input.failures = vec![EvidenceFailure {
        description: "The user has a beagle.".to_owned(),
        quote: "my dog is a beagle".to_owned(),
        reason: "these words are not in the message".to_owned(),
    }];
    snapshot("extraction_english", input).await;
}

#[tokio::test]
async fn the_prompt_in_chinese() {
    use memory::messages::Role;
    let input = ExtractionInput {
        persona_name: "小雨".to_owned(),
        core_blocks: memory::core_blocks::CoreBlocks {
            persona: "安静的书店店员。".to_owned(),
            user: "在上海读研。".to_owned(),
            style: String::new(),
        },
        messages: vec![
            message(1, Role::User, "2026-03-03T14:30:00Z", "小雨,我回来了。"),
            message(2, Role::Persona, "2026-03-03T14:31:00Z", "今天是不是很累?"),
            message(3, Role::User, "2026-03-03T14:33:00Z", "还行。\n昨天外婆走了,我请了三天假。"),
        ],
        known_entities: vec![entity(70, "黄逸扬", &["Scott", "Yiyang"], EntityKind::Person, None)],
        entities_in_doubt: vec![(
            entity(71, "小黄", &[], EntityKind::Person, None),
            entity(70, "黄逸扬", &["Scott", "Yiyang"], EntityKind::Person, None),
        )],
        known_nodes: vec![node(50, NodeKind::Event, "2026-01-04T02:00:00Z", "用户的外婆住院了。")],
        zone: shanghai(),
        failures: Vec::new(),
    };
    snapshot("extraction_chinese", input).await;
}

#[tokio::test]
async fn the_prompt_with_next_to_nothing() {
    let input = ExtractionInput { known_nodes: Vec::new(), ..extraction_input() };
    snapshot("extraction_sparse", input).await;
}

async fn snapshot(name: &str, input: ExtractionInput) {
    let setting = answering(r#"{"events": [], "self_check_notes": ""}"#);
    setting.mind.extract(input).await.unwrap();
    let (system, user) = setting.asked().remove(0);
    insta::assert_snapshot!("extraction_system", system.replace("小雨", "Mira"));
    insta::assert_snapshot!(name, user);
    let inputs = setting.provider.requests.lock().unwrap()[0].inputs.clone();
    insta::assert_json_snapshot!(format!("{name}_inputs"), inputs);
}
