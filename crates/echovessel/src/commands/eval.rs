//! `echovessel eval`: measures memory search on a public data set, on a scratch home, and compares with the last run.

use std::io::IsTerminal as _;
use std::io::Write as _;
use std::sync::Arc;

use ::eval::data;
use ::eval::measure::Ranked;
use ::eval::replay::Replay;
use ::eval::report::Report;
use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use memory::vector_index::VectorIndex;
use store::{SqliteStore, StoreOptions};

use crate::cli::{Eval, Shared};
use crate::config::Config;
use crate::embedding::Embedding;
use crate::home::{Home, private};
use crate::wiring::recall_settings;
use crate::world::{SystemClock, random_bytes};

pub(crate) async fn eval(shared: &Shared, config: &Config, home: &Home, asked: &Eval) -> anyhow::Result<()> {
    let data = data::read(&asked.set, &asked.data)?;
    let suffix: String = random_bytes().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let scratch = Home::locate(Some(std::env::temp_dir().join(format!("echovessel-eval-{suffix}"))))?;
    scratch.create()?;
    let ranked = measure(config, home, asked, &data, &scratch).await;
    // The scratch home has served; an error here is not worth a word.
    let _ = std::fs::remove_dir_all(scratch.folder());
    let ranked = ranked?;
    if let Some(path) = &asked.ranking_out {
        let mut file = private(path, true).with_context(|| format!("{} can't be written", path.display()))?;
        for question in &ranked {
            writeln!(file, "{}", serde_json::to_string(question)?)?;
        }
    }
    let units = data.conversations.iter().map(|conversation| conversation.units.len()).sum();
    let report = Report::new(&asked.set, units, !asked.words_only, data.repaired, data.dangling, &ranked);
    home.create()?;
    let record = home.folder().join(format!("eval-{}.json", asked.set));
    let last = std::fs::read(&record).ok().and_then(|bytes| serde_json::from_slice::<Report>(&bytes).ok());
    if shared.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.table(last.as_ref().filter(|last| last.units == report.units)));
    }
    private(&record, true)?.write_all(&serde_json::to_vec(&report)?)?;
    Ok(())
}

async fn measure(
    config: &Config,
    home: &Home,
    asked: &Eval,
    data: &data::DataSet,
    scratch: &Home,
) -> anyhow::Result<Vec<Ranked>> {
    let database = SqliteStore::open(&scratch.database(), StoreOptions::default())?;
    let index = VectorIndex::default();
    let embedding = Embedding::new(config, home, Arc::new(SystemClock))?;
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
    let mut ranked = Vec::new();
    let mut done = 0;
    for (number, conversation) in (1..).zip(&data.conversations) {
        bar.set_message(conversation.id.clone());
        let mut show = |units: usize, questions: usize| {
            let units = if questions > 0 { conversation.units.len() } else { units };
            bar.set_position((done + units + questions) as u64);
        };
        ranked.extend(replay.conversation(number, conversation, &mut show).await?);
        done += conversation.units.len() + conversation.questions.len();
        if bar.is_hidden() {
            eprintln!("{}: {} questions asked", conversation.id, conversation.questions.len());
        }
    }
    bar.finish_and_clear();
    database.close().await?;
    Ok(ranked)
}
