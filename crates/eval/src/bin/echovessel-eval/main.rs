//! `echovessel-eval`: measures memory search on a public data set, on a temporary home, and compares the result with
//! the last run.

mod cases;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Parser;
use echovessel::{Installation, ScratchHome, create_private_file};
use eval::data::DataSet;
use eval::replay::{AnsweredQuestion, Replay};
use eval::report::{Report, is_misleading};
use eval::{absence, calibrate, loading, plot, tune};
use indicatif::{ProgressBar, ProgressStyle};
use memory::ports::Embedder as _;
use memory::recall::MESSAGE_SUPPORT_MIN;
use memory::vector_index::VectorIndex;
use store::{HomeStore, StoreOptions};

/// Prefix of the names under which the last runs are stored in the home.
const RECORD_PREFIX: &str = "eval-";
/// Questions between two lines of progress without a terminal.
const QUESTIONS_PER_PROGRESS_LINE: usize = 100;

/// Sets that need `--data`.
const SETS_WITH_DATA: [&str; 8] =
    ["locomo", "madial", "realmem", "lifebench", "longmemeval", "jsonl", "tune", "calibrate"];

/// Measure EchoVessel's memory search on a public data set, on a scratch home
#[derive(Debug, Parser)]
#[command(
    name = "echovessel-eval",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  echovessel-eval locomo --data locomo10.json --ranking-out ranking.jsonl\n  \
                  echovessel-eval locomo --data locomo10.json --absence --plot recall.svg\n  \
                  echovessel-eval tune --data locomo10.json\n  \
                  echovessel-eval calibrate --data FOLDER_OF_SETS --json\n  echovessel-eval cases"
)]
struct Eval {
    /// Home folder with the configuration, the model and the last runs; default ~/.echovessel
    #[arg(long, env = "ECHOVESSEL_HOME", value_name = "DIR")]
    home: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
    /// Format of the data; `tune` fits the ranking's weights on it, `calibrate` measures the vectors of the embedding
    /// model on a folder of data sets, `cases` runs EchoVessel's own cases
    #[arg(value_parser = ["locomo", "madial", "realmem", "lifebench", "longmemeval", "jsonl", "cases", "tune", "calibrate"])]
    set: String,
    /// File or folder with the data
    #[arg(long, required_if_eq_any(SETS_WITH_DATA.map(|set| ("set", set))))]
    data: Option<PathBuf>,
    /// Format of the data that `tune` fits on
    #[arg(long, default_value = "locomo", value_parser = ["locomo", "madial", "realmem", "lifebench", "longmemeval", "jsonl"])]
    format: String,
    /// Also ask each conversation's questions of another one, to measure honest absence
    #[arg(long)]
    absence: bool,
    /// Draw recall@k of every set measured on this home; with --absence also the curve, in FILE with `-absence`
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Use the configured language model in `cases`, instead of the offline provider
    #[arg(long)]
    llm: bool,
    /// Write the ranking of every question, one JSON object per line
    #[arg(long)]
    ranking_out: Option<PathBuf>,
    /// Search by words only, without the embedding model
    #[arg(long)]
    words_only: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let asked = Eval::parse();
    match measure_set(&asked).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("echovessel-eval: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure_set(asked: &Eval) -> anyhow::Result<()> {
    let installation = Installation::open(asked.home.clone(), asked.json)?;
    if asked.set == "cases" {
        return cases::run_cases(asked, &installation).await;
    }
    if asked.llm {
        bail!(
            "--llm applies only to `echovessel-eval cases`; the ranking is measured without a language model"
        );
    }
    let Some(path) = &asked.data else { bail!("--data is required: the path of the data") };
    if asked.set == "calibrate" {
        return calibrate(asked, &installation, path).await;
    }
    let format = if asked.set == "tune" { &asked.format } else { &asked.set };
    let mut data = loading::read_data_set(format, path)?;
    if asked.absence {
        if data.conversations.len() < 2 {
            bail!(
                "--absence needs at least two conversations, because it asks the questions of one in \
                another"
            );
        }
        absence::add_foreign_questions(&mut data);
    }
    let answered = measure(&installation, asked, &data).await?;
    if let Some(path) = &asked.ranking_out {
        write_rankings(path, &answered)?;
    }
    if asked.set == "tune" {
        return print_tuning(asked, &installation, format, &answered);
    }
    report(&installation, asked, path, &data, &answered)
}

/// Mean vectors come from uncalibrated vectors, cosines from those that the product compares.
async fn calibrate(asked: &Eval, installation: &Installation, path: &Path) -> anyhow::Result<()> {
    let sets = calibrate::read_sets(path)?;
    let Some(embedder) = installation.embedder()? else { bail!("embedding.provider is \"none\"") };
    embedder.identify().await?;
    let mut show = |set: &str| eprintln!("{set}");
    let mut found = calibrate::measure(embedder.as_ref(), &sets, &mut show).await?;
    if let Some(raw) = installation.uncalibrated_embedder()? {
        raw.identify().await?;
        found.average_with(calibrate::measure(&raw, &sets, &mut show).await?);
    }
    if asked.json {
        println!("{}", serde_json::to_string(&found)?);
    } else {
        print!("{}", found.table());
    }
    Ok(())
}

fn write_rankings(path: &Path, answered: &[AnsweredQuestion]) -> anyhow::Result<()> {
    let mut file =
        create_private_file(path).with_context(|| format!("{} can't be written", path.display()))?;
    for one in answered.iter().filter(|one| !one.ranked.gold.is_empty()) {
        writeln!(file, "{}", serde_json::to_string(&one.ranked)?)?;
    }
    Ok(())
}

fn print_tuning(
    asked: &Eval,
    installation: &Installation,
    format: &str,
    answered: &[AnsweredQuestion],
) -> anyhow::Result<()> {
    let present = installation.recall_settings().message_weights;
    let tuning = tune::tune_weights(answered, &present, |question| is_misleading(format, question));
    if asked.json {
        println!("{}", serde_json::to_string_pretty(&tuning)?);
    } else {
        print!("{}", tuning.table());
    }
    Ok(())
}

fn report(
    installation: &Installation,
    asked: &Eval,
    path: &Path,
    data: &DataSet,
    answered: &[AnsweredQuestion],
) -> anyhow::Result<()> {
    let name = path.file_stem().map_or_else(|| asked.set.clone(), |stem| stem.to_string_lossy().into_owned());
    let report = Report::new(&asked.set, &name, data, !asked.words_only, answered);
    let folder = installation.create_folder()?;
    let signals = if asked.words_only { "-words" } else { "" };
    let record = folder.join(format!("{RECORD_PREFIX}{}-{name}{signals}.json", asked.set));
    let last = read_record(&record).filter(|last| last.units == report.units);
    create_private_file(&record)?.write_all(&serde_json::to_vec(&report)?)?;
    if let Some(path) = &asked.plot {
        let mut reports = last_report_of_each_set(folder)?;
        reports.extend((!report.vectors).then(|| report.clone()));
        draw_plot(path, &plot::recall(&reports))?;
        if asked.absence {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let beside = path.with_file_name(format!("{stem}-absence.svg"));
            let bound =
                if report.vectors { installation.recall_settings().min_support } else { MESSAGE_SUPPORT_MIN };
            draw_plot(&beside, &plot::absence_plot(&report.absence, bound))?;
        }
    }
    if asked.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.table(last.as_ref()));
    }
    Ok(())
}

fn draw_plot(path: &Path, svg: &str) -> anyhow::Result<()> {
    std::fs::write(path, svg).with_context(|| format!("{} can't be written", path.display()))
}

fn read_record(path: &Path) -> Option<Report> {
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok())
}

/// The last run of every set with vectors, by name.
fn last_report_of_each_set(folder: &Path) -> anyhow::Result<Vec<Report>> {
    let entries = std::fs::read_dir(folder)?;
    let is_record = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(RECORD_PREFIX))
    };
    let mut paths: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_record).collect();
    paths.sort();
    Ok(paths.iter().filter_map(|path| read_record(path)).filter(|report| report.vectors).collect())
}

async fn measure(
    installation: &Installation,
    asked: &Eval,
    data: &DataSet,
) -> anyhow::Result<Vec<AnsweredQuestion>> {
    let scratch = ScratchHome::create()?;
    let database = HomeStore::open(&scratch.database(), StoreOptions::default())?;
    let index = VectorIndex::default();
    let embedder = installation.embedder()?.filter(|_| !asked.words_only);
    if let Some(embedder) = &embedder {
        embedder.identify().await.context("use --words-only to measure without the model")?;
    }
    let embedder = embedder.as_deref();
    let settings = installation.recall_settings();
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
                && (questions == conversation.questions.len()
                    || questions.is_multiple_of(QUESTIONS_PER_PROGRESS_LINE))
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
