use jiff::tz::TimeZone;
use memory::core_blocks::CoreBlocks;
use memory::identifiers::SessionId;
use memory::ports::{Extraction, ExtractionInput, Mind, MindError, Reflection, ReflectionInput};
use testkit::FixedMind;

fn session(persona_name: &str) -> ExtractionInput {
    ExtractionInput {
        persona_name: persona_name.to_owned(),
        core_blocks: CoreBlocks::default(),
        messages: Vec::new(),
        known_entities: Vec::new(),
        entities_in_doubt: Vec::new(),
        known_nodes: Vec::new(),
        zone: TimeZone::UTC,
        failures: Vec::new(),
    }
}

fn events() -> ReflectionInput {
    ReflectionInput {
        session_id: SessionId(uuid::Uuid::nil()),
        persona_name: "Mira".to_owned(),
        core_blocks: CoreBlocks::default(),
        events: Vec::new(),
        zone: TimeZone::UTC,
    }
}

fn summary(text: &str) -> Extraction {
    Extraction { summary: Some(text.to_owned()), ..Extraction::default() }
}

#[tokio::test]
async fn the_queue_comes_first_then_the_function() {
    let mind = FixedMind::new();
    mind.extract_with(|input| Ok(summary(&input.persona_name)));
    mind.extract_next(Err(MindError::Transient("down".to_owned())));
    mind.extract_next(Ok(summary("queued")));

    assert_eq!(mind.extract(session("Mira")).await, Err(MindError::Transient("down".to_owned())));
    assert_eq!(mind.extract(session("Mira")).await, Ok(summary("queued")));
    assert_eq!(mind.extract(session("Tomo")).await, Ok(summary("Tomo")));
    let asked: Vec<String> = mind.extractions().into_iter().map(|input| input.persona_name).collect();
    assert_eq!(asked, ["Mira", "Mira", "Tomo"]);
}

#[tokio::test]
async fn an_unscripted_question_fails_for_good() {
    let mind = FixedMind::new();
    assert!(matches!(mind.extract(session("Mira")).await, Err(MindError::Permanent(_))));
    assert!(matches!(mind.reflect(events()).await, Err(MindError::Permanent(_))));
    mind.reflect_next(Ok(Reflection::default()));
    assert_eq!(mind.reflect(events()).await, Ok(Reflection::default()));
    assert_eq!(mind.reflections().len(), 2);
}
