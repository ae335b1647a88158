//! One request, one answer, at most one further request; the ledger records all of them.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use llm::{AnswerFormat, Completion, LlmError, ModelTier, Provider, Request, StreamEvent};
use memory::identifiers::TurnId;
use memory::ports::{Mind, MindError};
use mind::contract::{
    ExtractionAnswer, GraphAnswer, ReflectionAnswer, RollUpAnswer, SlowCycleAnswer, schema,
};
use mind::{LanguageMind, PersonaDraftAnswer, Prompts};
use serde_json::Value;

use crate::support::{Ledger, Ticking, USAGE, answering, at, extraction_input, reflection_input, setting};

const GOOD: &str =
    r#"{"events": [{"description": "moved", "emotional_impact": 2}], "self_check_notes": "none"}"#;
const THOUGHT: &str = r#"{"thoughts": [{"description": "She speaks of home softly.", "filling": ["e1"]}]}"#;

#[tokio::test]
async fn the_question_is_put_as_the_contract_says() {
    let setting = setting([Ok(GOOD.to_owned()), Ok(THOUGHT.to_owned())]);
    setting.mind.extract(extraction_input()).await.unwrap();
    setting.mind.reflect(reflection_input()).await.unwrap();
    let requests = setting.provider.requests.lock().unwrap();
    let asked: Vec<_> = requests.iter().map(|request| (request.task.as_str(), request.tier)).collect();
    assert_eq!(asked, [("extraction", ModelTier::Small), ("reflection", ModelTier::Medium)]);
    for request in requests.iter() {
        let AnswerFormat::Json { name, schema } = &request.answer else { panic!("{:?}", request.answer) };
        assert_eq!(*name, request.task);
        assert_eq!(schema["type"], "object");
    }
}

#[tokio::test]
async fn a_prompt_of_a_program_is_paid_for_under_its_id() {
    let setting = setting([Ok("A title".to_owned()), Err(LlmError::Auth { message: "no key.".to_owned() })]);
    let id = TurnId(uuid::Uuid::from_u128(7));
    assert_eq!(setting.mind.answer_utility("Name this talk.", id).await.unwrap().0, "A title");
    assert!(setting.mind.answer_utility("Name this talk.", id).await.is_err());
    let calls = setting.ledger.0.lock().unwrap();
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call.turn_id == Some(id) && call.task == "utility"));
}

#[tokio::test]
async fn a_wrong_shape_is_asked_about_once_more_with_the_error() {
    for (wrong, error) in [
        ("I am sorry, I can't do that.", "no readable JSON object"),
        (r#"{"memories": []}"#, "no member `events`"),
        (r#"{"events": "none"}"#, "`events` must be a list"),
        ("", "no readable JSON object"),
    ] {
        let setting = setting([Ok(wrong.to_owned()), Ok(GOOD.to_owned())]);
        let extraction = setting.mind.extract(extraction_input()).await.unwrap();
        assert_eq!(extraction.events.len(), 1);
        let asked = setting.asked();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0].0, asked[1].0, "the system text can be cached");
        assert!(!asked[0].1.contains("could not be used"));
        let again = asked[1].1.split_once("# Your last answer could not be used").unwrap().1;
        assert!(again.contains(error), "{again}");
        assert_eq!(setting.ledger.outcomes(), ["malformed", "ok"]);
    }
}

#[tokio::test]
async fn an_answer_without_its_second_look_is_asked_for_once_more() {
    let unchecked = r#"{"events": [{"description": "moved", "emotional_impact": 2}]}"#;
    let checked = setting([Ok(unchecked.to_owned()), Ok(GOOD.to_owned())]);
    let extraction = checked.mind.extract(extraction_input()).await.unwrap();
    assert_eq!((extraction.events.len(), extraction.self_check_notes.as_str()), (1, "none"));
    assert!(checked.asked()[1].1.contains("`self_check_notes` is missing"));

    let never = setting([Ok(unchecked.to_owned()), Ok(unchecked.to_owned())]);
    assert_eq!(never.mind.extract(extraction_input()).await.unwrap().events.len(), 1, "the events stay");
    assert_eq!(never.asked().len(), 2, "it is asked once more and no oftener");

    let silent = LlmError::Transient { message: "it said nothing.".to_owned() };
    let broken = setting([Ok(unchecked.to_owned()), Err(silent)]);
    assert_eq!(
        broken.mind.extract(extraction_input()).await.unwrap().events.len(),
        1,
        "what is whole is kept"
    );
}

#[tokio::test]
async fn a_reflection_without_a_thought_is_asked_for_once_more() {
    for none in [r#"{"thoughts": []}"#, r#"{"thoughts": [{"description": "vague", "filling": ["e99"]}]}"#] {
        let setting = setting([Ok(none.to_owned()), Ok(THOUGHT.to_owned())]);
        let reflection = setting.mind.reflect(reflection_input()).await.unwrap();
        assert_eq!(reflection.thoughts.len(), 1, "{none}");
        assert!(setting.asked()[1].1.contains("Write one or two, never none"));
        let never = self::setting([Ok(none.to_owned()), Ok(none.to_owned())]);
        assert_eq!(never.mind.reflect(reflection_input()).await.unwrap().thoughts.len(), 0);
        assert_eq!(never.asked().len(), 2);
    }
}

#[tokio::test]
async fn a_wrong_shape_twice_is_left_for_a_later_try() {
    let setting = setting([Ok("no".to_owned()), Ok("still no".to_owned()), Ok(GOOD.to_owned())]);
    let error = setting.mind.extract(extraction_input()).await.unwrap_err();
    assert!(matches!(&error, MindError::Transient(_)), "{error}");
    assert!(error.to_string().contains("Nothing was lost"), "{error}");
    assert_eq!(setting.asked().len(), 2);
    assert_eq!(setting.ledger.outcomes(), ["malformed", "malformed"]);
}

#[tokio::test]
async fn an_answer_that_ends_in_the_middle_is_asked_for_again() {
    let cut =
        r#"{"events": [{"description": "moved", "emotional_impact": 2}, {"description": "his mother di"#;
    let healed = setting([Ok(cut.to_owned()), Ok(GOOD.to_owned())]);
    let extraction = healed.mind.extract(extraction_input()).await.unwrap();
    assert_eq!(extraction.refused.len(), 0);
    assert!(healed.asked()[1].1.contains("ended in the middle"));

    for second in [cut, "no"] {
        let cut_twice = setting([Ok(cut.to_owned()), Ok(second.to_owned())]);
        let extraction = cut_twice.mind.extract(extraction_input()).await.unwrap();
        assert_eq!(extraction.events.len(), 1, "what could be read is kept");
        assert_eq!(extraction.refused.len(), 1, "what was cut is shown to a person");
        assert!(extraction.notes.iter().any(|note| note.contains("ended early")));
    }
}

#[tokio::test]
async fn each_kind_of_failure_says_whether_waiting_helps() {
    let message = || "it said no.".to_owned();
    let cases = [
        (LlmError::RateLimited { retry_after: None, message: message() }, true),
        (LlmError::Transient { message: message() }, true),
        (LlmError::TooLong { message: message() }, false),
        (LlmError::Refused { message: message() }, false),
        (LlmError::Auth { message: message() }, false),
        (LlmError::Fatal { message: message() }, false),
    ];
    for (error, transient) in cases {
        let kind = error.kind();
        let setting = setting([Err(error.clone()), Err(error)]);
        let from_extraction = setting.mind.extract(extraction_input()).await.unwrap_err();
        let from_reflection = setting.mind.reflect(reflection_input()).await.unwrap_err();
        for error in [from_extraction, from_reflection] {
            assert_eq!(matches!(error, MindError::Transient(_)), transient, "{kind}");
            assert!(error.to_string().contains("it said no."), "{error}");
        }
        assert_eq!(setting.ledger.outcomes(), [kind, kind]);
    }
}

#[tokio::test]
async fn the_ledger_learns_what_a_call_cost() {
    let setting = answering(GOOD);
    setting.mind.extract(extraction_input()).await.unwrap();
    let calls = setting.ledger.0.lock().unwrap();
    let call = &calls[0];
    assert_eq!((call.task.as_str(), call.tier.as_str()), ("extraction", "small"));
    assert_eq!((call.provider.as_str(), call.model.as_str()), ("scripted", "tiny"));
    assert_eq!(
        (call.input_tokens, call.output_tokens, call.cached_tokens),
        (USAGE.input_tokens, USAGE.output_tokens, USAGE.cached_tokens)
    );
    assert_eq!(call.latency_ms, 5);
    assert_eq!((call.outcome.as_str(), call.turn_id), ("ok", None));
}

/// A provider that never answers.
struct Hanging;

#[async_trait]
impl Provider for Hanging {
    fn name(&self) -> &'static str {
        "hanging"
    }

    fn model(&self, _: ModelTier) -> String {
        "none".to_owned()
    }

    async fn complete(&self, _: Request) -> Result<Completion, LlmError> {
        std::future::pending().await
    }

    async fn stream(
        &self,
        _: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_abandoned_call_is_written_to_the_ledger() {
    let ledger = Arc::new(Ledger::default());
    let clock = Arc::new(Ticking::from(at("2026-03-03T13:00:00Z")));
    let prompts = Prompts::load(None).unwrap();
    let mind = LanguageMind::new(Arc::new(Hanging), clock, ledger.clone(), prompts);
    let mut waiting = mind.extract(extraction_input());
    assert!(futures_util::poll!(&mut waiting).is_pending());
    assert!(ledger.outcomes().is_empty());
    drop(waiting);
    assert_eq!(ledger.outcomes(), ["abandoned"]);
}

/// Rules of strict endpoints for a schema: every object is closed and requires all its members.
#[test]
fn every_object_of_every_schema_is_closed() {
    let schemas = [
        schema::<ExtractionAnswer>(),
        schema::<ReflectionAnswer>(),
        schema::<SlowCycleAnswer>(),
        schema::<PersonaDraftAnswer>(),
        schema::<RollUpAnswer>(),
        schema::<GraphAnswer>(),
    ];
    fn look(part: &Value) -> usize {
        let Some(members) = part.as_object() else {
            return part.as_array().map_or(0, |items| items.iter().map(look).sum());
        };
        let inner: usize = members.values().map(look).sum();
        let Some(properties) = members.get("properties").and_then(Value::as_object) else { return inner };
        assert_eq!(members["additionalProperties"], false, "{part}");
        assert_eq!(members["required"], Value::from(properties.keys().cloned().collect::<Vec<_>>()));
        inner + 1
    }
    assert_eq!(schemas.iter().map(look).collect::<Vec<_>>(), [7, 2, 5, 3, 1, 3]);
}
