//! `echovessel eval`: measures memory search on a public data set, on a scratch home, and compares with the last run.

mod cases;

use std::io::IsTerminal as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::eval::data::DataSet;
use ::eval::replay::{Answered, Replay};
use ::eval::report::{Report, is_misleading};
use ::eval::{absence, calibrate, data, plot, tune};
use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressStyle};
use memory::ports::Embedder as _;
use memory::recall::SAID_MIN;
use memory::vector_index::VectorIndex;
use store::{SqliteStore, StoreOptions};

use crate::cli::{Eval, Shared};
use crate::config::Config;
use crate::embedding::EmbeddingSetup;
use crate::home::{Home, private};
use crate::system::{SystemClock, random_bytes};
use crate::wiring::recall_settings;

/// Beginning of the names under which the last runs are kept in the home.
const RECORD: &str = "eval-";
/// Without a terminal a line is printed every so many questions.
const LINE_EVERY: usize = 100;

pub(crate) async fn eval(shared: &Shared, config: &Config, home: &Home, asked: &Eval) -> anyhow::Result<()> {
    if asked.set == "cases" {
        return cases::cases(shared, config, asked).await;
    }
    if asked.llm {
        bail!("--llm takes part in `eval cases`; the ranking is measured without a language model");
    }
    let Some(path) = &asked.data else { bail!("--data says where the data lies") };
    if asked.set == "calibrate" {
        return calibrate(shared, config, home, path).await;
    }
    let format = if asked.set == "tune" { &asked.format } else { &asked.set };
    let mut data = data::read(format, path)?;
    if asked.absence {
        if data.conversations.len() < 2 {
            bail!("--absence needs at least two conversations: the questions of one are asked of another");
        }
        absence::add_foreign(&mut data);
    }
    let scratch = scratch_home()?;
    let answered = measure(config, home, asked, &data, &scratch).await;
    // The scratch home has served; an error here is not worth a word.
    let _ = std::fs::remove_dir_all(scratch.folder());
    let answered = answered?;
    if let Some(path) = &asked.ranking_out {
        write_rankings(path, &answered)?;
    }
    if asked.set == "tune" {
        return print_tuning(shared, config, format, &answered);
    }
    report(shared, config, home, asked, path, &data, &answered)
}

/// The means come from the vectors as they are, the cosines from those that the product compares.
async fn calibrate(shared: &Shared, config: &Config, home: &Home, path: &Path) -> anyhow::Result<()> {
    let sets = calibrate::read_sets(path)?;
    let embedding = EmbeddingSetup::new(config, home, Arc::new(SystemClock))?;
    let Some(embedder) = embedding.embedder() else { bail!("embedding.provider is \"none\"") };
    embedder.identify().await?;
    let mut show = |set: &str| eprintln!("{set}");
    let mut found = calibrate::measure(embedder.as_ref(), &sets, &mut show).await?;
    if let Some(raw) = embedding.uncalibrated() {
        raw.identify().await?;
        found.take_means(calibrate::measure(&raw, &sets, &mut show).await?);
    }
    if shared.json {
        println!("{}", serde_json::to_string(&found)?);
    } else {
        print!("{}", found.table());
    }
    Ok(())
}

/// A home that nobody else uses.
fn scratch_home() -> anyhow::Result<Home> {
    let suffix = hex::encode(&random_bytes()[..6]);
    let scratch = Home::locate(Some(std::env::temp_dir().join(format!("echovessel-eval-{suffix}"))))?;
    scratch.create()?;
    Ok(scratch)
}

fn write_rankings(path: &Path, answered: &[Answered]) -> anyhow::Result<()> {
    let mut file = private(path, true).with_context(|| format!("{} can't be written", path.display()))?;
    for one in answered.iter().filter(|one| !one.ranked.gold.is_empty()) {
        writeln!(file, "{}", serde_json::to_string(&one.ranked)?)?;
    }
    Ok(())
}

fn print_tuning(shared: &Shared, config: &Config, format: &str, answered: &[Answered]) -> anyhow::Result<()> {
    let present = recall_settings(config).message_weights;
    let tuning = tune::tune(answered, &present, |question| is_misleading(format, question));
    if shared.json {
        println!("{}", serde_json::to_string_pretty(&tuning)?);
    } else {
        print!("{}", tuning.table());
    }
    Ok(())
}

fn report(
    shared: &Shared,
    config: &Config,
    home: &Home,
    asked: &Eval,
    path: &Path,
    data: &DataSet,
    answered: &[Answered],
) -> anyhow::Result<()> {
    let name = path.file_stem().map_or_else(|| asked.set.clone(), |stem| stem.to_string_lossy().into_owned());
    let report = Report::new(&asked.set, &name, data, !asked.words_only, answered);
    home.create()?;
    let signals = if asked.words_only { "-words" } else { "" };
    let record = home.folder().join(format!("{RECORD}{}-{name}{signals}.json", asked.set));
    let last = read_record(&record).filter(|last| last.units == report.units);
    private(&record, true)?.write_all(&serde_json::to_vec(&report)?)?;
    if let Some(path) = &asked.plot {
        let mut reports = records(home)?;
        reports.extend((!report.vectors).then(|| report.clone()));
        draw(path, &plot::recall(&reports))?;
        if asked.absence {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let beside = path.with_file_name(format!("{stem}-absence.svg"));
            let bound = if report.vectors { recall_settings(config).min_support } else { SAID_MIN };
            draw(&beside, &plot::absence(&report.absence, bound))?;
        }
    }
    if shared.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.table(last.as_ref()));
    }
    Ok(())
}

fn draw(path: &Path, svg: &str) -> anyhow::Result<()> {
    std::fs::write(path, svg).with_context(|| format!("{} can't be written", path.display()))
}

fn read_record(path: &Path) -> Option<Report> {
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok())
}

/// The last run of every set with vectors, by name.
fn records(home: &Home) -> anyhow::Result<Vec<Report>> {
    let entries = std::fs::read_dir(home.folder())?;
    let is_record =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(RECORD));
    let mut paths: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_record).collect();
    paths.sort();
    Ok(paths.iter().filter_map(|path| read_record(path)).filter(|report| report.vectors).collect())
}

async fn measure(
    config: &Config,
    home: &Home,
    asked: &Eval,
    data: &DataSet,
    scratch: &Home,
) -> anyhow::Result<Vec<Answered>> {
    let database = SqliteStore::open(&scratch.database(), StoreOptions::default())?;
    let index = VectorIndex::default();
    let embedding = EmbeddingSetup::new(config, home, Arc::new(SystemClock))?;
    let embedder = embedding.embedder().filter(|_| !asked.words_only);
    if let Some(embedder) = &embedder {
        embedder.identify().await.context("use --words-only to measure without the model")?;
    }
    let embedder = embedder.as_deref();
    let settings = recall_settings(config);
    let replay = Replay { store: &database, index: &index, embedder, settings: &settings };
    let total: usize = data.conversations.iter().map(|c| c.units.len() + c.questions.len()).sum();
    let bar = ProgressBar::new(total as u64);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    bar.set_style(ProgressStyle::with_template("{msg:12} {bar:40} {pos}/{len} {eta}")?);
    let mut answered = Vec::new();
    let mut done = 0;
    for (number, conversation) in (1..).zip(&data.conversations) {
        bar.set_message(conversation.id.clone());
        let plain = bar.is_hidden();
        let mut show = |units: usize, questions: usize| {
            let units = if questions > 0 { conversation.units.len() } else { units };
            bar.set_position((done + units + questions) as u64);
            if plain
                && questions > 0
                && (questions == conversation.questions.len() || questions.is_multiple_of(LINE_EVERY))
            {
                eprintln!(
                    "{}: {questions} of {} questions asked",
                    conversation.id,
                    conversation.questions.len()
                );
            }
        };
        answered.extend(replay.conversation(number, conversation, &mut show).await?);
        done += conversation.units.len() + conversation.questions.len();
    }
    bar.finish_and_clear();
    database.close().await?;
    Ok(answered)
}
