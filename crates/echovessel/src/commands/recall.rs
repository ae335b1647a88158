//! `echovessel recall`: recalls memories for a text, with reasons.

use std::sync::Arc;

use memory::UserId;
use memory::recall::{Candidate, CandidateKind};
use reqwest::Method;
use serde_json::{Value, json};

use crate::cli::{Recall, SharedOptions};
use crate::client::{Daemon, NoDaemon};
use crate::config::Config;
use crate::home::Home;
use crate::system::{SystemClock, SystemIdGenerator};
use crate::wiring::wire;

pub(crate) async fn recall(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Recall,
) -> anyhow::Result<()> {
    let answer = match Daemon::find(home) {
        Ok(daemon) => {
            let body = json!({"text": asked.text, "user_id": asked.user});
            daemon.ask(Method::POST, "/api/admin/memory/recall", Some(body)).await?
        }
        Err(error) if error.is::<NoDaemon>() => recall_without_daemon(config, home, asked).await?,
        Err(error) => return Err(error),
    };
    if shared.json {
        println!("{answer}");
        return Ok(());
    }
    let candidates: Vec<Candidate> = serde_json::from_value(answer["candidates"].clone())?;
    let documents = answer["documents"].as_array().map_or(&[][..], Vec::as_slice);
    if documents.is_empty() || candidates.iter().any(|candidate| candidate.used || asked.explain) {
        print(&candidates, asked.explain);
    }
    print_documents(documents);
    if answer["nothing_found"] == true && candidates.iter().any(|one| one.used || asked.explain) {
        println!("No memory is relevant to this; these are the closest ones.");
    }
    let elapsed = &answer["elapsed_ms"];
    if asked.explain {
        let milliseconds = |step: &str| elapsed[step].as_f64().unwrap_or_default();
        println!(
            "\nembedding {:.1} ms · loading {:.1} ms · scoring {:.1} ms",
            milliseconds("embed"),
            milliseconds("fetch"),
            milliseconds("score")
        );
    }
    Ok(())
}

async fn recall_without_daemon(config: &Config, home: &Home, asked: &Recall) -> anyhow::Result<Value> {
    let _lock = home.lock_home()?;
    let services = wire(config, home, Arc::new(SystemClock), Arc::new(SystemIdGenerator::default())).await?;
    let scope = services.runtime.scope(None, UserId::new(asked.user.clone())?);
    let remembered = services.runtime.recall().recall_for_text(scope, asked.text.clone(), None).await?;
    let (recalled, documents) = (remembered.recalled, remembered.documents.related);
    services.close().await?;
    Ok(json!({
        "candidates": recalled.candidates,
        "support": recalled.support,
        "nothing_found": recalled.nothing_found && documents.is_empty(),
        "documents": documents,
        "elapsed_ms": recalled.elapsed,
    }))
}

/// Prints each document with its relevance, its author and the lines that are about the text.
fn print_documents(documents: &[Value]) {
    for document in documents {
        let text = |field: &str| document[field].as_str().unwrap_or_default();
        let relevance = document["relevance"].as_f64().unwrap_or_default();
        println!("✓ {relevance:6.3}  {}/{}  by {}", text("kind"), text("filename"), text("source_instance"));
        for line in text("excerpt").lines() {
            println!("          {}", shorten(line, 100));
        }
    }
}

/// Prints the table: one candidate a row, and with `explain` each term of its score and why it was used or dropped.
pub(crate) fn print(candidates: &[Candidate], explain: bool) {
    let shown: Vec<&Candidate> = candidates.iter().filter(|candidate| explain || candidate.used).collect();
    if shown.is_empty() {
        println!("No memories found.");
        return;
    }
    if explain {
        println!("   total  recency relev. vector words  impact relat. anchor  day         what");
    }
    for candidate in shown {
        let mark = if candidate.used { "✓" } else { "·" };
        let day = candidate.created_at.strftime("%Y-%m-%d");
        let text = shorten(&candidate.text, 60);
        if !explain {
            println!("{mark} {:6.3}  {day}  {:<10} {text}", candidate.total, candidate.type_name);
            continue;
        }
        if candidate.kind == CandidateKind::Message {
            let parts = candidate.parts.iter().flatten().map(|(name, value)| format!("{name} {value:.2}"));
            let parts = parts.collect::<Vec<_>>().join(" · ");
            println!(
                "{mark} {:6.3}  said by {:<8} {parts}\n          {day}  {text}",
                candidate.total, candidate.type_name
            );
        } else {
            let term = |value: Option<f64>| {
                value.map_or_else(|| "     –".to_owned(), |value| format!("{value:6.3}"))
            };
            println!(
                "{mark} {:6.3}  {} {} {} {} {} {} {}  {day}  {:<8} {text}",
                candidate.total,
                term(candidate.recency),
                term(candidate.relevance),
                term(candidate.vector_relevance),
                term(candidate.word_relevance),
                term(candidate.impact),
                term(candidate.relational_bonus),
                term(candidate.entity_anchor),
                candidate.type_name,
            );
        }
        println!("          {}", candidate.reason);
    }
}

/// Cuts a text to at most `length` characters on one line.
pub(crate) fn shorten(text: &str, length: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= length { flat } else { flat.chars().take(length - 1).chain(['…']).collect() }
}
