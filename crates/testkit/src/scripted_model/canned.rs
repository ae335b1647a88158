//! Plausible answers to every task, for a model that replaces a real one beside a real daemon.

use std::time::Duration;

use serde_json::{Value, json};

use super::{RecordedRequest, Reply, ScriptedModel, UNNAMED_TASK};

/// Speed of the scripted model, in real time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Delay before the first token.
    pub first_token: Duration,
    /// Delay between two streamed tokens.
    pub between_tokens: Duration,
}

/// Maximum events of one extraction, as in the contract.
const EVENTS_MAX: usize = 3;
/// Maximum bullets of one roll-up.
const BULLETS_MAX: usize = 12;
/// Maximum length of the part of a line that a reply repeats, in characters.
const ECHO_LENGTH_MAX: usize = 80;

/// Makes `model` answer plausibly: a reply repeats the last message; an extraction remembers each of the user's
/// messages, up to three, with a verbatim quote; every statement adds to the older ones; a reflection has one
/// thought, on `e1`; a slow cycle finds nothing new; memories contain no relationships; a proactive message asks how
/// it went; a drafted persona is the last line of its description; a roll-up copies the first bullets.
pub fn answer_plausibly(model: &ScriptedModel, pace: Pace) {
    let paced = move |reply: Reply| reply.delay(pace.first_token).delay_between_deltas(pace.between_tokens);
    model.recognise("extraction", |request| asks_for(request, "self_check_notes"));
    model.recognise("reflection", |request| asks_for(request, "\"thoughts\""));
    model.answer_task("extraction", move |request| paced(Reply::json(extraction(&request.user()))));
    model.recognise("reconciliation", |request| asks_for(request, "\"still_true\""));
    model.answer_task("reconciliation", move |request| paced(reconciliation_answer(request, |_| "adds")));
    model.answer_task("reflection", move |_| paced(Reply::json(reflection())));
    model.recognise("slow_cycle", |request| asks_for(request, "\"salient_questions\""));
    model.answer_task("slow_cycle", move |_| paced(Reply::json(slow_cycle())));
    model.recognise("persona_draft", |request| asks_for(request, "\"facts_confidence\""));
    model.answer_task("persona_draft", move |request| paced(Reply::json(persona_draft(&request.user()))));
    model.recognise("rollup", |request| asks_for(request, "\"bullets\""));
    model.answer_task("rollup", move |request| paced(Reply::json(rollup(&request.user()))));
    model.recognise("graph", |request| asks_for(request, "\"relationships\""));
    model.answer_task("graph", move |_| paced(Reply::json(json!({"entities": [], "relationships": []}))));
    model.recognise("proactive", |request| asks_for(request, "\"message\": "));
    model.answer_task("proactive", move |_| paced(Reply::json(proactive())));
    model.answer_task("reply", move |request| paced(Reply::text(echo(&request.user()))));
    model.answer_task(UNNAMED_TASK, move |request| paced(Reply::text(echo(&request.user()))));
}

/// True if the texts of a request without a schema mention this member of the answer.
fn asks_for(request: &RecordedRequest, member: &str) -> bool {
    request.system().contains(member) || request.user().contains(member)
}

/// A pair of statements in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedPair {
    /// The pair's number, from 1.
    pub number: usize,
    pub older: String,
    pub newer: String,
    /// The quote that supports the newer statement.
    pub words: String,
}

/// The pairs of a request for a reconciliation.
#[must_use]
pub fn asked_pairs(request: &RecordedRequest) -> Vec<AskedPair> {
    let user = request.user();
    let mut pairs: Vec<AskedPair> = Vec::new();
    for line in user.lines() {
        if let Some(number) = line.strip_prefix("PAIR ") {
            pairs.push(AskedPair { number: number.parse().unwrap_or_default(), ..AskedPair::default() });
        }
        let Some(pair) = pairs.last_mut() else { continue };
        let text_of = |name| Some(line.strip_prefix(name)?.split_once("): ")?.1.to_owned());
        if let Some(text) = text_of("older (") {
            pair.older = text;
        } else if let Some(text) = text_of("newer (") {
            pair.newer = text;
        } else if let Some(text) = line.strip_prefix("their words: ") {
            text.clone_into(&mut pair.words);
        }
    }
    pairs
}

/// An answer to a reconciliation that quotes the shown text.
pub fn reconciliation_answer(
    request: &RecordedRequest,
    verdict: impl Fn(&AskedPair) -> &'static str,
) -> Reply {
    let answer = |pair: &AskedPair| json!({"pair": pair.number, "verdict": verdict(pair), "quote": pair.words, "still_true": null});
    Reply::json(json!({"pairs": asked_pairs(request).iter().map(answer).collect::<Vec<_>>()}))
}

pub fn echo(user: &str) -> String {
    let last = user.lines().rev().map(words_of).find(|line| line.chars().any(char::is_alphanumeric));
    let said: String = last.unwrap_or("…").chars().take(ECHO_LENGTH_MAX).collect();
    format!("I heard you say: {said}")
}

pub fn extraction(transcript: &str) -> Value {
    let messages = user_messages(transcript);
    let event = |(handle, quote): &(String, String)| {
        json!({
            "type": "event",
            "description": format!("The user said: {quote}"),
            "emotional_impact": 2,
            "emotion_tags": ["calm"],
            "relational_tags": [],
            "subject": "user",
            "event_time": null,
            "evidence": [{"message": handle, "quote": quote}],
            "supersedes": [],
            "entities": [],
        })
    };
    json!({
        "events": messages.iter().take(EVENTS_MAX).map(event).collect::<Vec<_>>(),
        "mentioned_entities": [],
        "entity_clarification": null,
        "session_mood_signal": {"mood": "attentive", "energy": 5, "last_user_signal": null},
        "session_summary": format!("They talked; the user wrote {} messages.", messages.len()),
        "self_check_notes": "No peak was missed.",
    })
}

fn reflection() -> Value {
    json!({"thoughts": [{
        "description": "They share what goes on in their days, and it feels good to be told.",
        "subject": "user",
        "emotional_impact": 2,
        "filling": ["e1"],
    }]})
}

fn slow_cycle() -> Value {
    json!({
        "new_thoughts": [], "new_expectations": [], "new_intentions": [], "salient_questions": [],
        "entity_descriptions": [],
    })
}

fn proactive() -> Value {
    json!({"message": "I was thinking of you. How did it go?", "reason": "It is time."})
}

/// A draft whose persona block is the last line of the description.
fn persona_draft(description: &str) -> Value {
    let last = description.lines().rev().map(words_of).find(|line| line.chars().any(char::is_alphanumeric));
    json!({
        "core_blocks": {"persona_block": last.unwrap_or("You are a companion."), "user_block": ""},
        "facts": {},
        "facts_confidence": 0.0,
    })
}

fn rollup(sources: &str) -> Value {
    let bullets = sources.lines().map(words_of).filter_map(|line| line.strip_prefix("- "));
    json!({"bullets": bullets.take(BULLETS_MAX).collect::<Vec<_>>()})
}

/// The user's messages of a transcript: handle and first line. A message begins at the left margin with its handle
/// and its speaker (`[m3] 2026-03-05 user: …`); its text follows on that line, or indented on the next ones.
pub fn user_messages(transcript: &str) -> Vec<(String, String)> {
    let mut messages = Vec::new();
    let mut lines = transcript.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((handle, rest)) = split_handle(line) else { continue };
        let behind_margin = lines.peek().copied().filter(|next| next.starts_with(' ')).map(words_of);
        let (speaker, words) = match behind_margin {
            Some(words) => (rest, words),
            None => rest.split_once(": ").unwrap_or((rest, "")),
        };
        let speaker = speaker.to_lowercase();
        let by_user = ["user", "them"].iter().any(|name| speaker.contains(name));
        if by_user && !words.trim().is_empty() {
            messages.push((handle.to_owned(), words.trim().to_owned()));
        }
    }
    messages
}

/// Splits a line after `m` and a number, ignoring brackets and bullets around them.
fn split_handle(line: &str) -> Option<(&str, &str)> {
    let start = line.trim_start_matches(['[', '(', '-', '*', '#', '`']).trim_start();
    let digits = start.strip_prefix('m')?.bytes().take_while(u8::is_ascii_digit).count();
    let indented = line.starts_with(' ');
    let (handle, rest) = start.split_at_checked(1 + digits)?;
    let ends_there = !rest.starts_with(char::is_alphanumeric);
    (digits > 0 && ends_there && !indented).then_some((handle, rest.trim_start_matches([']', ')', '`'])))
}

/// A line without its indentation and label.
fn words_of(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line).trim_start();
    line.strip_prefix("them:").unwrap_or(line).trim()
}
