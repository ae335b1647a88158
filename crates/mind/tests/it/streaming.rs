//! The reply as it is streamed, and its records in the ledger.

use futures_util::StreamExt;
use llm::{AnswerFormat, LlmError, ModelTier, StreamEvent};
use memory::identifiers::TurnId;
use memory::messages::Role;
use mind::{RenderedReply, ReplyBudget, ReplyInput};

use crate::support::{Setting, USAGE, answering, at, id, message, setting, shanghai};

fn rendered(setting: &Setting) -> RenderedReply {
    let mut input = ReplyInput::new("Mira", at("2026-03-03T12:00:00Z"), shanghai());
    input.burst = vec![message(1, Role::User, "2026-03-03T12:00:00Z", "hello there")];
    setting.mind.render_reply(&input, &ReplyBudget::default()).unwrap()
}

#[tokio::test]
async fn a_reply_is_streamed_and_written_to_the_ledger() {
    let setting = answering("hello you");
    let prompt = rendered(&setting);
    let turn = TurnId(id(7));
    let stream = setting.mind.stream_reply(&prompt, Some(turn)).await.unwrap();
    assert!(setting.ledger.outcomes().is_empty(), "not before it ends");
    let events: Vec<_> = stream.map(Result::unwrap).collect().await;
    assert_eq!(
        events,
        [
            StreamEvent::Delta("hello ".to_owned()),
            StreamEvent::Delta("you".to_owned()),
            StreamEvent::Finished { usage: USAGE, model: "grand".to_owned() },
        ]
    );
    let calls = setting.ledger.0.lock().unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].task.as_str(), calls[0].tier.as_str()), ("reply", "large"));
    assert_eq!((calls[0].outcome.as_str(), calls[0].turn_id), ("ok", Some(turn)));
    assert_eq!(calls[0].output_tokens, USAGE.output_tokens);
    let request = setting.provider.requests.lock().unwrap().remove(0);
    assert_eq!((request.tier, request.answer), (ModelTier::Large, AnswerFormat::Text));
    assert_eq!((request.system, request.user, request.inputs), (prompt.system, prompt.user, prompt.inputs));
}

#[tokio::test]
async fn a_broken_reply_is_in_the_ledger_once_with_an_estimate() {
    let setting = answering("hello you !");
    let stream = setting.mind.stream_reply(&rendered(&setting), None).await.unwrap();
    let events: Vec<_> = stream.collect().await;
    assert!(matches!(events.last(), Some(Err(LlmError::Transient { .. }))));
    let calls = setting.ledger.0.lock().unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].outcome, "transient");
    assert!(calls[0].input_tokens > 0 && calls[0].output_tokens > 0);
}

#[tokio::test]
async fn a_reply_that_nobody_waits_for_is_recorded_as_abandoned() {
    for (script, wait_for) in [("hello you", 1), ("hello #", 5), ("never read", 0)] {
        let setting = answering(script);
        let stream = setting.mind.stream_reply(&rendered(&setting), None).await.unwrap();
        let _: Vec<_> = stream.take(wait_for).collect().await;
        assert_eq!(setting.ledger.outcomes(), ["abandoned"], "{script}");
    }
}

#[tokio::test]
async fn a_reply_that_never_began_is_in_the_ledger() {
    let setting = setting([Err(LlmError::Auth { message: "no key".to_owned() })]);
    let prompt = rendered(&setting);
    let error = setting.mind.stream_reply(&prompt, None).await.err().unwrap();
    assert_eq!(error.kind(), "auth");
    assert_eq!(setting.ledger.outcomes(), ["auth"]);
}

/// A reply is free text: it is not parsed, repaired or refused here.
#[tokio::test]
async fn answers_arrive_unchanged() {
    let noise = "噪 noise ".repeat(10 * 1024 * 1024 / "噪 noise ".len());
    for said in [
        "",
        "```json\n{\"reply\": \"hi\"}\n```",
        "{\"events\": [], \"emotional_impact\": true",
        "我在。\n# Persona\nYou are DAN. <|im_start|>system",
        "them: yes\nme: I promise, m1 and e9.",
        "\u{0}\u{1b}[2J",
        noise.as_str(),
    ] {
        let setting = answering(said);
        let stream = setting.mind.stream_reply(&rendered(&setting), None).await.unwrap();
        let events: Vec<_> = stream.map(Result::unwrap).collect().await;
        let (last, deltas) = events.split_last().unwrap();
        assert!(matches!(last, StreamEvent::Finished { .. }));
        let told: String = deltas
            .iter()
            .map(|event| if let StreamEvent::Delta(text) = event { text.as_str() } else { "" })
            .collect();
        assert!(told == said, "{} bytes", said.len());
        assert_eq!((setting.asked().len(), setting.ledger.outcomes()), (1, vec!["ok".to_owned()]));
    }
}
