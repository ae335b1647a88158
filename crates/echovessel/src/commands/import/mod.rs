//! `echovessel import`: stores conversations of other programs as messages; they are consolidated in the background.

mod python_settings;
mod whole_home;
mod character;
mod direct;
mod upload;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use import::{
    ConversationSummary, FieldNames, ImportPreview, Input, Mapping, MappingError, ReadOptions, Role, Sources,
};
use indicatif::{ProgressBar, ProgressStyle};
use memory::identifiers::ImportId;
use memory::ports::ImportSkip;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::run::AnyDaemon;
use crate::cli::{Import, ImportCommand, SharedOptions};
use crate::client::{Daemon, NoDaemon};
use crate::config::Config;
use crate::home::Home;
use whole_home::WholeHome;

/// Titles that are printed if none matches `--only`. They show how titles are written in this file.
const TITLES_SHOWN_MAX: usize = 10;
/// Maximum skipped items that are printed for a person, so that the result stays visible; all are stored with the
/// run.
const SKIPS_SHOWN: usize = 10;

pub(crate) async fn import(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Import,
) -> anyhow::Result<()> {
    let Some(command) = &asked.command else { return import_files(shared, config, home, asked).await };
    let daemon = AnyDaemon::open(config, home).await?;
    let outcome = run_subcommand(shared, daemon.daemon(), command).await;
    daemon.close().await?;
    outcome
}

async fn run_subcommand(
    shared: &SharedOptions,
    daemon: &Daemon,
    command: &ImportCommand,
) -> anyhow::Result<()> {
    match command {
        ImportCommand::List => print_imports(shared, daemon).await,
        ImportCommand::Pause { run } => set_remembering(shared, daemon, *run, "pause").await,
        ImportCommand::Resume { run } => set_remembering(shared, daemon, *run, "resume").await,
        ImportCommand::Accept { run } => accept_proposals(shared, daemon, *run).await,
        ImportCommand::Undo { run, yes } => undo(shared, daemon, *run, *yes).await,
    }
}

async fn import_files(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Import,
) -> anyhow::Result<()> {
    if let Some(found) = asked.files.iter().find_map(|file| WholeHome::find(file)) {
        return whole_home::import_home(shared, config, home, asked, found).await;
    }
    let inputs: Vec<Input> = asked.files.iter().cloned().map(Input::Path).collect();
    let fields = FieldNames::parse(asked.fields.iter().map(String::as_str))?;
    let options = ReadOptions { format: asked.format.clone(), fields };
    let (sources, look) = examine_sources(inputs, options.clone()).await?;
    if asked.character || look.messages == 0 && look.cards + look.core_drafts + look.lorebooks > 0 {
        character::import(shared, config, home, asked).await?;
        if asked.character || asked.look || look.saved_memories + look.documents == 0 {
            return Ok(());
        }
        // The person has confirmed the import, so all of its files are recorded.
        let asked = Import { yes: true, ..asked.clone() };
        return record(shared, config, home, &asked, sources, options, &look).await;
    }
    if asked.look {
        match shared.json {
            true => println!("{}", serde_json::to_string(&look)?),
            false => print!("{}", describe_preview(&look, asked.zone.as_deref())),
        }
        return Ok(());
    }
    record(shared, config, home, asked, sources, options, &look).await
}

/// Imports messages, documents and saved memories after the person has confirmed it.
async fn record(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Import,
    sources: Arc<Sources>,
    options: ReadOptions,
    look: &ImportPreview,
) -> anyhow::Result<()> {
    let mapping = requested_mapping(asked, look)?;
    if !shared.json {
        print!("{}", describe_preview(look, asked.zone.as_deref()));
    }
    if !asked.yes && !is_confirmed()? {
        bail!("nothing was imported");
    }
    let bar = progress_bar(shared, look.found)?;
    let recorded = match Daemon::find(home) {
        Ok(daemon) => upload::record(&daemon, asked, mapping, &bar).await?,
        Err(error) if error.is::<NoDaemon>() => {
            direct::record(config, home, asked, sources, options, mapping, &bar).await?
        }
        Err(error) => return Err(error),
    };
    bar.finish_and_clear();
    print_report(shared, &recorded);
    Ok(())
}

/// Reads everything once, on a thread that may block.
async fn examine_sources(
    inputs: Vec<Input>,
    options: ReadOptions,
) -> anyhow::Result<(Arc<Sources>, ImportPreview)> {
    let reading = tokio::task::spawn_blocking(move || {
        let sources = Sources::open(&inputs)?;
        let look = import::preview(&sources, &options)?;
        Ok::<_, import::ImportError>((Arc::new(sources), look))
    });
    Ok(reading.await.context("reading ended unexpectedly")??)
}

fn requested_mapping(asked: &Import, look: &ImportPreview) -> anyhow::Result<Mapping> {
    let mapping = Mapping {
        user: asked.me.iter().cloned().collect(),
        persona: asked.them.iter().cloned().collect(),
        zone: asked.zone.clone(),
        since: asked.since,
        until: asked.until,
        conversations: chosen_conversations(asked, look)?,
        ..Mapping::default()
    };
    match mapping.check(look) {
        Ok(()) => Ok(mapping),
        Err(error @ MappingError::Nobody { .. }) => bail!("{error}. --me names the user, --them the persona"),
        Err(error) => bail!("{error}; nothing was imported"),
    }
}

/// Ids of the conversations that `--only` and `--starred` select; `None` if neither is given.
fn chosen_conversations(asked: &Import, look: &ImportPreview) -> anyhow::Result<Option<BTreeSet<String>>> {
    let named = conversations_named(asked, look)?;
    if !asked.starred {
        return Ok(named);
    }
    let starred = look.conversations.iter().filter(|conversation| conversation.starred);
    let mut starred: BTreeSet<String> = starred.map(|conversation| conversation.id.clone()).collect();
    if let Some(named) = named {
        starred.retain(|id| named.contains(id));
    }
    if starred.is_empty() {
        bail!("none of these conversations is starred in the files; nothing was imported");
    }
    Ok(Some(starred))
}

fn conversations_named(asked: &Import, look: &ImportPreview) -> anyhow::Result<Option<BTreeSet<String>>> {
    if asked.only.is_empty() {
        return Ok(None);
    }
    let mut chosen = BTreeSet::new();
    for wanted in &asked.only {
        let folded = wanted.to_lowercase();
        let is_id = look.conversations.iter().any(|conversation| conversation.id == *wanted);
        let is_wanted = |conversation: &&ConversationSummary| {
            let title = conversation.title.as_deref().unwrap_or_default().to_lowercase();
            if is_id { conversation.id == *wanted } else { title.contains(&folded) }
        };
        let mut found = look.conversations.iter().filter(is_wanted).map(|found| found.id.clone()).peekable();
        if found.peek().is_none() {
            let titles = look.conversations.iter().filter_map(|conversation| conversation.title.as_deref());
            let titles: Vec<&str> = titles.take(TITLES_SHOWN_MAX).collect();
            bail!(
                "no conversation is called {wanted:?}; nothing was imported. There are: {}",
                titles.join(", ")
            );
        }
        chosen.extend(found);
    }
    Ok(Some(chosen))
}

fn progress_bar(shared: &SharedOptions, found: u64) -> anyhow::Result<ProgressBar> {
    let bar = ProgressBar::new(found);
    bar.set_style(ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} {per_sec} {eta}")?);
    if shared.json || !std::io::stderr().is_terminal() {
        bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    Ok(bar)
}

/// Result of a run, whether it was recorded here or by the daemon.
#[derive(Deserialize)]
struct RecordedImport {
    run_id: ImportId,
    found: u64,
    recorded: u64,
    already_there: u64,
    proposed: u64,
    #[serde(default)]
    documents: u64,
    undated: u64,
    skipped_count: u64,
    skipped: Vec<ImportSkip>,
    sessions: u64,
    /// True if memories of the import are being made now.
    #[serde(default)]
    is_remembering: bool,
}

fn describe_preview(look: &ImportPreview, zone: Option<&str>) -> String {
    let mut text = format!("{}: {}", look.format, counted_noun(look.messages, "message"));
    if let (Some(first), Some(last)) = (&look.first, &look.last) {
        _ = write!(text, ", {first} to {last}");
    }
    text.push('\n');
    for speaker in &look.speakers {
        let role = match speaker.role {
            Role::Persona => ", the persona",
            Role::User => ", the user",
            Role::Other => "",
        };
        _ = writeln!(text, "  {}: {}{role}", speaker.name, counted_noun(speaker.messages, "message"));
    }
    if look.saved_memories > 0 {
        _ = writeln!(text, "  {} things that the program had saved about its user", look.saved_memories);
    }
    match look.documents {
        0 => {}
        1 => text.push_str("  1 document\n"),
        many => _ = writeln!(text, "  {many} documents"),
    }
    if look.needs_zone && zone.is_none() {
        text.push_str("  times have no zone; name it with --zone, or the user's zone is taken\n");
    }
    if !look.fields.is_empty() {
        let named =
            look.fields.iter().zip(&look.field_samples).map(|(field, sample)| match sample.as_str() {
                "" => field.clone(),
                sample => format!("{field} ({sample})"),
            });
        let fields = named.collect::<Vec<_>>().join(", ");
        _ = writeln!(
            text,
            "  fields: {fields}\n  say what they are: --field text=NAME --field from=NAME --field time=NAME"
        );
    }
    _ = writeln!(text, "  {} skipped", look.skipped_count);
    for skip in look.skipped.iter().take(SKIPS_SHOWN) {
        _ = writeln!(text, "    {}: {}", skip.place, skip.reason);
    }
    text
}

fn print_report(shared: &SharedOptions, run: &RecordedImport) {
    if shared.json {
        println!(
            "{}",
            json!({"run_id": run.run_id, "found": run.found, "recorded": run.recorded,
                   "already_there": run.already_there, "documents": run.documents, "proposed": run.proposed, "undated": run.undated, "skipped_count": run.skipped_count,
                   "skipped": run.skipped, "sessions": run.sessions})
        );
        return;
    }
    let proposed = if run.proposed > 0 { format!("{} proposed, ", run.proposed) } else { String::new() };
    let documents = match run.documents {
        0 => String::new(),
        1 => "1 document, ".to_owned(),
        many => format!("{many} documents, "),
    };
    println!(
        "found {}: {} recorded in {}, {documents}{} already there, {proposed}{} skipped",
        run.found,
        run.recorded,
        counted_noun(run.sessions, "session"),
        run.already_there,
        run.skipped_count
    );
    if run.undated > 0 {
        println!(
            "{} have no time of their own: they get the time of the previous message or of the file",
            counted_noun(run.undated, "message")
        );
    }
    if run.proposed > 0 {
        println!(
            "facts about you from the other program wait for review in the web UI under Memory; `echovessel \
                import accept {}` accepts all of them",
            run.run_id
        );
    }
    for skip in run.skipped.iter().take(SKIPS_SHOWN) {
        println!("  {}: {}", skip.place, skip.reason);
    }
    if run.is_remembering {
        println!("memories are created in the background while the daemon runs, oldest first");
    }
    println!("import {}; `echovessel import undo {}` erases it", run.run_id, run.run_id);
}

async fn print_imports(shared: &SharedOptions, daemon: &Daemon) -> anyhow::Result<()> {
    let listed = daemon.ask(Method::GET, "/api/admin/imports", None).await?;
    if shared.json {
        println!("{}", json!({"runs": listed["imports"]}));
        return Ok(());
    }
    let runs = listed["imports"].as_array().context("the daemon's answer contains no list")?;
    if runs.is_empty() {
        println!("No imports yet.");
    }
    runs.iter().for_each(|run| println!("{}", run_summary(run)));
    Ok(())
}

fn run_summary(run: &Value) -> String {
    let text = |key: &str| run[key].as_str().unwrap_or_default();
    let (waiting, recorded) =
        (run["sessions_waiting"].as_u64().unwrap_or_default(), run["recorded"].as_u64().unwrap_or_default());
    let state = match (text("state"), text("remembering")) {
        ("uploaded", _) => "waiting for its mapping".to_owned(),
        ("recording", _) => "being recorded".to_owned(),
        ("interrupted", _) => "interrupted; resume it, or import the same files again".to_owned(),
        ("paused", _) => format!("paused, {} waiting", counted_noun(waiting, "session")),
        (_, "off") => "imported, without memories".to_owned(),
        _ => format!("{} waiting", counted_noun(waiting, "session")),
    };
    let files: Vec<&str> = run["files"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let at = text("created_at").get(..19).unwrap_or_default();
    format!("{}  {at}  {}  {state}  {}", text("run_id"), counted_noun(recorded, "message"), files.join(", "))
}

async fn set_remembering(
    shared: &SharedOptions,
    daemon: &Daemon,
    id: ImportId,
    act: &str,
) -> anyhow::Result<()> {
    let run = daemon.ask(Method::POST, &format!("/api/admin/imports/{id}/{act}"), None).await?;
    match shared.json {
        true => println!("{run}"),
        false => println!("{}", run_summary(&run)),
    }
    Ok(())
}

/// Accepts memories that the other program had saved.
async fn accept_proposals(shared: &SharedOptions, daemon: &Daemon, id: ImportId) -> anyhow::Result<()> {
    let path = "/api/admin/memory/rejected/approve-all";
    let accepted = daemon.ask(Method::POST, path, Some(json!({"run_id": id}))).await?;
    let count = accepted["approved"].as_u64().unwrap_or_default();
    match shared.json {
        true => println!("{accepted}"),
        false if count == 1 => println!("accepted 1 memory"),
        false => println!("accepted {count} memories"),
    }
    Ok(())
}

/// Erases an import with everything that was made of it.
async fn undo(shared: &SharedOptions, daemon: &Daemon, id: ImportId, yes: bool) -> anyhow::Result<()> {
    if !yes {
        let run = daemon.ask(Method::GET, &format!("/api/admin/imports/{id}"), None).await?;
        println!("{}", run_summary(&run));
        println!("its messages and all memories created from them are erased");
        if !is_confirmed()? {
            bail!("nothing was erased");
        }
    }
    let undone = daemon.ask(Method::POST, &format!("/api/admin/imports/{id}/undo"), None).await?;
    let erased = undone["erased"].as_u64().unwrap_or_default();
    match shared.json {
        true => println!("{undone}"),
        false => println!("erased {} and all memories created from them", counted_noun(erased, "message")),
    }
    Ok(())
}

fn counted_noun(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Asks at the terminal; a program has to say `--yes`.
fn is_confirmed() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!(
            "no terminal to ask for confirmation; preview with --look, then pass --yes. Nothing was changed"
        );
    }
    print!("Continue? Type yes: ");
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}
