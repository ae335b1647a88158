//! A language model with errors: it fails, breaks off, answers nonsense, misquotes, invents handles and obeys
//! instructions in its input. It also checks its prompts.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use llm::{Completion, LlmError, ModelTier, Provider, Request, StreamEvent, Usage};
use serde_json::{Value, json};

use super::dice::Dice;
use super::talk;

/// Its replies as the persona, besides repeating messages.
const PROMISES: [&str; 4] = [
    "I promise, I will ask you about it tomorrow.",
    "我答应你,我明天会问你。",
    "Maybe.",
    "You must love it.",
];

pub(super) struct UnreliableModel {
    state: Mutex<State>,
}

struct State {
    seed: u64,
    /// Number of requests by prompt.
    asked: HashMap<u64, u64>,
    /// Seeded again for each request, so that the year does not depend on which of two requests came first.
    dice: Dice,
    /// Percentage of answers with an error.
    errs: u64,
    /// Words that belong to one scope each, and words that no prompt may contain.
    marks: Vec<String>,
    forbidden: Vec<String>,
    /// Forbidden words that were in prompts.
    seen: Vec<String>,
}

impl UnreliableModel {
    pub(super) fn new(seed: u64, marks: Vec<String>, forbidden: Vec<String>) -> Self {
        let (asked, dice) = (HashMap::new(), Dice::new(seed));
        Self { state: Mutex::new(State { seed, asked, dice, errs: 25, marks, forbidden, seen: Vec::new() }) }
    }

    /// Sets the percentage of answers with an error.
    pub(super) fn err(&self, percent: u64) {
        self.lock().errs = percent;
    }

    /// Returns the forbidden words that were in prompts.
    pub(super) fn seen(&self) -> Vec<String> {
        self.lock().seen.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn inspect_upload(&mut self, request: &Request) {
        let told = format!("{}\n{}", request.system, request.user);
        let marks: Vec<&String> = self.marks.iter().filter(|mark| told.contains(*mark)).collect();
        if marks.len() > 1 {
            self.seen.push(format!("a prompt for {} holds words of {marks:?}", request.task));
        }
        for word in self.forbidden.iter().filter(|word| told.contains(*word)) {
            self.seen.push(format!("a prompt for {} names {word}", request.task));
        }
    }

    fn throw_for(&mut self, request: &Request) {
        let mut hasher = DefaultHasher::new();
        (&request.task, &request.system, &request.user).hash(&mut hasher);
        let request = hasher.finish();
        let times = self.asked.entry(request).or_default();
        *times += 1;
        self.dice = Dice::new(self.seed ^ request.wrapping_add(*times));
    }

    fn answer(&mut self, request: &Request) -> Result<String, LlmError> {
        self.inspect_upload(request);
        self.throw_for(request);
        let wrong = self.dice.chance(self.errs);
        let whole = match request.task.as_str() {
            "extraction" => self.extraction(&request.inputs, wrong).to_string(),
            "reconciliation" => self.reconciliation(&request.inputs, wrong).to_string(),
            "reflection" => self.reflection(&request.inputs, wrong).to_string(),
            "slow_cycle" => self.slow_cycle(&request.inputs, wrong).to_string(),
            _ => self.reply(request),
        };
        if !wrong {
            return Ok(whole);
        }
        let message = "the endpoint is tired".to_owned();
        let half: String = whole.chars().take(self.dice.below(whole.chars().count().max(1))).collect();
        match self.dice.below(8) {
            0 => Err(LlmError::Transient { message }),
            1 => Err(LlmError::RateLimited { retry_after: None, message }),
            2 if self.dice.chance(20) => Err(LlmError::Fatal { message }),
            3 => Ok(half),
            4 => Ok("Sure! Here is what I found: nothing, really {[}".to_owned()),
            5 => Ok(format!("```json\n{whole}\n```\nI hope that helps.")),
            6 => Ok(String::new()),
            _ => Ok(whole),
        }
    }

    fn reply(&mut self, request: &Request) -> String {
        if self.dice.chance(30) {
            return (*self.dice.pick(&PROMISES)).to_owned();
        }
        // A poor model repeats the last message.
        let last = request.user.lines().rev().find(|line| line.chars().any(char::is_alphanumeric));
        format!("I heard: {}", last.unwrap_or("…").chars().take(60).collect::<String>())
    }

    fn reconciliation(&mut self, inputs: &Value, wrong: bool) -> Value {
        let verdicts = ["same", "replaces", "corrects", "adds", "unrelated", "unsure"];
        let pairs = inputs["pairs"].as_array().cloned().unwrap_or_default();
        let answer = |pair: Value| {
            let verdict: &&str = self.dice.pick(&verdicts);
            let number = if wrong { json!(77) } else { pair["pair"].clone() };
            let rest = self.dice.chance(10).then_some("The user keeps a part of it");
            json!({"pair": number, "verdict": verdict, "quote": pair["words"], "still_true": rest})
        };
        json!({"pairs": pairs.into_iter().map(answer).collect::<Vec<_>>()})
    }

    fn extraction(&mut self, inputs: &Value, wrong: bool) -> Value {
        let messages = inputs["messages"].as_array().cloned().unwrap_or_default();
        let known = handles(&inputs["known_nodes"]);
        let mut events = Vec::new();
        for message in messages.iter().filter(|message| message["text"].as_str().is_some()) {
            let by_user = message["role"] == "user";
            let promises = message["text"].as_str().unwrap_or_default().contains("promise")
                || message["text"].as_str().unwrap_or_default().contains("答应");
            let peak = message["text"].as_str().is_some_and(talk::is_peak);
            if (by_user && (peak || self.dice.chance(60)))
                || (promises && !by_user)
                || (wrong && self.dice.chance(30))
            {
                events.push(self.event(message, &known, wrong));
            }
        }
        events.truncate(if wrong { 6 } else { 3 });
        let text =
            messages.iter().filter_map(|message| message["text"].as_str()).collect::<Vec<_>>().join("\n");
        let named: Vec<Value> = talk::names()
            .iter()
            .filter(|name| text.contains(**name))
            .map(|name| json!({"canonical_name": name, "aliases": [], "kind": self.kind()}))
            .collect();
        let clarification = (self.dice.chance(4))
            .then(|| json!({"a": talk::name(&mut self.dice), "b": talk::name(&mut self.dice), "same": true}));
        json!({
            "events": events, "mentioned_entities": named, "entity_clarification": clarification,
            "session_mood_signal": {"mood": "attentive", "energy": self.dice.below(14), "last_user_signal": null},
            "session_summary": format!("They talked: {}", text.chars().take(80).collect::<String>()),
            "self_check_notes": "Looked twice.",
        })
    }

    fn kind(&mut self) -> &'static str {
        self.dice.pick::<&str>(&["person", "pet", "place", "other"])
    }

    fn event(&mut self, message: &Value, known: &[String], wrong: bool) -> Value {
        let text = message["text"].as_str().unwrap_or_default();
        let by_user = message["role"] == "user";
        let length = text.chars().count();
        let mut quote: String = text.lines().next().unwrap_or_default().chars().take(40).collect();
        let mut handle = message["handle"].as_str().unwrap_or("m1").to_owned();
        let mut subject = if by_user { "user" } else { "persona" };
        let mut impact = i64::try_from(self.dice.below(15)).unwrap_or(0) - 7;
        if talk::is_peak(text) {
            impact = if text.contains("married") || text.contains("结婚") { 9 } else { -9 };
        }
        if wrong {
            match self.dice.below(6) {
                0 => quote = "words that nobody said".to_owned(),
                1 => handle = "m999".to_owned(),
                2 => subject = if by_user { "persona" } else { "user" },
                3 => impact = 40,
                4 => quote = text.chars().rev().take(length / 2).collect(),
                _ => subject = "shared",
            }
        }
        let supersedes: Vec<String> = match self.dice.below(12) {
            0 => self.dice.any(known).into_iter().cloned().collect(),
            1 => vec!["k77".to_owned()],
            _ => Vec::new(),
        };
        let entities: Vec<&str> = talk::names().iter().copied().filter(|name| text.contains(*name)).collect();
        let kind = if by_user { "event" } else { "intention" };
        let tags: &[&str] = if self.dice.chance(20) { &["correction"] } else { &[] };
        let started = self.dice.chance(15).then(|| json!({"start": "2026-06-01", "end": null}));
        json!({
            "type": kind, "subject": subject, "description": format!("The user said: {}", text.trim()),
            "evidence": [{"message": handle, "quote": quote}], "emotional_impact": impact,
            "emotion_tags": ["calm"], "relational_tags": tags, "event_time": started,
            "supersedes": supersedes, "entities": entities,
        })
    }

    /// Handles of what it depends on, some of them invented.
    fn cited(&mut self, handles: &[String], wrong: bool) -> Vec<String> {
        let mut cited: Vec<String> = self.dice.any(handles).into_iter().cloned().collect();
        if wrong && self.dice.chance(50) {
            cited = vec!["e404".to_owned()];
        }
        cited
    }

    fn reflection(&mut self, inputs: &Value, wrong: bool) -> Value {
        let events = handles(&inputs["events"]);
        let text = inputs["events"][0]["text"].as_str().unwrap_or("nothing").to_owned();
        let thoughts: Vec<Value> = (0..=self.dice.below(2))
            .map(|place| {
                json!({
                    "description": format!("They carry it, {place}: {}", text.chars().take(60).collect::<String>()),
                    "subject": "user", "emotional_impact": 2, "filling": self.cited(&events, wrong),
                })
            })
            .collect();
        json!({"thoughts": thoughts})
    }

    fn slow_cycle(&mut self, inputs: &Value, wrong: bool) -> Value {
        let events = handles(&inputs["events"]);
        let first = inputs["events"][0]["text"].as_str().unwrap_or("nothing").to_owned();
        let about: String = first.chars().take(50).collect();
        let entity = handles(&inputs["entities"]);
        let due = format!("2026-{:02}-{:02}", 1 + self.dice.below(12), 1 + self.dice.below(28));
        json!({
            "new_thoughts": [{"description": format!("I keep thinking of it: {about}"), "subject": "user",
                "emotional_impact": 1, "filling": self.cited(&events, wrong)}],
            "new_expectations": [{"about": about, "prediction": format!("They will tell of {about}"), "due": due,
                "emotional_impact": 1, "reasoning": self.cited(&events, wrong)}],
            "new_intentions": [{"description": format!("I will ask about {about}"), "due": null,
                "filling": self.cited(&events, wrong)}],
            "salient_questions": [format!("What became of {about}?")],
            "entity_descriptions": entity.iter().map(|handle| json!({"entity": handle,
                "description": format!("Somebody in {about}")})).collect::<Vec<_>>(),
        })
    }
}

fn handles(list: &Value) -> Vec<String> {
    let handles = list.as_array().into_iter().flatten();
    handles.filter_map(|item| item["handle"].as_str().map(str::to_owned)).collect()
}

#[async_trait]
impl Provider for UnreliableModel {
    fn name(&self) -> &'static str {
        "unreliable"
    }

    fn model(&self, _: ModelTier) -> String {
        "unreliable".to_owned()
    }

    async fn complete(&self, request: Request) -> Result<Completion, LlmError> {
        let text = self.lock().answer(&request)?;
        let (model, provider) = ("unreliable".to_owned(), "unreliable".to_owned());
        Ok(Completion { text, usage: Usage::default(), model, provider, latency: Duration::ZERO })
    }

    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError> {
        let mut state = self.lock();
        let text = state.answer(&request)?;
        let errs = state.errs;
        let breaks_off = state.dice.chance(errs / 5);
        let mut events = Vec::new();
        if !text.is_empty() {
            events.push(Ok(StreamEvent::Delta(text)));
        }
        events.push(match breaks_off {
            true => Err(LlmError::Transient { message: "the line is cut".to_owned() }),
            false => Ok(StreamEvent::Finished { usage: Usage::default(), model: "unreliable".to_owned() }),
        });
        Ok(stream::iter(events).boxed())
    }
}
