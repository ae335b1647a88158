//! Answers of the mock model in these tests, and how it reads its prompts.

use serde_json::{Value, json};
use testkit::scripted_model::RecordedRequest;
use testkit::{Reply, ScriptedModel};

/// The mock's reply to every message.
pub(crate) const REPLY: &str = "嗯嗯,我在听呢。";

/// A mock model that extracts nothing and has one thought about whatever was extracted.
pub(crate) async fn model() -> ScriptedModel {
    let model = ScriptedModel::start().await.unwrap();
    model.answer_task("reply", |_| Reply::from_pieces(REPLY.split_inclusive(',')));
    model.answer_task("extraction", |_| Reply::json(extraction([])));
    model.answer_task("reflection", |_| Reply::json(thought("TA 会在小事里分享自己。")));
    model
}

/// A mock model that extracts the first message of each session word for word.
pub(crate) async fn remembering_model() -> ScriptedModel {
    let model = model().await;
    model.answer_task("extraction", |request| {
        let line = first_line(request);
        Reply::json(extraction([event(&format!("They said: {line}"), &line)]))
    });
    model
}

/// An extraction with these events and nothing else.
pub(crate) fn extraction(events: impl IntoIterator<Item = Value>) -> Value {
    json!({
        "events": events.into_iter().collect::<Vec<_>>(),
        "mentioned_entities": [],
        "entity_clarification": null,
        "session_mood_signal": null,
        "session_summary": null,
        "self_check_notes": "Nothing was passed over.",
    })
}

/// An event about the user with these words of the first message as evidence.
pub(crate) fn event(description: &str, quote: &str) -> Value {
    json!({
        "type": "event",
        "subject": "user",
        "description": description,
        "evidence": [{"message": "m1", "quote": quote}],
        "emotional_impact": 2,
        "emotion_tags": [],
        "relational_tags": [],
        "event_time": null,
        "supersedes": [],
        "entities": [],
    })
}

/// A reflection with one thought that depends on the first event.
pub(crate) fn thought(description: &str) -> Value {
    json!({"thoughts": [
        {"description": description, "subject": "user", "emotional_impact": 2, "filling": ["e1"]},
    ]})
}

/// The first line of the user's first message in the session that is extracted.
pub(crate) fn first_line(request: &RecordedRequest) -> String {
    let user = request.user();
    let conversation =
        section(&user, "The conversation").unwrap_or_else(|| panic!("no conversation:\n{user}"));
    let mut lines = conversation.lines().skip_while(|line| !line.contains(" · user · "));
    let words = lines.nth(1).and_then(|line| line.trim_start().strip_prefix("| "));
    words.unwrap_or_else(|| panic!("no words of the user in:\n{conversation}")).to_owned()
}

/// The text below this heading of a prompt, up to the next heading of the same level.
pub(crate) fn section<'a>(prompt: &'a str, heading: &str) -> Option<&'a str> {
    let heading = format!("# {heading}\n");
    let start = if prompt.starts_with(&heading) { 0 } else { prompt.find(&format!("\n{heading}"))? + 1 };
    let rest = &prompt[start + heading.len()..];
    Some(rest.find("\n# ").map_or(rest, |end| &rest[..end]))
}
