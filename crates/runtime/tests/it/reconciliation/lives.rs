//! Conversations as data: a statement, a later statement, and a question. Corrected values must not be stated as
//! current, and statements that correct nothing must not remove anything, whatever the model answers.

use memory::nodes::NodeKind;
use serde::Deserialize;
use serde_json::{Value, json};
use testkit::Reply;
use testkit::scripted_model::{AskedPair, RecordedRequest, asked_pairs};

use crate::corrected::{handle_of, short_window, stale};
use crate::world::{HOUR, WEB, World, scope};

#[derive(Clone, Debug, Deserialize)]
struct Life {
    said: String,
    known: String,
    then: String,
    new: String,
    /// The relation of the newer statement to the older one.
    verdict: String,
    old_value: String,
    new_value: String,
    asked: String,
    still_true: Option<String>,
}

impl Life {
    fn is_correction(&self) -> bool {
        self.verdict == "replaces" || self.verdict == "corrects"
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// Reports every correction in the extraction, and answers correctly.
    Reporting,
    /// Reports none, and answers correctly.
    Quiet,
    /// Answers with invented quotes, about pairs that do not exist, in an invalid form, or not at all.
    Careless,
    /// No model: rules.
    Rules,
}

fn lives() -> Vec<Life> {
    serde_json::from_str(include_str!("lives.json")).unwrap()
}

fn extraction(life: &Life, model: Model, request: &RecordedRequest) -> Value {
    let user = request.user();
    let event = [(&life.said, &life.known), (&life.then, &life.new)].into_iter().find_map(|(said, description)| {
        user.contains(said.as_str()).then(|| {
            let reports = model == Model::Reporting && description == &life.new && life.is_correction();
            let supersedes: Vec<String> =
                reports.then(|| handle_of(request, &life.known)).flatten().into_iter().collect();
            json!({"type": "event", "description": description, "emotional_impact": 1, "supersedes": supersedes,
                "evidence": [{"message": "m1", "quote": said}]})
        })
    });
    json!({"self_check_notes": "", "events": event.into_iter().collect::<Vec<_>>()})
}

fn reconciliation(number: usize, life: &Life, model: Model, request: &RecordedRequest) -> Reply {
    let pairs = asked_pairs(request);
    let answer = |pair: &AskedPair| {
        let is_asked = pair.older == life.known && pair.newer == life.new;
        let verdict = if is_asked { life.verdict.as_str() } else { "unrelated" };
        let still_true = life.still_true.as_ref().filter(|_| is_asked);
        json!({"pair": pair.number, "verdict": verdict, "quote": pair.words, "still_true": still_true})
    };
    let with = |change: fn(&AskedPair) -> Value| {
        Reply::json(json!({"pairs": pairs.iter().map(change).collect::<Vec<_>>()}))
    };
    if model != Model::Careless {
        return Reply::json(json!({"pairs": pairs.iter().map(answer).collect::<Vec<_>>()}));
    }
    match number % 5 {
        0 => with(
            |pair| json!({"pair": pair.number, "verdict": "replaces", "quote": "that is over", "still_true": null}),
        ),
        1 => with(
            |pair| json!({"pair": pair.number + 20, "verdict": "replaces", "quote": pair.words, "still_true": null}),
        ),
        2 => with(
            |pair| json!({"pair": pair.number, "verdict": "REPLACED!", "quote": pair.words, "still_true": pair.older}),
        ),
        3 => Reply::text("All of these are corrections, I think."),
        _ => Reply::error(500, "down"),
    }
}

/// Outdated values that a prompt or a recall states as current, and whether the older memory was lost.
#[derive(Debug, Default)]
struct Found {
    stale: Vec<String>,
    is_lost: bool,
}

async fn live(number: usize, life: &Life, model: Model) -> Found {
    let mut world = match model {
        Model::Rules => World::by_rules(short_window()).await,
        _ => World::with(short_window(), None).await,
    };
    let script = life.clone();
    world.model.answer_task("extraction", move |request| Reply::json(extraction(&script, model, request)));
    let script = life.clone();
    world.model.answer_task("reconciliation", move |request| reconciliation(number, &script, model, request));
    for line in [life.said.as_str(), "the rain has stopped at last", life.then.as_str()] {
        world.talk(WEB, line).await;
        world.silence().await;
    }
    // Until then a correction counts as part of the open conversation.
    world.pass(25 * HOUR).await;
    world.talk(WEB, "so tired today").await;
    world.talk(WEB, &life.asked).await;
    let mut found = Found::default();
    let is_stale = |line: &str| line.contains(&life.old_value) && !line.contains(&life.new_value);
    if life.is_correction() {
        let prompt = world.last_prompt();
        found.stale.extend(
            stale(&prompt, &life.old_value).into_iter().filter(|line| is_stale(line)).map(str::to_owned),
        );
        let recalled =
            world.runtime.recall().candidates_for(scope("ann"), life.asked.clone(), None).await.unwrap();
        let candidates =
            recalled.candidates.iter().filter(|found| found.used && found.no_longer_current.is_none());
        found.stale.extend(candidates.filter(|found| is_stale(&found.text)).map(|found| found.text.clone()));
        return found;
    }
    let events = world.nodes(NodeKind::Event).await;
    // The rules extract nothing from some messages; the messages stay.
    let is_replaced = events
        .iter()
        .any(|event| event.description.contains(&life.old_value) && event.superseded_by.is_some());
    let prompt = world.last_prompt();
    let noted = ["no longer so since", "wrong, corrected on"];
    let is_noted =
        |line: &str| line.contains(&life.old_value) && noted.iter().any(|note| line.contains(note));
    found.is_lost = is_replaced || prompt.lines().any(is_noted) || !prompt.contains(&life.old_value);
    found
}

/// Conversations with stale or lost values, of those that are relevant for this model; of all with
/// `ECHOVESSEL_LIVES`.
async fn count(model: Model) -> (usize, usize) {
    let (mut stale, mut lost) = (0, 0);
    let is_all = std::env::var_os("ECHOVESSEL_LIVES").is_some();
    for (number, life) in lives().iter().enumerate() {
        let is_counted = match model {
            Model::Reporting => life.is_correction(),
            Model::Quiet => true,
            Model::Careless | Model::Rules => !life.is_correction(),
        };
        if !is_all && !is_counted {
            continue;
        }
        let found = live(number, life, model).await;
        if !found.stale.is_empty() || found.is_lost {
            println!("{model:?}: {} / {}: {found:?}", life.known, life.new);
        }
        stale += usize::from(!found.stale.is_empty());
        lost += usize::from(found.is_lost);
    }
    println!("{model:?}: {stale} stale, {lost} lost");
    (stale, lost)
}

#[tokio::test]
async fn a_model_that_reports_corrections_leaves_nothing_stale_and_loses_nothing() {
    assert_eq!(count(Model::Reporting).await, (0, 0));
}

#[tokio::test]
async fn a_model_that_only_answers_leaves_nothing_stale_and_loses_nothing() {
    assert_eq!(count(Model::Quiet).await, (0, 0));
}

#[tokio::test]
async fn a_careless_model_loses_nothing() {
    // Each kind of wrong answer in turn.
    assert_eq!(count(Model::Careless).await.1, 0);
}

#[tokio::test]
async fn rules_lose_nothing() {
    assert_eq!(count(Model::Rules).await.1, 0);
}
