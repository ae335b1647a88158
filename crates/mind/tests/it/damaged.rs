//! Damaged answers for each contract, as real models give them, with the result of parsing: one file each in
//! `damaged/`. The answer is above the line `=== expected`, the result below. `DAMAGED_UPDATE=1` rewrites the lower
//! part; read the difference before you commit it.

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};

use hub::graph::{self, RelationEnd, RelationExtractor};
use hub::ports::Summariser;
use memory::facts::Fact;
use memory::identifiers::{EntityId, MessageId, NodeId};
use memory::ports::{Extraction, Mind, ProposedThought, Reflection, SlowCycle};
use mind::{PersonaDraft, PersonaDraftInput};

use crate::support::{
    extraction_input, id, reflection_input, roll_up_input, setting, shanghai, slow_cycle_input,
    unread_session,
};

const DIVIDER: &str = "\n=== expected\n";
const CASES_MIN: usize = 10;

fn files(contract: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/damaged").join(contract);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= CASES_MIN, "a corpus of {}", files.len());
    files
}

/// Compares the result of every answer of the contract with its file.
async fn compare<F: Future<Output = String>>(contract: &str, outcome: impl Fn(String) -> F) {
    let mut wrong = Vec::new();
    for path in files(contract) {
        let text = fs::read_to_string(&path).unwrap();
        let (answer, expected) = text.split_once(DIVIDER).unwrap_or((text.as_str(), ""));
        let found = outcome(answer.to_owned()).await;
        if std::env::var_os("DAMAGED_UPDATE").is_some() {
            fs::write(&path, format!("{answer}{DIVIDER}{found}")).unwrap();
        } else if found != expected {
            wrong.push(format!("{}\nexpected:\n{expected}\nfound:\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn extraction_makes_the_best_of_a_damaged_answer() {
    compare("extraction", |answer| async move {
        let setting = setting([Ok(answer.clone()), Ok(answer)]);
        let outcome = setting.mind.extract(extraction_input()).await;
        let mut lines = vec![format!("asked {} time(s)", setting.asked().len())];
        match outcome {
            Ok(extraction) => lines.extend(descriptions(&extraction)),
            Err(error) => lines.push(format!("failed: {error}")),
        }
        lines.join("\n") + "\n"
    })
    .await;
}

#[tokio::test]
async fn reflection_makes_the_best_of_a_damaged_answer() {
    compare("reflection", |answer| async move {
        let setting = setting([Ok(answer.clone()), Ok(answer)]);
        let outcome = setting.mind.reflect(reflection_input()).await;
        let mut lines = vec![format!("asked {} time(s)", setting.asked().len())];
        match outcome {
            Ok(reflection) => lines.extend(thought(&reflection)),
            Err(error) => lines.push(format!("failed: {error}")),
        }
        lines.join("\n") + "\n"
    })
    .await;
}

#[tokio::test]
async fn the_slow_cycle_makes_the_best_of_a_damaged_answer() {
    compare("slow_cycle", |answer| async move {
        let setting = setting([Ok(answer.clone()), Ok(answer)]);
        let outcome = setting.mind.think_slowly(slow_cycle_input()).await;
        let mut lines = vec![format!("asked {} time(s)", setting.asked().len())];
        match outcome {
            Ok(cycle) => lines.extend(brooded(&cycle)),
            Err(error) => lines.push(format!("failed: {error}")),
        }
        lines.join("\n") + "\n"
    })
    .await;
}

#[tokio::test]
async fn a_persona_draft_makes_the_best_of_a_damaged_answer() {
    compare("persona_draft", |answer| async move {
        let setting = setting([Ok(answer.clone()), Ok(answer)]);
        let outcome = setting.mind.draft_persona(&PersonaDraftInput::default()).await;
        let mut lines = vec![format!("asked {} time(s)", setting.asked().len())];
        match outcome {
            Ok(draft) => lines.extend(drafted(&draft)),
            Err(error) => lines.push(format!("failed: {error}")),
        }
        lines.join("\n") + "\n"
    })
    .await;
}

#[tokio::test]
async fn the_graph_makes_the_best_of_a_damaged_answer() {
    compare("graph", |answer| async move {
        let setting = setting([Ok(answer.clone()), Ok(answer)]);
        let outcome = setting.mind.extract_relations(&unread_session()).await;
        let mut lines = vec![format!("asked {} time(s)", setting.asked().len())];
        match outcome {
            Ok(facts) => lines.extend(facts.iter().map(tied)),
            Err(error) => lines.push(format!("failed: {error}")),
        }
        lines.join("\n") + "\n"
    })
    .await;
}

fn tied(fact: &graph::Relation) -> String {
    let end = |end: &RelationEnd| match end {
        RelationEnd::User => "user".to_owned(),
        RelationEnd::Persona => "persona".to_owned(),
        RelationEnd::Entity(id) => format!("entity {}", id.0.as_u128()),
        RelationEnd::Named { label, node_type } => format!("{node_type} {label:?}"),
    };
    let (from, to, event) = (end(&fact.from), end(&fact.to), fact.event.0.as_u128());
    format!("{from} {} {to}, by event {event}, {}", fact.relation, fact.confidence)
}

#[tokio::test]
async fn a_roll_up_makes_the_best_of_a_damaged_answer() {
    compare("rollup", |answer| async move {
        let setting = setting([Ok(answer.clone()), Ok(answer)]);
        let outcome = setting.mind.summarise(roll_up_input()).await;
        let mut lines = vec![format!("asked {} time(s)", setting.asked().len())];
        match outcome {
            Ok(bullets) => lines.extend(bullets.iter().map(|bullet| format!("bullet {bullet:?}"))),
            Err(error) => lines.push(format!("failed: {error}")),
        }
        lines.join("\n") + "\n"
    })
    .await;
}

/// Too long for a file: a complete answer before the noise does not make it valid, and nobody waits for it.
#[tokio::test]
async fn ten_megabytes_of_noise_are_refused_by_every_contract() {
    const LENGTH: usize = 10 * 1024 * 1024;
    let whole = r#"{"events": [], "self_check_notes": "", "thoughts": [], "new_thoughts": [], "core_blocks": {}, "facts": {},
        "bullets": ["x"]}"#;
    for unit in ["x", "噪", "{\"a\":[", "\\\"", "[1] ", whole] {
        let noise = unit.repeat(LENGTH / unit.len());
        let setting = || {
            setting([Ok(noise.clone()), Ok(format!("{whole}{noise}"))].into_iter().chain([Ok(String::new())]))
        };
        let failures = [
            setting().mind.extract(extraction_input()).await.map(drop).err().map(|error| error.to_string()),
            setting().mind.reflect(reflection_input()).await.map(drop).err().map(|error| error.to_string()),
            setting()
                .mind
                .think_slowly(slow_cycle_input())
                .await
                .map(drop)
                .err()
                .map(|error| error.to_string()),
            setting()
                .mind
                .draft_persona(&PersonaDraftInput::default())
                .await
                .map(drop)
                .err()
                .map(|error| error.to_string()),
            setting().mind.summarise(roll_up_input()).await.map(drop).err().map(|error| error.to_string()),
        ];
        for failure in failures {
            assert!(failure.is_some_and(|failure| failure.contains("longer than")), "{unit}");
        }
    }
}

fn descriptions(extraction: &Extraction) -> Vec<String> {
    let message = |asked: MessageId| match (1..=2).find(|number| id(*number) == asked.0) {
        Some(number) => format!("m{number}"),
        None => "?".to_owned(),
    };
    let mut lines = Vec::new();
    for event in &extraction.events {
        let kind = event.kind.as_str();
        lines
            .push(format!("{kind} {:?} {:+} {:?}", event.subject, event.emotional_impact, event.description));
        let quotes =
            event.evidence.iter().map(|quote| format!("  {} {:?}", message(quote.message_id), quote.quote));
        lines.extend(quotes);
        lines.extend(event.event_time.map(|time| format!("  at {}", time.start)));
        if !event.supersedes.is_empty() {
            lines.push(format!("  supersedes {}", event.supersedes.len()));
        }
    }
    for refused in &extraction.refused {
        lines.push(format!("refused {:?}: {}", refused.description, refused.reason));
    }
    for entity in &extraction.mentioned_entities {
        lines.push(format!("entity {:?} {}", entity.canonical_name, entity.kind.as_str()));
    }
    lines.extend(extraction.mood.as_ref().map(|mood| format!("mood {:?} {}", mood.mood, mood.energy)));
    lines.extend(extraction.summary.as_ref().map(|summary| format!("summary {summary:?}")));
    lines.extend(extraction.notes.iter().map(|note| format!("note: {note}")));
    lines
}

fn thought(reflection: &Reflection) -> Vec<String> {
    let mut lines: Vec<String> = reflection.thoughts.iter().map(thought_line).collect();
    lines.extend(reflection.notes.iter().map(|note| format!("note: {note}")));
    lines
}

fn thought_line(thought: &ProposedThought) -> String {
    format!(
        "thought {:?} {:+} {:?} from {}",
        thought.subject,
        thought.emotional_impact,
        thought.description,
        events(&thought.filling)
    )
}

fn events(cited: &[NodeId]) -> String {
    let handle = |asked: &NodeId| match (1..=3).find(|number| id(*number) == asked.0) {
        Some(number) => format!("e{number}"),
        None => "?".to_owned(),
    };
    cited.iter().map(handle).collect::<Vec<_>>().join(", ")
}

fn brooded(cycle: &SlowCycle) -> Vec<String> {
    let day = |time: memory::nodes::EventTime| time.start.to_zoned(shanghai()).datetime().to_string();
    let day = |time: Option<_>| time.map_or_else(|| "no time".to_owned(), day);
    let mut lines: Vec<String> = cycle.thoughts.iter().map(thought_line).collect();
    lines.extend(cycle.expectations.iter().map(|item| {
        let (impact, reasons) = (item.emotional_impact, events(&item.reasoning));
        format!(
            "expectation {impact:+} {:?} {:?} by {} from {reasons}",
            item.about,
            item.prediction,
            day(item.due)
        )
    }));
    lines.extend(cycle.intentions.iter().map(|item| {
        format!("intention {:?} by {} from {}", item.description, day(item.due), events(&item.filling))
    }));
    lines.extend(cycle.salient_questions.iter().map(|question| format!("question {question:?}")));
    lines.extend(cycle.entity_descriptions.iter().map(|(entity, text)| {
        let handle = if *entity == EntityId(id(70)) { "t1" } else { "?" };
        format!("{handle} is {text:?}")
    }));
    lines.extend(cycle.notes.iter().map(|note| format!("note: {note}")));
    lines
}

fn drafted(draft: &PersonaDraft) -> Vec<String> {
    let mut lines =
        vec![format!("persona {:?}", draft.persona_block), format!("user {:?}", draft.user_block)];
    let facts = Fact::ALL.into_iter().filter_map(|fact| Some((fact.as_str(), draft.facts.get(fact)?)));
    lines.extend(facts.map(|(name, value)| format!("{name} {value:?}")));
    lines.push(format!("sure {}", draft.facts_confidence));
    lines.extend(draft.notes.iter().map(|note| format!("note: {note}")));
    lines
}
