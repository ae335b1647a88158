//! Damaged answers of each contract, as models really give them, with what is made of them: one file each in
//! `damaged/`. The answer stands above the line `=== expected`, what comes of it below. `DAMAGED_UPDATE=1` writes the
//! lower part anew; read the difference before you keep it.

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};

use memory::identifiers::{MessageId, NodeId};
use memory::ports::{Extraction, Mind, Reflection};

use crate::support::{extraction_input, id, reflection_input, setting};

const DIVIDER: &str = "\n=== expected\n";
const CASES_MIN: usize = 10;

fn files(contract: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/damaged").join(contract);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= CASES_MIN, "a corpus of {}", files.len());
    files
}

/// Compares what comes of every answer of the contract with what its file says.
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
            Ok(extraction) => lines.extend(told(&extraction)),
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

fn told(extraction: &Extraction) -> Vec<String> {
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
    let handle = |asked: &NodeId| match (1..=3).find(|number| id(*number) == asked.0) {
        Some(number) => format!("e{number}"),
        None => "?".to_owned(),
    };
    let mut lines = Vec::new();
    for thought in &reflection.thoughts {
        let filling: Vec<String> = thought.filling.iter().map(handle).collect();
        lines.push(format!(
            "thought {:?} {:+} {:?} from {}",
            thought.subject,
            thought.emotional_impact,
            thought.description,
            filling.join(", ")
        ));
    }
    lines.extend(reflection.notes.iter().map(|note| format!("note: {note}")));
    lines
}
