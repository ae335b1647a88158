//! `echovessel import`: conversations of other programs become messages, and memory in the background.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use import::{Input, Look, Mapping, ReadOptions, Role, Sources, Speaker};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::tz::TimeZone;
use memory::identifiers::ImportId;
use memory::ports::{
    Clock as _, ImportRun, ImportStatus, ImportStore as _, PersonaStore as _, Remembering, UserStore as _,
};
use memory::{PersonaId, Scope, UserId};
use reqwest::Method;
use runtime::{ImportRecorder, ImportRequest};
use serde_json::{Value, json};
use store::SqliteStore;

use super::run::PrivateDaemon;
use crate::cli::{Import, ImportCommand, Shared};
use crate::config::Config;
use crate::home::Home;
use crate::system::{SystemClock, SystemIdGenerator};
use crate::wiring::{open_database, session_policy};

/// Skips that are printed for a person; all are kept with the run.
const SKIPS_SHOWN: usize = 10;
/// Skips that are printed as JSON.
const SKIPS_LISTED: u32 = 10_000;
/// Sessions that are erased in one act.
const SESSIONS_AT_ONCE: usize = 2_000;

pub(crate) async fn import(
    shared: &Shared,
    config: &Config,
    home: &Home,
    asked: &Import,
) -> anyhow::Result<()> {
    match &asked.command {
        Some(ImportCommand::List) => list(shared, config, home).await,
        Some(ImportCommand::Pause { run }) => remember(shared, config, home, *run, Remembering::Paused).await,
        Some(ImportCommand::Resume { run }) => remember(shared, config, home, *run, Remembering::On).await,
        Some(ImportCommand::Undo { run, yes }) => undo(shared, config, home, *run, *yes).await,
        None => bring_in(shared, config, home, asked).await,
    }
}

async fn bring_in(shared: &Shared, config: &Config, home: &Home, asked: &Import) -> anyhow::Result<()> {
    let inputs: Vec<Input> = asked.files.iter().cloned().map(Input::Path).collect();
    let options = ReadOptions { format: asked.format.clone() };
    let (sources, look) = looked_at(inputs, options.clone()).await?;
    if asked.look {
        match shared.json {
            true => println!("{}", serde_json::to_string(&look)?),
            false => print!("{}", described(&look)),
        }
        return Ok(());
    }
    let mapping = mapping(asked, &look)?;
    if !shared.json {
        print!("{}", described(&look));
    }
    if !asked.yes && !is_confirmed()? {
        bail!("nothing was imported");
    }
    let _lock = home.lock()?;
    let store = open_database(config, home)?;
    let recorded = record(shared, config, asked, &store, sources, &look, options, mapping).await;
    store.close().await?;
    let (run, skipped) = recorded?;
    report(shared, &run, &skipped);
    Ok(())
}

/// Reads everything once, on a thread that may wait for the disk.
async fn looked_at(inputs: Vec<Input>, options: ReadOptions) -> anyhow::Result<(Arc<Sources>, Look)> {
    let reading = tokio::task::spawn_blocking(move || {
        let sources = Sources::open(&inputs)?;
        let look = import::look(&sources, &options)?;
        Ok::<_, import::ImportError>((Arc::new(sources), look))
    });
    Ok(reading.await.context("reading ended unexpectedly")??)
}

fn mapping(asked: &Import, look: &Look) -> anyhow::Result<Mapping> {
    let mapping = Mapping {
        user: asked.me.iter().cloned().collect(),
        persona: asked.them.iter().cloned().collect(),
        zone: asked.zone.clone(),
        since: asked.since,
        ..Mapping::default()
    };
    if look.messages == 0 {
        bail!("no messages were found{}; nothing was imported", first_reason(look));
    }
    for name in asked.me.iter().chain(&asked.them) {
        if !look.speakers.iter().any(|speaker| speaker.name == *name) {
            bail!("nobody is called {name:?} in these files; the speakers are: {}", speakers(look));
        }
    }
    let is_somebody =
        |role| look.speakers.iter().any(|speaker| mapping.speaker(&speaker.name, speaker.role) == role);
    if !is_somebody(Speaker::User) && !is_somebody(Speaker::Persona) {
        bail!(
            "the files don't say who is who: name yourself with --me and the persona with --them. The speakers are: {}",
            speakers(look)
        );
    }
    Ok(mapping)
}

fn first_reason(look: &Look) -> String {
    look.skipped.first().map(|skip| format!(" ({}: {})", skip.place, skip.reason)).unwrap_or_default()
}

fn speakers(look: &Look) -> String {
    let names = look.speakers.iter().map(|speaker| format!("{} ({})", speaker.name, speaker.messages));
    names.collect::<Vec<_>>().join(", ")
}

#[expect(clippy::too_many_arguments, reason = "one call, of what was asked and what was found")]
async fn record(
    shared: &Shared,
    config: &Config,
    asked: &Import,
    store: &SqliteStore,
    sources: Arc<Sources>,
    look: &Look,
    options: ReadOptions,
    mut mapping: Mapping,
) -> anyhow::Result<(ImportRun, Vec<Value>)> {
    let persona =
        PersonaId::new(asked.persona.as_deref().unwrap_or(&config.persona.id)).context("--persona")?;
    let scope = Scope::new(persona, UserId::new(asked.user.as_str()).context("--user")?);
    let now = SystemClock.now();
    store.ensure_persona(&scope.persona, &config.persona.display_name, now).await?;
    let user = store.ensure_user(&scope.user, now).await?;
    mapping.zone = mapping.zone.or(user.timezone);
    let zone = match &mapping.zone {
        Some(name) => TimeZone::get(name).with_context(|| format!("--zone {name}"))?,
        None => TimeZone::UTC,
    };
    let request = ImportRequest {
        scope,
        sources,
        fingerprint: fingerprint(&asked.files)?,
        options,
        mapping,
        zone,
        remembering: if asked.no_remember { Remembering::Off } else { Remembering::On },
    };
    let bar = ProgressBar::new(look.found);
    bar.set_style(ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} {per_sec} {eta}")?);
    if shared.json || !std::io::stderr().is_terminal() {
        bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    let recorder = ImportRecorder {
        store,
        clock: &SystemClock,
        ids: &SystemIdGenerator::default(),
        policy: session_policy(config),
    };
    let mut progress = |run: &ImportRun| bar.set_position(run.found);
    let run = recorder.record(request, &mut progress).await?;
    bar.finish_and_clear();
    let skipped = store.import_skips(run.run_id, SKIPS_LISTED).await?;
    let skipped = skipped.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    Ok((run, skipped))
}

/// Times of change of the files, so that a changed file is not taken for the one that was cut off.
fn fingerprint(files: &[PathBuf]) -> anyhow::Result<String> {
    let mut all = String::new();
    for file in files {
        let changed = std::fs::metadata(file)
            .and_then(|file| file.modified())
            .with_context(|| file.display().to_string())?;
        writeln!(all, "{changed:?}")?;
    }
    Ok(all)
}

fn described(look: &Look) -> String {
    let mut text = format!("{}: {} messages", look.format, look.messages);
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
        _ = writeln!(text, "  {}: {} messages{role}", speaker.name, speaker.messages);
    }
    if look.needs_zone {
        text.push_str("  times have no zone; name it with --zone, or the user's zone is taken\n");
    }
    _ = writeln!(text, "  {} skipped", look.skipped_count);
    for skip in look.skipped.iter().take(SKIPS_SHOWN) {
        _ = writeln!(text, "    {}: {}", skip.place, skip.reason);
    }
    text
}

fn report(shared: &Shared, run: &ImportRun, skipped: &[Value]) {
    if shared.json {
        println!(
            "{}",
            json!({"run_id": run.run_id, "found": run.found, "recorded": run.recorded,
                   "already_there": run.already_there, "skipped_count": run.skipped, "skipped": skipped,
                   "sessions": run.sessions})
        );
        return;
    }
    println!(
        "found {}: {} recorded in {} sessions, {} already there, {} skipped",
        run.found, run.recorded, run.sessions, run.already_there, run.skipped
    );
    for skip in skipped.iter().take(SKIPS_SHOWN) {
        println!(
            "  {}: {}",
            skip["where"].as_str().unwrap_or_default(),
            skip["reason"].as_str().unwrap_or_default()
        );
    }
    if run.sessions_waiting > 0 && run.remembering == Remembering::On {
        println!("the daemon makes memories of it in the background, oldest first");
    }
    println!("run {}; `echovessel import undo {}` takes it back", run.run_id, run.run_id);
}

async fn list(shared: &Shared, config: &Config, home: &Home) -> anyhow::Result<()> {
    let _lock = home.lock()?;
    let store = open_database(config, home)?;
    let runs = store.import_runs().await;
    store.close().await?;
    let runs = runs?;
    if shared.json {
        println!("{}", json!({"runs": runs}));
        return Ok(());
    }
    if runs.is_empty() {
        println!("No imports yet.");
    }
    for run in runs {
        println!("{}", summary(&run));
    }
    Ok(())
}

fn summary(run: &ImportRun) -> String {
    let state = match (run.status, run.remembering) {
        (ImportStatus::Recording, _) => "cut off; import the same files again to resume".to_owned(),
        (_, Remembering::Off) => "recorded, not remembered".to_owned(),
        (_, Remembering::Paused) => format!("paused, {} sessions wait", run.sessions_waiting),
        (_, Remembering::On) => format!("{} sessions wait", run.sessions_waiting),
    };
    format!(
        "{}  {:.0}  {} messages  {state}  {}",
        run.run_id,
        run.created_at,
        run.recorded,
        run.files.join(", ")
    )
}

fn unknown(id: ImportId) -> anyhow::Error {
    anyhow::anyhow!("there is no import {id}; `echovessel import list` shows them. Nothing was changed")
}

async fn remember(
    shared: &Shared,
    config: &Config,
    home: &Home,
    id: ImportId,
    remembering: Remembering,
) -> anyhow::Result<()> {
    let _lock = home.lock()?;
    let store = open_database(config, home)?;
    let run = store.set_remembering(id, remembering).await;
    store.close().await?;
    let run = run?.ok_or_else(|| unknown(id))?;
    match shared.json {
        true => println!("{}", serde_json::to_string(&run)?),
        false => println!("{}", summary(&run)),
    }
    Ok(())
}

/// Erases a run's sessions with all that came from them, then the run.
async fn undo(shared: &Shared, config: &Config, home: &Home, id: ImportId, yes: bool) -> anyhow::Result<()> {
    let (run, sessions) = {
        let _lock = home.lock()?;
        let store = open_database(config, home)?;
        let run = store.import_run(id).await?.ok_or_else(|| unknown(id))?;
        // Nothing begins to remember what is about to go.
        store.set_remembering(id, Remembering::Paused).await?;
        let sessions = store.import_sessions(id).await?;
        store.close().await?;
        (run, sessions)
    };
    if !yes {
        println!(
            "{} messages of {} are erased, with every memory of them",
            run.recorded,
            run.files.join(", ")
        );
        if !is_confirmed()? {
            bail!("nothing was erased");
        }
    }
    let private = PrivateDaemon::open(config, home).await?;
    let mut receipts = Vec::new();
    for sessions in sessions.chunks(SESSIONS_AT_ONCE) {
        let body = json!({
            "persona_id": run.scope.persona, "user_id": run.scope.user, "session_ids": sessions,
            "include_messages": true, "choice": "cascade",
        });
        let mut dry = body.clone();
        dry["dry_run"] = json!(true);
        let shown = private.daemon.ask(Method::POST, "/api/admin/memory/erase", Some(dry)).await?;
        let mut act = body;
        act["confirm"] = shown["id"].clone();
        let receipt = private.daemon.ask(Method::POST, "/api/admin/memory/erase", Some(act)).await?;
        receipts.push(receipt["id"].clone());
    }
    private.close().await?;
    let _lock = home.lock()?;
    let store = open_database(config, home)?;
    let deleted = store.delete_import(id).await;
    store.close().await?;
    if !deleted? {
        bail!("some of its messages are still there; run `echovessel import undo {id}` again");
    }
    match shared.json {
        true => println!("{}", json!({"run_id": id, "erased": run.recorded, "receipts": receipts})),
        false => println!("taken back: {} messages, with every memory of them", run.recorded),
    }
    Ok(())
}

/// Asks at the terminal; a program has to say `--yes`.
fn is_confirmed() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("no terminal to ask for confirmation; look with --look, then pass --yes. Nothing was changed");
    }
    print!("Go on? Type yes: ");
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}
