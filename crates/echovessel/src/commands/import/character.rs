//! Imports character cards and instructions of other programs as a persona.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use anyhow::bail;
use reqwest::Method;
use serde_json::{Value, json};

use super::{SKIPS_SHOWN, is_confirmed, upload};
use crate::cli::{Import, SharedOptions};
use crate::client::Daemon;
use crate::commands::memory::count_in_words;
use crate::commands::run::AnyDaemon;
use crate::config::Config;
use crate::home::Home;

/// Shows the draft of the persona, and saves it once the person confirms it.
pub(super) async fn import(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Import,
) -> anyhow::Result<()> {
    let any = AnyDaemon::open(config, home).await?;
    let outcome = draft_and_save(shared, any.daemon(), asked).await;
    any.close().await?;
    outcome
}

async fn draft_and_save(shared: &SharedOptions, daemon: &Daemon, asked: &Import) -> anyhow::Result<()> {
    let id = upload::upload_files(daemon, asked).await?;
    let outcome = draft_and_save_upload(shared, daemon, asked, &id).await;
    if !matches!(outcome, Ok(true)) {
        // Otherwise the daemon would store the files for a day.
        daemon.ask(Method::POST, &format!("/api/admin/imports/{id}/undo"), None).await?;
    }
    outcome.map(|_| ())
}

/// Drafts the persona from an upload; true if the draft was saved.
async fn draft_and_save_upload(
    shared: &SharedOptions,
    daemon: &Daemon,
    asked: &Import,
    id: &str,
) -> anyhow::Result<bool> {
    let path = format!("/api/admin/imports/{id}/character");
    let draft = daemon.ask(Method::GET, &format!("{path}?user_id={}", asked.user), None).await?;
    match shared.json {
        true if asked.look => println!("{draft}"),
        true => {}
        false => print!("{}", describe_draft(&draft)),
    }
    if asked.look {
        return Ok(false);
    }
    if !asked.yes && !std::io::stdin().is_terminal() {
        if shared.json {
            println!("{draft}");
        } else {
            println!("\nNothing was saved. Pass --yes to save it");
        }
        return Ok(false);
    }
    if !asked.yes && !is_confirmed()? {
        bail!("nothing was saved");
    }
    upload::ensure_persona(daemon, asked, draft["name"].as_str()).await?;
    // An empty block of the draft does not replace a stored one.
    let text = |name: &str| draft[name].as_str().filter(|text| !text.is_empty());
    let body = json!({
        "persona_id": asked.persona, "user_id": asked.user, "display_name": draft["name"],
        "persona_block": text("persona_block"), "user_block": text("user_block"),
        "style_block": text("style_block"), "replace": asked.replace, "greeting": asked.greeting,
        "create_user": asked.create,
    });
    let saved = daemon.ask(Method::POST, &path, Some(body)).await;
    let saved = saved.map_err(upload::with_option_hint)?;
    let name = draft["name"].as_str().or(asked.persona.as_deref()).unwrap_or("the persona");
    if shared.json {
        println!("{}", json!({"draft": draft, "saved": saved}));
        return Ok(true);
    }
    println!("saved {name}");
    for document in saved["documents"].as_array().into_iter().flatten() {
        println!(
            "text that did not fit into a core block was saved in {}",
            document.as_str().unwrap_or_default()
        );
    }
    if let Some(entries) = saved["lore_entries"].as_u64().filter(|entries| *entries > 0) {
        println!("documents in custom/lore: {}", count_in_words(entries, "lorebook entries"));
    }
    if saved["greeting_id"].is_string() {
        println!("greeting {} is the first message", asked.greeting.unwrap_or_default());
    }
    Ok(true)
}

fn describe_draft(draft: &Value) -> String {
    let mut text = String::new();
    let line = |text: &mut String, line: &str| _ = writeln!(text, "{line}");
    if let Some(name) = draft["name"].as_str() {
        line(&mut text, &format!("a character: {name}"));
    }
    for (title, block) in [("Persona", "persona_block"), ("User", "user_block"), ("Style", "style_block")] {
        if let Some(block) = draft[block].as_str().filter(|block| !block.is_empty()) {
            line(&mut text, &format!("\n{title}:"));
            block.lines().for_each(|one| line(&mut text, &format!("  {one}")));
        }
    }
    let list = |name: &str| draft[name].as_array().cloned().unwrap_or_default();
    let greetings = list("greetings");
    if !greetings.is_empty() {
        line(&mut text, "\nGreetings (--greeting N sends one as the persona's first message):");
    }
    for (number, greeting) in (1..).zip(&greetings) {
        let first = greeting.as_str().and_then(|greeting| greeting.lines().next()).unwrap_or_default();
        line(&mut text, &format!("  {number}. {first}"));
    }
    let overflow = list("overflow").len();
    if overflow > 0 {
        line(
            &mut text,
            &format!(
                "\n{overflow} core blocks are longer than 5,000 characters; the rest is saved as a document"
            ),
        );
    }
    for book in list("lorebooks") {
        let name = book["name"].as_str().unwrap_or_default();
        let entries = count_in_words(book["entries"].as_u64().unwrap_or_default(), "entries");
        line(
            &mut text,
            &format!("\nthe lorebook {name} ({entries}): each is used while one of its keys is named"),
        );
    }
    for skip in list("unused").iter().take(SKIPS_SHOWN) {
        let part = |name: &str| skip[name].as_str().unwrap_or_default();
        line(&mut text, &format!("not used: {}: {}", part("where"), part("reason")));
    }
    text
}
