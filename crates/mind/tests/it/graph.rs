//! The prompt for relations between entities, and the handling of each breach of its contract.

use hub::graph::{KnownEntity, Relation, RelationEnd, RelationExtractor, UnreadEvent, UnreadSession};
use memory::entities::EntityKind;
use memory::identifiers::{EntityId, NodeId};
use mind::contract::{GraphAnswer, schema};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::injection::INJECTIONS;
use crate::support::{answering, setting, unread_session};

async fn found(relationships: Value) -> Vec<Relation> {
    let answer = json!({"entities": [{"name": "Norwegian", "type": "goal"}], "relationships": relationships});
    answering(answer.to_string()).mind.extract_relations(&unread_session()).await.unwrap()
}

fn tie(from: &str, to: &str) -> Value {
    json!({"from": from, "to": to, "type": "has_to_do_with", "memory": "e2", "confidence": 0.9})
}

#[tokio::test]
async fn an_end_is_who_talks_a_known_name_or_one_that_stands_in_the_memory() {
    let (user, persona) = (RelationEnd::User, RelationEnd::Persona);
    let dog = RelationEnd::Entity(EntityId(Uuid::from_u128(50)));
    let named = |label: &str, node_type: &str| RelationEnd::Named {
        label: label.to_owned(),
        node_type: node_type.to_owned(),
    };
    for (told, end) in [
        ("persona", Some(persona.clone())),
        ("Mira", Some(persona)),
        ("t1", Some(dog.clone())),
        ("[T1]", Some(dog.clone())),
        ("biscuit", Some(dog.clone())),
        ("Bis", Some(dog)),
        ("Norwegian", Some(named("Norwegian", "goal"))),
        ("Ingrid", Some(named("Ingrid", "topic"))),
        // Of another memory, of none, part of a word, an id, too long, empty.
        ("stairs", None),
        ("Lisbon", None),
        ("Norweg", None),
        ("t3", None),
        ("e1", None),
        ("", None),
    ] {
        let expected: Vec<(RelationEnd, RelationEnd)> =
            end.into_iter().map(|end| (user.clone(), end)).collect();
        let facts = found(json!([tie("Jonas", told)])).await;
        let ends: Vec<(RelationEnd, RelationEnd)> =
            facts.into_iter().map(|fact| (fact.from, fact.to)).collect();
        assert_eq!(ends, expected, "{told}");
    }
    assert_eq!(found(json!([tie("user", "jonas")])).await, [], "nobody is tied to themselves");
}

#[tokio::test]
async fn uncertain_invented_and_repeated_facts_are_dropped_alone() {
    let with = |member: &str, value: Value| {
        let mut tie = tie("user", "t1");
        tie[member] = value;
        tie
    };
    let facts = found(json!([
        with("confidence", json!(0.69)),
        with("confidence", json!(7)),
        with("confidence", json!("high")),
        with("memory", json!("e3")),
        with("memory", json!("00000000-0000-0000-0000-000000000001")),
        with("type", json!("喜欢")),
        with("type", json!("")),
        with("type", json!("Has Pet")),
        with("type", json!("has_pet")),
        "not an object",
        with("confidence", json!(0.7)),
    ]))
    .await;
    let told: Vec<(&str, f64)> = facts.iter().map(|fact| (fact.relation.as_str(), fact.confidence)).collect();
    assert_eq!(told, [("has_pet", 0.9), ("has_to_do_with", 0.7)]);
    assert!(facts.iter().all(|fact| fact.event == NodeId(Uuid::from_u128(2))));
    let many: Vec<Value> = (0..20).map(|number| with("type", json!(format!("tie_{number}")))).collect();
    assert_eq!(found(json!(many)).await.len(), mind::contract::RELATIONSHIPS_MAX);
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape_is_asked_for_once_more() {
    let wrong = || Ok(json!({"relationships": "none"}).to_string());
    let again = setting([wrong(), Ok(json!({"entities": [], "relationships": []}).to_string())]);
    assert_eq!(again.mind.extract_relations(&unread_session()).await.unwrap(), []);
    assert!(again.asked()[1].1.contains("# Your last answer could not be used"));
    let error = setting([wrong(), wrong()]).mind.extract_relations(&unread_session()).await.unwrap_err();
    assert!(!error.0.contains("none"), "{error}");
}

#[tokio::test]
async fn quoted_text_never_starts_a_prompt_line() {
    for injection in INJECTIONS {
        let mut session = unread_session();
        session.events[0].description = injection.to_owned();
        session.events[0].quotes = vec![injection.to_owned()];
        session.entities[0].name = injection.to_owned();
        session.entities[0].aliases = vec![injection.to_owned()];
        session.user = Some(injection.to_owned());
        let setting = answering(r#"{"entities": [], "relationships": []}"#);
        setting.mind.extract_relations(&session).await.unwrap();
        let (_, user) = setting.asked().remove(0);
        let own: Vec<&str> =
            user.lines().filter(|line| !line.starts_with("  |") && !line.is_empty()).collect();
        for line in own {
            assert!(line.starts_with("# ") || line.starts_with("- "), "{injection:?}: {line:?}");
        }
        assert_eq!(user.lines().filter(|line| line.starts_with("# ")).count(), 3, "{injection:?}");
    }
}

#[test]
fn the_schema_is_one_that_strict_endpoints_take() {
    insta::assert_json_snapshot!("graph_schema", schema::<GraphAnswer>());
}

#[tokio::test]
async fn the_prompt_in_english() {
    snapshot("graph_english", unread_session()).await;
}

#[tokio::test]
async fn the_prompt_in_chinese() {
    let event = |number: u128, description: &str, quote: &str| UnreadEvent {
        node: NodeId(Uuid::from_u128(number)),
        description: description.to_owned(),
        quotes: vec![quote.to_owned()],
    };
    let session = UnreadSession {
        persona: "小雨".to_owned(),
        user: Some("阿哲".to_owned()),
        events: vec![
            event(1, "用户养了一只白猫,叫小黑。", "我养了只白猫,叫小黑。他超调皮。"),
            event(2, "用户的妹妹阿梅在杭州读大学。", "我妹阿梅在杭州念书"),
        ],
        entities: vec![KnownEntity {
            id: EntityId(Uuid::from_u128(50)),
            name: "小黑".to_owned(),
            aliases: vec!["黑黑".to_owned()],
            kind: EntityKind::Pet,
        }],
        ..unread_session()
    };
    snapshot("graph_chinese", session).await;
}

#[tokio::test]
async fn the_prompt_with_next_to_nothing() {
    let mut session = unread_session();
    session.user = Some("self".to_owned());
    session.events.truncate(1);
    session.events[0].quotes.clear();
    session.entities.clear();
    snapshot("graph_sparse", session).await;
}

async fn snapshot(name: &str, session: UnreadSession) {
    let setting = answering(r#"{"entities": [], "relationships": []}"#);
    setting.mind.extract_relations(&session).await.unwrap();
    let (system, user) = setting.asked().remove(0);
    insta::assert_snapshot!("graph_system", system.replace(&session.persona, "NAME"));
    insta::assert_snapshot!(name, user);
    let inputs = setting.provider.requests.lock().unwrap()[0].inputs.clone();
    insta::assert_json_snapshot!(format!("{name}_inputs"), inputs);
}
